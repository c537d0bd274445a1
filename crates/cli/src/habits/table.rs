//! The options of iperf3 and iperf 2, and what stands for each here.

use Here::{Is, Missing, Needless, Part, Same};

/// An option of iperf3, of iperf 2, or of both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habit {
    /// One letter.
    pub(super) short: Option<char>,
    /// Words, the usual one first.
    pub(super) long: &'static [&'static str],
    /// Whether it has a value.
    pub(super) value: bool,
    /// What stands for it.
    pub(super) here: Here,
}

/// What stands for an option of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Here {
    /// These options; `{}` is the value.
    Is(&'static str),
    /// Nothing does; why, and what to do.
    Missing(&'static str),
    /// Nothing is needed; why.
    Needless(&'static str),
    /// A part of the command line: in words.
    Part(Role, &'static str),
    /// Its own name, which `tcp` and `udp` take as it is.
    Same,
}

/// The part of a command line that an option decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// This end asks, and this is its peer.
    Client,
    /// The load of each stream.
    Load,
    /// A port.
    Port,
    /// This end answers.
    Server,
    /// Datagrams.
    Udp,
}

const fn habit(
    short: Option<char>,
    long: &'static [&'static str],
    value: bool,
    here: Here,
) -> Habit {
    Habit {
        short,
        long,
        value,
        here,
    }
}

/// Every option, those of a client first.
pub(super) static ALL: &[Habit] = &[
    habit(
        Some('c'),
        &["client"],
        true,
        Part(Role::Client, "`tcp HOST`; with `-u`, `udp HOST`"),
    ),
    habit(
        Some('s'),
        &["server"],
        false,
        Part(
            Role::Server,
            "`serve`; for stock clients `serve --speak native,iperf3` or `iperf2`",
        ),
    ),
    habit(
        Some('u'),
        &["udp"],
        false,
        Part(Role::Udp, "`udp HOST --rate RATE` (iperf's own rate is 1M)"),
    ),
    habit(
        Some('b'),
        &["bitrate", "bandwidth"],
        true,
        Part(
            Role::Load,
            "understood, per stream; `--rate` (udp) and `--pace` (tcp) are of all streams together, and `-b 0` is `--rate max`",
        ),
    ),
    habit(
        Some('p'),
        &["port"],
        true,
        Part(Role::Port, "`HOST:PORT`; `serve --listen [::]:PORT`"),
    ),
    habit(Some('R'), &["reverse"], false, Same),
    habit(None, &["bidir", "full-duplex"], false, Is("--duplex")),
    habit(Some('d'), &["dualtest"], false, Is("--duplex")),
    habit(Some('P'), &["parallel"], true, Is("-P {}")),
    habit(Some('t'), &["time"], true, Same),
    habit(Some('i'), &["interval"], true, Same),
    habit(Some('O'), &["omit"], true, Is("--warm-up {}")),
    habit(Some('l'), &["length", "len"], true, Is("--payload {}")),
    habit(
        Some('w'),
        &["window"],
        true,
        Is("--send-buffer {} --receive-buffer {}"),
    ),
    habit(
        Some('C'),
        &["congestion", "linux-congestion"],
        true,
        Is("-C {}"),
    ),
    habit(Some('4'), &["version4"], false, Same),
    habit(Some('6'), &["version6"], false, Same),
    habit(Some('J'), &["json"], false, Is("--json")),
    habit(None, &["json-stream"], false, Is("--stream")),
    habit(Some('A'), &["affinity"], true, Is("--cpu {}")),
    habit(None, &["get-server-output"], false, Is("--far-output")),
    habit(None, &["fq-rate"], true, Is("--pace {}")),
    habit(
        None,
        &["gsro"],
        false,
        Is("--datapath sockets,gso=true,gro=true"),
    ),
    habit(None, &["username"], true, Is("--login {}")),
    habit(None, &["rsa-public-key-path"], true, Is("--login-key {}")),
    habit(None, &["connect-timeout"], true, Is("--timeout {}ms")),
    habit(Some('1'), &["one-off"], false, Is("--once")),
    habit(None, &["authorized-users-path"], true, Is("--logins {}")),
    habit(None, &["rsa-private-key-path"], true, Is("--login-key {}")),
    habit(
        Some('D'),
        &["daemon"],
        false,
        Needless("`serve` stays in the foreground: start it with `&`, or as a service"),
    ),
    habit(Some('V'), &["verbose"], false, Is("--verbose")),
    habit(Some('e'), &["enhanced"], false, Is("--verbose")),
    habit(
        Some('f'),
        &["format"],
        true,
        Needless("units follow the figure; exact numbers are in `--json`"),
    ),
    habit(
        None,
        &["forceflush"],
        false,
        Needless("a line is written when it is known"),
    ),
    habit(Some('r'), &["tradeoff"], false, Is("--both")),
    habit(
        Some('n'),
        &["bytes", "num"],
        true,
        Missing("a test ends after a time: `-t`"),
    ),
    habit(
        Some('k'),
        &["blockcount"],
        true,
        Missing("a test ends after a time: `-t`"),
    ),
    habit(
        Some('F'),
        &["file"],
        true,
        Missing("payload comes from memory, so that no disk is measured"),
    ),
    habit(
        Some('B'),
        &["bind"],
        true,
        Missing(
            "the route chooses the address; `--interface` says whose counters belong to the test",
        ),
    ),
    habit(
        Some('M'),
        &["set-mss"],
        true,
        Missing("lower the route's MTU: `ip route change … mtu …`"),
    ),
    habit(Some('N'), &["no-delay"], false, Is("--no-delay")),
    habit(
        Some('S'),
        &["tos", "dscp"],
        true,
        Missing("mark the traffic by a filter; a stock client's `-S` is understood by `serve`"),
    ),
    habit(
        Some('L'),
        &["flowlabel"],
        true,
        Missing("no flow label is set"),
    ),
    habit(
        Some('Z'),
        &["zerocopy"],
        false,
        Is("--datapath sockets,zerocopy=true"),
    ),
    habit(Some('T'), &["title"], true, Same),
    habit(
        None,
        &["logfile"],
        true,
        Missing("redirect the output: `> FILE`"),
    ),
    habit(
        Some('I'),
        &["pidfile"],
        true,
        Missing("let the service manager watch `serve`"),
    ),
    habit(
        None,
        &["cport"],
        true,
        Missing("the system chooses the port"),
    ),
    habit(None, &["sctp"], false, Missing("TCP and UDP only")),
    habit(Some('m'), &["mptcp"], false, Missing("TCP and UDP only")),
];

impl Habit {
    /// `-R`, or `--bidir`.
    pub(super) fn name(&self) -> String {
        match (self.short, self.long.first()) {
            (Some(letter), _) => format!("-{letter}"),
            (None, Some(word)) => format!("--{word}"),
            (None, None) => String::new(),
        }
    }
}
