//! Any other program that is, or starts, a stack: in a network namespace of its own, or on a TAP device that it makes.
//!
//! ```text
//!   linerate ── "counts", end ── supervisor ── SIGTERM, SIGKILL ── the program, and what it started
//! ```
//!
//! The supervisor (`server.rs`) is this program again: it starts the program, sees when it is ready, and ends it with all
//! that it left behind once linerate is gone, however that ended.

mod ready;
mod server;

pub use server::serve;

use crate::COMMAND_SERVER;
use crate::kind::{Patience, StackKind};
use crate::link::Attachment;
use crate::options::{Options, write_options};
use linerate_model::units::parse_duration;
use std::net::IpAddr;
use std::time::Duration;

/// Placeholder of the stack's address.
const ADDRESS: &str = "{address}";

/// Default of `peer`: the protocol of the other stacks.
const USUAL_PEER: &str = "iperf2://{address}";

/// Default of `start-time`, the timeout until the program is ready: an emulator boots within it.
const USUAL_START: Duration = Duration::from_secs(30);

/// Default of `stop-time`, the timeout to end after SIGTERM.
const USUAL_STOP: Duration = Duration::from_secs(5);

/// A program and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settings {
    /// Its name and arguments, with placeholders in braces for values known at its start.
    run: Vec<String>,
    link: Attachment,
    /// Address of its tests, with [`ADDRESS`] in it.
    peer: String,
    ready: Ready,
    start_time: Duration,
    stop_time: Duration,
}

/// Condition by which the program counts as ready.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ready {
    /// It printed a line that contains this.
    Line(String),
    /// It listens on the port of its tests.
    Port(u16),
}

impl Settings {
    fn of(options: &Options) -> Result<Self, String> {
        let mut settings = Self {
            run: Vec::new(),
            link: Attachment::Veth,
            peer: USUAL_PEER.to_owned(),
            ready: Ready::Port(0),
            start_time: USUAL_START,
            stop_time: USUAL_STOP,
        };
        let mut line = None;
        for (name, value) in options {
            let time = || parse_duration(value).map_err(|error| format!("{name}: {error}"));
            match (name.as_str(), value.as_str()) {
                ("run", words) => {
                    settings.run = words.split_whitespace().map(str::to_owned).collect();
                }
                ("link", "namespace") => settings.link = Attachment::Veth,
                ("link", "tap") => settings.link = Attachment::OwnTap,
                ("link", _) => return Err(format!("link={value}: must be namespace or tap")),
                ("peer", peer) => peer.clone_into(&mut settings.peer),
                ("ready", "port") => {}
                ("ready", text) => line = Some(printed(text)?),
                ("start-time", _) => settings.start_time = time()?,
                ("stop-time", _) => settings.stop_time = time()?,
                _ => {
                    return Err(format!(
                        "\"{name}\" is not an option; there are run, link, peer, ready, start-time and stop-time"
                    ));
                }
            }
        }
        if settings.run.is_empty() {
            return Err("run= is needed, a program and its arguments, such as run=iperf -s".into());
        }
        let port = port(&settings.peer)?;
        settings.ready = line.map_or(Ready::Port(port), Ready::Line);
        Ok(settings)
    }
}

/// The text of `line:TEXT`.
fn printed(text: &str) -> Result<String, String> {
    let line = text.strip_prefix("line:").filter(|line| !line.is_empty());
    line.map(str::to_owned)
        .ok_or_else(|| format!("ready={text}: must be port, or line: and a part of what it prints"))
}

/// Port of the tests at `peer`, an address with [`ADDRESS`] for its host.
fn port(peer: &str) -> Result<u16, String> {
    let wrong = |why: &str| {
        format!("peer={peer}: {why}; write a protocol and {ADDRESS}, such as {USUAL_PEER}")
    };
    let (scheme, rest) = peer.split_once("://").ok_or_else(|| wrong("no scheme"))?;
    let id = scheme.split('+').next().unwrap_or_default();
    let kind = match id {
        "linerate" => linerate_peers::own(),
        _ => linerate_peers::find(id).ok_or_else(|| wrong("an unknown protocol"))?,
    };
    let rest = rest
        .strip_prefix(ADDRESS)
        .ok_or_else(|| wrong("no address of the stack"))?;
    let place = rest.split(['?', '/']).next().unwrap_or_default();
    match place.strip_prefix(':') {
        None if place.is_empty() => Ok(kind.about().default_port),
        None => Err(wrong("no port after the address")),
        Some(digits) => digits.parse().map_err(|_| wrong("not a port")),
    }
}

