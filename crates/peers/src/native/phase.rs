//! Where a session is.

use crate::moves::states;

states! {
    /// Where a session is. The same names at both ends, so that two logs can be laid side by side.
    pub(super) enum State {
        /// Waiting for the peer's hello.
        Greeting = "greeting",
        /// The server's owner decides whether there is a place for the client.
        Admitting = "admitting",
        /// Between tests.
        Idle = "idle",
        /// The server makes a test with another server.
        Delegating = "delegating",
        /// The server looks at an interface.
        Describing = "describing",
        /// The server decides on a lease.
        Leasing = "leasing",
        /// The server makes ready.
        Preparing = "preparing",
        /// Data streams are being opened.
        Connecting = "connecting",
        /// The client has asked to start.
        Starting = "starting",
        /// Traffic flows.
        Running = "running",
        /// The server has reported and waits for the client to be done.
        Reporting = "reporting",
        /// The test ends early; both ends drop it.
        Stopping = "stopping",
        /// Over.
        Closed = "closed",
    }
    with a test: Delegating | Describing | Leasing | Preparing | Connecting | Starting | Running | Reporting | Stopping;
}

impl State {
    /// Whether both ends have exchanged hellos and the session is not closed.
    pub(super) const fn is_greeted(self) -> bool {
        !matches!(self, Self::Greeting | Self::Admitting | Self::Closed)
    }

    /// Maximum length of the next message of the peer, bytes.
    pub(super) const fn most_bytes(self) -> u32 {
        match self {
            Self::Greeting => 64 * 1024,
            _ => linerate_wire::frame::MAX_REPORT_BODY,
        }
    }
}
