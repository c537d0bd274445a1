//! Datagrams as small as acknowledgements, the other way: does the return path carry more of them than TCP needs?
//!
//! TCP sends no faster than acknowledgements come back. A slow return path delays or loses them, which lengthens the round
//! trip as a queue before data does, while datagrams find the way of the data free.
//!
//! # References
//! - Asymmetry of bandwidth and acknowledgements: RFC 3449 §2

use super::class::classes;
use super::datagrams::{self, TIME};
use super::outcome::{self, INTERVAL, Outcome, ReferenceTrials};
use super::{Probe, ProbeComparison};
use crate::experiment::{NotRun, repeatable};
use crate::thresholds::return_path::{FASTEST, FEWEST, LOSSY};
use linerate_model::run::{Change, Run, Trial};
use linerate_model::signals::NIC_TX_PACKETS;
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;

pub(super) struct ReturnPath;

/// Of the rate of acknowledgements: what a queue drains is not taken for more.
const FACTOR: f64 = 1.5;
/// The change that it makes.
pub(super) const CHANGE: Change = Change::ReturnDatagrams { factor: FACTOR };

/// With UDP's header as long as a TCP header with its timestamps.
const PAYLOAD: ByteCount = ByteCount::new(24);
/// Data segments for each acknowledgement where nothing counted these (RFC 5681 §4.2).
const SEGMENTS_EACH: f64 = 2.0;

classes! {
    /// Few and small as they are, they find no other queue.
    Answer { Carried "carried", Waited "waited", Lost "lost", }
}

impl Probe for ReturnPath {
    fn id(&self) -> &'static str {
        "return-path"
    }

    fn change(&self) -> Change {
        CHANGE
    }

    fn cost(&self) -> Duration {
        TIME
    }

    fn classes(&self) -> &'static [&'static str] {
        Answer::IDS
    }

    fn read(&self, compared: &ProbeComparison<'_>) -> Vec<usize> {
        let lost = compared.changed.loss_ratio().map_or(0.0, Ratio::get);
        let answer = outcome(compared.changed).and_then(|outcome| answer(outcome, lost));
        answer.into_iter().map(|answer| answer as usize).collect()
    }

    fn describe(&self, compared: &ProbeComparison<'_>) -> String {
        let changed = compared.changed;
        let what = format!(
            "datagrams as small as acknowledgements, the other way at {FACTOR} times their rate"
        );
        let Some((sent, arrived)) = changed.offered_load.zip(changed.received_rate) else {
            return format!("A probe with {what}, could not be measured.");
        };
        format!(
            "Probe with {what}: {sent} sent, {arrived} arrived: {}.",
            datagrams::said(outcome(changed), changed)
        )
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        let impossible = |why: &str| Err(NotRun::Impossible(why.to_owned()));
        let asked = repeatable(run)?;
        let direction = match asked.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
            Direction::Duplex => return impossible("traffic flows both ways already"),
        };
        let Some(each_second) = acknowledgements(baseline) else {
            return impossible("how many acknowledgements flowed is not known");
        };
        let datagrams = each_second * FACTOR;
        if !(FEWEST..=FASTEST).contains(&datagrams) {
            return impossible("so few or so many acknowledgements say nothing of the path");
        }
        let load = BitRate::from_f64(datagrams * PAYLOAD.as_f64() * 8.0);
        Ok(TestSpec {
            direction,
            stop: Stop::After(TIME),
            interval: INTERVAL,
            pinning: asked.pinning,
            seed: asked.seed,
            ..TestSpec::udp_datagrams(Pace::At(load)).with_payload(PAYLOAD)
        })
    }
}

fn outcome(changed: &Trial) -> Option<Outcome> {
    let intended = changed.intended_load.map(BitRate::as_f64);
    outcome::read(changed, intended, &ReferenceTrials::default())
}

/// What the ends did with them says nothing of the path.
fn answer(outcome: Outcome, lost: f64) -> Option<Answer> {
    match outcome {
        Outcome::CarriedLossy if lost >= LOSSY => Some(Answer::Lost),
        Outcome::Carried | Outcome::CarriedLossy | Outcome::SameLoss => Some(Answer::Carried),
        Outcome::CarriedQueued | Outcome::Queued | Outcome::HeldBack | Outcome::PushedBack => {
            Some(Answer::Waited)
        }
        Outcome::Dropped
        | Outcome::LostOnPath
        | Outcome::Lost
        | Outcome::LostUnqueued
        | Outcome::Refused => Some(Answer::Lost),
        Outcome::AtSocket
        | Outcome::AtSocketLate
        | Outcome::AtSocketStarved
        | Outcome::BeforeSocket
        | Outcome::Short
        | Outcome::ShortLate
        | Outcome::ShortStarved
        | Outcome::ShortQueued
        | Outcome::ShortUnseen => None,
    }
}

/// Acknowledgements a second: what the receiver's interface sent, and no more than one for each segment of data; where
/// its host does not count, one for every other segment.
fn acknowledgements(trial: &Trial) -> Option<f64> {
    let seconds = trial.duration.filter(|time| !time.is_zero())?.as_secs_f64();
    let segment = trial.tcp().and_then(|tcp| tcp.smss_bytes).unwrap_or(1448);
    let segment = ByteCount::new(segment.max(1)).as_f64();
    let segments = trial.received_bytes?.as_f64() / segment;
    let counted = trial.counters(Side::Receiver);
    let sent = counted.and_then(|counters| counters.get(NIC_TX_PACKETS));
    let sent = sent.map(|sent| PacketCount::new(*sent).as_f64());
    let all = sent.map_or(segments / SEGMENTS_EACH, |sent| sent.min(segments));
    Some(all / seconds)
}
