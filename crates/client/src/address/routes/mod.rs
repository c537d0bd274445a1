//! Routes to a peer: each parses its own addresses and opens the line of a session.

mod board;
mod console;
mod direct;
mod resolve;
mod shell;
mod ssh;
mod stack;

pub(crate) use direct::HostPort;
pub(crate) use stack::of_stack;

use crate::address::{IpChoice, PeerAddress};
use crate::target::Target;
use anyhow::Result;
use linerate_boards::BoardName;
use linerate_model::consent::Effect;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::key::Key;
use linerate_peers::{Control, PeerKind, Wire};
use linerate_session::Line;
use linerate_stacks::{Places, RunningStack};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where other hosts reach the agent at `target`.
///
/// # Errors
///
/// If they cannot, or if it could not be started.
pub fn endpoint_for_others(target: &Target) -> Result<Endpoint> {
    target.far.route().endpoint(target)?.ok_or_else(|| {
        let message = format!(
            "{}: other hosts cannot dial it there; give the address of a running `linerate serve`, or ssh://HOST",
            target.far
        );
        Failure::new(ExitCode::Plan, message).into()
    })
}

/// Every route, in the order in which help lists them. A new one: its file, its `mod` line above, its entry here.
static ALL: &[&RouteKind] = &[
    &direct::KIND,
    &board::KIND,
    &stack::KIND,
    &ssh::KIND,
    &console::KIND,
    &shell::KIND,
];

/// A kind of route to a peer.
struct RouteKind {
    /// Scheme before `://` for linerate's own protocol; other protocols are put before it, with a plus sign. The empty
    /// scheme stands for the protocol's name alone.
    schemes: &'static [&'static str],
    /// Whether a peer with this protocol can be reached by it.
    carries: fn(&dyn PeerKind) -> bool,
    /// How addresses of this protocol are written, and what runs there; `None`: not in help.
    help: fn(&dyn PeerKind) -> Option<RouteHelp>,
    /// Example addresses, for error messages.
    examples: fn(&dyn PeerKind) -> Vec<String>,
    /// Parses what follows `SCHEME://`, for a protocol and a scheme.
    read: fn(&'static dyn PeerKind, &str, &str) -> Result<PeerAddress, BadAddress>,
}

/// Whether it is linerate's own protocol.
fn is_own(kind: &dyn PeerKind) -> bool {
    !kind.about().is_foreign
}

/// Whether it is a protocol with ports alone.
fn has_no_shell(kind: &dyn PeerKind) -> bool {
    kind.about().control != Control::Shell
}

/// Entry of a route in help.
struct RouteHelp {
    addresses: Vec<String>,
    what: String,
}

/// Why an address is invalid.
enum BadAddress {
    /// Wrong syntax for its kind.
    Written(String),
    /// Not a host with a port.
    NoHost,
    /// Valid syntax, but unreachable.
    Nowhere(Failure),
}

impl From<String> for BadAddress {
    fn from(why: String) -> Self {
        Self::Written(why)
    }
}

impl From<Failure> for BadAddress {
    fn from(failure: Failure) -> Self {
        Self::Nowhere(failure)
    }
}

/// A route to one peer.
pub(crate) trait Route: Send + Sync {
    /// Writes the address of a peer with protocol `kind`.
    fn show(&self, kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Opens the line of a session with the peer.
    fn reach(&self, target: &Target) -> Result<Reached>;

    /// What measuring there does outside of linerate; `address` is the peer as it is written.
    fn effects(&self, address: String) -> Vec<Effect>;

    /// Port of tests with protocol `kind`.
    fn port(&self, kind: &dyn PeerKind) -> u16 {
        kind.about().default_port
    }

    /// Where another host reaches the agent of linerate there; `None` where it cannot.
    fn endpoint(&self, _target: &Target) -> Result<Option<Endpoint>> {
        Ok(None)
    }

    /// Name of the emulated board, if it is one.
    fn board(&self) -> Option<&BoardName> {
        None
    }

    /// Whether the peer is a stack, which is prepared, and started in its own network namespace.
    fn is_stack(&self) -> bool {
        false
    }

    /// The route after building what must exist before the peer can be reached; `None` if nothing must. `tell` receives
    /// progress messages.
    fn prepared(
        &self,
        _places: &Places,
        _tell: &mut dyn FnMut(&str),
    ) -> Result<Option<Arc<dyn Route>>, Failure> {
        Ok(None)
    }

    /// Starts the stack for one client, if the peer is one.
    fn start(&self, _peer: &PeerAddress, _ip: IpChoice) -> Result<Option<Started>, Failure> {
        Ok(None)
    }

    /// The route with a program that is started anew on the next connection; `None` where linerate does not start it.
    fn restarted(&self) -> Option<Arc<dyn Route>> {
        None
    }

    /// Note on how the peer was deployed.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Where other hosts reach an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Name or address of its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The key that it asks for.
    pub key: Option<Key>,
}

/// A running stack, and its peer address.
pub(crate) struct Started {
    pub(crate) running: RunningStack,
    pub(crate) peer: PeerAddress,
}

/// Line of a session with a peer, and its parameters.
pub(crate) struct Reached {
    pub(crate) line: Line,
    /// Key that the peer requires.
    pub(crate) key: Option<Key>,
    /// Minimum timeout for silence of this peer.
    pub(crate) patience: Duration,
    /// How the peer's shell is reached, if it is controlled by one.
    pub(crate) wire: Option<Wire>,
}

impl Reached {
    /// For a peer that listens on a port, with the target's own key and timeout.
    pub(crate) fn over(line: Line, target: &Target) -> Self {
        Self {
            line,
            key: target.key.clone(),
            patience: Duration::ZERO,
            wire: None,
        }
    }
}

/// Routes by which a peer with protocol `kind` is reached.
fn carrying(kind: &dyn PeerKind) -> impl Iterator<Item = &'static RouteKind> {
    ALL.iter()
        .copied()
        .filter(move |route| (route.carries)(kind))
}

