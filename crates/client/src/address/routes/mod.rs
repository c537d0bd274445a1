//! The ways to a peer: each reads its own addresses and opens what a session is spoken over.

mod board;
mod console;
mod direct;
mod resolve;
mod shell;
mod ssh;
mod stack;

pub(crate) use direct::At;
pub(crate) use stack::of_stack;

use crate::address::{IpChoice, PeerAddress};
use crate::target::Target;
use anyhow::Result;
use linerate_boards::BoardName;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::key::Key;
use linerate_peers::{PeerKind, Wire};
use linerate_session::Line;
use linerate_stacks::{Places, RunningStack};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Every way to a peer, in the order help lists them. A new one: its file, its `mod` line above, its entry here.
static ALL: &[&dyn RouteKind] = &[
    &direct::Direct,
    &board::Board,
    &stack::OnStack,
    &ssh::Ssh,
    &console::Console,
    &shell::InShell,
];

/// A kind of way to a peer.
trait RouteKind: Sync {
    /// What stands before `://` where linerate's own protocol is spoken; other protocols are named before it, with a plus
    /// sign. The empty scheme stands for the protocol's name alone.
    fn schemes(&self) -> &'static [&'static str];
    /// Whether a peer that speaks `kind` is reached by it.
    fn carries(&self, kind: &dyn PeerKind) -> bool {
        !kind.about().is_foreign
    }
    /// How peers that speak `kind` are written, and what is there; `None` where help need not tell.
    fn help(&self, kind: &dyn PeerKind) -> Option<RouteHelp>;
    /// How addresses are written, for whoever wrote one that cannot be read.
    fn examples(&self, _kind: &dyn PeerKind) -> Vec<String> {
        Vec::new()
    }
    /// Reads what follows `SCHEME://`.
    fn read(
        &self,
        kind: &'static dyn PeerKind,
        scheme: &str,
        rest: &str,
    ) -> Result<PeerAddress, BadAddress>;
}

/// What help says of a way to a peer.
struct RouteHelp {
    addresses: Vec<String>,
    what: String,
}

/// Why an address is none.
enum BadAddress {
    /// It is not written as addresses of its kind are.
    Written(String),
    /// It is no host with a port.
    NoHost,
    /// It is well written, and leads nowhere.
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

/// A way to one peer.
pub(crate) trait Route: Send + Sync {
    /// Writes the address of a peer there that speaks `kind`.
    fn show(&self, kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Opens what a session with the peer is spoken over.
    fn reach(&self, target: &Target) -> Result<Reached>;

    /// The port of the tests of a peer that speaks `kind`.
    fn port(&self, kind: &dyn PeerKind) -> u16 {
        kind.about().default_port
    }

    /// The emulated board that is there.
    fn board(&self) -> Option<&BoardName> {
        None
    }

    /// Whether the peer is a stack, which is prepared, and started in a network of its own.
    fn is_stack(&self) -> bool {
        false
    }

    /// The same once all is made that has to be there before the peer is reached, if there is such; `tell` hears what takes
    /// long.
    fn prepared(
        &self,
        _places: &Places,
        _tell: &mut dyn FnMut(&str),
    ) -> Result<Option<Arc<dyn Route>>, Failure> {
        Ok(None)
    }

    /// Starts the stack that is to be the peer of one client, if it is to be one.
    fn start(&self, _peer: &PeerAddress, _ip: IpChoice) -> Result<Option<Started>, Failure> {
        Ok(None)
    }

    /// The same with a program that is started anew when it is next reached; `None` where linerate does not start it.
    fn restarted(&self) -> Option<Arc<dyn Route>> {
        None
    }

    /// What is to be known of how the peer came there.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A stack that runs, and the peer that it is.
pub(crate) struct Started {
    pub(crate) running: RunningStack,
    pub(crate) peer: PeerAddress,
}

/// What a session with a peer is spoken over.
pub(crate) struct Reached {
    pub(crate) line: Line,
    /// The key that the peer asks for.
    pub(crate) key: Option<Key>,
    /// Silence that is no sign of a peer that is gone.
    pub(crate) patience: Duration,
    /// How the peer's shell is reached, if it is told what to do by one.
    pub(crate) wire: Option<Wire>,
}

impl Reached {
    /// As with any peer that listens at a port.
    pub(crate) fn over(line: Line, target: &Target) -> Self {
        Self {
            line,
            key: target.key.clone(),
            patience: Duration::ZERO,
            wire: None,
        }
    }
}

/// The ways by which a peer that speaks `kind` is reached.
fn carrying(kind: &dyn PeerKind) -> impl Iterator<Item = &'static dyn RouteKind> {
    ALL.iter().copied().filter(move |route| route.carries(kind))
}

/// Reads the address of a peer.
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
    let route = carrying(kind).find(|route| route.schemes().contains(&scheme));
    let Some(route) = route else {
        // It is reached by none but ways that have to be named.
        let named = carrying(kind).find(|route| !route.examples(kind).is_empty());
        return Err(match named.filter(|_| kind.about().is_foreign) {
            Some(route) => unreadable(text, "say how its shell is reached", route, kind),
            None => unknown(text, written),
        });
    };
    route.read(kind, scheme, rest).map_err(|bad| match bad {
        BadAddress::Written(why) => unreadable(text, &why, route, kind),
        BadAddress::NoHost => no_host(text),
        BadAddress::Nowhere(failure) => failure,
    })
}

fn unreadable(text: &str, why: &str, route: &dyn RouteKind, kind: &dyn PeerKind) -> Failure {
    let mut message = format!("\"{}\": {why}", without_password(text));
    let examples = route.examples(kind);
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

/// How addresses of peers that speak `kind` begin; of another tool's, by the usual way.
fn schemes(kind: &dyn PeerKind) -> Vec<String> {
    let most = if kind.about().is_foreign {
        1
    } else {
        ALL.len()
    };
    let all = carrying(kind)
        .take(most)
        .flat_map(|route| route.schemes().iter());
    all.map(|scheme| match *scheme {
        "" => format!("{}://", kind.id()),
        scheme => format!("{}{scheme}://", prefix(kind)),
    })
    .collect()
}

/// What stands before a scheme that is not the empty one.
fn prefix(kind: &dyn PeerKind) -> String {
    if kind.about().is_foreign {
        format!("{}+", kind.id())
    } else {
        String::new()
    }
}

/// Each peer that runs another program, or no hardware: how it is written, and what runs there; for help.
pub fn foreign_help() -> String {
    let rows = linerate_peers::ALL
        .iter()
        .flat_map(|kind| carrying(*kind).filter_map(|route| route.help(*kind)));
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

/// A word of a command line, without the password that an address may have.
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
