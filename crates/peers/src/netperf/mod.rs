//! netperf's control protocol: one TCP connection, on which blocks of fixed size ask for a test.
//!
//! Does not carry traffic and does not judge it. The client speaks the classic tests, which every netserver knows;
//! the server also OMNI, which clients from 2.5 on use for all of them. Invariant: a peer gets no more than one
//! block kept, and no number it names is used before it is checked.
//!
//! The protocol has test after test on a connection, and our server makes them. netserver (2.7.0) does not survive
//! it: a `UDP_STREAM` after a `TCP_STREAM` kills the process that serves it. So our client makes one and hangs up.
//!
//! ```text
//!  client driver        client                       server           server driver
//!                          | DEBUG_OFF -----------------> |
//!          <- PeerHello    | <------------------ DEBUG_OK |
//!  Begin(spec) ->          | request -------------------> |  Prepare(spec, format)  ->
//!          <- OpenStreams  | <------- response, data port |               <- Prepared
//!  Connected ->            | ===== data stream =========> |               <- Connected
//!          <- StartSenders | =========== data ==========> |  StartReceivers ->
//!  Finished, Reports ->    | = half-close, empty datagram |               <- Reports
//!          <- PeerReport   | <-------------------- results |
//!          <- TestOver     | end of connection ---------> |  TestOver ->
//! ```
//!
//! Nobody says over the control connection that the traffic is over: the data stream says it. Only a `UDP_RR`
//! ends by the server's clock, some seconds after the time that was asked for.

mod block;
mod classic;
mod client;
mod inbox;
mod omni;
mod order;
mod request;
mod server;
mod streams;
mod test;
#[cfg(test)]
mod tests;

pub use streams::Streams;

use crate::session::{
    Capabilities, ClientConfig, PeerKind, ServerConfig, Session, Tests, with_whole_seconds_back,
};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;
use std::time::Duration;

/// The registry entry.
#[derive(Debug, Clone, Copy)]
pub struct Netperf;

impl PeerKind for Netperf {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "netperf",
                summary: "netperf and netserver: TCP both ways, UDP to the server, and request/response, in both roles.",
                default_port: 12865,
                start_hint: "`netserver`",
                tests: Tests::One,
                blind_spots: &[
                    "facts, counters and CPU use of the peer's host",
                    "the peer's progress and its reporting intervals",
                    "TCP_INFO of a far sender",
                    "when a far receiver took the last datagram: its rate is counted over the sender's time, so a queue that drains after the end adds to it",
                    "delay variation, duplicates and reordering at a far receiver: datagrams have no numbers, so a duplicate there hides one loss",
                    "in which place a datagram was lost at the peer",
                ],
                tells_facts: true,
                ..Capabilities::FOREIGN
            }
        }
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        classic::obstacle(spec)
    }

    fn fitted(&self, spec: TestSpec) -> TestSpec {
        with_whole_seconds_back(spec)
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(&config, now))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(server::Server::new(config, now))
    }
}

/// How long a netserver waits beyond the requested time for the end of a test.
const PAD: Duration = Duration::from_secs(4);

/// Maximum time for a receiver to drain the queues after its sender has stopped.
const DRAIN: Duration = Duration::from_mins(1);
