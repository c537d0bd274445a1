//! Where the peer is: the `HOST` argument of every command.

pub(crate) mod routes;

pub use linerate_model::run::IpChoice;
pub use routes::{Endpoint, endpoint_for_others, foreign_help, without_password};

use linerate_boards::BoardName;
use linerate_model::ByteCount;
use linerate_model::consent::{Effect, Effects};
use linerate_model::exit::Result;
use linerate_model::spec::Transport;
use linerate_peers::{PeerKind, Protocol};
use linerate_stacks::{Places, StackSpec};
use routes::{HostPort, Route, Started};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A peer, as written: its protocol and route.
#[derive(Clone)]
pub struct PeerAddress {
    protocol: Protocol,
    route: Arc<dyn Route>,
}

impl PeerAddress {
    /// Reads `10.0.0.2`, `board.local:5301`, `[fe80::1%eth0]:5301`, `fe80::1%eth0`, `iperf3://board`, `board://NAME`,
    /// `iperf3+board://NAME`, `stack://NAME`, `ssh://user@board` or `zperf+serial:///dev/ttyUSB0?host=192.0.2.1`.
    pub fn parse(text: &str) -> Result<Self> {
        routes::read(text)
    }

    /// A peer with this protocol and route.
    pub(crate) fn new(protocol: Protocol, route: impl Route + 'static) -> Self {
        let route = Arc::new(route);
        Self { protocol, route }
    }

    /// A peer with a listed protocol.
    pub(crate) fn by(kind: &'static dyn PeerKind, route: impl Route + 'static) -> Self {
        Self::new(Protocol::Listed(kind), route)
    }

    /// A peer with the same protocol on another route.
    pub(crate) fn moved_to(&self, route: impl Route + 'static) -> Self {
        Self::new(self.protocol.clone(), route)
    }

    /// A stack that is started for each client.
    pub fn of_stack(spec: StackSpec) -> Result<Self> {
        routes::of_stack(spec)
    }

    /// Whether it is an emulated board given by name.
    pub fn is_board(&self) -> bool {
        self.board().is_some()
    }

    /// Name of the emulated board, if it is one.
    pub(crate) fn board(&self) -> Option<&BoardName> {
        self.route.board()
    }

    /// Whether it is a stack that has to be [prepared](Self::prepare), and started in its own network namespace.
    pub fn is_stack(&self) -> bool {
        self.route.is_stack()
    }

    /// Builds what must exist before it can be reached: the program of a stack. `tell` receives progress messages.
    pub fn prepare(&mut self, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<()> {
        if let Some(route) = self.route.prepared(places, tell)? {
            self.route = route;
        }
        Ok(())
    }

    /// Starts the stack for one client, if the peer is one.
    pub(crate) fn start(&self, ip: IpChoice) -> Result<Option<Started>> {
        self.route.start(self, ip)
    }

    /// The address with a program that is started anew on the next connection; `None` where linerate does not start it.
    /// The present program runs until the last copy of this address is dropped.
    pub fn restarted(&self) -> Option<Self> {
        let route = self.route.restarted()?;
        let protocol = self.protocol.clone();
        Some(Self { protocol, route })
    }

    /// Its route.
    pub(crate) fn route(&self) -> &dyn Route {
        &*self.route
    }

    /// Note on how its agent was deployed.
    pub(crate) fn deployment_note(&self) -> Option<String> {
        self.route.note()
    }

    /// The protocol it speaks.
    pub fn kind(&self) -> &dyn PeerKind {
        &*self.protocol
    }

    /// The port of its tests.
    pub(crate) fn port(&self) -> u16 {
        self.route.port(self.kind())
    }

    /// Message sizes measured by default.
    pub fn usual_sizes(&self, transport: Transport) -> Vec<ByteCount> {
        self.protocol.usual_sizes(transport)
    }
}

impl Effects for PeerAddress {
    fn effects(&self) -> Vec<Effect> {
        self.route.effects(self.to_string())
    }
}

impl From<SocketAddr> for PeerAddress {
    /// An agent of linerate's own.
    fn from(address: SocketAddr) -> Self {
        Self::by(linerate_peers::own(), HostPort::from(address))
    }
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerAddress({self})")
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.route.show(self.kind(), f)
    }
}

/// Default port of linerate's own agents.
pub fn own_port() -> u16 {
    linerate_peers::own().about().default_port
}

/// The protocols whose servers may ask for a user, as they are written, for messages.
pub fn with_users() -> String {
    let all = linerate_peers::ALL.iter();
    let written = all
        .filter(|kind| kind.about().has_users())
        .map(|kind| format!("{}://", kind.id()));
    written.collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::exit::ExitCode;

    fn shown(text: &str) -> String {
        PeerAddress::parse(text).unwrap().to_string()
    }

    #[test]
    fn addresses_in_all_their_forms() {
        assert_eq!(shown("10.0.0.2"), "10.0.0.2:5301");
        assert_eq!(shown("board.local:7"), "board.local:7");
        assert_eq!(shown("linerate://board:7"), "board:7");
        assert_eq!(shown("iperf3://board"), "iperf3://board:5201");
        assert_eq!(shown("iperf3://[::1]:7"), "iperf3://[::1]:7");
        assert_eq!(shown("fe80::1%eth0"), "[fe80::1%eth0]:5301");
        assert_eq!(shown("[::1]:6000"), "[::1]:6000");
        assert_eq!(shown("[::1]"), "[::1]:5301");
        assert_eq!(shown("ssh://me@board:2222/"), "ssh://me@board:2222");
    }

    #[test]
    fn a_password_is_no_part_of_a_command_line_that_is_kept() {
        let kept = |word| without_password(word);
        let secret = "serial:///dev/ttyUSB0?login=root&password=secret&host=a";
        assert_eq!(kept(secret), "serial:///dev/ttyUSB0?login=root&host=a");
        assert_eq!(kept("--title=a?password=b"), "--title=a?password=b");
    }

    #[test]
    fn nonsense_is_a_usage_error_that_shows_what_is_right() {
        for text in [
            "",
            ":5301",
            "host:0",
            "host:99999",
            "host:x",
            "[::1",
            "[::1]x",
            "a b",
            "http://x",
            "ssh://-l@x",
        ] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
            let is_shown = ["10.0.0.2", "ssh://user@host"].map(|part| error.message.contains(part));
            assert!(is_shown.contains(&true), "{text}: {error}");
        }
    }
}
