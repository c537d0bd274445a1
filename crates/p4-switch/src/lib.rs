//! A P4 program between network ports.
//!
//! ```text
//!   control ── jobs ──►┐
//!                      │ one thread
//!   port 0 ─ receive ─►├─ linerate-p4: parser, ingress, queues, egress ─┬─► send ─ port 1
//!   port 1 ─ receive ─►┘                                                └─► control (CPU port)
//! ```
//!
//! [`Station::run`] is that thread: it takes up to 32 frames from each port in turn, then does the work that waits, then
//! sends. Jobs of the control plane run between two such rounds, so that a packet sees all of a job or nothing of it. What
//! a port drops for lack of space is counted where it happens.
#![forbid(unsafe_code)]

mod control;
mod counts;
mod ports;
mod station;

pub use control::{Control, CpuPort};
pub use ports::{ALL, OpenPort, PortError, PortKind, open, open_vlan};
pub use station::{Idle, Station};
