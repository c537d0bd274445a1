//! Signs of either host: its CPU, and its queueing discipline.

use super::Sign;
use crate::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::run::{CpuSide, Trial};
use linerate_model::signals::{CGROUP_THROTTLED_NS, NIC_TX_PACKETS, QDISC_OVERLIMITS};
use linerate_model::spec::Side;
use linerate_model::{BitRate, PacketCount, Ratio};
use std::time::Duration;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "sender-throttled",
        edges: THROTTLED,
        figure: |trial| throttled(trial, Side::Sender),
    },
    Sign {
        id: "receiver-throttled",
        edges: THROTTLED,
        figure: |trial| throttled(trial, Side::Receiver),
    },
    Sign {
        id: "sender-run-delay",
        edges: RUN_DELAY,
        figure: |trial| run_delay(trial, Side::Sender),
    },
    Sign {
        id: "receiver-run-delay",
        edges: RUN_DELAY,
        figure: |trial| run_delay(trial, Side::Receiver),
    },
    Sign {
        id: "sender-runnable",
        edges: RUNNABLE,
        figure: |trial| runnable(trial, Side::Sender),
    },
    Sign {
        id: "receiver-runnable",
        edges: RUNNABLE,
        figure: |trial| runnable(trial, Side::Receiver),
    },
    Sign {
        id: "held-back-per-packet",
        edges: &[1e-6, 0.02, 0.2],
        figure: held_back,
    },
    Sign {
        id: "rate-variation",
        edges: &[0.03, 0.1, 0.3],
        figure: rate_variation,
    },
];

/// Shares of the time.
const THROTTLED: &[f64] = &[0.02, 0.1, 0.4];
const RUN_DELAY: &[f64] = &[0.05, 0.2, 0.4];
const RUNNABLE: &[f64] = &[0.3, 0.6, 0.85];

/// Share of the time in which a control group of this side was stopped by its CPU quota.
fn throttled(trial: &Trial, side: Side) -> Option<f64> {
    let stopped = *trial.counters(side)?.get(CGROUP_THROTTLED_NS)?;
    Some(Duration::from_nanos(stopped).as_secs_f64() / trial.duration?.as_secs_f64())
}

fn cpu(trial: &Trial, side: Side) -> Option<&CpuSide> {
    let cpu = trial.cpu.as_ref()?;
    match side {
        Side::Sender => cpu.sender.as_ref(),
        Side::Receiver => cpu.receiver.as_ref(),
    }
}

/// Share of the time in which the traffic thread waited for a core.
fn run_delay(trial: &Trial, side: Side) -> Option<f64> {
    cpu(trial, side)?.run_delay_ratio.map(Ratio::get)
}

/// Share of the time in which the traffic thread ran or waited for a core.
fn runnable(trial: &Trial, side: Side) -> Option<f64> {
    Some(run_delay(trial, side)? + cpu(trial, side)?.thread_ratio?.get())
}

/// How often the sender's own queueing discipline held packets back, for each packet of its interface.
fn held_back(trial: &Trial) -> Option<f64> {
    let counters = trial.counters(Side::Sender)?;
    let held = PacketCount::new(*counters.get(QDISC_OVERLIMITS)?).as_f64();
    let sent = PacketCount::new(*counters.get(NIC_TX_PACKETS)?).as_f64();
    (sent > 0.0).then(|| held / sent)
}

/// Standard deviation of the intervals' rates, as a share of their mean.
fn rate_variation(trial: &Trial) -> Option<f64> {
    let rates = trial
        .intervals
        .iter()
        .filter_map(|interval| interval.received_rate)
        .filter(|rate| rate.bps() > 0);
    let rates: Vec<f64> = rates.map(BitRate::as_f64).collect();
    let mean = mean(&rates, USUAL_CONFIDENCE)
        .ok()
        .filter(|mean| mean.n >= 4)?;
    let square = |rate: &f64| (rate / mean.point - 1.0).powi(2);
    let squares: Vec<f64> = rates.iter().map(square).collect();
    let variance = crate::statistics::mean(&squares, USUAL_CONFIDENCE).ok()?;
    Some(variance.point.sqrt())
}
