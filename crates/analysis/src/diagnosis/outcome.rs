//! What became of the datagrams that were to be sent at a rate: whether they arrived, and if not, what stopped them where.
//!
//! Loss speaks before what was not sent: where datagrams are lost, more of them would be lost too.

use super::class::classes;
use super::queue::{Queue, queue};
use super::shaper::is_held_back;
use super::thread::{Thread, is_kept_waiting, thread};
use crate::readings::{carried_rate, is_packet_filters, streams, whole_intervals};
use crate::thresholds::outcome::{
    BLOCKED, CARRIED, CHANCE, EXPECTED, LITTLE, LOSSLESS, LOSSY, MISSING, SAME,
};
use linerate_model::run::{Place, Trial, TrialInterval};
use linerate_model::signals::{NIC_RX_DROPPED, SOFTNET_DROPPED, UDP_RCVBUF_ERRORS};
use linerate_model::spec::{Side, Transport};
use linerate_model::{PacketCount, Ratio};
use std::time::Duration;

classes! {
    /// What became of datagrams.
    Outcome {
        /// Nearly all arrived.
        Carried "carried",
        /// Nearly all arrived, after a wait in a queue that these alone do not fill.
        CarriedQueued "carried-queued",
        /// Nearly all arrived, but for some that were lost before the receiver without a queue.
        CarriedLossy "carried-lossy",
        /// So large a part was lost at half the rate too.
        SameLoss "same-loss",
        /// Lost before the receiver, behind a queue that stood.
        Queued "queued",
        /// Lost before the receiver, without a queue.
        Dropped "dropped",
        /// Lost before the receiver; whether a queue stood is not known.
        LostOnPath "lost-on-path",
        /// Lost, where is not known.
        Lost "lost",
        /// Lost, where is not known; the others came as they had been sent, so what stopped them keeps no queue.
        LostUnqueued "lost-unqueued",
        /// Lost at the receiver's socket, whose thread had the time to read it.
        AtSocket "at-socket",
        /// Lost at the receiver's socket, whose thread waited for a core now and then.
        AtSocketLate "at-socket-late",
        /// Lost at the receiver's socket, whose thread was short of CPU time.
        AtSocketStarved "at-socket-starved",
        /// Lost at the receiver, before its socket.
        BeforeSocket "before-socket",
        /// Held back, or dropped, by a queueing discipline of the sender's host.
        HeldBack "held-back",
        /// A packet filter of the sender's host refused the rest.
        Refused "refused",
        /// The sender's interface took no more.
        PushedBack "pushed-back",
        /// The sender's thread sent no more.
        Short "short",
        /// The sender's thread, which waited for a core now and then, sent no more.
        ShortLate "short-late",
        /// The sender's thread, which was short of CPU time, sent no more.
        ShortStarved "short-starved",
        /// Another's host sent no more, and what it sent had waited.
        ShortQueued "short-queued",
        /// Another's host sent no more; what it sent had not waited.
        ShortUnseen "short-unseen",
    }
}

/// What a trial of datagrams is seen beside.
#[derive(Default)]
pub(super) struct ReferenceTrials<'a> {
    /// The run's own trial, of a probe.
    pub(super) limited: Option<&'a Trial>,
    /// The trial at half the rate.
    pub(super) half: Option<&'a Trial>,
}

/// Intervals of probes: the first half of a second of them fills and empties what holds some, the second shows what lasts.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// What became of the datagrams of `trial`, which were to be sent at `intended` bit/s (none: as fast as they could);
/// `None` where it does not tell: an invalid trial, or a probe on a host that was busier than in the run itself.
pub(super) fn read(
    trial: &Trial,
    intended: Option<f64>,
    around: &ReferenceTrials<'_>,
) -> Option<Outcome> {
    let offered = trial.offered_load?.as_f64();
    let loss = trial.loss_ratio().map_or(0.0, Ratio::get);
    let missing = intended.map_or(1.0, |intended| 1.0 - offered / intended);
    if !trial.valid {
        return None;
    }
    if missing >= MISSING && loss < LOSSY.min(missing / 2.0) {
        return not_sent(trial, around);
    }
    let enough = intended.unwrap_or(offered) * CARRIED;
    let is_carried = carried_rate(trial).is_some_and(|rate| rate.as_f64() >= enough);
    if loss >= LOSSLESS {
        return lost(trial, loss, is_carried, around);
    }
    Some(match queue(trial, around.half) {
        Queue::Standing if is_carried => Outcome::CarriedQueued,
        // It filled, and had not overflowed yet.
        Queue::Standing => Outcome::Queued,
        _ => Outcome::Carried,
    })
}

