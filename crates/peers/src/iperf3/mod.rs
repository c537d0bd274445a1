//! iperf3's control protocol, versions 3.1 to 3.22: one TCP connection per test, one-byte states, framed JSON.
//!
//! Does not carry traffic and does not judge it. The client ends the test in every direction. Invariant: a
//! peer gets no more than one message of bounded size kept, and no number it names is used before it is checked.
//!
//! ```text
//!  client driver        client                       server           server driver
//!                          | 37 bytes of cookie --------> |
//!          <- PeerHello    | <--------- 9 PARAM_EXCHANGE  |
//!  Begin(spec) ->          | length, parameters --------> |  Prepare(spec, format)  ->
//!          <- OpenStreams  | <--------- 10 CREATE_STREAMS |               <- Prepared
//!  Connected ->            | ===== data streams ========> |               <- Connected
//!          <- StartReceivers | <----------- 1 TEST_START  |  StartReceivers ->
//!          <- StartSenders | <---------- 2 TEST_RUNNING   |  StartSenders ->
//!                          |                              |
//!  Finished ->, or the time is over, and a little later
//!                          | 4 TEST_END ----------------> |  StopSenders ->
//!          <- PeerFinished | <------ 13 EXCHANGE_RESULTS  |
//!  Reports ->              | length, results -----------> |  PeerFinished ->
//!                          |                              |               <- Reports
//!          <- PeerReport   | <----------- length, results |
//!                          | <-------- 14 DISPLAY_RESULTS |
//!          <- HalfClose    | 16 IPERF_DONE -------------> |  TestOver ->
//!          <- TestOver     | <--------- end of connection |
//!
//!  Abort ->  12 CLIENT_TERMINATE, 11 SERVER_TERMINATE, or 0xfe with a code and an errno: Stop -> at both ends
//! ```
//!
//! How the numbers of the results are turned into reports, and what they cannot say, is in `results.rs`.

mod client;
mod code;
mod far_log;
mod inbox;
mod log;
mod params;
mod results;
mod server;
mod streams;
#[cfg(test)]
mod tests;

pub use streams::{COOKIE_LEN, Cookie, Counters, Streams};

use crate::session::{
    Capabilities, ClientConfig, CredentialKind, Demux, PeerKind, ServerConfig, Session, Tests,
    whole_seconds,
};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;
use std::time::Duration;

/// The registry entry.
#[derive(Debug, Clone, Copy)]
pub struct Iperf3;

impl PeerKind for Iperf3 {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "iperf3",
                summary: "iperf3 from 3.1 on, as it is on the board: TCP and UDP, both ways, in both roles.",
                default_port: 5201,
                start_hint: "`iperf3 -s`",
                tests: Tests::One,
                demux: Demux::Cookie {
                    length: COOKIE_LEN,
                    answer: streams::answer,
                },
                blind_spots: &[
                    "facts, counters and CPU use of the peer's host",
                    "the peer's progress, and its reporting intervals but those of datagrams that it received in at most half an hour",
                    "TCP_INFO of a far sender, but its retransmissions",
                    "when a far receiver took the last datagram: its rate is counted over the sender's time, so a queue that drains after the end adds to it",
                    "delay variation, duplicates and reordering at a far receiver: a duplicate there hides one loss",
                    "in which place a datagram was lost at the peer",
                ],
                credential: CredentialKind::User,
                ..Capabilities::FOREIGN
            }
        }
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        params::obstacle(spec)
    }

    fn fitted(&self, mut spec: TestSpec) -> TestSpec {
        spec.warm_up = whole_seconds(spec.warm_up);
        spec
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(config, now))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(server::Server::new(config, now))
    }
}

/// The states that travel as one byte.
mod byte {
    pub(super) const TEST_START: u8 = 1;
    pub(super) const TEST_RUNNING: u8 = 2;
    pub(super) const TEST_END: u8 = 4;
    pub(super) const PARAM_EXCHANGE: u8 = 9;
    pub(super) const CREATE_STREAMS: u8 = 10;
    pub(super) const SERVER_TERMINATE: u8 = 11;
    pub(super) const CLIENT_TERMINATE: u8 = 12;
    pub(super) const EXCHANGE_RESULTS: u8 = 13;
    pub(super) const DISPLAY_RESULTS: u8 = 14;
    pub(super) const IPERF_DONE: u8 = 16;
    pub(super) const SERVER_ERROR: u8 = 0xfe;
    pub(super) const ACCESS_DENIED: u8 = 0xff;
}

/// Additional time for the exchange of results: a receiver drains what is queued.
const DRAIN: Duration = Duration::from_mins(1);

/// Maximum length of parameters, bytes. iperf3 itself accepts 8 KiB since 3.18.
const MAX_PARAMS: u32 = 64 * 1024;
/// Maximum length of results, bytes; with the server's output of an hour they take about a megabyte.
const MAX_RESULTS: u32 = 8 * 1024 * 1024;
/// Maximum streams per direction, as in iperf3.
const MAX_STREAMS: u16 = 128;
