//! Datagrams at a multiple of the rate that was carried: do they arrive, and if not, where do they go?
//!
//! What limits TCP itself (a window, a buffer, its reaction to loss) does not hold datagrams back; what limits the path or
//! a host does, and shows where: behind a queue, without one, or at the receiver.

use super::suspects::Suspect;
use super::{Compared, Probe, shown};
use crate::experiment::NotRun;
use crate::readings::late_delay_floors;
use linerate_model::run::{Change, DelayOf, Place, Probe as Made, Run, RunKind, Trial};
use linerate_model::signals::{
    NIC_RX_DROPPED, QDISC_OVERLIMITS, SOFTNET_DROPPED, UDP_RCVBUF_ERRORS,
};
use linerate_model::spec::{Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;

pub(super) struct Datagrams {
    id: &'static str,
    /// Of the rate that was carried.
    factor: f64,
    /// How probable each answer is, in the order of [`Answer`].
    likelihoods: fn(Suspect) -> [f64; ANSWERS],
}

/// Far enough above what was carried that what a queue or a bucket of tokens adds is not taken for more.
const USUAL: f64 = 1.5;
/// A policer or a short queue may drop so much of TCP's bursts that far less is carried than it lets pass.
const FAR: f64 = 6.0;

/// After a test of TCP.
pub(super) const AGAINST_TCP: Datagrams = Datagrams {
    id: "datagrams-beyond",
    factor: USUAL,
    likelihoods: against_tcp,
};

/// After a test of TCP, far above its rate.
pub(super) const FAR_ABOVE_TCP: Datagrams = Datagrams {
    id: "datagrams-far-beyond",
    factor: FAR,
    likelihoods: far_above_tcp,
};

/// After a test of datagrams.
pub(super) const OVERLOAD: Datagrams = Datagrams {
    id: "datagrams-beyond",
    factor: USUAL,
    likelihoods: overload,
};

/// From this share of what was intended on, more arrived than was carried before.
const CARRIED: f64 = 1.25 / 1.5;
/// Below this multiple of TCP's rate, the trial was not made under the same conditions.
const DISTURBED: f64 = 0.7;
/// Loss below this is none.
const LOSSLESS: f64 = 0.0005;
/// Long enough to fill a queue of 200 ms, or to empty a bucket of tokens of 250 ms, in its first half; short enough for
/// several in five seconds.
pub(super) const TIME: Duration = Duration::from_secs(1);
/// Its first half fills and empties what holds some; the second shows what lasts.
const INTERVAL: Duration = Duration::from_millis(100);
/// More than this the datagrams of an ordinary host do not reach, which says nothing of the path.
const FASTEST: BitRate = BitRate::from_bps(2_250_000_000);
/// A full Ethernet frame over IPv4 with TCP's timestamps: as large as TCP's own segments.
const PAYLOAD: ByteCount = ByteCount::new(1448);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// All arrived.
    Carried,
    /// Nearly as many as were offered arrived, the rest was lost on the path.
    CarriedWithLoss,
    /// Lost before the receiver, behind a queue that never ran empty.
    Queued,
    /// Lost before the receiver, and half of the others waited: behind a queue that ran empty in between, or for a
    /// receiver that was late.
    Waited,
    /// Lost before the receiver, without a queue.
    Dropped,
    /// Lost at the receiver's socket.
    AtSocket,
    /// Lost at the receiver, before its socket.
    BeforeSocket,
    /// Held back by the sender's own shaper.
    HeldBack,
    /// Held back by the sender's own interface, without a shaper.
    PushedBack,
    /// The sender could not offer them.
    Short,
}

const ANSWERS: usize = 10;

impl Answer {
    const fn index(self) -> usize {
        self as usize
    }
}

