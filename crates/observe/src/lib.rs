//! Collectors of facts and counters on this host.
//!
//! An [`Observer`] takes snapshots of cumulative counters and gauges, named by [`linerate_model::signals`], and
//! collects the facts of the host. What cannot be read is listed in [`Snapshot::missing`] with the reason. Derives
//! nothing: rates, shares and verdicts are made in `analysis`.
//!
//! **Namespaces.** Two hosts may live in one process, each in the network namespace of its own threads. Everything
//! about the network is therefore read *by the calling thread*: through `/proc/thread-self/net`, `/proc/sys/net` and
//! netlink sockets opened for one request. sysfs shows the namespace it was mounted in, so it is used only after the
//! interface's index and address were compared (see [`HostView`]). Take a host's snapshots in a thread of that host.
//!
//! Invariants: a counter of one observer never goes backwards (see [`Backwards`]), and no content of a file makes a
//! collector panic or read without bound.
#![forbid(unsafe_code)]

mod blind;
mod clock_identity;
pub mod collectors;
mod condition;
mod core_load;
mod drops;
mod error;
#[cfg(feature = "_fuzzing")]
pub mod fuzzing;
mod history;
mod host_view;
mod interface;
mod jitter;
mod observer;
mod profile;
mod snmp;
mod sysfs;
#[cfg(test)]
mod testing;
mod text;

pub use blind::{Salt, hide, recognise};
pub use clock_identity::recognise_clock;
pub use collectors::{Collector, is_emulated, preloaded};
pub use condition::condition;
pub use core_load::CoreLoad;
pub use drops::{DropWatch, Mark};
pub use error::ReadError;
pub use history::Backwards;
pub use host_view::{HostView, Scope};
pub use interface::{check_interface, default_interface, interface_for};
pub use jitter::jitter;
pub use linerate_model::facts::Facts;
pub use linerate_model::sample::Snapshot;
pub use observer::Observer;
pub use profile::{ProfileError, Profiler};
