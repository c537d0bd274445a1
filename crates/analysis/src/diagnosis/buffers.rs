//! Twice a socket's buffer: where the window or the buffer limits, the rate follows it.

use super::rate::{RATE_ANSWERS, TCP_COST, changed_test, describe_rate, read_rate, relieved};
use super::suspects::Suspect;
use super::{Compared, Probe};
use crate::experiment::{NotRun, took_effect};
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::TestSpec;
use std::time::Duration;

pub(super) struct ReceiveBuffer;
pub(super) struct SendBuffer;

/// How often twice the buffer carries a quarter more, if the buffer is what limits: the system may not give it, or the
/// next limit be near.
const FOLLOWS: f64 = 0.85;

/// Says nothing where the system gave no larger buffer.
fn read_if_given(change: Change, compared: &Compared<'_>) -> Vec<usize> {
    match took_effect(change, compared.baseline, compared.changed) {
        Ok(()) => read_rate(compared),
        Err(_) => Vec::new(),
    }
}

impl Probe for ReceiveBuffer {
    fn change(&self) -> Change {
        Change::ReceiveBuffer { factor: 2.0 }
    }

    fn cost(&self) -> Duration {
        TCP_COST
    }

    fn answers(&self) -> usize {
        RATE_ANSWERS
    }

    fn likelihood(&self, suspect: Suspect, answer: usize) -> f64 {
        relieved(suspect, Suspect::ReceiverWindow, FOLLOWS)[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        read_if_given(self.change(), compared)
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        describe_rate("With twice the receive buffer", compared)
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        changed_test(run, baseline, self.change())
    }
}

impl Probe for SendBuffer {
    fn change(&self) -> Change {
        Change::SendBuffer { factor: 2.0 }
    }

    fn cost(&self) -> Duration {
        TCP_COST
    }

    fn answers(&self) -> usize {
        RATE_ANSWERS
    }

    fn likelihood(&self, suspect: Suspect, answer: usize) -> f64 {
        relieved(suspect, Suspect::SenderBuffer, FOLLOWS)[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        read_if_given(self.change(), compared)
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        describe_rate("With twice the send buffer", compared)
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        changed_test(run, baseline, self.change())
    }
}
