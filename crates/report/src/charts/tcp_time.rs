//! Where a TCP sender's time went, over the trial: one chart of stacked shares for each trial.

use super::timeline::{chosen, left_out, trial_name};
use super::{ChartKind, Drawn, Topic};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape};
use crate::figures::Unit;
use crate::table::{Cell, Table};
use linerate_model::run::{Run, RunKind, TcpSummary, Trial};
use linerate_model::tcp::{TcpStretch, TcpWait, models_the_path};

/// More charts of one kind are not read.
const MAX_CHARTS: usize = 4;

/// More bars than this cannot be seen.
const MAX_BARS: usize = 200;

pub(super) const KIND: ChartKind = ChartKind {
    id: "tcp-time",
    summary: "What held a TCP sender back, as shares of its time over the trial.",
    topic: Topic::Tcp,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Tcp || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    let (trials, total) = chosen(run, |trial| !stretches(trial).is_empty());
    let drawn = trials.len().min(MAX_CHARTS);
    let charts = trials.into_iter().take(MAX_CHARTS);
    let note = left_out(drawn, total);
    let charts = charts.filter_map(|trial| chart(run, trial, &note));
    Drawn::or_missing(
        charts.collect(),
        "time that TCP spent waiting for each of its windows",
    )
}

fn stretches(trial: &Trial) -> &[TcpStretch] {
    trial
        .tcp()
        .map_or(&[], |tcp| tcp.shares_over_time.as_slice())
}

fn chart(run: &Run, trial: &Trial, note: &str) -> Option<Chart> {
    let told = finding(trial.tcp()?)?;
    let all = stretches(trial);
    let step = all.len().div_ceil(MAX_BARS).max(1);
    let bars: Vec<&TcpStretch> = all.iter().step_by(step).collect();
    let series = TcpWait::ALL.iter().filter_map(|wait| {
        let seen = bars.iter().any(|bar| bar.shares.of(*wait).get() > 0.0);
        let points = (0_u32..).zip(&bars).filter_map(|(place, bar)| {
            let share = bar.shares.of(*wait);
            let point = Point::new(f64::from(place), Unit::PERCENT.of(share.get()))?;
            Some(point.note(share.to_string()))
        });
        seen.then(|| Series::new(wait.as_str(), role(*wait), Shape::Bar, points))
    });
    let times = bars
        .iter()
        .map(|bar| format!("{:.2}", bar.end.as_secs_f64()));
    let thinned = if step > 1 {
        format!(" Every {step}th stretch is drawn.")
    } else {
        String::new()
    };
    let several = run.trials.len() > 1;
    let name = if several {
        format!(": {}", trial_name(run, trial))
    } else {
        String::new()
    };
    Some(Chart {
        id: format!("tcp-time-{}", trial.index),
        title: format!("What held TCP back over time{name}"),
        caption: format!("{told}{thinned}{note}"),
        x: Axis::categories("End of the stretch", "s", times.collect()),
        y: Axis::new("Share of the time, sender", "%", Scale::Linear).within(0.0, 100.0),
        series: series.collect(),
        table: table(all),
        ..Chart::default()
    })
}

/// Each wait has the same colour in every chart.
const fn role(wait: TcpWait) -> Role {
    match wait {
        TcpWait::Application => Role::Rank(4),
        TcpWait::ReceiverWindow => Role::Rank(0),
        TcpWait::SendBuffer => Role::Rank(1),
        TcpWait::SlowStart => Role::Rank(2),
        TcpWait::Loss => Role::Lost,
        TcpWait::Ecn => Role::Rank(3),
        TcpWait::Pacing => Role::Rank(5),
        TcpWait::CongestionControl => Role::Rank(6),
        TcpWait::System => Role::Rank(7),
    }
}

/// The largest shares in one sentence; `None` where they are not known.
pub(crate) fn finding(tcp: &TcpSummary) -> Option<String> {
    let shares = tcp.shares.as_ref()?;
    let mut parts: Vec<TcpWait> = TcpWait::ALL.to_vec();
    parts.sort_by(|a, b| shares.of(*b).get().total_cmp(&shares.of(*a).get()));
    let described = parts
        .iter()
        .take_while(|wait| shares.of(**wait).get() >= 0.05);
    let described: Vec<String> = described
        .take(3)
        .map(|wait| {
            let beside = unless_contradicted(*wait, tcp);
            format!("{}{beside} {}", wait, shares.of(*wait))
        })
        .collect();
    Some(format!("TCP's time went to: {}.", described.join(", ")))
}

/// What a window that congestion control chose itself says of loss, which the trial's own counts must not deny.
fn unless_contradicted(wait: TcpWait, tcp: &TcpSummary) -> &'static str {
    if wait != TcpWait::CongestionControl {
        return "";
    }
    let marked = tcp
        .shares
        .is_some_and(|shares| shares.ecn_ratio.get() > 0.0);
    let control = tcp.congestion_control.as_deref();
    match tcp.retransmitted_segments {
        None => "",
        Some(0) if !marked => " (no loss, no ECN)",
        Some(_) if models_the_path(control) => " (by its model of the path, whatever is lost)",
        Some(_) => " (before any loss or mark)",
    }
}

fn table(stretches: &[TcpStretch]) -> Table {
    let bounds = ["From (s)".to_owned(), "To (s)".to_owned()];
    let waits = TcpWait::ALL.iter().map(|wait| format!("{wait} (%)"));
    let mut table = Table::new(bounds.into_iter().chain(waits));
    for stretch in stretches {
        let bounds = [stretch.start, stretch.end];
        let bounds = bounds.map(|at| Cell::number(Some(at.as_secs_f64()), Unit::SECONDS));
        let shares = TcpWait::ALL
            .iter()
            .map(|wait| Cell::number(Some(stretch.shares.of(*wait).get()), Unit::PERCENT));
        table.push(bounds.into_iter().chain(shares).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Ratio;
    use linerate_model::tcp::TcpShares;

    #[test]
    fn no_loss_is_said_only_of_a_trial_in_which_nothing_was_sent_again() {
        let said = |control: &str, again: Option<u64>, ecn: f64| {
            let mut shares = TcpShares::default();
            shares.set(TcpWait::CongestionControl, Ratio::clamped(1.0 - ecn));
            shares.set(TcpWait::Ecn, Ratio::clamped(ecn));
            let tcp = TcpSummary {
                shares: Some(shares),
                congestion_control: Some(control.to_owned()),
                retransmitted_segments: again,
                ..TcpSummary::default()
            };
            finding(&tcp).unwrap()
        };
        assert!(said("cubic", Some(0), 0.0).contains("limited (no loss, no ECN) 100"));
        assert!(said("cubic", Some(13_823), 0.0).contains("limited (before any loss or mark)"));
        assert!(said("cubic", Some(0), 0.1).contains("limited (before any loss or mark)"));
        assert!(said("bbr", Some(13_823), 0.0).contains("limited (by its model of the path"));
        assert!(said("cubic", None, 0.0).contains("congestion-control limited 100"));
        assert_eq!(finding(&TcpSummary::default()), None);
    }
}
