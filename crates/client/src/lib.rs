//! Asks a peer for tests: its address, the session with it, and the way to the shell of a board that has no port to ask at.
#![forbid(unsafe_code)]

pub mod address;
mod client;
mod describe;
mod no_greeting;
mod pulse;
mod shell;
mod target;

pub use client::{Client, DirectionOutcome, TestOutcome, greet};
pub use linerate_observe::preloaded;
pub use pulse::{Pulse, planned_time};
pub use target::{Target, no_element};