/// What is to be expected after a test of TCP, in the order of [`Answer`].
#[rustfmt::skip]
const fn against_tcp(suspect: Suspect) -> [f64; ANSWERS] {
    match suspect {
        Suspect::OwnShaper => [0.03, 0.02, 0.03, 0.01, 0.03, 0.01, 0.01, 0.74, 0.06, 0.06],
        Suspect::Link => [0.07, 0.02, 0.48, 0.16, 0.01, 0.04, 0.01, 0.01, 0.17, 0.03],
        Suspect::Policer => [0.22, 0.04, 0.03, 0.01, 0.61, 0.04, 0.01, 0.01, 0.01, 0.02],
        Suspect::PathLoss => [0.25, 0.58, 0.038, 0.012, 0.06, 0.02, 0.01, 0.01, 0.01, 0.01],
        Suspect::Congestion => [0.56, 0.12, 0.112, 0.038, 0.05, 0.03, 0.01, 0.02, 0.01, 0.05],
        Suspect::SenderCpu => [0.33, 0.02, 0.022, 0.008, 0.01, 0.05, 0.01, 0.02, 0.02, 0.51],
        Suspect::ReceiverCpu => [0.23, 0.03, 0.022, 0.008, 0.01, 0.47, 0.15, 0.01, 0.01, 0.06],
        Suspect::ReceiverApp => [0.61, 0.02, 0.022, 0.008, 0.01, 0.29, 0.01, 0.01, 0.01, 0.01],
        Suspect::ReceiverBacklog => [0.25, 0.03, 0.022, 0.008, 0.01, 0.07, 0.56, 0.01, 0.01, 0.03],
        Suspect::SenderApp
        | Suspect::SenderBuffer
        | Suspect::ReceiverWindow
        | Suspect::ReceiverSocket => [0.83, 0.03, 0.03, 0.01, 0.01, 0.03, 0.01, 0.01, 0.01, 0.03],
    }
}

/// The same at a load far above TCP's. What TCP itself made the limit lets through what the next limit does.
#[rustfmt::skip]
const fn far_above_tcp(suspect: Suspect) -> [f64; ANSWERS] {
    match suspect {
        Suspect::OwnShaper => [0.03, 0.02, 0.038, 0.012, 0.03, 0.03, 0.01, 0.70, 0.05, 0.08],
        Suspect::Link => [0.02, 0.02, 0.51, 0.17, 0.02, 0.07, 0.01, 0.01, 0.12, 0.05],
        Suspect::Policer => [0.03, 0.02, 0.03, 0.01, 0.81, 0.04, 0.01, 0.01, 0.01, 0.03],
        Suspect::PathLoss => [0.22, 0.40, 0.105, 0.035, 0.05, 0.06, 0.02, 0.03, 0.02, 0.06],
        Suspect::Congestion => [0.30, 0.08, 0.262, 0.088, 0.05, 0.06, 0.01, 0.04, 0.03, 0.08],
        Suspect::SenderCpu => [0.15, 0.01, 0.03, 0.01, 0.01, 0.07, 0.01, 0.02, 0.02, 0.67],
        Suspect::ReceiverCpu => [0.08, 0.01, 0.03, 0.01, 0.01, 0.56, 0.17, 0.01, 0.01, 0.11],
        Suspect::ReceiverApp => [0.20, 0.01, 0.038, 0.012, 0.01, 0.65, 0.01, 0.01, 0.01, 0.05],
        Suspect::SenderApp
        | Suspect::SenderBuffer
        | Suspect::ReceiverWindow
        | Suspect::ReceiverSocket
        | Suspect::ReceiverBacklog => [0.52, 0.02, 0.112, 0.038, 0.03, 0.10, 0.02, 0.05, 0.03, 0.08],
    }
}

