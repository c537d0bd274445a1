//! Signs of datagrams: what was not offered, what was lost and where, and what waited.

use super::Sign;
use crate::diagnosis::datagrams::{least_wait, share_at};
use crate::readings::emptying_share;
use linerate_model::run::{DelayOf, Place, Trial};
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "loss",
        edges: &[0.0005, 0.02, 0.2],
        figure: |trial| trial.loss_ratio().map(Ratio::get),
    },
    Sign {
        id: "lost-on-path",
        edges: &[0.5],
        figure: |trial| lost_at(trial, Place::Network),
    },
    Sign {
        id: "lost-at-socket",
        edges: &[0.5],
        figure: |trial| lost_at(trial, Place::ReceiverSocket),
    },
    Sign {
        id: "lost-at-own-qdisc",
        edges: &[0.5],
        figure: |trial| lost_at(trial, Place::SenderQdisc),
    },
    Sign {
        id: "offered",
        edges: &[0.8, 0.97],
        figure: offered,
    },
    Sign {
        id: "send-blocked",
        edges: &[0.1, 0.3, 0.7],
        figure: |trial| trial.send_blocked_ratio().map(Ratio::get),
    },
    Sign {
        id: "median-wait-in-packets",
        edges: &[1.0, 4.0, 16.0],
        figure: |trial| Some(median_wait(trial)? / packet_time(trial)?),
    },
    Sign {
        id: "median-wait",
        edges: &[0.00005, 0.0002, 0.001, 0.005],
        figure: median_wait,
    },
    Sign {
        id: "least-wait-in-packets",
        edges: &[1.0, 3.0, 8.0],
        figure: |trial| Some(least_wait(trial)? / packet_time(trial)?),
    },
    Sign {
        id: "least-wait-to-longest",
        edges: &[0.1, 0.3, 0.6],
        figure: least_to_longest,
    },
    Sign {
        id: "socket-emptied",
        edges: &[0.1, 0.5],
        figure: emptying_share,
    },
];

fn lost_at(trial: &Trial, place: Place) -> Option<f64> {
    let lost = trial.packets()?.lost.filter(|lost| lost.get() > 0);
    lost.and_then(|_| share_at(trial, &[place]))
}

/// Offered load as a share of the intended.
fn offered(trial: &Trial) -> Option<f64> {
    Some(trial.offered_load?.as_f64() / trial.intended_load?.as_f64())
}

/// How long a packet takes at the rate that arrived, in seconds.
fn packet_time(trial: &Trial) -> Option<f64> {
    let rate = trial.received_rate.map(BitRate::as_f64)?;
    (rate > 0.0).then_some(trial.payload_bytes?.as_f64() * 8.0 / rate)
}

/// The median delay above the least, in seconds.
fn median_wait(trial: &Trial) -> Option<f64> {
    let delay = trial.delay().filter(|delay| delay.of == DelayOf::Pdv)?;
    Some(Duration::from_nanos(delay.p50_ns?).as_secs_f64())
}

fn least_to_longest(trial: &Trial) -> Option<f64> {
    let longest = Duration::from_nanos(trial.delay()?.p99_ns?).as_secs_f64();
    (longest > 0.0).then_some(least_wait(trial)? / longest)
}
