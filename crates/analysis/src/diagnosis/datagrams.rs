//! Datagrams at a multiple of the rate that was carried: do they arrive, and if not, where do they go?
//!
//! What limits TCP itself (a window, a buffer, its reaction to loss) does not hold datagrams back; what limits the path or
//! a host does, and shows where: behind a queue, without one, or at the receiver.

use super::outcome::{self, INTERVAL, Outcome, ReferenceTrials};
use super::thread::described;
use super::weights::Suspect;
use super::{Probe, ProbeComparison, shaper};
use crate::causes::{self, link, own_shaper, policer, receiver_cpu};
use crate::experiment::NotRun;
use crate::readings::carried_rate;
use crate::thresholds::outcome::CARRIED;
use linerate_model::run::{Change, DelayOf, Probe as Made, Run, RunKind, Trial};
use linerate_model::spec::{Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use std::time::Duration;

pub(super) struct Datagrams {
    id: &'static str,
    /// Of the rate that was carried.
    factor: f64,
}

/// Far enough above what was carried that what a queue or a bucket of tokens adds is not taken for more.
const USUAL: f64 = 1.5;
/// A policer or a short queue may drop so much of TCP's bursts that far less is carried than it lets pass.
const FAR: f64 = 6.0;

/// After a test of TCP, far above its rate.
pub(super) const FAR_ABOVE_TCP: Datagrams = Datagrams {
    id: "datagrams-far-above",
    factor: FAR,
};

/// Somewhat above the rate.
pub(super) const OVERLOAD: Datagrams = Datagrams {
    id: "datagrams-above",
    factor: USUAL,
};

/// Long enough to fill a queue of 200 ms, or to empty a bucket of tokens of 250 ms, in its first half; short enough for
/// several in ten seconds.
pub(super) const TIME: Duration = Duration::from_secs(1);
/// More than this the datagrams of an ordinary host do not reach, which says nothing of the path.
const FASTEST: BitRate = BitRate::from_bps(2_250_000_000);
/// A full Ethernet frame over IPv4 with TCP's timestamps: as large as TCP's own segments.
const PAYLOAD: ByteCount = ByteCount::new(1448);

/// What datagrams are that arrived as fast as they were to be sent, nearly all.
const ARRIVED: [Outcome; 3] = [
    Outcome::Carried,
    Outcome::CarriedQueued,
    Outcome::CarriedLossy,
];

impl Datagrams {
    /// Datagrams at `factor` times the carried rate, for probes with answers of their own.
    pub(super) const fn at(factor: f64) -> Self {
        Self { id: "", factor }
    }

    /// Whether as many arrived as the rate needs, and no bucket of tokens may be why.
    pub(super) fn arrived(&self, compared: &ProbeComparison<'_>) -> bool {
        self.outcome(compared).is_some_and(|outcome| {
            ARRIVED.contains(&outcome) && !self.fits_a_bucket(outcome, compared)
        })
    }

    /// Whether they arrived beside a bucket of tokens, which says nothing of the rate at which it fills.
    fn fits_a_bucket(&self, outcome: Outcome, compared: &ProbeComparison<'_>) -> bool {
        self.factor > 1.0
            && ARRIVED.contains(&outcome)
            && causes::has_bucket(compared.run, compared.limited.direction)
    }

    /// What became of them.
    pub(super) fn outcome(&self, compared: &ProbeComparison<'_>) -> Option<Outcome> {
        let around = ReferenceTrials {
            limited: Some(compared.limited),
            half: compared.half,
        };
        let intended = compared.changed.intended_load.or_else(|| {
            let carried = carried_rate(compared.limited)?;
            Some(BitRate::from_f64(carried.as_f64() * self.factor))
        });
        outcome::read(compared.changed, intended.map(BitRate::as_f64), &around)
    }
}

impl Probe for Datagrams {
    fn id(&self) -> &'static str {
        self.id
    }

    fn change(&self) -> Change {
        Change::Datagrams {
            factor: self.factor,
        }
    }

    fn cost(&self) -> Duration {
        TIME
    }

    fn classes(&self) -> &'static [&'static str] {
        Outcome::IDS
    }

    fn read(&self, compared: &ProbeComparison<'_>) -> Vec<usize> {
        let outcome = self.outcome(compared);
        outcome
            .filter(|outcome| !self.fits_a_bucket(*outcome, compared))
            .into_iter()
            .map(|outcome| outcome as usize)
            .collect()
    }

    /// What its own host's full shaper held back would have been sent: nothing else limits as much where it leaves no room.
    fn speaks_against(&self, compared: &ProbeComparison<'_>, suspect: Suspect) -> bool {
        self.factor > 1.0
            && *suspect != own_shaper::CAUSE
            && self.outcome(compared) == Some(Outcome::HeldBack)
            && (shaper::is_full(compared.run, compared.changed)
                || shaper::holds_up_sender(compared.changed))
            && shaper::leaves_no_room(compared.run, compared.limited)
    }

    fn describe(&self, compared: &ProbeComparison<'_>) -> String {
        let changed = compared.changed;
        let at = changed.intended_load.map_or_else(String::new, |load| {
            format!(" at {load} ({} times what was carried)", self.factor)
        });
        let Some((sent, arrived)) = changed.offered_load.zip(changed.received_rate) else {
            return format!("A probe with datagrams{at} could not be measured.");
        };
        format!(
            "Probe with datagrams{at}: {sent} sent, {arrived} arrived: {}.",
            match self.outcome(compared) {
                Some(outcome) if self.fits_a_bucket(outcome, compared) =>
                    "they fit into a bucket of tokens, which only longer tests empty".to_owned(),
                outcome => said(outcome, changed),
            }
        )
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        let impossible = |why: &str| Err(NotRun::Impossible(why.to_owned()));
        let asked = crate::experiment::repeatable(run)?;
        let Some(rate) = carried_rate(baseline) else {
            return impossible("nothing was carried");
        };
        let load = rate.as_f64() * self.factor;
        let at = |load: f64| Pace::At(BitRate::from_f64(load));
        if baseline.transport == Transport::Udp {
            let mut test = crate::experiment::short_test(run)?;
            test.interval = INTERVAL;
            // An unpaced sender may offer more than one that keeps a schedule can.
            let offered = baseline.offered_load.unwrap_or_default();
            let is_enough = offered.as_f64() >= load * CARRIED;
            if test.pace() != Pace::Unpaced || !is_enough || run.kind() == RunKind::Saturate {
                test.work.set_pace(at(load));
            }
            return Ok(test);
        }
        let fastest = FASTEST.as_f64();
        let load = if load <= fastest {
            load
        } else if self.factor < 1.0 {
            // Below the rate that was carried fewer show as well whether some are lost at any rate.
            fastest * self.factor
        } else {
            return impossible("datagrams of one thread do not reach that rate");
        };
        let segment = baseline.tcp().and_then(|tcp| tcp.smss_bytes);
        let payload = segment.map_or(PAYLOAD, |bytes| PAYLOAD.min(ByteCount::new(bytes)));
        Ok(TestSpec {
            direction: asked.direction,
            stop: Stop::After(TIME),
            interval: INTERVAL,
            pinning: asked.pinning,
            seed: asked.seed,
            ..TestSpec::udp_datagrams(at(load)).with_payload(payload)
        })
    }
}