/// The registry entry.
pub(crate) static KIND: StackKind = StackKind {
    id: "command",
    runs: Some("run"),
    summary: "Any other program, in a network namespace or on a TAP device; options: run, link, peer, ready, start-time and stop-time.",
    check: |options| Settings::of(options).map(drop),
    attachment: |options| Settings::of(options).map_or(Attachment::Veth, |settings| settings.link),
    arguments: |options, addresses| {
        vec![
            COMMAND_SERVER.to_owned(),
            addresses.number().to_string(),
            write_options(options),
        ]
    },
    peer,
    patience: |options| {
        let settings = Settings::of(options).ok()?;
        Some(Patience {
            start: settings.start_time,
            stop: settings.stop_time,
        })
    },
    ..StackKind::OWN
};

/// Address of its tests, with the stack's put in.
fn peer(options: &Options, address: IpAddr) -> String {
    let peer = options.get("peer").map_or(USUAL_PEER, String::as_str);
    let host = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    peer.replacen(ADDRESS, &host, 1)
        .replace(ADDRESS, &address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<Settings, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Settings::of(&given.iter().map(owned).collect())
    }

    #[test]
    fn a_program_alone_is_enough() {
        let found = settings(&[("run", "iperf -s")]).unwrap();
        assert_eq!(found.run, ["iperf", "-s"]);
        assert_eq!(found.link, Attachment::Veth);
        assert_eq!(found.ready, Ready::Port(5001));
        assert_eq!(found.stop_time, USUAL_STOP);
    }

    #[test]
    fn everything_can_be_said() {
        let found = settings(&[
            ("run", "qemu -netdev tap,ifname={device}"),
            ("link", "tap"),
            ("peer", "zperf+telnet://{address}?host={address}"),
            ("ready", "line:zperf ready"),
            ("start-time", "2m"),
            ("stop-time", "100ms"),
        ])
        .unwrap();
        assert_eq!(found.link, Attachment::OwnTap);
        assert_eq!(found.ready, Ready::Line("zperf ready".to_owned()));
        assert_eq!(found.start_time, Duration::from_mins(2));
        assert_eq!(found.stop_time, Duration::from_millis(100));
    }

    #[test]
    fn the_port_is_that_of_the_peer() {
        for (peer, port) in [
            ("iperf3://{address}", 5201),
            ("iperf2://{address}:7000", 7000),
            ("linerate://{address}:5302", 5302),
        ] {
            let found = settings(&[("run", "x"), ("peer", peer)]).unwrap();
            assert_eq!(found.ready, Ready::Port(port), "{peer}");
        }
    }

    #[test]
    fn an_ipv6_address_has_brackets_where_a_port_may_follow() {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let options =
            Options::from([("peer", "zperf+telnet://{address}?host={address}")].map(owned));
        let address = "fd79::2".parse().unwrap();
        assert_eq!(
            peer(&options, address),
            "zperf+telnet://[fd79::2]?host=fd79::2"
        );
    }

    #[test]
    fn nonsense_says_what_would_be_right() {
        for (option, part) in [
            (("run", " "), "run=iperf -s"),
            (("link", "bridge"), "namespace or tap"),
            (("peer", "iperf2://10.0.0.1"), "{address}"),
            (("peer", "ftp://{address}"), "unknown protocol"),
            (("peer", "iperf2://{address}:x"), "not a port"),
            (("ready", "line:"), "line: and a part"),
            (("ready", "5s"), "must be port"),
            (("stop-time", "soon"), "stop-time"),
            (("opt", "O2"), "not an option"),
        ] {
            let why = settings(&[("run", "x"), option]).unwrap_err();
            assert!(why.contains(part), "{option:?}: {why}");
        }
    }
}
