//! Congestion window over time, sending side.

use super::timeline::{About, Line, chart, chosen, largest, left_out, trial_name};
use super::{ChartKind, Drawn, Topic, carrier};
use crate::figures::{Unit, float};
use linerate_model::run::{Run, RunKind, Trial, TrialInterval};
use linerate_model::sample::TcpSample;
use linerate_model::spec::Side;

pub(super) const KIND: ChartKind = ChartKind {
    id: "tcp-window",
    summary: "TCP congestion window over time, sending side.",
    topic: Topic::Tcp,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Tcp || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    let (lines, total) = lines(
        run,
        |s| s.cwnd_bytes,
        |i| i.cwnd_bytes.map(linerate_model::ByteCount::get),
    );
    if lines.is_empty() {
        return Drawn::Missing("congestion window");
    }
    let unit = Unit::for_bytes(largest(&lines));
    let about = About {
        id: "tcp-window",
        title: "Congestion window over time".to_owned(),
        caption: caption(&lines, unit) + &left_out(total.0, total.1),
        quantity: "Congestion window, sender",
        unit,
    };
    Drawn::Charts(vec![chart(about, &lines)])
}

/// One line for each trial and stream whose readings or intervals have the quantity; and how many
/// trials were drawn of how many.
pub(super) fn lines(
    run: &Run,
    sample: impl Fn(&TcpSample) -> Option<u64> + Copy,
    interval: impl Fn(&TrialInterval) -> Option<u64> + Copy,
) -> (Vec<Line>, (usize, usize)) {
    let (trials, total) = chosen(run, |t| !of_trial(run, t, sample, interval).is_empty());
    let drawn = trials.len();
    let lines = trials
        .iter()
        .flat_map(|t| of_trial(run, t, sample, interval));
    (lines.take(8).collect(), (drawn, total))
}

pub(super) fn of_trial(
    run: &Run,
    trial: &Trial,
    sample: impl Fn(&TcpSample) -> Option<u64> + Copy,
    interval: impl Fn(&TrialInterval) -> Option<u64>,
) -> Vec<Line> {
    let name = trial_name(run, trial);
    let sampled = |name: String, samples: &[TcpSample]| Line {
        name,
        points: samples
            .iter()
            .filter_map(|s| Some((float(s.at_ns) / 1e9, float(sample(s)?))))
            .collect(),
    };
    let senders = trial.raw().iter().filter(|r| r.side == Side::Sender);
    let streams: Vec<_> = senders.flat_map(|r| &r.streams).collect();
    let mut lines: Vec<Line> = match (streams.as_slice(), trial.tcp()) {
        (many, _) if many.len() > 1 => many
            .iter()
            .map(|s| {
                sampled(
                    format!("{name}, {} {}", carrier(s), s.index),
                    s.work.tcp_samples(),
                )
            })
            .collect(),
        (_, Some(tcp)) if !tcp.samples.is_empty() => vec![sampled(name.clone(), &tcp.samples)],
        (one, _) => one
            .iter()
            .map(|s| sampled(name.clone(), s.work.tcp_samples()))
            .collect(),
    };
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        let points = trial
            .intervals
            .iter()
            .filter_map(|i| Some((i.end.as_secs_f64(), float(interval(i)?))));
        lines.push(Line {
            name,
            points: points.collect(),
        });
        lines.retain(|line| !line.points.is_empty());
    }
    lines
}

fn caption(lines: &[Line], unit: Unit) -> String {
    let say = |line: &Line| {
        let (low, high) = line.extent()?;
        let (first, last) = (line.points.first()?.1, line.points.last()?.1);
        let (low_text, high_text) = (unit.number(low), unit.show(high));
        Some(if (high - low) <= 0.02 * high {
            format!("stays at {high_text}")
        } else if first <= low && last >= high {
            format!("grows from {low_text} to {high_text}")
        } else if first >= high && last <= low {
            format!("shrinks from {} to {}", unit.number(high), unit.show(low))
        } else {
            format!("moves between {low_text} and {high_text}")
        })
    };
    let all: Vec<_> = lines
        .iter()
        .take(4)
        .filter_map(|line| Some((line, say(line)?)))
        .collect();
    match all.as_slice() {
        [(_, only)] => format!("The congestion window {only}."),
        many => {
            let each = many
                .iter()
                .map(|(line, text)| format!("{}: {text}", line.name));
            format!(
                "The congestion window. {}.",
                each.collect::<Vec<_>>().join("; ")
            )
        }
    }
}
