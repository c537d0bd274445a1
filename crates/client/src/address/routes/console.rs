//! Route to a board whose agent is started and controlled over its serial console.

use super::resolve::resolve;
use super::{Reached, Route, RouteHelp, RouteKind, is_own};
use crate::address::PeerAddress;
use crate::target::Target;
use anyhow::Result;
use linerate_deploy::{ConsoleHost, ConsolePeer};
use linerate_model::consent::Effect;
use linerate_peers::PeerKind;
use linerate_session::CONSOLE_TIMEOUT;
use std::fmt;

/// An address as it is written.
const EXAMPLE: &str = "serial:///dev/ttyUSB0?baud=115200&login=root&host=192.0.2.1";

/// Kind of this route.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &["serial"],
    carries: is_own,
    help: |_| {
        Some(RouteHelp {
            addresses: vec![EXAMPLE.to_owned()],
            what: "a board with linerate, controlled over its console; traffic runs to host="
                .to_owned(),
        })
    },
    examples: |_| vec![EXAMPLE.to_owned()],
    read: |kind, _, rest| {
        let host = ConsoleHost::read(rest)?;
        Ok(PeerAddress::by(kind, ConsolePeer::new(host)))
    },
};

impl Route for ConsolePeer {
    fn show(&self, _kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.host(), f)
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        let port = target.far.kind().about().default_port;
        let addresses = resolve(&self.host().host, port, target.ip)?;
        Ok(Reached {
            patience: CONSOLE_TIMEOUT,
            ..Reached::over(self.open(addresses[0])?, target)
        })
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        vec![Effect::Connects(address)]
    }
}
