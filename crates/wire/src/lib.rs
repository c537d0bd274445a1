//! Common code of all ends of the native protocol, on hosts and on microcontrollers.
//!
//! Pure, `no_std`, no allocation: bytes and instants in, bytes and counts out. Where the sizes of hosts and devices
//! differ, the caller provides the memory ([`sequence::Memory`]).
//!
//! Does not read or write the bodies of messages: hosts use serde for them, devices have no room for it.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod frame;
pub mod header;
mod instant;
mod jitter;
pub mod schedule;
pub mod sequence;
mod stamp;

pub use instant::MonoInstant;
pub use jitter::Jitter;
pub use stamp::{Stamp, distance, distance_48};
