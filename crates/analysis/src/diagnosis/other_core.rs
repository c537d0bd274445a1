//! A traffic thread on the core that was least busy: one that shared its core with others runs freely there.

use super::rate::{RATE_ANSWERS, TCP_COST, changed_test, describe_rate, read_rate, relieved};
use super::suspects::Suspect;
use super::{Compared, Probe};
use crate::experiment::NotRun;
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::{Side, TestSpec};
use std::time::Duration;

pub(super) struct OtherCore(Side);

impl OtherCore {
    pub(super) const SENDER: Self = Self(Side::Sender);
    pub(super) const RECEIVER: Self = Self(Side::Receiver);
}

/// A CPU limits for other reasons than a neighbour on its core too: a quota, or its own speed.
const FOLLOWS: f64 = 0.35;

impl Probe for OtherCore {
    fn change(&self) -> Change {
        Change::OtherCore { side: self.0 }
    }

    fn cost(&self) -> Duration {
        TCP_COST
    }

    fn answers(&self) -> usize {
        RATE_ANSWERS
    }

    fn likelihood(&self, suspect: Suspect, answer: usize) -> f64 {
        let cpu = match self.0 {
            Side::Sender => Suspect::SenderCpu,
            Side::Receiver => Suspect::ReceiverCpu,
        };
        relieved(suspect, cpu, FOLLOWS)[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        read_rate(compared)
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        let change = match self.0 {
            Side::Sender => "With the sender's thread on another core",
            Side::Receiver => "With the receiver's thread on another core",
        };
        describe_rate(change, compared)
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        changed_test(run, baseline, self.change())
    }
}
