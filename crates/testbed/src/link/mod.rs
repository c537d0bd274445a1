//! The link element: exact, seeded impairments of a path, with counters.

mod config;
mod counters;
mod draw;
mod element;
mod filter;
mod handle;
mod line;
mod list;
mod pool;
mod shaper;

pub use config::{ConfigError, LinkConfig, Outage};
pub use counters::{DirectionCounters, Faults, LinkCounters, Tally};
pub use filter::{PacketFilter, Transport};
pub use handle::LinkHandle;
pub use list::{PacketList, PacketListError};
pub use shaper::{Copies, Departure, Frame, FrameClass, Shaper, Verdict};

pub(crate) use config::ETHERNET_HEADER;
pub(crate) use element::RING_BYTES;
pub(crate) use handle::Port;
