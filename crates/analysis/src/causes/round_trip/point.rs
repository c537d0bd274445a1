//! One measured point: round trips of one size, waited for in one way, at one rate, beside one load.

use crate::assemble::lateness_in_tail;
use crate::causes::words;
use linerate_model::run::{CpuSide, Delay, DelayOf, Trial};
use linerate_model::spec::Side;
use linerate_model::spec::WaitMode;

/// What was timed, in words.
pub(super) const fn timed(what: DelayOf) -> &'static str {
    match what {
        DelayOf::HalfRoundTrip => "half round trip",
        DelayOf::ResponseTime => "response time",
        DelayOf::RoundTrip => "round trip",
        DelayOf::Lateness => "lateness",
        DelayOf::OneWay => "one-way delay",
        DelayOf::Part => "part of a round trip",
        DelayOf::Pdv => "delay variation",
    }
}

/// A trial with a median.
pub(super) struct Point<'a> {
    pub(super) trial: &'a Trial,
    delay: &'a Delay,
    /// Median, in nanoseconds.
    pub(super) p50: f64,
    /// Whether the kernel's stamps were taken, which cost time.
    pub(super) is_stamped: bool,
}

impl<'a> Point<'a> {
    /// `None` for a trial that timed nothing.
    pub(super) fn from_trial(trial: &'a Trial) -> Option<Self> {
        let delay = trial.delay()?;
        Some(Self {
            trial,
            delay,
            p50: words::nanos(delay.p50_ns?),
            is_stamped: trial.decomposition().is_some(),
        })
    }

    /// What was timed.
    pub(super) const fn what(&self) -> &'static str {
        timed(self.delay.of)
    }

    /// What it is called: its label, or its number.
    pub(super) fn name(&self) -> String {
        let label = self.trial.label.as_ref();
        label.map_or_else(
            || format!("trial {}", self.trial.index),
            |label| format!("“{label}”"),
        )
    }

    /// `13.4 µs (p99 23.5 µs)`.
    pub(super) fn quantiles(&self) -> String {
        let p99 = self.delay.p99_ns;
        let p99 = p99.map_or_else(|| "unknown".to_owned(), |ns| words::time(words::nanos(ns)));
        let late = lateness_in_tail(self.trial).map_or_else(String::new, |late| {
            format!(
                ", where the sender itself was late by {}",
                words::time(late)
            )
        });
        format!("{} (p99 {p99}{late})", words::time(self.p50))
    }

    /// Mean, in nanoseconds.
    pub(super) const fn mean(&self) -> Option<f64> {
        self.delay.mean_ns
    }

    /// The wait mode's name; the wrapper is part of it.
    pub(super) fn mode(&self) -> Option<String> {
        let conditions = self.trial.conditions()?;
        let wrapped = if conditions.wrapped { ", wrapped" } else { "" };
        Some(format!("{}{wrapped}", conditions.mode))
    }

    /// Whether it was the kernel's sockets that were waited on in this way.
    pub(super) fn waits(&self, wait: WaitMode) -> bool {
        let conditions = self.trial.conditions();
        conditions.is_some_and(|c| c.wait == wait && c.datapath == "sockets" && !c.wrapped)
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.trial
            .conditions()
            .is_some_and(|conditions| conditions.load.is_some())
    }

    /// Whether nothing but the load tells the two apart.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is_alike_but_for_the_mode(other) && self.mode() == other.mode()
    }

    /// Whether both have the same size, rate and stamps; what else was on the path is not looked at.
    pub(super) fn is_alike_but_for_the_mode(&self, other: &Self) -> bool {
        let rate = |point: &Self| {
            let requests = point.trial.requests();
            requests.map(|requests| requests.intended_rate)
        };
        self.trial.transport == other.trial.transport
            && self.trial.payload_bytes == other.trial.payload_bytes
            && self.is_stamped == other.is_stamped
            && rate(self) == rate(other)
    }

    /// CPU time of both ends' traffic threads per round trip, in nanoseconds; `None` if an end does not tell.
    pub(super) fn cpu_time(&self) -> Option<f64> {
        self.of_both(|side| side.thread_ns_per_transaction)
    }

    /// Cores that both ends' traffic threads kept busy; `None` if an end does not tell.
    pub(super) fn cores(&self) -> Option<f64> {
        self.of_both(|side| side.thread_cores)
    }

    fn of_both(&self, part: impl Fn(&CpuSide) -> Option<f64>) -> Option<f64> {
        let of = |side| self.trial.cpu_of(side).and_then(&part);
        Some(of(Side::Sender)? + of(Side::Receiver)?)
    }

    /// The medians of its turns, in order, in nanoseconds.
    pub(super) fn turns(&self) -> Vec<f64> {
        let turns = self.trial.turns().map_or(&[][..], |turns| &turns.each);
        turns
            .iter()
            .filter_map(|turn| turn.p50_ns.map(words::nanos))
            .collect()
    }
}
