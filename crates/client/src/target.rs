//! Whom to measure, and how to reach it.

use crate::address::{IpChoice, PeerAddress};
use linerate_peers::key::Key;
use linerate_peers::{EMULATED_TIMEOUT, FIRST_ANSWER, TIMEOUT};
use linerate_session::login::Login;
use std::sync::Arc;
use std::time::Duration;

/// Whom to measure, and how to reach it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The peer.
    pub far: PeerAddress,
    /// IP versions to use.
    pub ip: IpChoice,
    /// Silence after which the peer counts as gone.
    pub timeout: Duration,
    /// The same for a peer that has never said anything.
    pub first_answer: Duration,
    /// Interface whose counters belong to the test; `None` finds the one that carries it.
    pub interface: Option<String>,
    /// The key that the peer asks for.
    pub key: Option<Key>,
    /// The user that the peer asks for, if its protocol has users.
    pub login: Option<Arc<Login>>,
    /// Whether to keep what the peer prints, if its protocol can send that.
    pub far_output: bool,
}

impl Target {
    /// A peer with default options.
    pub fn new(peer: PeerAddress) -> Self {
        let (timeout, first_answer) = if peer.is_board() {
            (EMULATED_TIMEOUT, EMULATED_TIMEOUT)
        } else {
            (TIMEOUT, FIRST_ANSWER)
        };
        Self {
            far: peer,
            ip: IpChoice::Any,
            timeout,
            first_answer,
            interface: None,
            key: None,
            login: None,
            far_output: false,
        }
    }

    /// Gives up after this silence, whether the peer has said anything before or not.
    pub fn set_timeout(&mut self, timeout: Duration) {
        (self.timeout, self.first_answer) = (timeout, timeout);
    }
}
