//! Where the peer is: the `HOST` argument of every command.

pub use linerate_model::run::IpChoice;

use crate::board::BoardAddress;
use crate::host_port::split_port;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pace, TestSpec, Transport};
use linerate_peers::PeerKind;
use linerate_peers::iperf2::Iperf2;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

/// A peer, as written: what it speaks, host name or address, and port.
#[derive(Clone)]
pub struct PeerAddress {
    kind: &'static dyn PeerKind,
    host: String,
    port: u16,
    /// The board whose shell is told what to do.
    board: Option<BoardAddress>,
}

impl PeerAddress {
    /// Reads `10.0.0.2`, `board.local:5301`, `[fe80::1%eth0]:5301`, `fe80::1%eth0`, `iperf3://board` or
    /// `zperf+serial:///dev/ttyUSB0?host=192.0.2.1`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if let Some((scheme, rest)) = text.split_once("://")
            && let Some(board) = BoardAddress::parse(text, scheme, rest)
        {
            return board.map(Self::of_board);
        }
        let own = linerate_peers::own();
        let (kind, rest) = match text.split_once("://") {
            None => (own, text),
            Some(("linerate", rest)) => (own, rest),
            Some((scheme, rest)) => {
                let kind =
                    linerate_peers::find(scheme).ok_or_else(|| unknown_scheme(text, scheme))?;
                (kind, rest)
            }
        };
        let (host, port) = split_port(rest).ok_or_else(|| not_a_host(text))?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(not_a_host(text));
        }
        let port = match port {
            None => kind.default_port(),
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|p| *p > 0)
                .ok_or_else(|| not_a_host(text))?,
        };
        Ok(Self {
            kind,
            host: host.to_owned(),
            port,
            board: None,
        })
    }

    /// zperf's traffic is iperf2's.
    fn of_board(board: BoardAddress) -> Self {
        Self {
            kind: &Iperf2,
            host: board.host.clone(),
            port: board.port,
            board: Some(board),
        }
    }

    /// The board whose shell is told what to do, if it is one.
    pub(crate) const fn board(&self) -> Option<&BoardAddress> {
        self.board.as_ref()
    }

    /// The protocol it speaks.
    pub fn kind(&self) -> &'static dyn PeerKind {
        self.kind
    }

    /// The port of its tests.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The message sizes that are measured there unless others are asked for.
    pub fn usual_sizes(&self, transport: Transport) -> Vec<ByteCount> {
        self.kind.usual_sizes(transport)
    }

    /// The addresses it stands for, best first.
    pub fn resolve(&self, choice: IpChoice) -> Result<Vec<SocketAddr>, Failure> {
        let found = match scoped(&self.host, self.port) {
            Some(address) => vec![address],
            None => (self.host.as_str(), self.port)
                .to_socket_addrs()
                .map_err(|error| {
                    let hint = "check the name, or give an address";
                    Failure::new(
                        ExitCode::Peer,
                        format!("cannot resolve {}: {error}; {hint}", self.host),
                    )
                })?
                .collect(),
        };
        let fitting: Vec<_> = found
            .into_iter()
            .filter(|address| choice.fits(address))
            .collect();
        if fitting.is_empty() {
            let message = format!(
                "{} has no {choice} address; leave out -4 and -6 to use any",
                self.host
            );
            return Err(Failure::new(ExitCode::Usage, message));
        }
        Ok(fitting)
    }
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerAddress({self})")
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(board) = &self.board {
            return write!(f, "{board}");
        }
        if self.kind.is_foreign() {
            write!(f, "{}://", self.kind.id())?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// An IPv6 address with a zone: `fe80::1%eth0` or `fe80::1%2`.
fn scoped(host: &str, port: u16) -> Option<SocketAddr> {
    let (address, zone) = host.split_once('%')?;
    let scope = match zone.parse() {
        Ok(index) => index,
        Err(_) => linerate_sys::interface::index_of(zone)?,
    };
    Some(std::net::SocketAddrV6::new(address.parse().ok()?, port, 0, scope).into())
}

/// How a peer is written, for help.
pub fn help() -> String {
    let foreign = linerate_peers::ALL.iter().filter(|kind| kind.is_foreign());
    let programs: Vec<_> = foreign.map(|kind| program_help(*kind)).collect();
    format!(
        "The peer: `10.0.0.2`, `board.local:5301` or `[fe80::1%eth0]:5301`; it runs `linerate serve`. Where another program runs: {}. A Zephyr board is told what to do through its shell: `zperf+serial:///dev/ttyUSB0?baud=115200&host=192.0.2.1` or `zperf+telnet://shellhost:23?host=192.0.2.1`, where host= is its address in the network",
        programs.join(", ")
    )
}

/// The protocols whose servers may ask for a user, as they are written, for messages.
pub fn with_users() -> String {
    let all = linerate_peers::ALL.iter();
    let written = all
        .filter(|kind| kind.has_users())
        .map(|kind| format!("{}://", kind.id()));
    written.collect::<Vec<_>>().join(" or ")
}

/// How a peer is written that runs another program.
fn example() -> String {
    let foreign = linerate_peers::ALL.iter().find(|kind| kind.is_foreign());
    let id = foreign.map_or("linerate", |kind| kind.id());
    format!("{id}://board")
}

/// The program that a protocol is of, and what it does not measure.
fn program_help(kind: &dyn PeerKind) -> String {
    let one_way = [TestSpec::tcp_bulk(), TestSpec::udp_datagrams(Pace::Unpaced)];
    let limit = if one_way.iter().all(|spec| kind.check(spec).is_err()) {
        ", `latency` only"
    } else {
        ""
    };
    let hint = kind.start_hint();
    // The command alone.
    let command = hint.split_inclusive('`').take(2).collect::<String>();
    format!("`{}://board` ({command}{limit})", kind.id())
}

fn unknown_scheme(text: &str, scheme: &str) -> Failure {
    let known: Vec<_> = linerate_peers::ALL
        .iter()
        .map(|kind| format!("{}://", kind.id()))
        .collect();
    let message = format!(
        "\"{text}\": this version does not speak {scheme}://; it speaks {}, zperf+serial:// and zperf+telnet://, and to a host that runs `linerate serve`, such as 10.0.0.2, also without",
        known.join(", ")
    );
    Failure::new(ExitCode::Usage, message)
}

fn not_a_host(text: &str) -> Failure {
    let message = format!(
        "\"{text}\" is not a peer such as 10.0.0.2, board.local:5301, [fe80::1%eth0]:5301 or {}",
        example()
    );
    Failure::new(ExitCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
            assert!(error.message.contains("10.0.0.2"), "{text}: {error}");
        }
    }

    #[test]
    fn the_wrong_ip_version_is_named() {
        let error = PeerAddress::parse("127.0.0.1")
            .unwrap()
            .resolve(IpChoice::V6)
            .unwrap_err();
        assert!(error.message.contains("no IPv6 address"), "{error}");
        assert_eq!(error.code, ExitCode::Usage);
    }
}
