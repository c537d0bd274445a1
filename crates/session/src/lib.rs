//! One end of a session with a peer: carries out a protocol session's actions on sockets, in the same way at client and
//! agent.
#![forbid(unsafe_code)]

mod carried;
mod demux;
mod driver;
mod endpoints;
mod error;
mod flows;
pub mod key;
mod line;
mod listener;
pub mod login;
mod opening;
mod state;
#[cfg(test)]
mod tests;

pub use carried::{CONSOLE_TIMEOUT, ConsoleLink, connection_pair};
pub use demux::{Admission, AwaitedStreams, DemuxHandle, StreamDemux, StreamMark};
pub use driver::{Driver, SessionEvent, TestGate};
pub use endpoints::DataStreams;
pub use error::{Result, SessionError};
pub use flows::{Flow, Flows, Place};
pub use line::{Line, Shell, type_in};
pub use opening::peek;