fn not_sent(trial: &Trial, around: &ReferenceTrials<'_>) -> Option<Outcome> {
    if trial.counters(Side::Sender).is_none() {
        return Some(match queue(trial, around.half) {
            Queue::Standing => Outcome::ShortQueued,
            _ => Outcome::ShortUnseen,
        });
    }
    if is_held_back(trial) {
        return Some(Outcome::HeldBack);
    }
    if is_refused(trial) {
        return Some(Outcome::Refused);
    }
    if trial.send_blocked_ratio().map_or(0.0, Ratio::get) >= BLOCKED {
        return Some(Outcome::PushedBack);
    }
    match thread(trial, Side::Sender) {
        Some(Thread::Starved) if is_only_here(trial, Side::Sender, around) => None,
        Some(Thread::Starved) => Some(Outcome::ShortStarved),
        Some(Thread::Late) => Some(Outcome::ShortLate),
        _ => Some(Outcome::Short),
    }
}

/// Whether a packet filter of the sender's host refused datagrams, as only one that limits their rate does to some.
fn is_refused(trial: &Trial) -> bool {
    let mut errors = streams(trial, Side::Sender).flat_map(|stream| &stream.errors);
    errors.any(|error| is_packet_filters(&error.errno))
}

/// Whether the run's own trial had nothing of a shortage that a probe met: then another program made it, or, after a test
/// of TCP, traffic of another kind. A sender of paced datagrams is late sooner than one that fills a socket. One that never
/// waits, and runs all the time since more comes than it can take, is short by the load alone.
fn is_only_here(trial: &Trial, side: Side, around: &ReferenceTrials<'_>) -> bool {
    let own = around.limited.and_then(|limited| {
        let is_tcp = limited.transport == Transport::Tcp;
        Some((is_tcp && side == Side::Sender, thread(limited, side)?))
    });
    let is_new =
        own.is_some_and(|(is_other, own)| own == Thread::Free || is_other && own == Thread::Late);
    is_new && is_kept_waiting(trial, side)
}

fn lost(
    trial: &Trial,
    loss: f64,
    is_carried: bool,
    around: &ReferenceTrials<'_>,
) -> Option<Outcome> {
    let (on_path, at_half) = (loss_on_path(trial), around.half.map_or(0.0, loss_on_path));
    let place = greatest_place(trial).map(|place| match place {
        // What a burst overflows beside it says nothing.
        Place::ReceiverSocket if loss < LITTLE && on_path >= LOSSLESS => Place::Network,
        place => place,
    });
    // No path loses so many by chance, but the socket of a thread that rests most of the time does at any rate.
    let is_anywhere = on_path >= LOSSY && place.is_none() && !receiver_dropped_none(trial);
    let is_as_much = at_half >= LOSSLESS && on_path <= at_half.mul_add(SAME, CHANCE);
    let is_same = is_as_much && !is_anywhere && !loses_more_often(trial, around.half);
    Some(match place {
        Some(Place::SenderQdisc) => Outcome::HeldBack,
        Some(Place::ReceiverSocket) if loss < LITTLE => Outcome::Carried,
        Some(Place::ReceiverSocket) => match thread(trial, Side::Receiver) {
            Some(Thread::Starved) if is_only_here(trial, Side::Receiver, around) => return None,
            Some(Thread::Starved) => Outcome::AtSocketStarved,
            Some(Thread::Free) => Outcome::AtSocket,
            Some(Thread::Late) | None => Outcome::AtSocketLate,
        },
        Some(Place::ReceiverNic | Place::ReceiverBacklog) => Outcome::BeforeSocket,
        // A byte stream is slowed by loss of any kind: what matters is whether more of it comes with more load.
        _ if is_same
            && around
                .limited
                .is_some_and(|trial| trial.transport == Transport::Tcp) =>
        {
            Outcome::Carried
        }
        _ if is_same => Outcome::SameLoss,
        place => match queue(trial, around.half) {
            // It is the sender's own, and not the one before which they were lost.
            Queue::Standing if is_held_back(trial) => Outcome::LostOnPath,
            Queue::Standing if is_carried => Outcome::CarriedQueued,
            Queue::Standing => Outcome::Queued,
            // Nothing tells whether so many are lost at any rate.
            _ if is_carried && !would_show(on_path, around.half) => Outcome::CarriedLossy,
            queue if place.is_some() || receiver_dropped_none(trial) => match queue {
                Queue::None => Outcome::Dropped,
                _ => Outcome::LostOnPath,
            },
            Queue::None => Outcome::LostUnqueued,
            Queue::Unclear => Outcome::Lost,
        },
    })
}