/// What is to be expected after a test of datagrams, in the order of [`Answer`].
#[rustfmt::skip]
const fn overload(suspect: Suspect) -> [f64; ANSWERS] {
    match suspect {
        Suspect::OwnShaper => [0.02, 0.02, 0.03, 0.01, 0.03, 0.01, 0.01, 0.78, 0.05, 0.04],
        Suspect::Link => [0.03, 0.02, 0.51, 0.17, 0.03, 0.03, 0.01, 0.01, 0.16, 0.03],
        Suspect::Policer => [0.03, 0.04, 0.03, 0.01, 0.80, 0.04, 0.01, 0.01, 0.01, 0.02],
        Suspect::PathLoss => [0.08, 0.75, 0.038, 0.012, 0.06, 0.02, 0.01, 0.01, 0.01, 0.01],
        Suspect::SenderCpu => [0.10, 0.02, 0.022, 0.008, 0.01, 0.03, 0.01, 0.02, 0.02, 0.76],
        Suspect::ReceiverCpu => [0.06, 0.02, 0.022, 0.008, 0.01, 0.62, 0.19, 0.01, 0.01, 0.05],
        Suspect::ReceiverApp => [0.04, 0.02, 0.022, 0.008, 0.01, 0.86, 0.01, 0.01, 0.01, 0.01],
        Suspect::ReceiverSocket => [0.12, 0.03, 0.022, 0.008, 0.01, 0.76, 0.02, 0.01, 0.01, 0.01],
        Suspect::ReceiverBacklog => [0.05, 0.02, 0.022, 0.008, 0.01, 0.07, 0.78, 0.01, 0.01, 0.02],
        // What limits byte streams alone does nothing to datagrams.
        Suspect::Congestion
        | Suspect::SenderApp
        | Suspect::SenderBuffer
        | Suspect::ReceiverWindow => [0.83, 0.03, 0.03, 0.01, 0.01, 0.03, 0.01, 0.01, 0.01, 0.03],
    }
}

