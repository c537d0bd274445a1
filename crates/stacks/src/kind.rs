//! Interface of a kind of stack.

use crate::link::{Attachment, StackAddresses};
use crate::options::{Options, Places};
use crate::protocol;
use linerate_model::exit::Failure;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Gets a program with these options, and says what it does.
type GetProgram = fn(&Options, &Places, &mut dyn FnMut(&str)) -> Result<PathBuf, Failure>;

/// A network stack that can be started as a peer.
pub struct StackKind {
    /// The name in addresses, plans and reports.
    pub id: &'static str,
    /// One sentence for help and the guide.
    pub summary: &'static str,
    /// Default option values.
    pub usual: &'static [(&'static str, &'static str)],
    /// Checks that it supports these options and their values.
    pub(crate) check: fn(&Options) -> Result<(), String>,
    /// The program to start, built if necessary.
    pub(crate) program: GetProgram,
    /// Name of the option that is a command to run; `None`: its program is linerate's own.
    pub(crate) runs: Option<&'static str>,
    /// How it is attached to this host.
    pub(crate) attachment: fn(&Options) -> Attachment,
    /// Arguments of its program.
    pub(crate) arguments: fn(&Options, StackAddresses) -> Vec<String>,
    /// Applies its options in the calling thread's network namespace, which is the stack's.
    pub(crate) configure: fn(&Options) -> Result<(), Failure>,
    /// Address of its tests, in the syntax of a peer, for this IP address.
    pub(crate) peer: fn(&Options, IpAddr) -> String,
    /// Timeouts of a foreign program; `None`: our own answers at once, and is killed at its end.
    pub(crate) patience: fn(&Options) -> Option<Patience>,
    /// What the program at this path was built from, where its counts do not say it.
    pub(crate) source: fn(&Path) -> Option<String>,
}

impl StackKind {
    /// This program on a TAP device, with the protocol of every stack's server.
    pub(crate) const OWN: Self = Self {
        id: "",
        summary: "",
        usual: &[],
        check: |_| Ok(()),
        program: |_, places, _| Ok(places.own.clone()),
        runs: None,
        attachment: |_| Attachment::Tap,
        arguments: |_, _| Vec::new(),
        configure: |_| Ok(()),
        peer: |_, address| {
            let host = SocketAddr::new(address, protocol().about().default_port);
            format!("{}://{host}", protocol().id())
        },
        patience: |_| None,
        source: |_| None,
    };
}

/// Timeouts of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until it is ready.
    pub start: Duration,
    /// From SIGTERM to its end.
    pub stop: Duration,
}

/// Buffer sizes of every stack, from the option `buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// Windows of 4 segments.
    Base,
    /// Windows of 16 segments.
    Large,
}

impl Buffers {
    /// Value in the options; `None` if absent.
    pub(crate) fn of(options: &Options) -> Result<Option<Self>, String> {
        match options.get("buffers").map(String::as_str) {
            None => Ok(None),
            Some("base") => Ok(Some(Self::Base)),
            Some("large-buffers") => Ok(Some(Self::Large)),
            Some(other) => Err(format!("buffers={other}: must be base or large-buffers")),
        }
    }

    /// Bytes of a window.
    pub(crate) const fn window(self) -> u32 {
        match self {
            Self::Base => 4 * 1460,
            Self::Large => 16 * 1460,
        }
    }
}
