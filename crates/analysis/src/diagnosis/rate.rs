//! Probes of TCP itself: the run's own test with one change, and whether its rate fell, stayed or rose.

use super::class::classes;
use super::{Probe, ProbeComparison};
use crate::experiment::{NotRun, changed_test, short_test, took_effect};
use crate::readings::whole_intervals;
use crate::statistics::{USUAL_CONFIDENCE, mean};
use crate::thresholds::rate::{FALLEN, LOSSY, RISEN};
use linerate_model::Ratio;
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::{Pace, Side, TestSpec, Transport};
use std::time::Duration;

/// The run's own test, short, with one change.
pub(super) struct RateProbe {
    id: &'static str,
    change: Change,
    /// The change, to follow "with".
    said: &'static str,
}

impl RateProbe {
    const fn new(id: &'static str, change: Change, said: &'static str) -> Self {
        Self { id, change, said }
    }
}

/// What holds each stream back, and not all of them together, carries more in four times as many.
pub(super) const STREAMS: RateProbe = RateProbe::new(
    "streams",
    Change::Streams { factor: 4 },
    "four times the streams",
);

/// Where the window limits, the rate follows it.
pub(super) const RECEIVE_BUFFER: RateProbe = RateProbe::new(
    "receive-buffer",
    Change::ReceiveBuffer { factor: 4.0 },
    "four times the receive buffer",
);

/// Room for bursts, and for a reader's pauses; a reader that is too slow for good fills any buffer.
pub(super) const DATAGRAM_BUFFER: RateProbe = RateProbe::new(
    "receive-buffer",
    Change::ReceiveBuffer { factor: 8.0 },
    "eight times the receive buffer",
);

/// Where the buffer limits, the rate follows it.
pub(super) const SEND_BUFFER: RateProbe = RateProbe::new(
    "send-buffer",
    Change::SendBuffer { factor: 4.0 },
    "four times the send buffer",
);

/// A thread that shared its core with others runs freely on the core that was least busy. A CPU limits for other reasons
/// than a neighbour on its core too: a quota, or its own speed.
pub(super) const SENDER_CORE: RateProbe = RateProbe::new(
    "sender-core",
    Change::OtherCore { side: Side::Sender },
    "the sender's thread on another core",
);

/// The receiving thread on the core that was least busy: it rises if a neighbour on its core was the limit.
pub(super) const RECEIVER_CORE: RateProbe = RateProbe::new(
    "receiver-core",
    Change::OtherCore {
        side: Side::Receiver,
    },
    "the receiver's thread on another core",
);

/// Half the payload at the same load: twice the packets, for which hosts pay, and a path by their headers only.
pub(super) const HALF_PAYLOAD: RateProbe = RateProbe::new(
    "payload",
    Change::Payload { factor: 0.5 },
    "twice as many packets of half the payload",
);

/// Many datagrams per system call: each costs both hosts less, and the path carries what it carried.
pub(super) const AGGREGATION: RateProbe = RateProbe::new(
    "aggregation",
    Change::Aggregation { on: true },
    "many datagrams per system call",
);

impl Probe for RateProbe {
    fn id(&self) -> &'static str {
        self.id
    }

    fn change(&self) -> Change {
        self.change
    }

    fn cost(&self) -> Duration {
        COST
    }

    fn classes(&self) -> &'static [&'static str] {
        RateAnswer::IDS
    }

    /// Nothing where the change had no effect: the system gave no larger buffer.
    fn read(&self, compared: &ProbeComparison<'_>) -> Vec<usize> {
        match took_effect(self.change, compared.baseline, compared.changed) {
            Ok(()) => read_rate(compared),
            Err(_) => Vec::new(),
        }
    }

    fn describe(&self, compared: &ProbeComparison<'_>) -> String {
        let rates = compared
            .changed
            .received_rate
            .zip(compared.baseline.received_rate);
        match rates.filter(|_| compared.changed.valid) {
            Some((changed, before)) => {
                format!("With {}, {changed} arrived instead of {before}.", self.said)
            }
            None => format!("A trial with {} could not be measured.", self.said),
        }
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        let mut test = short_test(run)?;
        if let (Transport::Udp, Some(load)) = (baseline.transport, baseline.intended_load) {
            test.work.set_pace(Pace::At(load));
        }
        let (_, changed) = changed_test(test, self.change, baseline)?;
        Ok(changed)
    }
}

/// A trial of TCP with its warm-up on a path of ordinary length.
const COST: Duration = Duration::from_secs(2);

classes! {
    /// Whether the rate fell, stayed, or rose.
    RateAnswer {
        Fell "fell", Stayed "stayed", Rose "rose",
        /// Of datagrams: half of what was lost, or less, at no lower a rate.
        LostLess "lost-less",
    }
}

/// Whether the rate rose, stayed or fell.
fn read_rate(compared: &ProbeComparison<'_>) -> Vec<usize> {
    if !compared.changed.valid {
        return Vec::new();
    }
    let Some(ratio) = compared.rate_ratio() else {
        return Vec::new();
    };
    if has_less_loss(compared) {
        return vec![RateAnswer::LostLess as usize];
    }
    // What the rate may be beside what chance made it: answers that both agree with are not told apart.
    let chance = (2.0 * spread(compared.baseline).hypot(spread(compared.changed))).exp();
    let answer = |ratio: f64| match ratio {
        ratio if ratio >= RISEN => RateAnswer::Rose,
        ratio if ratio <= FALLEN => RateAnswer::Fell,
        _ => RateAnswer::Stayed,
    };
    let (lowest, highest) = (
        answer(ratio / chance) as usize,
        answer(ratio * chance) as usize,
    );
    let mut answers: Vec<usize> = (lowest..=highest).collect();
    if answers == [RateAnswer::Stayed as usize] && is_capped(compared) {
        answers.push(RateAnswer::Rose as usize);
    }
    answers
}

/// Whether no more was intended than a rate that would not count as risen.
fn is_capped(compared: &ProbeComparison<'_>) -> bool {
    let intended = compared.changed.intended_load;
    let reach = intended.zip(compared.baseline.received_rate);
    reach.is_some_and(|(intended, before)| intended.as_f64() < before.as_f64() * RISEN)
}

/// Whether a change at the same load halved the loss of datagrams, which may be a small part of their rate.
fn has_less_loss(compared: &ProbeComparison<'_>) -> bool {
    let loss = |trial: &Trial| {
        let loss = trial.loss_ratio().map(Ratio::get);
        loss.filter(|_| trial.transport == Transport::Udp)
    };
    let fell = compared.rate_ratio().is_some_and(|ratio| ratio < 1.0);
    let both = loss(compared.baseline).zip(loss(compared.changed));
    both.is_some_and(|(before, after)| !fell && before >= LOSSY && after <= before / 2.0)
}

/// Standard error of the logarithm of a trial's rate, from its intervals.
fn spread(trial: &Trial) -> f64 {
    let rates = whole_intervals(trial).filter_map(|interval| interval.received_rate);
    let logs: Vec<f64> = rates
        .filter(|rate| rate.bps() > 0)
        .map(|rate| rate.as_f64().ln())
        .collect();
    mean(&logs, USUAL_CONFIDENCE)
        .ok()
        .and_then(|mean| mean.interval)
        .map_or(0.0, |interval| {
            // Half a 95 % interval is about two standard errors.
            (interval.high - interval.low) / 4.0
        })
}
