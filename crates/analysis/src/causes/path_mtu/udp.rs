//! Datagrams of one size: all of them vanish.

use super::CAUSE;
use crate::causes::evidence::{Evidence, LossPlaces, Need};
use crate::causes::{Case, RuleOutcome, clear, not_evaluated, not_recorded, proof, words};
use linerate_model::PacketCount;
use linerate_model::run::{Change, Confidence, Packets, Place, Prediction, Quantity};
use linerate_model::spec::Side;

/// Fewer packets than these may all be lost for another reason.
const FEWEST: u64 = 10;
/// Headers of UDP and IPv4; a packet over IPv6 is 20 bytes longer still.
const HEADERS_BYTES: u64 = 28;
/// Longest packet that every host of IPv4 takes whole, bytes (RFC 791).
const EVERY_PATH_BYTES: u64 = 576;
/// Payload that passes every path that IPv4 allows (RFC 791: 576 B).
const SAFE_PAYLOAD: f64 = 512.0;

pub(super) fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if !Need::Loss.is_met(evidence) {
        return not_recorded(&[Need::Loss]);
    }
    let total = |part: fn(&Packets) -> Option<PacketCount>| {
        let known = evidence.trials().iter().filter_map(|t| part(t.packets()?));
        known.fold(0, |sum: u64, n| sum.saturating_add(n.get()))
    };
    let (sent, received) = (total(|p| p.sent), total(|p| p.received));
    if received > 0 {
        return clear(format!(
            "{} of {} packets of this size arrived",
            words::count(received),
            words::count(sent)
        ));
    }
    if sent < FEWEST {
        return not_evaluated(format!(
            "at least {FEWEST} packets, to tell a size from chance"
        ));
    }
    let here = [Place::ReceiverSocket, Place::ReceiverBacklog];
    if let Some(placed) =
        LossPlaces::from_evidence(evidence).filter(|placed| placed.share(&here) >= 0.5)
    {
        return clear(format!(
            "{} were lost inside the receiver",
            placed.figure(&here)
        ));
    }
    if let Some(why) = evidence.not_reassembled() {
        return clear(why);
    }
    let sizes = evidence.trials().iter().filter_map(|t| t.payload_bytes);
    let Some(payload) = sizes.min().map(linerate_model::ByteCount::get) else {
        return not_evaluated("Not recorded: the size of the packets (trials.payload_bytes)");
    };
    if payload + HEADERS_BYTES <= EVERY_PATH_BYTES {
        return clear(format!(
            "packets of {} B pass every path (RFC 791: {EVERY_PATH_BYTES} B)",
            payload + HEADERS_BYTES
        ));
    }
    if !evidence.follows_handshake() {
        return not_evaluated("shorter frames: the streams were opened by another way");
    }
    found(evidence, sent, payload)
}

fn found(evidence: &Evidence<'_>, sent: u64, payload: u64) -> RuleOutcome {
    let packet = payload + HEADERS_BYTES;
    let mut figures = Vec::new();
    for (side, name) in [(Side::Sender, "sender"), (Side::Receiver, "receiver")] {
        if let Some(mtu) = evidence.mtu(side) {
            figures.push(format!("The {name}'s interface has an MTU of {mtu} B."));
        }
    }
    let mismatch = evidence.mtu(Side::Receiver).is_some_and(|mtu| packet > mtu);
    // The streams of our own runs are opened by small datagrams of the same addresses and ports.
    let opened = evidence
        .trials()
        .iter()
        .any(|trial| !trial.raw().is_empty());
    if opened {
        figures.push(
            "The small datagrams that opened the same streams arrived before each trial."
                .to_owned(),
        );
    }
    // A firewall drops all sizes alike.
    if !mismatch && !opened {
        return not_evaluated("proof that shorter packets arrive");
    }
    let factor = (SAFE_PAYLOAD / PacketCount::new(payload.max(1)).as_f64()).min(0.25);
    CAUSE.found(Case {
        share: Some(1.0),
        confidence: Confidence::Supported,
        claim: format!(
            "The path's MTU limits: none of {} packets of {packet} B arrived, and no error came back.",
            words::count(sent)
        ),
        evidence: figures,
        experiment: proof(
            Change::Payload { factor },
            [Prediction::at_most(Quantity::LossRatio, 0.5)],
        ),
    })
}
