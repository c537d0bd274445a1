//! Signs of either host: its CPU, and its queueing discipline.

use super::Sign;
use crate::readings::{mean, throttled_share};
use linerate_model::run::Trial;
use linerate_model::signals::{NIC_TX_PACKETS, QDISC_OVERLIMITS};
use linerate_model::spec::Side;
use linerate_model::{BitRate, PacketCount, Ratio};

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "sender-throttled",
        edges: THROTTLED,
        figure: |trial| throttled_share(trial, Side::Sender),
    },
    Sign {
        id: "receiver-throttled",
        edges: THROTTLED,
        figure: |trial| throttled_share(trial, Side::Receiver),
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

/// Share of the time in which the traffic thread waited for a core.
fn run_delay(trial: &Trial, side: Side) -> Option<f64> {
    trial.cpu_of(side)?.run_delay_ratio.map(Ratio::get)
}

/// Share of the time in which the traffic thread ran or waited for a core.
fn runnable(trial: &Trial, side: Side) -> Option<f64> {
    Some(run_delay(trial, side)? + trial.cpu_of(side)?.thread_ratio?.get())
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
    let usual = mean(rates.iter().copied()).filter(|_| rates.len() >= LEAST_INTERVALS)?;
    let squares = rates.iter().map(|rate| (rate / usual - 1.0).powi(2));
    mean(squares).map(f64::sqrt)
}

/// Fewer intervals say nothing of how much their rates vary.
const LEAST_INTERVALS: usize = 4;
