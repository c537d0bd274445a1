//! Turns a topology into live hosts and takes it down again.
//!
//! Hosts are network namespaces in a user namespace: no privileges, no names in the file system, nothing left behind
//! when the process ends. They are joined directly or by the lab's own link element, which counts exactly what it did
//! to which packet; a [device under test](duts) stands between two ports of a tester.
#![forbid(unsafe_code)]

pub mod duts;
pub mod link;

mod error;
mod host;
mod inline_link;
mod interfaces;
mod router;
mod two_hosts;
mod userns;

pub(crate) use error::Result;
pub use error::{TeardownError, TestbedError};
pub use host::{Host, HostId};
pub use inline_link::InlineLink;
pub use link::{LinkConfig, LinkCounters, LinkHandle, Outage, PacketFilter, PacketList};
pub use router::Router;
pub use two_hosts::{Link, TwoHosts};
pub use userns::enter_user_namespace;
