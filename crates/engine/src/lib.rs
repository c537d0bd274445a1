//! Moves traffic: workload, arrival, stop, datapath and peer are five values given to one loop.
//!
//! ```text
//!  Opened::listen ── ports ──► Opened::connect        sockets open, nothing runs
//!         │ await_peer  ◄── token ──  │
//!       start                       start             a thread per stream and side, or for several
//!         │      progress / stop      │
//!       finish(sent) ◄─ control ──── join             reports: what each side saw
//! ```
//!
//! Traffic runs on dedicated, pinnable threads with blocking or spinning calls and no runtime.
//! Sockets are opened on the calling thread, and so in its network namespace.
//! Errors of opening are [`EngineError`]s; once traffic runs, errors are counted in the reports.
#![forbid(unsafe_code)]

mod check;
mod control;
pub mod datapaths;
mod delay_floor;
mod departures;
mod endpoint;
mod error;
mod ipdv;
pub mod learning;
mod moments;
pub mod neighbours;
mod pdv;
mod plan;
mod running;
mod sequence;
mod stamped;
mod tally;
mod task;
mod tcp_samples;
mod transit;
pub mod workloads;

pub use check::check;
pub use control::StreamControl;
pub use endpoint::{Early, HeldSockets, KeptStreams, Opened};
pub use error::EngineError;
pub use plan::{EndpointPlan, Role, StreamPlan, opening_at_one_port};
pub use running::{Progress, Running, TcpNow};