/// Whether in most intervals `trial` loses more than `half` does: outages take a share of a second that differs from trial
/// to trial, and hide in the sum what comes with the rate.
fn loses_more_often(trial: &Trial, half: Option<&Trial>) -> bool {
    let both = half.and_then(|half| Some((median_loss(trial)?, median_loss(half)?)));
    both.is_some_and(|(here, at_half)| {
        let is_more = here > at_half.mul_add(SAME, LOSSY);
        is_more && would_show_in_each_interval(here, half)
    })
}

/// Whether most intervals of `half` would show a loss of this share: a few datagrams may all arrive by chance.
fn would_show_in_each_interval(share: f64, half: Option<&Trial>) -> bool {
    let intervals = half.map_or(0, |half| whole_intervals(half).count());
    would_show(share / PacketCount::new(intervals as u64).as_f64(), half)
}

/// The median of the loss ratios of a trial's intervals; `None` where they are longer than those of probes, so that most
/// would meet an outage, or where one does not tell.
fn median_loss(trial: &Trial) -> Option<f64> {
    let loss = |interval: &TrialInterval| {
        let is_short = interval.end.saturating_sub(interval.start) <= INTERVAL;
        let offered = interval
            .offered_load
            .filter(|load| is_short && load.bps() > 0)?;
        Some(1.0 - interval.received_rate?.as_f64() / offered.as_f64())
    };
    let mut losses: Vec<f64> = whole_intervals(trial).map(loss).collect::<Option<_>>()?;
    losses.sort_by(f64::total_cmp);
    losses.get(losses.len() / 2).copied()
}

/// Whether `half`, at half the rate, would show a loss of this share.
pub(super) fn would_show(share: f64, half: Option<&Trial>) -> bool {
    let sent = half.and_then(|half| half.packets()?.sent);
    sent.is_some_and(|sent| sent.as_f64() * share >= EXPECTED)
}

/// Share of the datagrams that was lost, but for what is known to be lost at the receiver.
pub(super) fn loss_on_path(trial: &Trial) -> f64 {
    const AT_RECEIVER: [Place; 3] = [
        Place::ReceiverNic,
        Place::ReceiverBacklog,
        Place::ReceiverSocket,
    ];
    let missing = trial.packets().and_then(|packets| packets.lost);
    let missing = missing.map_or(0.0, PacketCount::as_f64);
    let there = trial
        .ledger()
        .iter()
        .filter(|entry| AT_RECEIVER.contains(&entry.place));
    let there: f64 = there.map(|entry| entry.packets.as_f64()).sum();
    let elsewhere = 1.0 - (there / missing.max(1.0)).min(1.0);
    trial.loss_ratio().map_or(0.0, Ratio::get) * elsewhere
}

/// Where most of the lost datagrams were lost; `None` where half or more are not placed.
pub(super) fn greatest_place(trial: &Trial) -> Option<Place> {
    let known = trial
        .ledger()
        .iter()
        .filter(|entry| entry.place != Place::Unknown);
    let placed: f64 = known.clone().map(|entry| entry.packets.as_f64()).sum();
    let lost = trial.packets().and_then(|packets| packets.lost);
    let lost = lost.map_or(0.0, PacketCount::as_f64);
    let most = known.max_by_key(|entry| entry.packets)?;
    (placed > 0.0 && placed >= lost * 0.5).then_some(most.place)
}

/// Whether the receiver's host counts what it drops, and counted nothing: then what is lost was lost before it, or by
/// a filter of its own that counts nowhere.
fn receiver_dropped_none(trial: &Trial) -> bool {
    let Some(counters) = trial.counters(Side::Receiver) else {
        return false;
    };
    [UDP_RCVBUF_ERRORS, SOFTNET_DROPPED, NIC_RX_DROPPED]
        .iter()
        .all(|signal| counters.get(*signal).is_none_or(|dropped| *dropped == 0))
}
