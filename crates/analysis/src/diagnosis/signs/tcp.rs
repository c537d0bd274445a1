//! Signs of a byte stream: where TCP's time went, what it sent again, what waited where.

use super::Sign;
use crate::readings::{mean, unread_shares};
use linerate_model::run::{TcpSummary, Trial};
use linerate_model::sample::TcpSample;
use linerate_model::signals::TCP_ZERO_WINDOWS;
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;
use linerate_model::{BitRate, PacketCount, Ratio};
use std::time::Duration;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "receiver-window-share",
        edges: SHARE,
        figure: |trial| share(trial, TcpWait::ReceiverWindow),
    },
    Sign {
        id: "send-buffer-share",
        edges: SHARE,
        figure: |trial| share(trial, TcpWait::SendBuffer),
    },
    Sign {
        id: "application-share",
        edges: SHARE,
        figure: |trial| share(trial, TcpWait::Application),
    },
    Sign {
        id: "loss-share",
        edges: SHARE,
        figure: |trial| share(trial, TcpWait::Loss),
    },
    Sign {
        id: "pacing-share",
        edges: SHARE,
        figure: |trial| share(trial, TcpWait::Pacing),
    },
    Sign {
        id: "retransmitted",
        edges: &[1e-9, 0.001, 0.005, 0.02, 0.06],
        figure: retransmitted,
    },
    Sign {
        id: "timeouts",
        edges: &[1.0, 5.0],
        figure: timeouts,
    },
    Sign {
        id: "rtt-above-least",
        edges: &[0.0005, 0.002, 0.008],
        figure: |trial| Some(rtt(trial)?.0),
    },
    Sign {
        id: "rtt-to-least",
        edges: &[1.1, 1.5, 3.0],
        figure: |trial| Some(rtt(trial)?.1),
    },
    Sign {
        id: "unread",
        edges: &[0.03, 0.15, 0.3, 0.6],
        figure: |trial| mean(unread_shares(trial)),
    },
    Sign {
        id: "zero-windows",
        edges: &[1.0, 10.0],
        figure: zero_windows,
    },
    Sign {
        id: "delivery-rate",
        edges: &[0.9, 1.15, 1.6, 3.0],
        figure: delivery_rate,
    },
    Sign {
        id: "delivery-app-limited",
        edges: &[0.05, 0.5],
        figure: |trial| readings(trial, |sample| sample.delivery_rate_app_limited),
    },
    Sign {
        id: "not-sent",
        edges: &[0.1, 0.6],
        figure: |trial| readings(trial, |sample| Some(sample.notsent_bytes? > 0)),
    },
];

/// Shares of TCP's time.
const SHARE: &[f64] = &[0.05, 0.3, 0.7];

fn share(trial: &Trial, wait: TcpWait) -> Option<f64> {
    Some(trial.tcp()?.shares?.of(wait).get())
}

/// Segments sent again, as a share of those sent.
fn retransmitted(trial: &Trial) -> Option<f64> {
    let counted = trial.tcp()?.retransmissions?;
    let sent = PacketCount::new(counted.sent?).as_f64();
    let again = counted.segments?;
    (sent > 0.0).then(|| PacketCount::new(again).as_f64() / sent)
}

fn timeouts(trial: &Trial) -> Option<f64> {
    let timeouts = trial.tcp()?.retransmissions?.timeouts?;
    Some(PacketCount::new(timeouts).as_f64())
}

/// A shorter round trip is one within a host, where the least is a reading's rounding.
const LEAST_RTT: Duration = Duration::from_micros(50);

/// The mean round-trip time above the least, in seconds, and as a multiple of it.
fn rtt(trial: &Trial) -> Option<(f64, f64)> {
    let tcp = trial.tcp()?;
    let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
    let (mean, least) = (seconds(tcp.srtt_mean_ns?), seconds(tcp.min_rtt_ns?));
    Some((mean - least, mean / least.max(LEAST_RTT.as_secs_f64())))
}

fn zero_windows(trial: &Trial) -> Option<f64> {
    let closed = *trial.counters(Side::Receiver)?.get(TCP_ZERO_WINDOWS)?;
    Some(PacketCount::new(closed).as_f64())
}

/// Readings after the first, which is taken before the first byte.
fn later(tcp: &TcpSummary) -> impl Iterator<Item = &TcpSample> {
    tcp.samples.iter().filter(|sample| sample.at_ns > 0)
}

/// The median of TCP's own delivery rate, as a multiple of the received rate: far above it where what limits does
/// so in turns.
fn delivery_rate(trial: &Trial) -> Option<f64> {
    let free = later(trial.tcp()?).filter(|sample| sample.delivery_rate_app_limited != Some(true));
    let mut rates: Vec<u64> = free.filter_map(|sample| sample.delivery_rate_bps).collect();
    rates.sort_unstable();
    let median = BitRate::from_bps(*rates.get(rates.len() / 2)?).as_f64();
    let received = trial.received_rate?.as_f64();
    (received > 0.0).then(|| median / received)
}

/// Share of the readings of which `is` holds.
fn readings(trial: &Trial, is: fn(&TcpSample) -> Option<bool>) -> Option<f64> {
    let share = |holds: bool| Ratio::from_parts(u64::from(holds), 1).get();
    mean(later(trial.tcp()?).filter_map(is).map(share))
}
