//! Client side: addresses of peers, routes to them, and the session.
#![forbid(unsafe_code)]

pub mod address;
mod client;
mod delegate;
mod describe;
mod failures;
mod interface;
mod lease;
mod no_greeting;
mod outcome;
mod path_mtu;
mod ports;
mod pulse;
mod target;

pub use client::{Client, greet};
pub use lease::{HeldLease, LeaseOutcome, Leased};
pub use linerate_observe::preloaded;
pub use outcome::{BrokenTest, DirectionOutcome, TestOutcome};
pub use ports::Ports;
pub use pulse::{Pulse, planned_time};
pub use target::{Target, no_element};