/// The outcome in words.
pub(super) fn said(outcome: Option<Outcome>, changed: &Trial) -> String {
    let loss = changed.loss_ratio().unwrap_or_default();
    match outcome {
        Some(Outcome::Carried) => "nearly all arrived".to_owned(),
        Some(Outcome::CarriedQueued) => "they arrived, after a wait in a queue".to_owned(),
        Some(Outcome::CarriedLossy) => format!("they arrived, but for {loss} lost on the path"),
        Some(Outcome::SameLoss) => format!("{loss} were lost on the path, as at half the rate"),
        Some(Outcome::Queued) => {
            let length = queue_length(changed).unwrap_or_default();
            format!("{loss} were lost before the receiver, behind a queue{length}")
        }
        Some(Outcome::Dropped) => {
            format!("{loss} were lost before the receiver, without a queue")
        }
        Some(Outcome::LostOnPath) => format!("{loss} were lost before the receiver"),
        Some(Outcome::Lost) => format!("{loss} were lost, where is not known"),
        Some(Outcome::LostUnqueued) => {
            format!(
                "{loss} were lost, and the others came as they had been sent: no queue stood before what stopped them"
            )
        }
        Some(Outcome::AtSocket | Outcome::AtSocketLate) => {
            format!("{loss} were lost at the receiver's socket")
        }
        Some(Outcome::AtSocketStarved) => {
            format!(
                "{loss} were lost at the receiver's socket, whose thread {}",
                described(changed, Side::Receiver)
            )
        }
        Some(Outcome::BeforeSocket) => {
            format!("{loss} were lost at the receiver, before its socket")
        }
        Some(Outcome::HeldBack) => {
            "the sender's own queueing discipline held the rest back".to_owned()
        }
        Some(Outcome::Refused) => {
            "a packet filter of the sender's own host refused the rest".to_owned()
        }
        Some(Outcome::PushedBack) => "the sender's own interface took no more".to_owned(),
        Some(Outcome::Short | Outcome::ShortLate | Outcome::ShortUnseen) => {
            "the sender sent no more".to_owned()
        }
        Some(Outcome::ShortStarved) => {
            format!(
                "the sender sent no more: its thread {}",
                described(changed, Side::Sender)
            )
        }
        Some(Outcome::ShortQueued) => {
            "the sender sent no more, and what it sent had waited".to_owned()
        }
        None => {
            "inconclusive: a traffic thread waited for a core, which none did in the run".to_owned()
        }
    }
}

/// How long a full queue is, to follow its name: the time that datagrams waited in it at the median, and what leaves it then.
fn queue_length(trial: &Trial) -> Option<String> {
    let delay = trial.delay().filter(|delay| delay.of == DelayOf::Pdv)?;
    let waited = Duration::from_nanos(delay.p50_ns?).as_secs_f64();
    let bytes = BitRate::from_f64(trial.received_rate?.as_f64() * waited).bps() / 8;
    Some(format!(
        " of about {:.1} ms ({})",
        waited * 1e3,
        ByteCount::new(bytes)
    ))
}

/// What kept a probe's datagrams from arriving, and what arrived of them, in bit/s of L4 payload; `None` where nearly all
/// arrived, or where it is not known.
pub(super) fn stopped_by(probe: &Made) -> Option<(Suspect, f64)> {
    let Change::Datagrams { factor } = probe.change else {
        return None;
    };
    let trial = Some(&probe.trial).filter(|_| factor > 1.0)?;
    let intended = trial.intended_load.map(BitRate::as_f64);
    let suspect: Suspect = match outcome::read(trial, intended, &ReferenceTrials::default())? {
        Outcome::HeldBack => &own_shaper::CAUSE,
        Outcome::Queued => &link::CAUSE,
        Outcome::Dropped | Outcome::Refused => &policer::CAUSE,
        Outcome::AtSocketStarved | Outcome::BeforeSocket => &receiver_cpu::CAUSE,
        _ => return None,
    };
    Some((suspect, carried_rate(trial)?.as_f64()))
}
