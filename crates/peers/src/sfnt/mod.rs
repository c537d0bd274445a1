//! sfnt-pingpong's control protocol, versions 1.4 to 1.6: one TCP connection for a run of many sizes.
//!
//! Does not carry messages and does not time them. Both ends say what they are, the client says how the peer is to take part, then it announces how many messages of which size go there and back, again and
//! again; the peer tells nothing of what it saw. Invariant: no more than one message of bounded size is
//! kept, and a number that the peer names is checked before it is used.
//!
//! ```text
//!  client driver        client                       server           server driver
//!                          | <------- version, checksum   |
//!          <- PeerHello    |                              |
//!  Begin(spec) ->          | options -------------------> |  Prepare(spec) ->
//!                          | <--------- LD_PRELOAD or nil |               <- Prepared
//!     TCP: <- OpenStreams  | <----------------- data port |
//!     UDP: <- Prepare      | <------------ its UDP address |
//!  Prepared ->             | this end's UDP address ----> |  OpenStreams ->
//!          <- OpenStreams  |                              |
//!  Connected ->            | ======= data stream =======> |               <- Connected
//!          <- StartSenders |                              |  StartReceivers ->
//!          <- Grant        | count, size ---------------> |  Grant ->
//!  Spent ->                |     again and again          |
//!          <- StopSenders  |                              |
//!  Reports ->  TestOver    |                              |
//!  Begin(next size) ->     | ReuseStreams ->, and so on   |
//!  Bye ->                  | 0 -------------------------> |  PeerFinished ->, TestOver ->
//! ```
//!
//! An original client leaves if version or checksum are not its own, so a server must be told what to say.

mod batches;
mod client;
mod options;
mod release;
mod server;
mod streams;
#[cfg(test)]
mod tests;
mod wire;

pub use streams::Streams;

pub use release::Release;

use crate::session::{Capabilities, ClientConfig, PeerKind, ServerConfig, Session, Tests};
use crate::settings::{Setting, SettingValues};
use linerate_model::spec::{TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant};
use std::sync::Arc;

/// The registry entry: the protocol, and what its servers say that they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sfnt {
    /// `None`: the most common release.
    release: Option<Release>,
}

impl Sfnt {
    /// With default settings.
    pub const DEFAULT: Self = Self { release: None };
}

/// Setting: version that servers announce.
const VERSION: &str = "sfnt-version";

/// Setting: checksum that servers announce.
const CHECKSUM: &str = "sfnt-checksum";

impl PeerKind for Sfnt {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "sfnt",
                summary: "sfnt-pingpong 1.4 to 1.6, as it is: round trips over UDP and TCP, in both roles.",
                default_port: 2048,
                start_hint: "`sfnt-pingpong` (it serves one client and ends)",
                tests: Tests::Alike,
                blind_spots: &[
                    "facts, counters and CPU use of the peer's host",
                    "what the peer counted: all is timed and counted at this end",
                    "which way a datagram was lost: the tool cannot go on after a loss, so the run ends with an error",
                ],
                settings: &[
                    Setting {
                        name: VERSION,
                        value: "VERSION",
                        help: "Version shown to sfnt-pingpong clients, which leave unless it is their own [default: 1.5.0]",
                    },
                    Setting {
                        name: CHECKSUM,
                        value: "MD5",
                        help: "MD5 of the sources shown to sfnt-pingpong clients [default: that of the version, if it is known]",
                    },
                ],
                ..Capabilities::FOREIGN
            }
        }
    }

    fn usual_sizes(&self, transport: Transport) -> Vec<ByteCount> {
        let powers = |most: u32| (0..=most).map(|power| 1_u64 << power);
        let sizes: Vec<u64> = match transport {
            Transport::Tcp => powers(16).collect(),
            // Sizes below and above an Ethernet frame's payload too.
            Transport::Udp => {
                let small = std::iter::once(0).chain(powers(10));
                small
                    .chain([1472, 1473])
                    .chain(powers(15).skip(11))
                    .collect()
            }
        };
        sizes.into_iter().map(ByteCount::new).collect()
    }

    fn with_settings(&self, values: &SettingValues) -> Result<Arc<dyn PeerKind>, String> {
        let value = |name| values.get(name).map(String::as_str);
        let release = Release::from_settings(value(VERSION), value(CHECKSUM))?;
        Ok(Arc::new(Self {
            release: Some(release),
        }))
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        options::obstacle(spec, wire::Layout::V1_6)
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(&config, now))
    }

    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        let release = self.release.clone().unwrap_or_default();
        Box::new(server::Server::new(config, release, now))
    }
}
