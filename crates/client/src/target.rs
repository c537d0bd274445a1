//! Peer of a measurement, with the options to reach it.

use crate::address::{IpChoice, PeerAddress};
use linerate_boards::{Boards, HeldLink, hold_link};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::facts::Facts;
use linerate_model::link::EmulatedLink;
use linerate_observe::{Scope, check_interface};
use linerate_peers::key::Key;
use linerate_peers::{EMULATED_TIMEOUT, FIRST_ANSWER, Fence, TIMEOUT};
use linerate_session::login::Login;
use std::sync::Arc;
use std::time::Duration;

/// Peer of a measurement, with the options to reach it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The peer.
    pub far: PeerAddress,
    /// IP versions to use.
    pub ip: IpChoice,
    /// Timeout for silence of a peer that has answered before.
    pub timeout: Duration,
    /// Timeout for the first answer of a peer.
    pub first_answer: Duration,
    /// Interface whose counters belong to the test; `None`: the one that carries it.
    pub interface: Option<String>,
    /// Further ones whose counters do.
    pub beside: Vec<String>,
    /// Impairments of a link element before the peer during the session, which must be an emulated board; `None` leaves
    /// the link as it is.
    pub link: Option<EmulatedLink>,
    /// Facts of the peer's host in place of those that it tells first: of the interface that its tests use.
    pub peer_facts: Option<Facts>,
    /// Key that the peer requires.
    pub key: Option<Key>,
    /// Lease on the peer's host that the tests are of.
    pub fence: Option<Fence>,
    /// User that the peer requires, if its protocol has users.
    pub login: Option<Arc<Login>>,
    /// Whether to keep the peer's output, if its protocol can send that.
    pub far_output: bool,
    /// Whether the peer is a thread of this process: a refusal is then this command's own.
    pub is_own: bool,
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
            beside: Vec::new(),
            link: None,
            peer_facts: None,
            key: None,
            fence: None,
            login: None,
            far_output: false,
            is_own: false,
        }
    }

    /// Chooses the interface whose counters belong to the test. One that this host does not have is refused.
    pub fn count_at(&mut self, interface: Option<&str>) -> Result<(), Failure> {
        let scope = Scope::live(interface.map(str::to_owned));
        check_interface(&scope).map_err(|why| Failure::new(ExitCode::HostLacks, why))?;
        self.interface = scope.interface;
        Ok(())
    }

    /// Chooses several. One that this host does not have is refused.
    pub fn count_at_all(&mut self, interfaces: &[String]) -> Result<(), Failure> {
        for interface in interfaces.iter().rev() {
            self.count_at(Some(interface))?;
        }
        self.beside = interfaces.iter().skip(1).cloned().collect();
        Ok(())
    }

    /// Inserts the requested link element, for as long as the value lives.
    pub(crate) fn hold_link(&self) -> Result<Option<HeldLink>, Failure> {
        let Some(link) = self.link else {
            return Ok(None);
        };
        let Some(name) = self.far.board() else {
            return Err(no_element(&self.far));
        };
        hold_link(&Boards::of_user()?, name, link).map(Some)
    }

    /// Present link element before the peer.
    pub(crate) fn link_now(&self) -> Option<EmulatedLink> {
        let name = self.far.board()?;
        Boards::of_user().ok()?.reach(name).ok()?.link
    }

    /// Sets the timeouts for silence, whether the peer has answered before or not.
    pub fn set_timeout(&mut self, timeout: Duration) {
        (self.timeout, self.first_answer) = (timeout, timeout);
    }
}

/// Error for a peer that cannot have a link element.
pub fn no_element(peer: &PeerAddress) -> Failure {
    let message = format!(
        "link: only an emulated board has a link element before it, and {peer} is none: start one with `linerate board up` \
         and give `--host board://NAME`; for another host leave link out and set the rate of its own link there, such as with \
         `ethtool -s eth0 speed 100 autoneg off`; of a plan with series, --series measures the others"
    );
    Failure::new(ExitCode::Plan, message)
}