/// Parses the address of a peer.
pub(crate) fn read(text: &str) -> Result<PeerAddress, Failure> {
    let own = linerate_peers::own();
    let (written, rest) = text.split_once("://").unwrap_or(("linerate", text));
    let (kind, scheme) = match written.split_once('+') {
        Some((id, scheme)) => (linerate_peers::find(id), scheme),
        None if written == "linerate" => (Some(own), ""),
        None => match linerate_peers::find(written) {
            None => (Some(own).filter(|_| !written.is_empty()), written),
            listed => (listed, ""),
        },
    };
    let kind = kind.ok_or_else(|| unknown(text, written))?;
    let route = carrying(kind).find(|route| route.schemes.contains(&scheme));
    let Some(route) = route else {
        // This protocol needs a route with an explicit scheme.
        let named = carrying(kind).find(|route| !(route.examples)(kind).is_empty());
        return Err(match named.filter(|_| kind.about().is_foreign) {
            Some(route) => unreadable(text, "say how its shell is reached", route, kind),
            None => unknown(text, written),
        });
    };
    (route.read)(kind, scheme, rest).map_err(|bad| match bad {
        BadAddress::Written(why) => unreadable(text, &why, route, kind),
        BadAddress::NoHost => no_host(text),
        BadAddress::Nowhere(failure) => failure,
    })
}

fn unreadable(text: &str, why: &str, route: &RouteKind, kind: &dyn PeerKind) -> Failure {
    let mut message = format!("\"{}\": {why}", without_password(text));
    let examples = (route.examples)(kind);
    if !examples.is_empty() {
        message.push_str("; write ");
        message.push_str(&examples.join(" or "));
    }
    Failure::new(ExitCode::Usage, message)
}

fn no_host(text: &str) -> Failure {
    let foreign = linerate_peers::ALL
        .iter()
        .find(|kind| kind.about().is_foreign);
    let id = foreign.map_or("linerate", |kind| kind.id());
    let message = format!(
        "\"{text}\" is not a peer such as 10.0.0.2, board.local:5301, [fe80::1%eth0]:5301 or {id}://board"
    );
    Failure::new(ExitCode::Usage, message)
}

fn unknown(text: &str, scheme: &str) -> Failure {
    let known: Vec<_> = linerate_peers::ALL
        .iter()
        .flat_map(|kind| schemes(*kind))
        .collect();
    let message = format!(
        "\"{text}\": this version does not speak {scheme}://; it speaks {}, and to a host that runs `linerate serve`, such as 10.0.0.2, also without",
        known.join(", ")
    );
    Failure::new(ExitCode::Usage, message)
}

/// Schemes of peers with protocol `kind`; for other tools, of the default route.
fn schemes(kind: &dyn PeerKind) -> Vec<String> {
    let most = if kind.about().is_foreign {
        1
    } else {
        ALL.len()
    };
    let all = carrying(kind).take(most).flat_map(|route| route.schemes);
    all.map(|scheme| match *scheme {
        "" => format!("{}://", kind.id()),
        scheme => format!("{}{scheme}://", prefix(kind)),
    })
    .collect()
}

/// Prefix of a non-empty scheme.
fn prefix(kind: &dyn PeerKind) -> String {
    if kind.about().is_foreign {
        format!("{}+", kind.id())
    } else {
        String::new()
    }
}

/// Help on each kind of peer with another program, or without hardware: how it is written, and what runs there.
pub fn foreign_help() -> String {
    let rows = linerate_peers::ALL
        .iter()
        .flat_map(|kind| carrying(*kind).filter_map(|route| (route.help)(*kind)));
    let rows = rows.map(|RouteHelp { addresses, what }| {
        let addresses = addresses.join("\n  ");
        if addresses.len() <= 21 {
            format!("\n  {addresses:<21} {what}")
        } else {
            format!("\n  {addresses}\n{:24}{what}", "")
        }
    });
    let rows = rows.collect::<Vec<_>>().concat();
    format!("Peers that run another program, or no hardware:{rows}")
}

/// An argument of a command line, without the password that an address may contain.
pub fn without_password(word: &str) -> String {
    match word.split_once('?') {
        Some((place, query)) if place.contains("://") => {
            let parts = query
                .split('&')
                .filter(|part| !part.starts_with("password="));
            let parts = parts.collect::<Vec<_>>().join("&");
            format!("{place}?{parts}")
        }
        _ => word.to_owned(),
    }
}
