//! How the messages of kind latency are asked.

use crate::run::{Iterations, LatencyPlan, Load, Mode, OpenLoop, RequestRate, Wrap};
use linerate_model::spec::{Arrival, DEFAULT_ANSWER_TIMEOUT, Stall, TestSpec, Transport};
use linerate_model::{PacketRate, Quantile};
use std::time::Duration;

/// What a plan says of messages, as far as it does.
#[derive(Default)]
pub(super) struct MessageDraft {
    pub(super) transport: Option<Transport>,
    pub(super) mode: Option<Mode>,
    /// One after the other if absent.
    pub(super) rate: Option<PacketRate>,
    pub(super) curve: Option<RequestRate>,
    pub(super) arrival: Option<Arrival>,
    pub(super) answer_timeout: Option<Duration>,
    pub(super) load: Option<Load>,
    pub(super) percentiles: Option<Vec<Quantile>>,
    pub(super) iterations: Iterations,
    pub(super) warm_up_iterations: Option<u64>,
    pub(super) rounds: Option<u32>,
    pub(super) decompose: bool,
    pub(super) rpm: bool,
    pub(super) wrap: Option<Wrap>,
    pub(super) stall: Option<Stall>,
}

/// What `rpm` takes the place of.
const NOT_WITH_RPM: [&str; 7] = [
    "rate",
    "curve",
    "load",
    "transport",
    "sizes",
    "payload",
    "wait",
];

impl MessageDraft {
    /// The ping-pong `spec`, asked so. `has` says whether the plan gives a setting.
    pub(super) fn of(
        self,
        spec: &TestSpec,
        has: &dyn Fn(&str) -> bool,
    ) -> Result<LatencyPlan, String> {
        self.check(has)?;
        let usual = LatencyPlan::from_spec(spec);
        let rate = self.rate.map(RequestRate::At).or(self.curve);
        Ok(LatencyPlan {
            transport: self.transport.unwrap_or(usual.transport),
            modes: self.mode.map_or(usual.modes, |mode| vec![mode]),
            open: rate.map(|rate| OpenLoop {
                rate,
                arrival: self.arrival.unwrap_or_default(),
                answer_timeout: self.answer_timeout.unwrap_or(DEFAULT_ANSWER_TIMEOUT),
            }),
            load: self.load,
            percentiles: self.percentiles.unwrap_or(usual.percentiles),
            transactions: self.iterations.bounds(self.warm_up_iterations),
            rounds: self.rounds.or(usual.rounds),
            decompose: self.decompose,
            rpm: self.rpm,
            wrap: self.wrap,
            stall: self.stall,
            ..usual
        })
    }

    /// What excludes each other, as on the command line.
    fn check(&self, has: &dyn Fn(&str) -> bool) -> Result<(), String> {
        let is_open = self.rate.is_some() || self.curve.is_some();
        if !is_open && (self.arrival.is_some() || self.answer_timeout.is_some()) {
            return Err("arrival and answer-timeout require rate or curve".to_owned());
        }
        if self.rate.is_some() && self.curve.is_some() {
            return Err("rate and curve exclude each other: leave one out".to_owned());
        }
        let taken = NOT_WITH_RPM.into_iter().find(|key| self.rpm && has(key));
        if let Some(key) = taken {
            return Err(format!("rpm takes the place of {key}: leave one out"));
        }
        let is_in_turns = self.wrap.is_some() || self.rounds.is_some_and(|rounds| rounds > 1);
        if (is_open || self.rpm) && is_in_turns {
            return Err(
                "requests at a rate are measured at once and as they are: leave out wrap and rounds, or rate, curve and rpm"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
