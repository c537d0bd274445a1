//! The link under TCP: a queue stands before it, and nobody else's traffic fills it.

use super::View;
use crate::causes::evidence::{
    Cpu, Evidence, Need, Others, Stall, StreamReader, is_misled, share_of,
};
use crate::causes::{RuleOutcome, clear, own_shaper, words};
use crate::thresholds::link::CARRIED;
use linerate_model::run::{Confidence, Trial};
use linerate_model::tcp::TcpWait;

impl View<'_> {
    pub(super) fn tcp(&self) -> RuleOutcome {
        let Some(delays) = self.delays else {
            return self.nominal_or(&self.passed(None), &[Need::Delay]);
        };
        if let Some(stall) = Stall::from_evidence(self.evidence) {
            return clear(stall.elsewhere());
        }
        if let Some(others) = Others::from_evidence(self.evidence) {
            return clear(format!(
                "the link is not this transfer's alone: {}",
                others.describe()
            ));
        }
        if let Some(why) = elsewhere(self.evidence) {
            return clear(why);
        }
        if !delays.queue_stands() {
            return clear(format!(
                "no queue stands: RTT under load {} against {} at best",
                words::time(delays.loaded),
                words::time(delays.base)
            ));
        }
        if self.evidence.has_full_shaper() {
            let claim = format!(
                "The sender's own queueing discipline limits: {} of L4 payload is the rate that it keeps, and a queue stood before it.",
                words::rate(self.carried)
            );
            let at_sender = self.case(Some(1.0), Confidence::Supported, claim);
            return own_shaper::CAUSE.found(at_sender);
        }
        if let Some(why) = of_other_way(self.evidence) {
            return clear(why);
        }
        self.standing(delays)
    }
}

/// Why a queue that lengthens the round trips of a test both ways is not on the way of this direction's data, but on that of
/// its acknowledgements.
fn of_other_way(evidence: &Evidence<'_>) -> Option<String> {
    let other = evidence.other_way()?;
    if other.has_full_shaper() {
        return Some("the queue stands on the way of the acknowledgements: the other direction fills the shaper of its own sender".to_owned());
    }
    let lost = other.sent_again().filter(|lost| *lost > 0)?;
    (evidence.sent_again() == Some(0)).then(|| {
        format!(
            "the queue stands on the way of the acknowledgements: the other direction sent {} segments again, this one none",
            words::count(lost)
        )
    })
}

/// Why a queue that stands is not the link's: it stands in an end, or nothing had to wait for it.
fn elsewhere(evidence: &Evidence<'_>) -> Option<String> {
    if let Some(reader) = StreamReader::from_evidence(evidence).filter(|reader| reader.is_behind())
    {
        return Some(format!(
            "what waits has passed the link: {}",
            reader.figures().join(" ")
        ));
    }
    if is_misled(evidence) {
        return Some(
            "the path reorders so much that needless retransmissions hold TCP back".to_owned(),
        );
    }
    if let Some(cpu) = Cpu::of_ends(evidence).into_iter().find(Cpu::holds_up) {
        return Some(format!(
            "the queue stands before a busy CPU: {}",
            cpu.reason()
        ));
    }
    nothing_waits(evidence)
}

/// Says so when a paced stream left nothing waiting for the link: nearly all arrived in time, or TCP
/// had nothing to send, or room in every window, most of the time.
fn nothing_waits(evidence: &Evidence<'_>) -> Option<String> {
    if !Need::IntendedLoad.is_met(evidence) {
        return None;
    }
    let arrived = |trial: &Trial| {
        let (offered, received) = (trial.offered_load?.as_f64(), trial.received_rate?.as_f64());
        (offered > 0.0).then(|| received / offered)
    };
    if let Some(share) = evidence.mean(arrived).filter(|share| *share >= CARRIED) {
        return Some(format!(
            "{} of what was offered arrived in time: nothing was left waiting for the link",
            words::percent(share)
        ));
    }
    let free = share_of(evidence, TcpWait::Application)? + share_of(evidence, TcpWait::System)?;
    (free >= 0.5).then(|| {
        format!(
            "TCP had nothing to send, or room in every window, {} of the time",
            words::percent(free)
        )
    })
}

/// What the transfer does to the delay of everything else on the link.
pub(super) fn bufferbloat(evidence: &Evidence<'_>) -> Option<String> {
    let subject = evidence.subject();
    let worst = subject
        .iter()
        .filter_map(|trial| trial.tcp()?.queueing)
        .max_by(|a, b| a.rise().cmp(&b.rise()))?;
    worst.bloated.then(|| {
        format!(
            "Bufferbloat: under load the RTT is {:.1} times as long, by {} (from 2 times and 30 ms on it is called so).",
            worst.factor,
            words::time(worst.rise().as_secs_f64() * 1e9)
        )
    })
}
