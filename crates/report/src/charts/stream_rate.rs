//! Rate of each parallel stream, or of each thread that carries several, over time.

use super::timeline::{About, Line, chart, largest, middle, trial_name};
use super::{ChartKind, Drawn, STREAM, Topic, carrier};
use crate::figures::{Unit, rate};
use linerate_model::BitRate;
use linerate_model::run::{Run, RunKind, Trial};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::Side;

pub(super) const KIND: ChartKind = ChartKind {
    id: "stream-rate",
    summary: "Rate of each parallel stream over time, for runs of one or two trials.",
    topic: Topic::Rate,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if !matches!(run.kind(), RunKind::Tcp | RunKind::Udp) || run.trials.len() > 2 {
        return Drawn::NotApplicable;
    }
    let charts = run.trials.iter().filter_map(|trial| of_trial(run, trial));
    Drawn::any(charts.collect())
}

fn of_trial(run: &Run, trial: &Trial) -> Option<crate::chart::Chart> {
    let receiver = |report: &&EndpointReport| report.side == Side::Receiver;
    let streams = &trial.raw().iter().find(receiver)?.streams;
    if streams.len() < 2 {
        return None;
    }
    let carrier = carrier(&streams[0]);
    let lines: Vec<_> = streams.iter().map(line).collect();
    let unit = Unit::for_rate(largest(&lines));
    let means = streams
        .iter()
        .filter_map(|s| BitRate::from_bytes(s.bytes, s.duration));
    let (low, high) = match &trial.shares {
        Some(shares) if carrier == STREAM => (shares.rates.min, shares.rates.max),
        _ => (means.clone().min()?, means.max()?),
    };
    let about = About {
        id: "stream-rate",
        title: format!("Rate of each {carrier}: {}", trial_name(run, trial)),
        caption: format!(
            "{} {carrier}s; the slowest gets {}, the fastest {}.",
            streams.len(),
            rate(low),
            rate(high)
        ),
        quantity: "Received rate, L4 payload, receiver",
        unit,
    };
    let mut chart = chart(about, &lines);
    chart.id = format!("stream-rate-{}", trial.index);
    Some(chart)
}

fn line(stream: &StreamReport) -> Line {
    let points = stream.intervals.iter().filter_map(|interval| {
        let rate = BitRate::from_bytes(interval.bytes, interval.end.checked_sub(interval.start)?)?;
        Some((middle(interval.start, interval.end), rate.as_f64()))
    });
    Line {
        name: format!("{} {}", carrier(stream), stream.index),
        points: points.collect(),
    }
}
