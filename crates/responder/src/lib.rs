//! The peer for microcontrollers: the native protocol's smallest form, bytes in and bytes out.
//!
//! ```text
//!   linerate HOST ══ TCP 5301 ══╗                        ╔═► control_received   control_output
//!                 ── UDP 5302 ──╬═ the device's stack ═══╬═► datagram_received  datagram_output
//!                 ── TCP 5302 ──╝  smoltcp, lwIP, …      ╚═► stream_received    stream_output
//! ```
//! A [`Responder`] is one value of fixed size: no allocation, no I/O, no clock, no floating point. Whoever owns the
//! stack hands it what came, sends what it gives, and calls [`Responder::poll`] after each round.
//!
//! Carries one client at a time and one stream per direction; refuses every other test with the reason. Counts
//! datagrams as a host's receiver does (RFC 4737, RFC 5560), in a smaller window: see [`SEQUENCE_WINDOW`].
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod config;
mod json;
mod link;
mod order;
mod refusal;
mod report;
mod responder;
mod signal;
mod stream;
mod tally;
mod test;
mod text;
mod traffic;

pub use config::{CONTROL_PORT, Config, Port};
pub use linerate_wire::MonoInstant as Instant;
pub use link::State;
pub use responder::Responder;
pub use signal::Signal;
pub use traffic::{Reply, SEQUENCE_WINDOW};
