//! State of the test under way.

use super::message::{Role, TestNumber};
use crate::session::Limits;
use crate::steps::drain;
use linerate_model::PacketCount;
use linerate_model::spec::{Direction, MAX_DURATION, Side, Stop, TestSpec};
use std::time::Duration;

/// State of the test under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Test {
    pub(super) number: u32,
    pub(super) streams: u16,
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// How long it takes, warm-up included.
    pub(super) time: Duration,
    /// How often it is counted.
    pub(super) interval: Duration,
    /// Longest that traffic may take before something must be wrong.
    pub(super) allowed: Duration,
    pub(super) connected: Both,
    /// Which ends' senders have stopped.
    pub(super) finished: Both,
    pub(super) reported: Both,
    pub(super) stopped: Both,
}

/// Something that each end does once per test.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Both {
    pub(super) here: bool,
    pub(super) there: bool,
}

impl Both {
    pub(super) const fn done(self) -> bool {
        self.here && self.there
    }
}

impl Test {
    pub(super) fn new(number: u32, spec: &TestSpec, role: Role, limits: &Limits) -> Self {
        let forward = spec.direction != Direction::Reverse;
        let reverse = spec.direction != Direction::Forward;
        let (sends, receives) = match role {
            Role::Client => (forward, reverse),
            Role::Server => (reverse, forward),
        };
        let time = match spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => limits.max_duration.min(MAX_DURATION),
        };
        let time = time.saturating_add(spec.warm_up);
        Self {
            number,
            streams: spec.traffic_threads(),
            sends,
            receives,
            time,
            interval: spec.interval,
            allowed: time.saturating_add(drain(time)),
            ..Self::default()
        }
    }

    /// A request that is counted as a test.
    pub(super) fn without_traffic(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// How long it may take a server to make it with another, with a few steps of `timeout` before and after the traffic.
    pub(super) fn delegated(&self, timeout: Duration) -> Duration {
        self.allowed.saturating_add(timeout.saturating_mul(3))
    }

    /// The sides this end plays.
    pub(super) fn sides(&self) -> Vec<Side> {
        let sender = self.sends.then_some(Side::Sender);
        let receiver = self.receives.then_some(Side::Receiver);
        sender.into_iter().chain(receiver).collect()
    }

    /// Whether there is one figure per stream.
    pub(super) fn counts_every_stream(&self, sent: &[PacketCount]) -> bool {
        sent.len() == usize::from(self.streams)
    }

    pub(super) const fn number(&self) -> TestNumber {
        TestNumber { test: self.number }
    }
}
