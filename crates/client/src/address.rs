//! Where the peer is: the `HOST` argument of every command.

pub use linerate_model::run::IpChoice;

use crate::shell::{self, ShellAddress, ShellPeer};
use linerate_boards::{BoardName, Boards};
use linerate_deploy::{ConsoleHost, ConsolePeer, DeployedAgent, Deployment, SshHost};
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::host_port::split_port;
use linerate_model::spec::{Pace, TestSpec, Transport};
use linerate_peers::{Control, PeerKind, Protocol, SettingValues, Wire};
use linerate_stacks::{Places, Stack, StackAddresses, StackSpec};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

/// A peer, as written: what it speaks, host name or address, and port.
#[derive(Clone)]
pub struct PeerAddress {
    protocol: Protocol,
    host: String,
    port: u16,
    way: Way,
}

/// How a peer is written, beside its host and port.
#[derive(Clone)]
enum Way {
    /// By host and port alone.
    Direct,
    /// By the name of an emulated board, which is at that host.
    Board(BoardName),
    /// By the name of a stack that is started for it, and where it is once it runs.
    Stack(Stack, Option<StackAddresses>),
    /// By the console of a board, whose shell starts an agent there.
    Console(Arc<ConsolePeer>),
    /// By ssh, which starts an agent there; its port is known then.
    Ssh(Arc<Deployment>),
    /// With the shell of a peer that is told what to do, and the settings in its address.
    Shell(ShellAddress, SettingValues),
}

