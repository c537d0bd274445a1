//! Where a session is.

/// Where a session is. The same names at both ends, so that two logs can be laid side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Waiting for the peer's hello.
    Greeting,
    /// Between tests.
    Idle,
    /// The server makes ready.
    Preparing,
    /// Data streams are being opened.
    Connecting,
    /// The client has asked to start.
    Starting,
    /// Traffic flows.
    Running,
    /// The server has reported and waits for the client to be done.
    Reporting,
    /// The test ends early; both ends drop it.
    Stopping,
    /// Over.
    Closed,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Greeting => "greeting",
            Self::Idle => "idle",
            Self::Preparing => "preparing",
            Self::Connecting => "connecting",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Reporting => "reporting",
            Self::Stopping => "stopping",
            Self::Closed => "closed",
        }
    }

    /// Whether both ends have said hello, and neither goodbye.
    pub(super) const fn is_greeted(self) -> bool {
        !matches!(self, Self::Greeting | Self::Closed)
    }

    /// Whether a test is under way that the peer knows of.
    pub(super) const fn has_test(self) -> bool {
        !matches!(self, Self::Greeting | Self::Idle | Self::Closed)
    }

    /// Longest message the peer may send now.
    pub(super) const fn most_bytes(self) -> u32 {
        match self {
            Self::Greeting => 64 * 1024,
            _ => linerate_wire::frame::MAX_REPORT_BODY,
        }
    }
}
