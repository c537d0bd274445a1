//! Request/response at a rate: requests go when they are due, whatever is still under way (open loop).
//!
//! The sender's side asks, by an absolute schedule with constant or random distances, and takes answers
//! beside; the receiver's side is that of a ping-pong, which answers one message after the other. Both
//! times of each request are kept: from when it was *meant* to be sent (response time) and from when it
//! was sent (service time). A requester that comes late sends what is due at once: users do not wait for
//! each other, so a stall hurts every request that falls into it, and it shows.
//!
//! Three numbers are kept apart: intended, sent, answered within the timeout. Nothing is dropped from the
//! schedule to catch up.
//!
//! # References
//! - Coordinated omission, and latency from the intended send time: Gil Tene, wrk2 and `HdrHistogram`
//! - Open and closed loop: Schroeder, Wierman, Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI 2006

mod arrivals;
mod exchange;
mod pending;
mod requester;

use super::datagrams::MAX_DATAGRAM;
use super::{StreamSetup, Work, WorkloadKind, ping_pong};
use crate::datapaths::{Calls, Nagle};
use crate::error::{EngineError, Result};
use crate::plan::{StreamPlan, no_messages};
use linerate_model::PacketRate;
use linerate_model::spec::{OpenLoop, Side, Stop, TestSpec, TestWork, Transport, WaitMode};
use linerate_peers::StreamFormat;

/// The open loop.
pub(super) struct RequestResponse;

impl WorkloadKind for RequestResponse {
    fn id(&self) -> &'static str {
        "request-response"
    }

    fn summary(&self) -> &'static str {
        "Requests at a given rate over UDP or TCP, answered by the peer: times from when each was meant to be sent."
    }

    fn example(&self) -> TestSpec {
        TestSpec {
            stop: Stop::Transactions(20),
            ..TestSpec::request_response(Transport::Tcp, PacketRate::from_pps(2000.0))
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        if !format.identifies_test() {
            let why = "requests at a rate need `linerate serve` at the peer";
            return Err(EngineError::plan("workload", &self.id(), why));
        }
        let open = open_loop(&spec.work)?;
        if spec.streams != 1 {
            let why = "requests at a rate go over one stream: their schedule is one";
            return Err(EngineError::plan("streams", &spec.streams, why));
        }
        if spec.wait == WaitMode::BusyPoll {
            let why = "requests at a rate wait by block or spin";
            return Err(EngineError::plan("wait", &"busy-poll", why));
        }
        let payload = open.message;
        let least = format.messages(0).ok_or_else(no_messages)?.header_len() as u64;
        let most = match open.transport {
            Transport::Tcp => u64::MAX,
            Transport::Udp => MAX_DATAGRAM,
        };
        if !(least..=most).contains(&payload.get()) {
            let why = format!(
                "a request takes at least {least} bytes (its header), over UDP at most {MAX_DATAGRAM}"
            );
            return Err(EngineError::plan("payload", &payload, why));
        }
        Ok(())
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    /// The requester never sleeps in a call: an answer or the next request may come first.
    fn waiting(&self, side: Side, plan: &StreamPlan) -> WaitMode {
        match side {
            Side::Sender => WaitMode::Spin,
            Side::Receiver => plan.wait,
        }
    }

    fn nagle(&self) -> Nagle {
        Nagle::Off
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        match side {
            Side::Sender => Ok(Box::new(requester::Requester::new(setup)?)),
            Side::Receiver => ping_pong::responder(setup),
        }
    }
}

/// Parameters of the open loop.
fn open_loop(work: &TestWork) -> Result<&OpenLoop> {
    match work {
        TestWork::OpenLoop(open) => Ok(open),
        _ => Err(EngineError::plan(
            "rate",
            &"none",
            "an open loop needs a rate",
        )),
    }
}

#[cfg(test)]
mod tests;