impl Datagrams {
    /// Datagrams at `factor` times the carried rate, for probes with answers of their own.
    pub(super) const fn at(factor: f64) -> Self {
        Self {
            id: "",
            factor,
            likelihoods: overload,
        }
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

    fn answers(&self) -> usize {
        ANSWERS
    }

    fn judged(&self, suspect: Suspect, answer: usize) -> f64 {
        (self.likelihoods)(suspect)[answer]
    }

    fn read(&self, compared: &Compared<'_>) -> Vec<usize> {
        let answers = seen(self.factor, compared);
        answers.into_iter().map(Answer::index).collect()
    }

    fn describe(&self, compared: &Compared<'_>) -> String {
        describe(self.factor, compared)
    }

    fn test(&self, run: &Run, baseline: &Trial) -> Result<TestSpec, NotRun> {
        let impossible = |why: &str| Err(NotRun::Impossible(why.to_owned()));
        let asked = crate::experiment::repeatable(run)?;
        let Some(rate) = carried(baseline) else {
            return impossible("nothing was carried");
        };
        let load = Pace::At(BitRate::from_f64(rate.as_f64() * self.factor));
        if baseline.transport == Transport::Udp {
            let mut test = crate::experiment::short_test(run)?;
            test.interval = INTERVAL;
            // An unpaced sender may offer more than one that keeps a schedule can.
            let offered = baseline.offered_load.unwrap_or_default();
            let is_enough = offered.as_f64() >= rate.as_f64() * self.factor * CARRIED;
            if test.pace() != Pace::Unpaced || !is_enough || run.kind() == RunKind::Saturate {
                test.work.set_pace(load);
            }
            return Ok(test);
        }
        if rate.as_f64() * self.factor > FASTEST.as_f64() {
            return impossible("datagrams of one thread do not reach that rate");
        }
        let segment = baseline.tcp().and_then(|tcp| tcp.smss_bytes);
        let payload = segment.map_or(PAYLOAD, |bytes| PAYLOAD.min(ByteCount::new(bytes)));
        Ok(TestSpec {
            direction: asked.direction,
            stop: Stop::After(TIME),
            interval: INTERVAL,
            pinning: asked.pinning,
            seed: asked.seed,
            ..TestSpec::udp_datagrams(load).with_payload(payload)
        })
    }
}

/// Every answer that the trial may stand for.
fn seen(factor: f64, compared: &Compared<'_>) -> Vec<Answer> {
    let changed = compared.changed;
    let Some(before) = carried(compared.baseline) else {
        return Vec::new();
    };
    let Some(received) =
        lasting_rate(changed).or_else(|| changed.received_rate.map(BitRate::as_f64))
    else {
        return Vec::new();
    };
    let ratio = received / before.as_f64();
    let loss = changed.loss_ratio().map_or(0.0, Ratio::get);
    let enough = factor * CARRIED;
    // Far above the rate, a sender that falls short has still shown what it sent.
    let shown = ratio >= USUAL * CARRIED;
    if ratio >= enough || shown && loss < LOSSLESS || loses_the_same_share(compared) {
        let on_path = share_at(changed, &[Place::Network]);
        return match on_path {
            _ if loss < LOSSLESS => vec![Answer::Carried],
            // A queue that overflows in between belongs to a link that others fill.
            _ if matches!(queue(changed), Queue::Standing | Queue::AtTimes) => {
                vec![Answer::Carried]
            }
            None => vec![Answer::Carried, Answer::CarriedWithLoss],
            Some(share) if share >= 0.5 => vec![Answer::CarriedWithLoss],
            Some(_) => vec![Answer::Carried],
        };
    }
    let dropped_here = drops_at_own_qdisc(changed);
    let offered = changed.offered_load.map(BitRate::as_f64);
    // Whichever is more speaks: what was never offered, or what was lost of the rest.
    let short = offered.is_some_and(|offered| {
        let missing = before.as_f64() * factor - offered;
        !shown && offered < before.as_f64() * enough && offered - received < missing
    });
    if dropped_here || short && held_back(changed) > 0 {
        return vec![Answer::HeldBack];
    }
    if short && blocked(changed) >= BLOCKED {
        return vec![Answer::PushedBack];
    }
    // A path passes as many datagrams as it passed before: fewer arrived because of something that was not there then.
    if ratio < DISTURBED && share_at(changed, AT_RECEIVER).is_none_or(|share| share < 0.5) {
        return Vec::new();
    }
    // Of fewer than were carried, no path loses any: what is lost is lost to a host that cannot keep up.
    let short = short || offered.is_some_and(|offered| offered < before.as_f64());
    if short {
        // One that had to wait in the run's own datagram test too is what is looked for.
        let same = compared.baseline.transport == Transport::Udp;
        let as_before = same && waiting_share(compared.baseline, Side::Sender) >= STARVED;
        return if changed.counters(Side::Sender).is_none() {
            // What kept it from them only its own host can tell.
            vec![Answer::HeldBack, Answer::PushedBack, Answer::Short]
        } else if waiting_share(changed, Side::Sender) < STARVED || as_before {
            vec![Answer::Short]
        } else {
            Vec::new()
        };
    }
    lost_at(changed)
}

/// What kept a probe's datagrams from arriving, and what arrived of them, in bit/s of L4 payload; `None` where all
/// arrived, or where it is not known.
pub(super) fn stopped_by(probe: &Made) -> Option<(Suspect, f64)> {
    let Change::Datagrams { factor } = probe.change else {
        return None;
    };
    let trial = Some(&probe.trial).filter(|trial| trial.valid && factor > 1.0)?;
    let loss = trial.loss_ratio().map_or(0.0, Ratio::get);
    let suspect = if drops_at_own_qdisc(trial) || loss < LOSSLESS && held_back(trial) > 0 {
        Suspect::OwnShaper
    } else if loss < LOSSY {
        return None;
    } else {
        match *lost_at(trial).as_slice() {
            [Answer::Queued | Answer::Waited] => Suspect::Link,
            [Answer::Dropped] => Suspect::Policer,
            [Answer::AtSocket | Answer::BeforeSocket] => Suspect::ReceiverCpu,
            _ => return None,
        }
    };
    Some((suspect, carried(trial)?.as_f64()))
}

/// Loss that keeps what arrives from what was sent, and is not a few by chance.
const LOSSY: f64 = 0.1;

/// More datagrams than this, as a multiple of before, show whether loss grows with load.
const MORE: f64 = 1.15;
/// Arrived of the offered, as a multiple of before: less would be loss that the load made.
const SAME_SHARE: f64 = 0.95;

/// Whether of clearly more datagrams the same share arrived: great loss by chance keeps the rate below what was aimed at.
fn loses_the_same_share(compared: &Compared<'_>) -> bool {
    let share = |trial: &Trial| {
        let offered = trial.offered_load?.as_f64();
        Some((offered, trial.received_rate?.as_f64() / offered))
    };
    if compared.baseline.transport != Transport::Udp {
        return false;
    }
    let both = share(compared.baseline).zip(share(compared.changed));
    both.is_some_and(|((offered_before, before), (offered, after))| {
        offered >= offered_before * MORE && after >= before * SAME_SHARE
    })
}

/// Where the datagrams went that were offered and did not arrive.
fn lost_at(changed: &Trial) -> Vec<Answer> {
    let on_path = match queue(changed) {
        Queue::Standing => vec![Answer::Queued],
        Queue::AtTimes => vec![Answer::Waited],
        Queue::None => vec![Answer::Dropped],
        Queue::NotStanding => vec![Answer::Waited, Answer::Dropped],
        Queue::Unknown => vec![Answer::Queued, Answer::Waited, Answer::Dropped],
    };
    match share_at(changed, AT_RECEIVER) {
        Some(share) if share >= 0.5 => {
            let at_socket = share_at(changed, &[Place::ReceiverSocket]).unwrap_or(0.0);
            vec![if at_socket >= share / 2.0 {
                Answer::AtSocket
            } else {
                Answer::BeforeSocket
            }]
        }
        Some(_) => on_path,
        None if receiver_dropped_none(changed) => on_path,
        None => [on_path, vec![Answer::AtSocket, Answer::BeforeSocket]].concat(),
    }
}

/// What TCP carried once it had filled queues and emptied buckets of tokens.
fn carried(baseline: &Trial) -> Option<BitRate> {
    let rate = lasting_rate(baseline).map(BitRate::from_f64);
    rate.or(baseline.received_rate)
        .filter(|rate| rate.bps() > 0)
}

/// What arrived in the second half of a trial, in bit/s of L4 payload; `None` without intervals.
fn lasting_rate(trial: &Trial) -> Option<f64> {
    let rates = trial
        .intervals
        .iter()
        .map(|interval| interval.received_rate.map(BitRate::as_f64));
    let rates: Vec<f64> = rates.collect::<Option<_>>()?;
    let late = rates.get(rates.len() / 2..).filter(|_| rates.len() > 1)?;
    crate::statistics::mean(late, crate::statistics::USUAL_CONFIDENCE)
        .ok()
        .map(|mean| mean.point)
}

/// An end whose thread waited this share of the time for a core was short of it, whatever limits.
const STARVED: f64 = 0.1;

/// Share of the time in which this side's thread waited for a core.
fn waiting_share(trial: &Trial, side: Side) -> f64 {
    let cpu = trial.cpu_of(side);
    cpu.and_then(|cpu| cpu.run_delay_ratio)
        .map_or(0.0, Ratio::get)
}

/// Whether the receiver's host counts what it drops, and counted nothing: then what is lost was lost before it, or by
/// a filter of its own that counts nowhere.
pub(super) fn receiver_dropped_none(trial: &Trial) -> bool {
    let Some(counters) = trial.counters(Side::Receiver) else {
        return false;
    };
    [UDP_RCVBUF_ERRORS, SOFTNET_DROPPED, NIC_RX_DROPPED]
        .iter()
        .all(|signal| counters.get(*signal) == Some(&0))
}

const AT_RECEIVER: &[Place] = &[
    Place::ReceiverNic,
    Place::ReceiverBacklog,
    Place::ReceiverSocket,
];

/// Share of the lost datagrams that was lost at `places`; `None` where most are not placed.
pub(super) fn share_at(trial: &Trial, places: &[Place]) -> Option<f64> {
    let count = |wanted: &dyn Fn(Place) -> bool| {
        let entries = trial.ledger().iter().filter(|entry| wanted(entry.place));
        entries.map(|entry| entry.packets.as_f64()).sum::<f64>()
    };
    let known = count(&|place| place != Place::Unknown);
    let lost = trial.packets().and_then(|packets| packets.lost);
    let lost = lost.map_or(0.0, PacketCount::as_f64);
    (known > 0.0 && known >= lost * 0.5).then(|| count(&|place| places.contains(&place)) / known)
}

/// Packets that wait before a link that has a queue at all; before a policer none does.
const SHORTEST_QUEUE: f64 = 4.0;
/// Below this a host's own scheduling makes as much delay variation.
const LEAST_DELAY: Duration = Duration::from_micros(200);

/// What stood before the datagrams that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// Every datagram of the second half waited: the queue never ran empty.
    Standing,
    /// Half of the datagrams waited, and some did not.
    AtTimes,
    /// They did not wait.
    None,
    /// Some did not wait; whether others did is hidden by a receiver that waited for a core itself.
    NotStanding,
    /// Delay is not known, or between: longer than another packet takes, and no longer than a host's own scheduling.
    Unknown,
}

