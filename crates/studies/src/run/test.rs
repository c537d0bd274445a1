//! What is asked for: a test of one of the kinds, and what follows it.

use super::switch::check_device;
use super::{
    After, LatencyPlan, SaturatePlan, SwitchPlan, Wrap, latency, saturate, single, switch,
};
use crate::context::Context;
use anyhow::Result;
use linerate_client::Target;
use linerate_model::consent::Effect;
use linerate_model::exit::Failure;
use linerate_model::run::{Run, RunRequest};
use linerate_model::spec::{Direction, Stop, TestSpec};
use linerate_peers::Tests;
use std::time::Duration;

/// What is measured.
#[derive(Debug, Clone)]
pub enum Test {
    /// One test.
    Single(TestSpec),
    /// Round trips.
    Latency(LatencyPlan),
    /// A search.
    Saturate(SaturatePlan),
    /// What a device between two ports forwards.
    Switch(SwitchPlan),
}

impl Test {
    /// Measures it, and then looks for what limits it. Of round trips nothing would be found.
    pub fn measure(&self, context: &mut Context<'_>, target: &Target, after: After) -> Result<Run> {
        let run = match self {
            Self::Latency(plan) => return latency(context, target, plan),
            Self::Single(spec) => single::sized(context, target, spec, after.payload),
            Self::Saturate(plan) => saturate::sized(context, target, plan, after.payload),
            // It has a peer of its own.
            Self::Switch(plan) => return switch(context, target, plan, after),
        }?;
        after.follow(context, target, run)
    }

    /// Sets the direction of a test that has one.
    #[must_use]
    pub fn turned(mut self, direction: Direction) -> Self {
        match &mut self {
            Self::Single(spec) | Self::Saturate(SaturatePlan { spec, .. }) => {
                spec.direction = direction;
            }
            Self::Latency(_) => {}
            Self::Switch(plan) => plan.directions = vec![direction],
        }
        self
    }

    /// Whether it measures a device between two ports of this host, without a peer.
    pub(crate) const fn is_of_device(&self) -> bool {
        matches!(self, Self::Switch(_))
    }

    /// Refuses a device that this host cannot start.
    pub(crate) fn check_host(&self) -> Result<(), Failure> {
        match self {
            Self::Switch(plan) => check_device(plan),
            Self::Single(_) | Self::Latency(_) | Self::Saturate(_) => Ok(()),
        }
    }

    /// What it starts on this host.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        match self {
            Self::Latency(plan) => {
                let wrapper = plan.wrap.as_ref().map(Wrap::text);
                wrapper.map(Effect::Runs).into_iter().collect()
            }
            Self::Switch(plan) => plan.effects(),
            Self::Single(_) | Self::Saturate(_) => Vec::new(),
        }
    }

    /// Whether it has trials of this direction.
    pub(crate) fn has(&self, direction: Direction) -> bool {
        match self {
            Self::Single(spec) | Self::Saturate(SaturatePlan { spec, .. }) => {
                spec.direction == direction || spec.direction == Direction::Duplex
            }
            Self::Latency(_) => direction == Direction::Forward,
            Self::Switch(plan) => plan.directions.contains(&direction),
        }
    }

    /// How long it takes at most, without what is between two tests.
    pub(crate) fn time(&self) -> Duration {
        let one = |spec: &TestSpec| match spec.stop {
            Stop::After(time) => time + spec.warm_up,
            Stop::Bytes(_) | Stop::Transactions(_) => spec.warm_up,
        };
        match self {
            Self::Single(spec) => one(spec),
            Self::Latency(plan) => {
                let again = u32::from(plan.load.is_some()) + u32::from(plan.decompose);
                plan.specs().iter().map(one).sum::<Duration>() * (1 + again)
            }
            Self::Saturate(plan) => plan.budget,
            Self::Switch(plan) => plan.time(),
        }
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self) -> RunRequest {
        match self {
            Self::Single(spec) => RunRequest::Test { test: spec.clone() },
            Self::Latency(plan) => plan.asked(Tests::Many),
            Self::Saturate(plan) => plan.asked(),
            Self::Switch(plan) => plan.asked(),
        }
    }
}
