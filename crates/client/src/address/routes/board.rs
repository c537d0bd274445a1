//! Route to a running emulated board, by name.

use super::resolve::connect;
use super::{Reached, Route, RouteHelp, RouteKind, has_no_shell, is_own, prefix};
use crate::address::PeerAddress;
use crate::target::Target;
use anyhow::Result;
use linerate_boards::{BoardName, Boards};
use linerate_model::consent::Effect;
use linerate_peers::PeerKind;
use std::fmt;

/// The agent of a board, or another tool's server on it; where the board is, and whether it is up, is looked up when it is
/// reached: an address may have been written elsewhere, or before.
struct OnBoard {
    name: BoardName,
}

/// Kind of this route.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &["board"],
    carries: has_no_shell,
    help: |kind| {
        is_own(kind).then(|| RouteHelp {
            addresses: vec!["board://NAME".to_owned()],
            what: "the emulated board that `linerate board up NAME` started".to_owned(),
        })
    },
    examples: |_| Vec::new(),
    read: |kind, _, rest| {
        let name = rest.parse()?;
        Ok(PeerAddress::by(kind, OnBoard { name }))
    },
};

impl Route for OnBoard {
    fn show(&self, kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}board://{}", prefix(kind), self.name)
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        let port = target.far.kind().about().default_port;
        let address = Boards::of_user()?.reach(&self.name)?.address;
        let line = connect(target, &address.to_string(), port)?;
        Ok(Reached::over(line, target))
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        vec![Effect::Connects(address)]
    }

    fn board(&self) -> Option<&BoardName> {
        Some(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use linerate_model::exit::{ExitCode, Failure};

    fn on_board(kind: &'static dyn PeerKind) -> PeerAddress {
        let route = OnBoard {
            name: "unleashed".parse().unwrap(),
        };
        PeerAddress::by(kind, route)
    }

    #[test]
    fn a_board_that_is_not_up_is_said_to_be_started_first() {
        for text in ["board://no-such-board", "iperf3+board://no-such-board"] {
            // What only names it needs no board: a plan may come from another host.
            let target = Target::new(PeerAddress::parse(text).unwrap());
            let error = Client::connect(&target).err().unwrap();
            let error: Failure = error.downcast().unwrap();
            assert_eq!(error.code, ExitCode::Peer, "{error}");
            let remedy = "linerate board up no-such-board";
            assert!(error.message.contains(remedy), "{error}");
        }
        for text in ["board://a/b", "iperf3+board://a/b", "iperf3+ssh://a"] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
        }
    }

    #[test]
    fn a_board_is_given_more_time_than_other_peers() {
        let foreign = on_board(linerate_peers::find("iperf3").unwrap());
        assert_eq!(foreign.to_string(), "iperf3+board://unleashed");
        let board = on_board(linerate_peers::own());
        assert_eq!(board.to_string(), "board://unleashed");
        let other = PeerAddress::parse("10.78.1.2").unwrap();
        let [other, board] = [other, board].map(Target::new);
        assert!(board.timeout > other.timeout);
        assert!(board.first_answer > other.first_answer);
    }
}