fn queue(trial: &Trial) -> Queue {
    let waited = || {
        let delay = trial.delay().filter(|delay| delay.of == DelayOf::Pdv)?;
        let bits = trial.payload_bytes?.as_f64() * 8.0;
        let packet = Duration::try_from_secs_f64(bits / trial.received_rate?.as_f64()).ok()?;
        Some((Duration::from_nanos(delay.p50_ns?), packet))
    };
    let Some((waited, packet)) = waited() else {
        return Queue::Unknown;
    };
    let long = LEAST_DELAY.max(packet.mul_f64(SHORTEST_QUEUE));
    let least = least_wait(trial);
    if waited < packet {
        Queue::None
    } else if least.is_some_and(|least| least >= long.as_secs_f64() / 2.0) {
        Queue::Standing
    } else if least.is_some() && waiting_share(trial, Side::Receiver) >= STARVED {
        Queue::NotStanding
    } else if waited >= long {
        Queue::AtTimes
    } else {
        Queue::Unknown
    }
}

/// What every datagram of the second half waited, in seconds: the queue that never ran empty.
pub(super) fn least_wait(trial: &Trial) -> Option<f64> {
    let least = late_delay_floors(trial).min()?;
    Some(Duration::from_nanos(least).as_secs_f64())
}

/// A sending thread that slept in its calls for this share of the time was held back by what takes its packets.
const BLOCKED: f64 = 0.3;

