//! Ping-pong: one message goes, the same comes back, then the next goes (closed loop).
//!
//! The sender's side asks and measures the round trip on its own clock, from just before the
//! sending call to just after the receiving one. The receiver's side answers.
//!
//! Messages of a header's length or more carry the header with the transaction's number. Shorter
//! datagrams carry as much of the number as fits, down to none: an empty datagram is matched by
//! order alone. In a byte stream order is enough for any length.
//!
//! The header also carries the clock of the end that sent the message: the asking end's just before its sending
//! call, the answering end's just after its receiving one. Each end notes how its own clock then differs from
//! it ([`crate::transit`]), from which `analysis` tells the clocks' offset and one-way delays.
//!
//! With sfnt-pingpong at the peer messages carry nothing at all, and both ends have agreed on how many of
//! which size go there and back before the next word on the control connection: see [`allowance`]. Nothing
//! is repeated there, so a datagram that is lost ends the exchange.
//!
//! With netperf at the peer messages carry nothing, so an answer that comes too late would be taken for the
//! next one: after one that did not come in time the asking side is silent until none can be under way.
//!
//! A closed loop does not see what happens while it waits (coordinated omission): it is the delay
//! of an idle path, not of a path at a given load.

mod allowance;
mod messenger;
mod reflector;
mod requester;
mod responder;
mod stages;
mod stalls;

use super::datagrams::MAX_DATAGRAM;
use super::{StreamSetup, Work, WorkloadKind};
use crate::datapaths::{Calls, Nagle};
use crate::error::{EngineError, Result};
use crate::plan::{StreamPlan, no_messages};
use linerate_model::spec::{Side, Stop, TestSpec, TestWork, Transport};
use linerate_peers::StreamFormat;

/// Responder: answers every message, one after the other; meanwhile arrivals queue in its system.
pub(super) fn responder(setup: StreamSetup) -> Result<Box<dyn Work>> {
    Ok(Box::new(responder::Responder::new(setup)?))
}

/// The closed loop.
pub(super) struct PingPong;

impl WorkloadKind for PingPong {
    fn id(&self) -> &'static str {
        "ping-pong"
    }

    fn summary(&self) -> &'static str {
        "One message at a time to the peer and back, over UDP or TCP: round-trip times."
    }

    fn example(&self) -> TestSpec {
        TestSpec {
            stop: Stop::Transactions(20),
            ..TestSpec::ping_pong(Transport::Tcp)
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        let TestWork::ClosedLoop(closed) = &spec.work else {
            let why = "it sends one message at a time and waits for its answer";
            return Err(EngineError::plan("workload", &self.id(), why));
        };
        let payload = closed.message;
        let header = format.messages(0).ok_or_else(no_messages)?.header_len();
        match closed.transport {
            Transport::Udp if payload.get() > MAX_DATAGRAM => {
                let why = format!("a datagram takes at most {MAX_DATAGRAM} bytes");
                Err(EngineError::plan("payload", &payload, why))
            }
            Transport::Tcp if payload.get() == 0 => {
                let why = "a message over TCP takes at least 1 byte";
                Err(EngineError::plan("payload", &payload, why))
            }
            _ if closed.decompose && payload.get() < header as u64 => {
                let why = format!("with --decompose messages take at least {header} bytes");
                Err(EngineError::plan("payload", &payload, why))
            }
            _ => Ok(()),
        }
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    fn nagle(&self) -> Nagle {
        Nagle::Off
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        match (side, setup.plan.format.replies()) {
            (Side::Sender, _) => Ok(Box::new(requester::Requester::new(setup)?)),
            (Side::Receiver, Some(replies)) => {
                Ok(Box::new(reflector::Reflector::new(setup, replies)?))
            }
            (Side::Receiver, None) => responder(setup),
        }
    }
}
