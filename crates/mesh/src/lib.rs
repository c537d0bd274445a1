//! Pure: which hosts of a mesh test each other when, and which links they share that nobody declared.
//!
//! [`Inventory`] reads the hosts, [`plan`] makes rounds of tests that share no interface and no declared link,
//! [`schedule`] says when a mesh is measured again, and [`shared`] finds the links that only crowds of flows show.
#![forbid(unsafe_code)]

mod ansible;
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
