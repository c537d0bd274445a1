//! P4Runtime for the executor of P4 programs: what a control plane asks for is done between two packets, on the thread
//! that owns the switch.
//!
//! # References
//! - P4Runtime specification 1.5.0
#![forbid(unsafe_code)]

mod plane;
pub mod proto;

pub use plane::{DataPlane, InjectError, Job, Plane};
