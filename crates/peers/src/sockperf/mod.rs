//! sockperf since 2.7: messages that say themselves what they are, and no control connection.
//!
//! Does not carry messages; [`wire`] says what they look like. A client begins when it likes and ends by being
//! silent or closing; a server reflects. Invariant: a server sends nothing that was not asked for, and no more
//! bytes than came.
//!
//! ```text
//!  client driver        client                server          server driver
//!  Begin(spec) ->          |                     |
//!          <- OpenStreams  |                     |
//!  Connected ->            |                     |            <- StreamOpened
//!          <- StartSenders |                     |  Prepare, StartReceivers ->
//!                          | ==== messages ====> |
//!                          | <===== replies ==== |
//!  Finished, Reports ->    |                     |            <- Reports
//!          <- TestOver     |                     |  TestOver ->
//! ```

mod client;
mod server;
mod streams;
pub mod wire;

pub use streams::Streams;

use crate::session::{Capabilities, ClientConfig, Control, Demux, PeerKind, ServerConfig, Session};
use linerate_model::spec::{TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};

/// The registry entry.
#[derive(Debug, Clone, Copy)]
pub struct Sockperf;

impl PeerKind for Sockperf {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "sockperf",
                summary: "sockperf from 2.7 on, as it is: round trips over UDP and TCP, in both roles.",
                default_port: 11_111,
                start_hint: "`sockperf server` (for TCP `sockperf server --tcp`)",
                control: Control::Absent,
                demux: Demux::EachATest {
                    opening_len: |_| wire::HEADER_LEN,
                },
                blind_spots: &[
                    "facts, counters and CPU use of the peer's host",
                    "what the peer counted: all is timed and counted at this end",
                    "which way a datagram was lost",
                ],
                ..Capabilities::FOREIGN
            }
        }
    }

    fn usual_sizes(&self, _transport: Transport) -> Vec<ByteCount> {
        vec![ByteCount::new(wire::HEADER_LEN as u64)]
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        client::obstacle(spec)
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(&config, now))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(server::Server::new(config, now))
    }
}
