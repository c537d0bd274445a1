//! Interface of a kind of stack.

use crate::link::{Attachment, StackAddresses};
use crate::options::{Options, Places};
use crate::protocol;
use linerate_model::exit::Failure;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A network stack that can be started as a peer.
pub trait StackKind: Sync {
    /// The name in addresses, plans and reports.
    fn id(&self) -> &'static str;

    /// One sentence for help and the guide.
    fn summary(&self) -> &'static str;

    /// Checks that it supports these options and their values.
    fn check(&self, options: &Options) -> Result<(), String>;

    /// The program to start, built if necessary; by default this one. `tell` receives progress messages.
    fn program(
        &self,
        options: &Options,
        places: &Places,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, Failure> {
        let _ = (options, tell);
        Ok(places.own.clone())
    }

    /// How it is attached to this host.
    fn attachment(&self, options: &Options) -> Attachment;

    /// Arguments of its program.
    fn arguments(&self, options: &Options, addresses: StackAddresses) -> Vec<String>;

    /// Applies its options in the calling thread's network namespace, which is the stack's.
    fn configure(&self, options: &Options) -> Result<(), Failure> {
        let _ = options;
        Ok(())
    }

    /// Address of its tests, in the syntax of a peer, for this IP address.
    fn peer(&self, options: &Options, address: IpAddr) -> String {
        let _ = options;
        let host = SocketAddr::new(address, protocol().about().default_port);
        format!("{}://{host}", protocol().id())
    }

    /// Timeouts of a foreign program; `None`: our own answers at once, and is killed at its end.
    fn patience(&self, options: &Options) -> Option<Patience> {
        let _ = options;
        None
    }

    /// Default option values.
    fn usual(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What `program` was built from, where its counts do not say it.
    fn source(&self, program: &Path) -> Option<String> {
        let _ = program;
        None
    }
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
