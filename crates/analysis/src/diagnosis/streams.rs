//! Four times the streams: what holds each stream back, and not all of them together, carries more.

use super::rate::{RATE_ANSWERS, TCP_COST, changed_test, describe_rate, read_rate};
use super::suspects::Suspect;
use super::{Compared, Probe};
use crate::experiment::NotRun;
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::TestSpec;
use std::time::Duration;

pub(super) struct Streams;

/// How many times the streams.
const FACTOR: u16 = 4;

const fn likelihoods(suspect: Suspect) -> [f64; RATE_ANSWERS] {
    match suspect {
        Suspect::PathLoss | Suspect::SenderBuffer | Suspect::ReceiverWindow => [0.02, 0.13, 0.85],
        Suspect::Congestion => [0.03, 0.22, 0.75],
        Suspect::SenderApp => [0.05, 0.35, 0.60],
        Suspect::ReceiverApp => [0.20, 0.45, 0.35],
        Suspect::SenderCpu | Suspect::ReceiverCpu => [0.25, 0.43, 0.32],
        Suspect::Policer => [0.13, 0.74, 0.13],
        Suspect::Link | Suspect::OwnShaper => [0.06, 0.90, 0.04],
    }
}

impl Probe for Streams {
    fn change(&self) -> Change {
        Change::Streams { factor: FACTOR }
    }

    fn cost(&self) -> Duration {
        TCP_COST
    }

    fn answers(&self) -> usize {
        RATE_ANSWERS
    }

    fn likelihood(&self, suspect: Suspect, answer: usize) -> f64 {
        likelihoods(suspect)[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        read_rate(compared)
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        describe_rate("With four times the streams", compared)
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        changed_test(run, baseline, self.change())
    }
}
