//! iperf2's protocol, which is none: no control connection, no negotiation. A data stream begins with a header
//! that says what it is, ends with the end of the stream or with a negative number, and a datagram stream's
//! receiver answers that with its counts.
//!
//! Does not carry traffic and does not judge it. All generations from 2.0.5 to 2.2 and the kin (Zephyr's zperf,
//! lwIP's lwiperf) are told apart by what they send; nothing has to be set.
//!
//! ```text
//!  client driver          client            server            server driver
//!  Begin(spec) ->
//!           <- OpenStreams | ══ data, header first ═══════►|  StreamOpened ->
//!  Connected ->            |── a first datagram, alone ───►|  Prepare ->      <- Prepared, Connected
//!           <- Start…      |                               |  Start… ->
//!  FirstData ->            |◄══ data, if it is to send ════|
//!  Finished ->             |── −(n+2), every 10 to 50 ms ─►|
//!  Reports ->              |                               |                  <- Reports
//!  Datagram ->             |◄─ report, for each ───────────|  SendDatagram ->
//!           <- PeerReport, TestOver                        |  TestOver -> (2 s after the last)
//! ```
//!
//! TCP has no answer: the stream's end is all. What a report's counts mean is in `report.rs`.

mod client;
mod closing;
pub mod header;
pub mod report;
mod server;
mod streams;
#[cfg(test)]
mod tests;

pub use streams::{Counters, Opening, PeerRole, Streams, Width};

use crate::session::{Capabilities, ClientConfig, Control, Demux, PeerKind, ServerConfig, Session};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;
use std::time::Duration;

/// How a server, or a client that listens, demultiplexes streams.
pub(crate) const DEMUX: Demux = Demux::EachATest {
    opening_len: header::opening_len,
};

/// The registry entry.
#[derive(Debug, Clone, Copy)]
pub struct Iperf2;

impl PeerKind for Iperf2 {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "iperf2",
                summary: "iperf2 of every generation, zperf and lwiperf: TCP and UDP, both ways where they can, in both roles.",
                default_port: PORT,
                start_hint: "`iperf -s` (for UDP `iperf -s -u`)",
                control: Control::Absent,
                demux: DEMUX,
                blind_spots: &[
                    "facts, counters and CPU use of the peer's host",
                    "the peer's progress and its reporting intervals",
                    "anything of the peer's side of a TCP stream: what this end's TCP had acknowledged is all that is known of a far receiver",
                    "the time a far sender took: its offered load is not known, only its number of datagrams",
                    "delay variation and duplicates at a far receiver: a duplicate there may hide one loss",
                    "in which place a datagram was lost at the peer",
                ],
                ..Capabilities::FOREIGN
            }
        }
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        client::obstacle(spec)
    }

    fn client(&self, config: ClientConfig, _: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(&config))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(server::Server::new(config, now))
    }
}

/// Pause from the opening of the last of several datagram streams to their traffic: meanwhile a server makes a socket
/// and a thread for each, and earlier traffic may be counted for another stream.
const SETTLE_MANY: Duration = Duration::from_millis(100);

/// Pause from the opening of a single datagram stream to its traffic; its first datagrams wait in the socket. It is
/// part of the time over which the server computes its rate, and a client that listens for a test back ends that test a
/// tenth of its time after the end.
const SETTLE_ONE: Duration = Duration::from_millis(10);

/// Pause between the opening datagram of a test and its traffic.
const fn settle(spec: &TestSpec) -> Duration {
    if spec.streams > 1 {
        SETTLE_MANY
    } else {
        SETTLE_ONE
    }
}

/// Allowance in the peer receiver's time after the traffic: until this end has noticed that its senders have stopped,
/// and has sent the end.
const AFTER: Duration = Duration::from_millis(10);

/// Default port.
const PORT: u16 = 5001;

/// Big-endian 32-bit word at `at`; `None` beyond the end.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*word))
}
