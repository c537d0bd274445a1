//! What every control protocol looks like to its driver: inputs, actions, and the two traits.
//!
//! A driver owns one control connection or shell, if its protocol has one ([`Control`]), and one session. Its whole loop is: read bytes and give them to
//! [`Session::handle`]; carry out every [`Action`] in order; wait for bytes, for its own traffic, or for
//! [`Session::deadline`]. The order of actions matters: "receivers run before the peer is told to
//! send" is expressed by `Start(Receiver)` standing before the `Send` that tells it.
//!
//! How protocols map onto it:
//!
//! | step | native | iperf3 | iperf2 | sfnt-pingpong |
//! |---|---|---|---|---|
//! | test agreed | `Prepare` / `Prepared` | parameter JSON after state 9 | header in the first data bytes | options |
//! | open data streams | `OpenStreams` | state 10 | at once | addresses; then the same streams |
//! | traffic | `Start` | states 1 and 2 | at once | a count and a size per `Grant` |
//! | sender done | `Finished` / `PeerFinished` | state 4, then result JSON | last datagram's negative id | every grant is used up |
//! | results | `Reports` / `PeerEvent::Report` | result JSON after state 13 | server report datagram | none |
//! | over | `TestOver` | state 14, 16 | `TestOver` | the count 0 |
//!
//! The drawings in the protocols' folders write an input or action of one kind in a word: `StartSenders` for
//! `Start(Sender)`, `PeerReport` for `Peer(Report)`, `ReuseStreams` for `OpenStreams` of the same streams, `FirstData` for
//! `Stream(FirstData)`, `Abort` and `Bye` for `End` of the test and of the session.

mod action;
mod config;
mod delegation;
mod description;
mod input;
mod kind;
mod lease;
mod peer;
mod ports;

pub use action::{Action, Grant, PeerEvent, Sent, StopCause, StreamOrder, StreamTarget, TestEnd};
pub use config::{
    ClientConfig, EMULATED_TIMEOUT, FIRST_ANSWER, Limits, RANDOM_BYTES, ServerConfig, TIMEOUT,
    UnprovedSending, Wire,
};
pub use delegation::{DelegatedTest, Delegation, MAX_DELAY};
pub use description::{DescriptionRequest, InterfaceDescription};
pub use input::{Ending, Input, Refusal, StreamEvent, StreamPorts};
pub use kind::{Capabilities, Control, CredentialKind, Demux, PeerKind, Tests};
pub(crate) use kind::{whole_seconds, with_whole_seconds_back};
pub use lease::{Fence, LEASE_TERM, LeaseGrant, LeaseRequest, MAX_LAPSE_DELAY, MAX_LEASE_TERM};
pub use linerate_model::RefusalCode;
pub use peer::{PeerHello, Progress};
pub use ports::{EPHEMERAL_PORTS, OpenPorts};

use crate::error::Result;
use linerate_model::MonoInstant;
use std::fmt;

/// One end of one control connection. Does no I/O and reads no clock.
pub trait Session: fmt::Debug + Send {
    /// Takes one input. After an error the session is over: poll the remaining actions (a farewell that
    /// tells the peer why, then [`Action::Closed`]), stop any traffic, close the connection.
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()>;
    /// The next thing to do, in order; `None` when it is time to wait.
    fn poll_action(&mut self) -> Option<Action>;
    /// When to say [`Input::Timeout`] if nothing else happens before; `None` when the session is over.
    fn deadline(&self) -> Option<MonoInstant>;
    /// The state by its kebab-case name, for messages and logs.
    fn state(&self) -> &'static str;
}
