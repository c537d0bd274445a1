//! What a stack has to answer to be listed.

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

    /// Whether it knows these options, and their values can be.
    fn check(&self, options: &Options) -> Result<(), String>;

    /// The program that is started, this one unless it has another; made if it is not there yet. `tell` hears what takes
    /// long.
    fn program(
        &self,
        options: &Options,
        places: &Places,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, Failure> {
        let _ = (options, tell);
        Ok(places.own.clone())
    }

    /// What joins it with this host.
    fn attachment(&self, options: &Options) -> Attachment;

    /// What its program is started with.
    fn arguments(&self, options: &Options, addresses: StackAddresses) -> Vec<String>;

    /// Sets what its options ask for; the calling thread is in the stack's network namespace.
    fn configure(&self, options: &Options) -> Result<(), Failure> {
        let _ = options;
        Ok(())
    }

    /// Where its tests are, as a peer is written, once it has this address.
    fn peer(&self, options: &Options, address: IpAddr) -> String {
        let _ = options;
        let host = SocketAddr::new(address, protocol().about().default_port);
        format!("{}://{host}", protocol().id())
    }

    /// How long a program that is not ours may take; `None`: ours answers at once, and is killed at its end.
    fn patience(&self, options: &Options) -> Option<Patience> {
        let _ = options;
        None
    }

    /// Options that have a value also where none is given.
    fn usual(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What `program` was made of, where its counts do not say it.
    fn source(&self, program: &Path) -> Option<String> {
        let _ = program;
        None
    }
}

/// How long a program may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until it is ready.
    pub start: Duration,
    /// To end once it was asked to.
    pub stop: Duration,
}

/// Sizes of buffers, for every stack: what `buffers` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// Windows of 4 segments.
    Base,
    /// Windows of 16 segments.
    Large,
}

impl Buffers {
    /// What the options say; `None` if they say nothing.
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
