//! linerate's own control protocol: one TCP connection, framed JSON, several tests one after the other.
//!
//! Does not carry traffic and does not judge it. Invariant: a test's number stands in every message about it,
//! and after `Abort` both ends wait for each other's `Aborted`, so nothing of one test is taken for the next.
//!
//! ```text
//!  client driver        client                          server           server driver
//!                          | preamble -------------------> |
//!                          | <------------------- preamble |
//!                          |   with a key; all that follows is sealed
//!                          | Seal -----------------------> |
//!                          | <----------------------- Seal |
//!                          |                               |
//!                          | Hello ----------------------> |  Admit ->
//!                          |   or <-------------- Farewell |               <- Admitted(Err)
//!          <- PeerHello    | <-------------------- Welcome |  PeerHello -> <- Admitted(Ok)
//!  Begin(spec) ->          | Prepare --------------------> |  Prepare(spec) ->
//!          <- OpenStreams  | <---------------------- Ready |               <- Prepared
//!                          |   or <--------------- Refused |               <- Refused
//!  Connected ->            | <------------------ Connected |               <- Connected
//!          <- StartReceivers                               |
//!                          | Start ----------------------> |  StartReceivers ->
//!          <- StartSenders | <-------------------- Started |  StartSenders ->
//!                          |                               |
//!          <- PeerProgress | <------------------- Progress |               <- Progress
//!  Finished ->             | Finished -------------------> |  PeerFinished ->
//!          <- PeerFinished | <------------------- Finished |               <- Finished
//!          <- PeerReport   | <--------------------- Report |               <- Reports
//!  Reports ->              |                               |
//!          <- TestOver     | Acknowledge ----------------> |  TestOver ->
//!                          |                               |
//!  while traffic flows, if its user has seen enough
//!  EndTraffic ->           | EndTraffic -----------------> |  StopSenders ->
//!          <- StopSenders  |                               |
//!                          |                               |
//!  a test with another server, of which this server is the client
//!  Delegate ->             | Delegate -------------------> |  PeerEvent::Delegate ->
//!                          |   or <--------------- Refused |               <- Delegated(Err)
//!          <- PeerEvent    | <------------------ Delegated |               <- Delegated(Ok)
//!                          |                               |
//!  the interface that a test would use at this server
//!  Describe ->             | Describe -------------------> |  Describe ->
//!                          |   or <--------------- Refused |               <- Described(Err)
//!          <- PeerEvent    | <------------------ Described |               <- Described(Ok)
//!                          |                               |
//!  the lease on the server's host: take, renew, release
//!  Lease ->                | Lease ----------------------> |  PeerEvent::Lease ->
//!                          |   or <--------------- Refused |               <- Leased(Err)
//!          <- PeerEvent    | <--------------------- Leased |               <- Leased(Ok)
//!                          |                               |
//!  at any time of a test, from either end (here: from the client)
//!  Abort ->                | Abort ----------------------> |  Stop ->
//!          <- Stop         |                               |
//!  Stopped ->              | Aborted --------------------> |               <- Stopped
//!          <- TestAborted  | <-------------------- Aborted |  TestAborted ->
//!                          |                               |
//!  Bye ->                  | Bye ------------------------> |  Closed ->
//!  either end, after a second without a word:  Ping
//!  either end, when the session cannot go on:  Farewell(code, message), close
//! ```

mod client;
mod foreign;
mod frame;
mod link;
pub mod message;
mod noise;
mod opening;
mod patience;
mod phase;
mod seal;
mod server;
mod state;
mod streams;
mod test;
mod turns;

pub use linerate_wire::frame::VERSION;
use linerate_wire::frame::{FRAME_HEADER_LEN, PREAMBLE_LEN};
pub use linerate_wire::header as wire;
use streams::OPENING_LEN;
pub use streams::Streams;

use crate::session::{
    Capabilities, ClientConfig, CredentialKind, PeerKind, ServerConfig, Session, StreamPorts,
};
use linerate_model::MonoInstant;
use linerate_model::spec::Side;

/// Longest version or session id that is kept.
const MAX_NAME: usize = 64;

/// The registry entry.
#[derive(Debug, Clone, Copy)]
pub struct Native;

impl PeerKind for Native {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "native",
                summary: "linerate's own protocol: every workload, and facts and counters of both ends.",
                name: Some("the native protocol"),
                is_foreign: false,
                default_port: 5301,
                start_hint: "`linerate serve`",
                credential: CredentialKind::Key,
                greeting_len: PREAMBLE_LEN + FRAME_HEADER_LEN,
                one_port: Some(OPENING_LEN),
                tells_facts: true,
                ..Capabilities::FOREIGN
            }
        }
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(&config, now))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(server::Server::new(config, now))
    }
}

/// Checks that the server's ports are those of exactly these sides, none zero, and one or one per stream each.
fn check_ports(
    ports: &StreamPorts,
    sides: impl Iterator<Item = Side>,
    streams: u16,
) -> Result<(), &'static str> {
    let mut wanted: Vec<Side> = sides.collect();
    let mut given: Vec<Side> = ports.iter().map(|(side, _)| *side).collect();
    wanted.sort();
    given.sort();
    if wanted != given {
        return Err("its ports are not for the server's sides in this test");
    }
    let fits = |list: &Vec<u16>| list.len() == 1 || list.len() == usize::from(streams);
    if !ports
        .iter()
        .all(|(_, list)| fits(list) && !list.contains(&0))
    {
        return Err("each side needs one port, or one per stream, and none is zero");
    }
    Ok(())
}