impl PeerAddress {
    /// Reads `10.0.0.2`, `board.local:5301`, `[fe80::1%eth0]:5301`, `fe80::1%eth0`, `iperf3://board`, `board://NAME`,
    /// `iperf3+board://NAME`, `stack://NAME`, `ssh://user@board` or `zperf+serial:///dev/ttyUSB0?host=192.0.2.1`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let own = linerate_peers::own();
        let (kind, rest) = match text.split_once("://") {
            None => (own, text),
            Some(("linerate", rest)) => (own, rest),
            Some((BOARD, name)) => return Self::of_board(text, own, name),
            Some((STACK, spec)) => {
                let spec: StackSpec = spec
                    .parse()
                    .map_err(|why| Failure::new(ExitCode::Usage, format!("\"{text}\": {why}")))?;
                return Self::of_stack(spec)
                    .map_err(|error| Failure::new(error.code, format!("\"{text}\": {error}")));
            }
            Some((SSH, rest)) => return Self::by_ssh(text, rest),
            Some((SERIAL, rest)) => return Self::by_console(text, rest),
            Some((scheme, rest)) => {
                let (id, wire) = scheme.split_once('+').unwrap_or((scheme, ""));
                let kind = linerate_peers::find(id).ok_or_else(|| unknown_scheme(text, scheme))?;
                if kind.control() == Control::Shell {
                    let wire =
                        shell::wire(wire).ok_or_else(|| "say how its shell is reached".to_owned());
                    let parsed = wire.and_then(|wire| Self::with_shell(kind, wire, rest));
                    return parsed.map_err(|why| wrong_shell(text, id, &why));
                }
                match wire {
                    "" => {}
                    BOARD => return Self::of_board(text, kind, rest),
                    _ => return Err(unknown_scheme(text, scheme)),
                }
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
            protocol: Protocol::Listed(kind),
            host: host.to_owned(),
            port,
            way: Way::Direct,
        })
    }

    /// The agent of an emulated board, which must be up, or a foreign server on it.
    fn of_board(text: &str, kind: &'static dyn PeerKind, name: &str) -> Result<Self, Failure> {
        let name: BoardName = name
            .parse()
            .map_err(|why| Failure::new(ExitCode::Usage, format!("\"{text}\": {why}")))?;
        let board = Boards::of_user()?.reach(&name)?;
        Ok(Self {
            protocol: Protocol::Listed(kind),
            host: board.address.to_string(),
            port: kind.default_port(),
            way: Way::Board(name),
        })
    }

    /// Whether it is an emulated board, named as one.
    pub const fn is_board(&self) -> bool {
        self.board().is_some()
    }

    /// The name of the emulated board that it is.
    pub(crate) const fn board(&self) -> Option<&BoardName> {
        match &self.way {
            Way::Board(name) => Some(name),
            Way::Console(_) | Way::Direct | Way::Shell(..) | Way::Ssh(_) | Way::Stack(..) => None,
        }
    }

    /// A stack that is started for each client.
    pub fn of_stack(spec: StackSpec) -> Result<Self, Failure> {
        // Its protocol and port are those of any address.
        let there = Self::parse(&spec.peer(Ipv4Addr::LOCALHOST.into()))?;
        Ok(Self {
            protocol: there.protocol,
            host: spec.to_string(),
            port: there.port,
            way: Way::Stack(Stack::new(spec), None),
        })
    }

    /// The stack that is to be started, if it is one.
    pub(crate) const fn stack(&self) -> Option<&Stack> {
        match &self.way {
            Way::Stack(stack, _) => Some(stack),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Shell(..) | Way::Ssh(_) => None,
        }
    }

    /// Whether it is a stack that has to be [prepared](Self::prepare), and started in a network of its own.
    pub const fn is_stack(&self) -> bool {
        self.stack().is_some()
    }

    /// Makes what has to be there before it can be reached: the program of a stack. `tell` hears what takes long.
    pub fn prepare(&mut self, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        match &mut self.way {
            Way::Stack(stack, _) => stack.prepare(places, tell),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Shell(..) | Way::Ssh(_) => Ok(()),
        }
    }

    /// The same with a program that is started anew when it is next asked; `None` where linerate does not start it. That of
    /// this address goes on until nobody has the address any more.
    pub fn restarted(&self) -> Option<Self> {
        let way = match &self.way {
            Way::Ssh(deployment) => Way::Ssh(Arc::new(Deployment::new(deployment.host().clone()))),
            // One is started for each run.
            Way::Stack(..) => self.way.clone(),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Shell(..) => return None,
        };
        Some(Self {
            way,
            ..self.clone()
        })
    }

    /// The same where its stack runs.
    pub(crate) fn running_at(
        mut self,
        addresses: StackAddresses,
        choice: IpChoice,
    ) -> Result<Self, Failure> {
        let is_told = self.kind().control() == Control::Shell;
        match &mut self.way {
            Way::Stack(stack, _) if is_told => {
                let address = match choice {
                    IpChoice::V6 => addresses.ipv6().into(),
                    IpChoice::Any | IpChoice::V4 => addresses.ipv4().into(),
                };
                Self::parse(&stack.spec().peer(address))
            }
            Way::Stack(_, at) => {
                *at = Some(addresses);
                Ok(self)
            }
            _ => Ok(self),
        }
    }

    /// An agent that is started by ssh when it is first asked for a test.
    fn by_ssh(text: &str, rest: &str) -> Result<Self, Failure> {
        let host = SshHost::read(rest).map_err(|why| {
            let message = format!("\"{text}\": {why}; write ssh://user@host or ssh://host:2222");
            Failure::new(ExitCode::Usage, message)
        })?;
        let kind = linerate_peers::own();
        Ok(Self {
            protocol: Protocol::Listed(kind),
            host: host.to_string(),
            port: kind.default_port(),
            way: Way::Ssh(Arc::new(Deployment::new(host))),
        })
    }

    /// An agent that is started over a console when it is first asked for a test.
    fn by_console(text: &str, rest: &str) -> Result<Self, Failure> {
        let host = ConsoleHost::read(rest).map_err(|why| {
            let message = format!(
                "\"{}\": {why}; write serial:///dev/ttyUSB0?baud=115200&login=root&host=192.0.2.1",
                text.split('?').next().unwrap_or_default()
            );
            Failure::new(ExitCode::Usage, message)
        })?;
        let kind = linerate_peers::own();
        Ok(Self {
            protocol: Protocol::Listed(kind),
            host: host.host.clone(),
            port: kind.default_port(),
            way: Way::Console(Arc::new(ConsolePeer::new(host))),
        })
    }

    fn with_shell(kind: &'static dyn PeerKind, wire: Wire, rest: &str) -> Result<Self, String> {
        let peer = ShellPeer::read(kind, wire, rest)?;
        Ok(Self {
            protocol: Protocol::with(kind, &peer.settings)?,
            host: peer.host,
            port: peer.port,
            way: Way::Shell(peer.shell, peer.settings),
        })
    }

    /// Where the shell is that is told what to do, if there is one.
    pub(crate) fn shell(&self) -> Option<&ShellAddress> {
        match &self.way {
            Way::Shell(shell, _) => Some(shell),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Ssh(_) | Way::Stack(..) => None,
        }
    }

    /// The agent that this process has there, which is started if none is; `None` where peers start by themselves.
    pub(crate) fn deployed(&self) -> Result<Option<DeployedAgent>, Failure> {
        match &self.way {
            Way::Ssh(deployment) => deployment.agent().map(Some),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Shell(..) | Way::Stack(..) => {
                Ok(None)
            }
        }
    }

    /// What is to be known of how its agent came there.
    pub(crate) fn deployment_note(&self) -> Option<String> {
        match &self.way {
            Way::Ssh(deployment) => deployment.note(),
            Way::Board(_) | Way::Console(_) | Way::Direct | Way::Shell(..) | Way::Stack(..) => None,
        }
    }

    /// The console over which its agent is started and controlled.
    pub(crate) fn console(&self) -> Option<&ConsolePeer> {
        match &self.way {
            Way::Console(console) => Some(console),
            Way::Board(_) | Way::Direct | Way::Shell(..) | Way::Ssh(_) | Way::Stack(..) => None,
        }
    }

    /// The protocol it speaks.
    pub fn kind(&self) -> &dyn PeerKind {
        &*self.protocol
    }

    /// The port of its tests.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The message sizes that are measured there unless others are asked for.
    pub fn usual_sizes(&self, transport: Transport) -> Vec<ByteCount> {
        self.protocol.usual_sizes(transport)
    }

    /// The addresses it stands for, best first; those of its agent if this process has one there.
    pub(crate) fn resolve(
        &self,
        deployed: Option<&DeployedAgent>,
        choice: IpChoice,
    ) -> Result<Vec<SocketAddr>, Failure> {
        match (deployed, &self.way) {
            (Some(agent), _) => resolve(&agent.host, agent.port, choice),
            (None, Way::Stack(_, Some(at))) => {
                let found = vec![
                    SocketAddr::new(at.ipv4().into(), self.port),
                    SocketAddr::new(at.ipv6().into(), self.port),
                ];
                fitting(&self.host, found, choice)
            }
            (None, _) => resolve(&self.host, self.port, choice),
        }
    }
}

