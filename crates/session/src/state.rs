//! State of a session's test, with its resources at each stage.

use crate::endpoints::{DataStreams, Endpoints};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;

/// State of a session's test.
pub(crate) enum State {
    /// Client: requested; its data streams are not open.
    Asked {
        spec: TestSpec,
        /// Streams of the previous test, for this one; empty unless its protocol keeps them.
        kept: DataStreams,
    },
    /// No test.
    Idle { kept: DataStreams },
    /// Data streams are open, or are being opened.
    Open(Test),
    /// This end's endpoints have ended and reported; the session may exchange more datagrams over the data streams.
    Reported(Test),
    /// Traffic flows.
    Running {
        test: Test,
        /// When the next progress is due.
        next_progress: MonoInstant,
    },
}

/// A test with data streams.
pub(crate) struct Test {
    pub(crate) spec: TestSpec,
    pub(crate) endpoints: Endpoints,
}

impl State {
    /// No test yet.
    pub(crate) const IDLE: Self = Self::Idle {
        kept: DataStreams {
            tcp: Vec::new(),
            udp: Vec::new(),
        },
    };

    /// The test, if it has data streams.
    pub(crate) const fn test(&self) -> Option<&Test> {
        match self {
            Self::Open(test) | Self::Reported(test) | Self::Running { test, .. } => Some(test),
            Self::Asked { .. } | Self::Idle { .. } => None,
        }
    }

    /// The test, if it has data streams, mutable.
    pub(crate) const fn test_mut(&mut self) -> Option<&mut Test> {
        match self {
            Self::Open(test) | Self::Reported(test) | Self::Running { test, .. } => Some(test),
            Self::Asked { .. } | Self::Idle { .. } => None,
        }
    }

    /// When the next progress is due, while traffic flows.
    pub(crate) const fn next_progress(&self) -> Option<MonoInstant> {
        match self {
            Self::Running { next_progress, .. } => Some(*next_progress),
            _ => None,
        }
    }

    /// Marks that traffic of the open test flows from `now` on.
    pub(crate) fn run(&mut self, now: MonoInstant) {
        *self = match std::mem::replace(self, Self::IDLE) {
            Self::Open(test) | Self::Running { test, .. } => Self::Running {
                next_progress: now.after(test.spec.interval),
                test,
            },
            other => other,
        };
    }

    /// Marks that the endpoints of the test have reported.
    pub(crate) fn report(&mut self) {
        *self = match std::mem::replace(self, Self::IDLE) {
            Self::Running { test, .. } => Self::Reported(test),
            other => other,
        };
    }

    /// Stops what runs; returns the streams for another test.
    pub(crate) fn end(&mut self) -> DataStreams {
        match std::mem::replace(self, Self::IDLE) {
            Self::Asked { kept, .. } | Self::Idle { kept } => kept,
            Self::Open(mut test) | Self::Reported(mut test) | Self::Running { mut test, .. } => {
                test.endpoints.stop();
                DataStreams::default()
            }
        }
    }
}
