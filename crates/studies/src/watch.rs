//! What a command tells while it goes on: events for a progress bar or a JSON stream.

use linerate_model::Ratio;
use linerate_model::run::{Host, RunKind, Trial};
use linerate_report::LiveInterval;
use std::time::Duration;

/// Something that happened during a run.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A run begins.
    Began {
        /// Its kind.
        kind: RunKind,
        /// What it is about.
        title: &'a str,
        /// The hosts that take part, as far as known.
        hosts: &'a [Host],
    },
    /// More trials follow a run: probes of what limits it, or an experiment.
    Follows {
        /// The run's kind.
        kind: RunKind,
        /// What they are for.
        title: &'a str,
    },
    /// How busy each core of both ends was in the last interval, in core order; empty where it is not told.
    Cores {
        /// This host's.
        here: &'a [Ratio],
        /// The peer's.
        there: &'a [Ratio],
    },
    /// A trial goes on.
    Progress {
        /// Share of the run that is done, as far as known, 0 to 1.
        share: f64,
        /// One line for people.
        text: &'a str,
        /// Time since the trial's start.
        elapsed: Duration,
    },
    /// An interval of a single test ended.
    Interval(&'a LiveInterval),
    /// A trial ended.
    Trial(&'a Trial),
    /// Something the user should know, which the result says too or which takes nothing from it.
    Note(&'a str),
    /// Something of the result that only this tells, such as what was left out of it.
    Warning(&'a str),
    /// A run ended.
    Ended,
}

/// Receives events. Called on the thread that runs the command.
pub trait Watcher {
    /// Takes one event.
    fn event(&mut self, event: Event<'_>);
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watcher for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// Maps a part's progress into the whole's, and keeps the part's begin and end to itself.
pub(crate) struct ScaledWatcher<'a> {
    pub(crate) inner: &'a mut dyn Watcher,
    pub(crate) name: &'a str,
    pub(crate) offset: f64,
    pub(crate) scale: f64,
}

impl Watcher for ScaledWatcher<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Progress {
                share,
                text,
                elapsed,
            } => {
                let text = format!("{}: {text}", self.name);
                let share = self.offset + share * self.scale;
                self.inner.event(Event::Progress {
                    share,
                    text: &text,
                    elapsed,
                });
            }
            Event::Began { .. } | Event::Follows { .. } | Event::Interval(_) | Event::Ended => {}
            other => self.inner.event(other),
        }
    }
}
