//! How far the test of a session is, and what it has at each stage.

use crate::endpoints::{DataStreams, Endpoints};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;

/// How far the test of a session is.
pub(crate) enum State {
    /// Client: asked for; its data streams are not open.
    Asked {
        spec: TestSpec,
        /// Streams of the test before, for this one; none unless its protocol keeps them.
        kept: DataStreams,
    },
    /// There is none.
    Idle { kept: DataStreams },
    /// Data streams are open, or are being opened.
    Open(Test),
    /// This end's endpoints are done and have been reported; the session may say more over the data streams.
    Reported(Test),
    /// Traffic flows.
    Running {
        test: Test,
        /// When the session is told the progress again.
        next_progress: MonoInstant,
    },
}

/// A test with data streams.
pub(crate) struct Test {
    pub(crate) spec: TestSpec,
    pub(crate) endpoints: Endpoints,
}

impl State {
    /// Nothing was before.
    pub(crate) const IDLE: Self = Self::Idle {
        kept: DataStreams {
            tcp: Vec::new(),
            udp: Vec::new(),
        },
    };

    /// The test that has data streams.
    pub(crate) const fn test(&self) -> Option<&Test> {
        match self {
            Self::Open(test) | Self::Reported(test) | Self::Running { test, .. } => Some(test),
            Self::Asked { .. } | Self::Idle { .. } => None,
        }
    }

    /// The test that has data streams.
    pub(crate) const fn test_mut(&mut self) -> Option<&mut Test> {
        match self {
            Self::Open(test) | Self::Reported(test) | Self::Running { test, .. } => Some(test),
            Self::Asked { .. } | Self::Idle { .. } => None,
        }
    }

    /// When the session is told the progress again, while traffic flows.
    pub(crate) const fn next_progress(&self) -> Option<MonoInstant> {
        match self {
            Self::Running { next_progress, .. } => Some(*next_progress),
            _ => None,
        }
    }

    /// Traffic of an open test flows from `now` on.
    pub(crate) fn run(&mut self, now: MonoInstant) {
        *self = match std::mem::replace(self, Self::IDLE) {
            Self::Open(test) | Self::Running { test, .. } => Self::Running {
                next_progress: now.after(test.spec.interval),
                test,
            },
            other => other,
        };
    }

    /// The endpoints of the test under way have been reported.
    pub(crate) fn report(&mut self) {
        *self = match std::mem::replace(self, Self::IDLE) {
            Self::Running { test, .. } => Self::Reported(test),
            other => other,
        };
    }

    /// Stops what runs; the streams that are there for another test.
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
