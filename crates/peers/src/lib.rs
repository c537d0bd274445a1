//! Control protocols: how two ends agree on a test, start it together and exchange what they saw.
//!
//! Each protocol is a pair of state machines over bytes ([`Session`]) behind one description
//! ([`PeerKind`]). No I/O, no clock: bytes and `now` come in, [`Action`]s come out. Data streams
//! (sockets, threads, pacing) belong to the driver; a session only says when to open, start and stop them.
//!
//! Invariant: whatever a peer sends, a session neither panics nor keeps more than one
//! message of bounded size; it answers with a [`ProtocolError`] that says where and why.
#![forbid(unsafe_code)]

pub mod carrier;
mod error;
mod inbox;
pub mod iperf2;
pub mod iperf3;
pub mod key;
pub mod login;
mod moves;
pub mod native;
pub mod netperf;
mod protocol;
mod session;
mod settings;
pub mod sfnt;
pub mod sockperf;
mod steps;
mod stream_format;
pub mod zperf;

pub use error::{Excerpt, ProtocolError};
pub use linerate_wire::{Stamp, distance_48};
pub use protocol::Protocol;
pub use session::{
    Action, Capabilities, ClientConfig, Control, CredentialKind, DelegatedTest, Delegation, Demux,
    DescriptionRequest, EMULATED_TIMEOUT, EPHEMERAL_PORTS, Ending, FIRST_ANSWER, Fence, Grant,
    Input, InterfaceDescription, LEASE_TERM, LeaseGrant, LeaseRequest, Limits, MAX_DELAY,
    MAX_LAPSE_DELAY, MAX_LEASE_TERM, OpenPorts, PeerEvent, PeerHello, PeerKind, Progress,
    RANDOM_BYTES, Refusal, RefusalCode, Sent, ServerConfig, Session, StopCause, StreamEvent,
    StreamOrder, StreamPorts, StreamTarget, TIMEOUT, TestEnd, Tests, UnprovedSending, Wire,
};
pub use settings::{Setting, SettingValues};

pub use stream_format::{
    AfterTraffic, Arrival, BadLength, Batch, DatagramFormat, DatagramHeader, DatagramMark,
    Datagrams, Handshake, HandshakeStep, Message, MessageFormat, Numbers, Part, Reading, Refusals,
    Replies, ReplyFormat, SameFormat, SendTime, Span, StreamFormat,
};

/// Every control protocol, in the order help lists them. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn PeerKind] = &[
    &native::Native,
    &iperf2::Iperf2,
    &iperf3::Iperf3,
    &netperf::Netperf,
    &sfnt::Sfnt::DEFAULT,
    &sockperf::Sockperf,
    &zperf::Zperf::DEFAULT,
];

/// linerate's own protocol, which every agent speaks unless told otherwise.
pub fn own() -> &'static dyn PeerKind {
    &native::Native
}

/// Format of its data streams, as far as it is the same in every test.
pub fn own_streams() -> impl StreamFormat {
    native::Streams { token: 0 }
}

/// The protocols that have servers, in the order help lists them.
pub fn served() -> impl Iterator<Item = &'static dyn PeerKind> {
    let all = ALL.iter().copied();
    all.filter(|kind| kind.about().control != Control::Shell)
}

/// The protocol with this id.
pub fn find(id: &str) -> Option<&'static dyn PeerKind> {
    ALL.iter().copied().find(|kind| kind.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_kebab_case_and_found() {
        let ids: BTreeSet<_> = ALL.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids.len(), ALL.len());
        for id in ids {
            assert!(
                id.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert_eq!(find(id).unwrap().id(), id);
        }
        assert!(find("telnet").is_none());
    }

    #[test]
    fn a_protocol_without_control_connection_tells_nothing_of_the_host() {
        for kind in ALL {
            let can_tell = matches!(kind.about().control, Control::Connection);
            assert!(can_tell || !kind.about().tells_facts, "{}", kind.id());
        }
        assert!(own().about().tells_facts);
    }

    #[test]
    fn summaries_are_one_sentence() {
        for kind in ALL {
            let summary = kind.about().summary;
            assert!(
                summary.ends_with('.') && !summary.contains('\n'),
                "{summary}"
            );
        }
    }
}
