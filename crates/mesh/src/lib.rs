//! Pure: which hosts of a mesh test each other when, and which links they share that nobody declared.
//!
//! [`Inventory`] reads the hosts, [`plan`] makes rounds of tests that share no interface and no declared link,
//! [`schedule`] says when a mesh is measured again, [`shared`] finds the links that only crowds of flows show, and [`apart`] plans
//! the pairs again that filled such a link together.
#![forbid(unsafe_code)]

mod ansible;
pub mod apart;
mod circle;
mod colouring;
mod inventory;
pub mod outliers;
mod pairs;
mod plan;
pub mod schedule;
pub mod shared;

pub use ansible::from_ansible;
pub use inventory::{DeclaredLink, HostEntry, Inventory};
pub use plan::plan;

use linerate_model::mesh::MeshPair;

/// One direction between two hosts, by their places in the list of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEnds {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

impl FlowEnds {
    /// Both directions of a pair, first the one from the host that dials.
    pub fn of_pair(pair: MeshPair) -> [Self; 2] {
        pair.flows().map(|(from, to)| Self { from, to })
    }
}
