//! Whom to measure, and how to reach it.

use crate::address::{IpChoice, PeerAddress};
use linerate_boards::{Boards, HeldLink, hold_link};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::link::EmulatedLink;
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
    /// What a link element does before the peer while it is asked, which must be an emulated board; `None` leaves the link
    /// as it is.
    pub link: Option<EmulatedLink>,
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
            link: None,
            key: None,
            login: None,
            far_output: false,
        }
    }

    /// Has the link element that is asked for, as long as the value lives.
    pub(crate) fn hold_link(&self) -> Result<Option<HeldLink>, Failure> {
        let Some(link) = self.link else {
            return Ok(None);
        };
        let Some(name) = self.far.board() else {
            return Err(no_element(&self.far));
        };
        hold_link(&Boards::of_user()?, name, link).map(Some)
    }

    /// The link element before the peer, as it is now.
    pub(crate) fn link_now(&self) -> Option<EmulatedLink> {
        let name = self.far.board()?;
        Boards::of_user().ok()?.reach(name).ok()?.link
    }

    /// Gives up after this silence, whether the peer has said anything before or not.
    pub fn set_timeout(&mut self, timeout: Duration) {
        (self.timeout, self.first_answer) = (timeout, timeout);
    }
}

/// Why a peer has no link element.
pub fn no_element(peer: &PeerAddress) -> Failure {
    let message = format!(
        "link: only an emulated board (board://NAME) has a link element before it, and {peer} is none; set the rate of its \
         own link there, such as with `ethtool -s eth0 speed 100 autoneg off`, and leave \
         link out; of a plan with series, --series measures the others"
    );
    Failure::new(ExitCode::Plan, message)
}
