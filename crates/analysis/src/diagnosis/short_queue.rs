//! A queue too short for one TCP stream: after each loss its window is less than the path holds, and the link idles.
//!
//! With the path's rate C, its round trip without a queue M and a queue that takes Q to drain, a loss comes when C·(M + Q) is
//! in flight. The window is then b times that, with b the congestion control's own: 0.7 of CUBIC, 0.5 of Reno. It fills the
//! link from the moment on only where b·(M + Q) ≥ M, so of a queue shorter than M·(1/b − 1), which is 0.43 or 1 round
//! trip, the rate falls to C·b·(M + Q)/M after each loss, and lies between that and C.
//!
//! # References
//! - CUBIC's multiplicative decrease, 0.7: RFC 9438 §4.6; Reno's, 0.5: RFC 5681 §3.1
//! - Buffers of one stream: Appenzeller, Keslassy and others, 2004

use super::outcome::{self, Outcome, ReferenceTrials};
use crate::causes::words;
use crate::readings::carried_rate;
use linerate_model::run::{Change, DelayOf, Run, Trial};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

/// A short queue, and what it does to the one stream of a trial.
pub(super) struct ShortQueue {
    /// Time that it takes to drain, in nanoseconds.
    queue: f64,
    /// Round trip without a queue, in nanoseconds.
    round_trip: f64,
    control: Control,
    /// What the path lets through at most, in bit/s of payload.
    most: f64,
    /// What the stream carried, likewise.
    carried: f64,
}

/// A congestion control that answers a loss with a share of its window.
#[derive(Clone, Copy)]
struct Control {
    name: &'static str,
    /// What is left of the window.
    decrease: f64,
    rfc: &'static str,
}

impl Control {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "cubic" => Some(Self {
                name: "CUBIC",
                decrease: 0.7,
                rfc: "RFC 9438",
            }),
            "reno" => Some(Self {
                name: "Reno",
                decrease: 0.5,
                rfc: "RFC 5681",
            }),
            _ => None,
        }
    }

    /// Shortest queue that keeps the link busy, as a share of the round trip.
    fn least_queue(self) -> f64 {
        self.decrease.recip() - 1.0
    }
}

impl ShortQueue {
    /// `None` unless `limited` is one stream of TCP that sent segments again, and a probe of `run` overflowed a queue shorter
    /// than its congestion control needs.
    pub(super) fn find(run: &Run, limited: &Trial) -> Option<Self> {
        if limited.transport != Transport::Tcp || limited.streams != Some(1) {
            return None;
        }
        let tcp = limited.tcp()?;
        let control = Control::from_name(tcp.congestion_control.as_deref()?)?;
        tcp.retransmitted_segments.filter(|again| *again > 0)?;
        let round_trip = nanos(tcp.min_rtt_ns?);
        let (queue, most) = run
            .probes
            .iter()
            .filter(|made| made.trial.direction == limited.direction)
            .filter_map(|made| match made.change {
                Change::Datagrams { factor } if factor > 1.0 => overflowed(&made.trial),
                _ => None,
            })
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let short = Self {
            queue,
            round_trip,
            control,
            most,
            carried: carried_rate(limited)?.as_f64(),
        };
        (queue < control.least_queue() * round_trip).then_some(short)
    }

    /// What is left of the link's rate right after a loss.
    fn least(&self) -> f64 {
        self.control.decrease * (self.round_trip + self.queue) / self.round_trip
    }

    /// Whether the stream's rate is one that the queue alone makes.
    pub(super) fn explains(&self) -> bool {
        self.carried >= self.least() * self.most && self.carried <= self.most
    }

    /// In a sentence.
    pub(super) fn describe(&self) -> String {
        let Control {
            name,
            decrease,
            rfc,
        } = self.control;
        format!(
            "The queue of {} is shorter than {} of the round trip of {}: after each loss {name} (× {decrease}, {rfc}) has less in flight than the path holds, so that one stream gets between {} and 100 % of the {} that pass.",
            words::time(self.queue),
            Ratio::clamped(self.control.least_queue()),
            words::time(self.round_trip),
            Ratio::clamped(self.least()),
            BitRate::from_f64(self.most)
        )
    }
}

/// Time that the queue took to drain which datagrams overflowed, in nanoseconds, and what passed it in bit/s.
fn overflowed(trial: &Trial) -> Option<(f64, f64)> {
    let intended = trial.intended_load.map(BitRate::as_f64);
    let outcome = outcome::read(trial, intended, &ReferenceTrials::default())?;
    let delay = trial.delay().filter(|delay| delay.of == DelayOf::Pdv)?;
    (outcome == Outcome::Queued).then_some(())?;
    Some((nanos(delay.p50_ns?), carried_rate(trial)?.as_f64()))
}

fn nanos(time: u64) -> f64 {
    Duration::from_nanos(time).as_secs_f64() * 1e9
}
