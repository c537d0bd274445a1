//! Values that have names.

use crate::run::{METHODS, Method, Mode};
use linerate_model::spec::DatapathChoice;

/// A value by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The word on the command line and in plans.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
}

const fn choice(name: &'static str, help: &'static str) -> Choice {
    Choice { name, help }
}

pub(super) fn directions() -> Vec<Choice> {
    vec![
        choice("forward", "This end sends"),
        choice("reverse", "The peer sends"),
        choice("duplex", "Both ends send at once"),
    ]
}

/// Ways to measure a device.
pub(super) fn methods() -> Vec<Choice> {
    let shown = |method: &&'static dyn Method| choice(method.id(), method.summary());
    METHODS.iter().map(shown).collect()
}

/// Who ends a connection.
pub(super) fn closes() -> Vec<Choice> {
    vec![
        choice("client", "The client: its port waits in TIME_WAIT"),
        choice("reset", "The client, by a reset: nobody waits"),
        choice(
            "server",
            "The server: it waits in TIME_WAIT, and the client's port is free",
        ),
    ]
}

pub(super) fn transports() -> Vec<Choice> {
    vec![choice("tcp", "TCP"), choice("udp", "UDP")]
}

pub(super) fn arrivals() -> Vec<Choice> {
    vec![
        choice("constant", "At equal distances"),
        choice("poisson", "At random, each independent of the others"),
    ]
}

pub(super) fn extents() -> Vec<Choice> {
    vec![
        choice(
            "all",
            "Counters, and a sampled profile: the same as --profile",
        ),
        choice(
            "counters",
            "Counters of both hosts before and after, and `TCP_INFO` meanwhile",
        ),
        choice(
            "none",
            "Nothing: for measuring what observing costs. What limits is then mostly unknown",
        ),
    ]
}

/// Ways to wait of every datapath.
pub(super) fn modes() -> Vec<Choice> {
    let shown =
        |known: crate::run::NamedMode| choice(known.name, known.summary.trim_end_matches('.'));
    Mode::known().map(shown).collect()
}

/// Ways to wait on a socket as it is.
pub(super) fn waits() -> Vec<Choice> {
    let sockets = DatapathChoice::default();
    let plain = Mode::known().filter(|known| *known.mode.datapath() == sockets);
    let plain: Vec<_> = plain.map(|known| known.name).collect();
    let mut all = modes();
    all.retain(|mode| plain.contains(&mode.name));
    all
}