/// Share of the time in which the sender's socket was full.
fn blocked(trial: &Trial) -> f64 {
    trial.send_blocked_ratio().map_or(0.0, Ratio::get)
}

/// Times the sender's own queueing discipline held packets back.
fn held_back(trial: &Trial) -> u64 {
    let counters = trial.counters(Side::Sender);
    counters
        .and_then(|counters| counters.get(QDISC_OVERLIMITS).copied())
        .unwrap_or(0)
}

fn describe(factor: f64, compared: &Compared<'_>) -> String {
    let changed = compared.changed;
    let offered = shown(changed.offered_load);
    let loss = changed.loss_ratio().unwrap_or_default();
    let outcome = match seen(factor, compared).as_slice() {
        [Answer::Carried] => "nearly all arrived".to_owned(),
        [Answer::CarriedWithLoss] => format!("they arrived, but for {loss} lost on the path"),
        [Answer::Queued] => format!("{loss} were lost before the receiver, behind a queue"),
        [Answer::Waited] => {
            format!("{loss} were lost before the receiver, and many of the others waited")
        }
        [Answer::Dropped] => format!("{loss} were lost before the receiver, without a queue"),
        [Answer::AtSocket] => format!("{loss} were lost at the receiver's socket"),
        [Answer::BeforeSocket] => format!("{loss} were lost at the receiver, before its socket"),
        [Answer::HeldBack] => "the sender's own queueing discipline held the rest back".to_owned(),
        [Answer::PushedBack] => "the sender's own interface took no more".to_owned(),
        [Answer::Short] => "the sender could not offer more".to_owned(),
        [] => {
            "less than was carried before, or a sender that had to wait for a core, so this says nothing"
                .to_owned()
        }
        _ => format!("{loss} were lost, where is not known"),
    };
    let at = changed.intended_load.map_or_else(String::new, |load| {
        format!(" at {load} ({factor} times what was carried)")
    });
    format!(
        "Of datagrams{at}, {offered} were sent and {} arrived: {outcome}.",
        shown(changed.received_rate),
    )
}

/// Whether the sender's own queueing discipline dropped most of what was lost.
fn drops_at_own_qdisc(trial: &Trial) -> bool {
    let lost = trial.loss_ratio().map_or(0.0, Ratio::get);
    lost >= LOSSLESS && share_at(trial, &[Place::SenderQdisc]).is_some_and(|share| share >= 0.5)
}