fn resolve(host: &str, port: u16, choice: IpChoice) -> Result<Vec<SocketAddr>, Failure> {
    let found = match scoped(host, port) {
        Some(address) => vec![address],
        None => (host, port)
            .to_socket_addrs()
            .map_err(|error| {
                let hint = "check the name, or give an address";
                Failure::new(
                    ExitCode::Peer,
                    format!("cannot resolve {host}: {error}; {hint}"),
                )
            })?
            .collect(),
    };
    fitting(host, found, choice)
}

/// Those of `found` that `choice` leaves.
fn fitting(
    host: &str,
    found: Vec<SocketAddr>,
    choice: IpChoice,
) -> Result<Vec<SocketAddr>, Failure> {
    let fitting: Vec<_> = found
        .into_iter()
        .filter(|address| choice.fits(address))
        .collect();
    if fitting.is_empty() {
        let message = format!("{host} has no {choice} address; leave out -4 and -6 to use any");
        return Err(Failure::new(ExitCode::Usage, message));
    }
    Ok(fitting)
}

impl From<SocketAddr> for PeerAddress {
    /// An agent of linerate's own.
    fn from(address: SocketAddr) -> Self {
        Self {
            protocol: Protocol::Listed(linerate_peers::own()),
            host: address.ip().to_string(),
            port: address.port(),
            way: Way::Direct,
        }
    }
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerAddress({self})")
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match &self.way {
            Way::Direct => {}
            Way::Board(name) => {
                if kind.is_foreign() {
                    write!(f, "{}+", kind.id())?;
                }
                return write!(f, "{BOARD}://{name}");
            }
            Way::Stack(stack, _) => return write!(f, "{STACK}://{}", stack.spec()),
            Way::Console(console) => return console.host().fmt(f),
            Way::Ssh(deployment) => return deployment.host().fmt(f),
            Way::Shell(shell, settings) => {
                write!(f, "{}+{shell}?host={}", kind.id(), self.host)?;
                if self.port != kind.default_port() {
                    write!(f, "&port={}", self.port)?;
                }
                f.write_str(&shell.extra())?;
                return settings
                    .iter()
                    .try_for_each(|(name, value)| write!(f, "&{name}={value}"));
            }
        }
        if kind.is_foreign() {
            write!(f, "{}://", kind.id())?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The scheme of emulated boards.
const BOARD: &str = "board";

/// The scheme of stacks that are started for a test.
const STACK: &str = "stack";
/// The scheme of boards whose agent is started over their console.
const SERIAL: &str = "serial";

/// The scheme of hosts on which an agent is started by ssh.
const SSH: &str = "ssh";

/// The port at which linerate's own agents listen unless told otherwise.
pub fn own_port() -> u16 {
    linerate_peers::own().default_port()
}

/// A word of a command line, without the password that an address may have.
pub fn without_password(word: &str) -> String {
    let is_address = word.starts_with(SERIAL) && word[SERIAL.len()..].starts_with("://");
    match word.split_once('?').filter(|_| is_address) {
        None => word.to_owned(),
        Some((place, query)) => {
            let parts = query
                .split('&')
                .filter(|part| !part.starts_with("password="));
            format!("{place}?{}", parts.collect::<Vec<_>>().join("&"))
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

/// Each peer that runs another program, or no hardware: how it is written, and what runs there; for help.
pub fn foreign_help() -> String {
    use fmt::Write as _;
    let mut text = "Peers that run another program, or no hardware:".to_owned();
    let board = format!("{BOARD}://NAME");
    let _ = write!(
        text,
        "\n  {board:<21} the emulated board that `linerate board up NAME` started"
    );
    let stack = format!("{STACK}://NAME");
    let names: Vec<_> = linerate_stacks::ALL.iter().map(|kind| kind.id()).collect();
    let _ = write!(
        text,
        "\n  {stack:<21} a network stack that is started for the test: {}",
        names.join(", ")
    );
    let ssh = format!("{SSH}://USER@HOST");
    let _ = write!(
        text,
        "\n  {ssh:<21} a host where linerate is copied to, started, and removed from"
    );
    let _ = write!(
        text,
        "\n  {SERIAL}:///dev/ttyUSB0?baud=115200&login=root&host=192.0.2.1\n{:24}a board with linerate, controlled over its console; traffic runs to host=",
        ""
    );
    for kind in linerate_peers::ALL.iter().filter(|kind| kind.is_foreign()) {
        let rows = match kind.control() {
            Control::Shell => shell_help(kind.id()),
            Control::Absent | Control::Connection => program_help(*kind),
        };
        text.push_str(&rows);
    }
    text
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
        " (`latency` only)"
    } else {
        ""
    };
    let hint = kind.start_hint();
    // The command alone.
    let command = hint.split_inclusive('`').take(2).collect::<String>();
    let address = format!("{}://board", kind.id());
    format!("\n  {address:<21} {command}{limit}")
}

/// The shell through which a board is told what to do.
fn shell_help(id: &str) -> String {
    let [serial, telnet] = shell::examples(id);
    format!(
        "\n  {serial}\n  {telnet}\n{:24}the board's {id} shell; host= is its address in the network",
        ""
    )
}

fn unknown_scheme(text: &str, scheme: &str) -> Failure {
    let written = |kind: &&dyn PeerKind| match kind.control() {
        Control::Shell => format!("{0}+serial://, {0}+telnet://", kind.id()),
        Control::Absent | Control::Connection => format!("{}://", kind.id()),
    };
    let known: Vec<_> = linerate_peers::ALL.iter().map(written).collect();
    let message = format!(
        "\"{text}\": this version does not speak {scheme}://; it speaks {}, and to a host that runs `linerate serve`, such as 10.0.0.2, also without",
        known.join(", ")
    );
    Failure::new(ExitCode::Usage, message)
}

fn wrong_shell(text: &str, id: &str, why: &str) -> Failure {
    let examples = shell::examples(id).join(" or ");
    Failure::new(
        ExitCode::Usage,
        format!("\"{text}\": {why}; write {examples}"),
    )
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
    use crate::Target;
    use std::path::PathBuf;

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

    #[test]
    fn a_board_that_is_not_up_is_said_to_be_started_first() {
        let error = PeerAddress::parse("board://no-such-board").unwrap_err();
        assert_eq!(error.code, ExitCode::Peer);
        let remedy = "linerate board up no-such-board";
        assert!(error.message.contains(remedy), "{error}");
        let error = PeerAddress::parse("iperf3+board://no-such-board").unwrap_err();
        assert_eq!(error.code, ExitCode::Peer);
        assert!(error.message.contains(remedy), "{error}");
        for text in ["board://a/b", "iperf3+board://a/b", "iperf3+ssh://a"] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
        }
    }

    #[test]
    fn a_board_is_given_more_time_than_other_peers() {
        let other = PeerAddress::parse("10.78.1.2").unwrap();
        let board = PeerAddress {
            way: Way::Board("unleashed".parse().unwrap()),
            ..other.clone()
        };
        assert_eq!(board.to_string(), "board://unleashed");
        let foreign = PeerAddress {
            way: board.way.clone(),
            ..PeerAddress::parse("iperf3://10.78.1.2").unwrap()
        };
        assert_eq!(foreign.to_string(), "iperf3+board://unleashed");
        let [other, board] = [other, board].map(Target::new);
        assert!(board.timeout > other.timeout);
        assert!(board.first_answer > other.first_answer);
    }

    #[test]
    fn a_stack_is_written_with_its_options_and_is_resolved_where_it_runs() {
        let text = "stack://lwip?buffers=base&opt=O2";
        let stack = PeerAddress::parse(text).unwrap();
        assert!(stack.is_stack());
        assert_eq!(stack.to_string(), text);
        let error = PeerAddress::parse("stack://lwip?opt=O9").unwrap_err();
        assert_eq!(error.code, ExitCode::Usage);
        assert!(!PeerAddress::parse("10.0.0.2").unwrap().is_stack());
    }

    #[test]
    fn the_wrong_ip_version_is_named() {
        let error = PeerAddress::parse("127.0.0.1")
            .unwrap()
            .resolve(None, IpChoice::V6)
            .unwrap_err();
        assert!(error.message.contains("no IPv6 address"), "{error}");
        assert_eq!(error.code, ExitCode::Usage);
    }

    #[test]
    fn a_serial_line_with_all_its_settings() {
        let text = "zperf+serial:///dev/ttyUSB0?baud=9600&host=192.0.2.1&zephyr=3.3&port=7";
        let board = PeerAddress::parse(text).unwrap();
        let device = PathBuf::from("/dev/ttyUSB0");
        let serial = ShellAddress::Serial { device, baud: 9600 };
        assert_eq!(board.shell(), Some(&serial));
        assert_eq!((board.host.as_str(), board.port), ("192.0.2.1", 7));
        assert!(matches!(board.protocol, Protocol::Set(_)));
        let again = "zperf+serial:///dev/ttyUSB0?host=192.0.2.1&port=7&baud=9600&zephyr=3.3";
        assert_eq!(board.to_string(), again);
        assert_eq!(shown(again), again);
        let usual = "zperf+serial:///dev/ttyUSB0?host=192.0.2.1";
        assert_eq!(shown(&format!("{usual}&baud=115200&port=5001")), usual);
    }

    #[test]
    fn a_telnet_shell_and_an_ipv6_board() {
        let board = PeerAddress::parse("zperf+telnet://[::1]?host=2001:db8::1").unwrap();
        let telnet = ShellAddress::Telnet {
            host: "::1".to_owned(),
            port: 23,
        };
        assert_eq!(board.shell(), Some(&telnet));
        assert_eq!(board.host, "2001:db8::1");
        let shown = board.to_string();
        assert_eq!(shown, "zperf+telnet://[::1]:23?host=2001:db8::1");
    }

    #[test]
    fn nonsense_about_a_shell_shows_what_is_right() {
        for text in [
            "zperf://board",
            "zperf+ssh://board?host=a",
            "zperf+serial:///dev/ttyUSB0",
            "zperf+serial://ttyUSB0?host=a",
            "zperf+serial:///dev/ttyUSB0?host=a&baud=0",
            "zperf+serial:///dev/ttyUSB0?host=a&baud=fast",
            "zperf+serial:///dev/ttyUSB0?host=a&parity=even",
            "zperf+serial:///dev/ttyUSB0?host",
            "zperf+telnet://?host=a",
            "zperf+telnet://a:0?host=a",
            "zperf+telnet://a?host=a&baud=9600",
            "zperf+telnet://a?host=a&zephyr=new",
        ] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
            assert!(error.message.contains("?host=192.0.2.1"), "{error}");
        }
        let error = PeerAddress::parse("iperf3+serial:///dev/ttyUSB0?host=a").unwrap_err();
        assert!(error.message.contains("does not speak"), "{error}");
    }
}
