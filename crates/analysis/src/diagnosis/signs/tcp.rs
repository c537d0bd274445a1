//! Signs of a byte stream: what TCP waited for and who was late, what it sent again and what waited where.

use super::{RECEIVER_THREAD, SHAPER, Shown, Sign};
use crate::diagnosis::class::Class;
use crate::diagnosis::class::Often::{Hardly, Possibly, Rarely, Usually};
use crate::diagnosis::queue::QUEUED_PACKETS;
use crate::diagnosis::suspects::Suspect::{
    Congestion, Link, OwnShaper, PathLoss, Policer, ReceiverApp, ReceiverCpu, ReceiverWindow,
    ReturnPath, SenderApp, SenderBuffer, SenderCpu,
};
use crate::diagnosis::thread::{Thread, spent, thread};
use crate::readings::{HOUSEKEEPING, cross_traffic, mean, unread_shares};
use linerate_model::run::{TcpSummary, Trial};
use linerate_model::sample::TcpSample;
use linerate_model::signals::{NIC_TX_PACKETS, QDISC_OVERLIMITS};
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;

pub(super) const SIGNS: &[Sign] = &[
    Sign {
        id: "sender-thread",
        classes: SENDER_THREAD,
        read: |shown| spent(shown.trial, Side::Sender),
    },
    RECEIVER_THREAD,
    SHAPER,
    Sign {
        id: "application",
        classes: APPLICATION,
        read: |shown| application(shown.trial),
    },
    Sign {
        id: "reader",
        classes: READER,
        read: |shown| reader(shown.trial),
    },
    Sign {
        id: "receiver-window",
        classes: RECEIVER_WINDOW,
        read: |shown| receiver_window(shown.trial),
    },
    Sign {
        id: "send-buffer-share",
        classes: SEND_BUFFER,
        read: |shown| send_buffer(shown.trial),
    },
    Sign {
        id: "sent-again",
        classes: SENT_AGAIN,
        read: |shown| sent_again(shown.trial),
    },
    Sign {
        id: "window-used",
        classes: WINDOW_USED,
        read: |shown| window_used(shown.trial),
    },
    Sign {
        id: "needless",
        classes: NEEDLESS,
        read: |shown| needless(shown.trial),
    },
    Sign {
        id: "held-back",
        classes: HELD_BACK,
        read: |shown| held_back(shown.trial),
    },
    Sign {
        id: "cross-traffic",
        classes: CROSS_TRAFFIC,
        read: cross_traffic_class,
    },
];

/// Below the first, from the first, or from the second of two edges on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    Low,
    Middle,
    High,
}

fn range(figure: f64, [middle, high]: [f64; 2]) -> Range {
    match figure {
        figure if figure >= high => Range::High,
        figure if figure >= middle => Range::Middle,
        _ => Range::Low,
    }
}

/// Where the sending thread's time went: one that its socket holds up is not what limits.
const SENDER_THREAD: &[Class] = &[
    Class::new("blocked", Usually)
        .rarely(&[SenderCpu])
        .hardly(&[SenderApp]),
    Class::new("partly-blocked", Possibly).hardly(&[SenderApp]),
    Class::new("partly-paused", Rarely).possibly(&[SenderApp]),
    Class::new("paused", Hardly).usually(&[SenderApp]),
    Class::new("running", Rarely)
        .usually(&[SenderCpu])
        .possibly(&[ReceiverCpu]),
    Class::new("waiting", Rarely).usually(&[SenderCpu]),
];

/// How long TCP had nothing to send, and whether the application that left it so was short of CPU time.
const APPLICATION: &[Class] = &[
    Class::new("busy", Usually)
        .possibly(&[SenderCpu, SenderBuffer])
        .rarely(&[SenderApp]),
    // What was sent kept TCP waiting, but there was never more of it.
    Class::new("limited", Hardly)
        .usually(&[SenderApp, SenderBuffer])
        .possibly(&[ReceiverCpu])
        .rarely(&[SenderCpu, Congestion, ReceiverWindow, ReceiverApp]),
    Class::new("limited-late", Hardly)
        .usually(&[SenderApp, SenderBuffer])
        .possibly(&[SenderCpu, ReceiverCpu])
        .rarely(&[Congestion, ReceiverWindow, ReceiverApp]),
    Class::new("some", Rarely)
        .usually(&[SenderApp])
        .possibly(&[ReceiverApp, SenderBuffer]),
    Class::new("some-late", Rarely).possibly(&[SenderCpu, SenderApp]),
    Class::new("much", Hardly)
        .usually(&[SenderApp])
        .rarely(&[SenderCpu]),
    Class::new("much-late", Hardly).possibly(&[SenderApp, SenderCpu]),
    Class::new("starved", Hardly)
        .usually(&[SenderCpu])
        .rarely(&[SenderApp]),
];

/// Of the readings this share shows an application that had given all it had.
const APP_LIMITED: f64 = 0.3;

fn application(trial: &Trial) -> Option<&'static str> {
    let waited = range(share(trial, TcpWait::Application)?, [0.05, 0.3]);
    let limited = readings(trial, |sample| sample.delivery_rate_app_limited);
    let is_limited = limited.is_some_and(|share| share >= APP_LIMITED);
    let thread = thread(trial, Side::Sender).unwrap_or(Thread::Free);
    Some(match (waited, thread) {
        (_, Thread::Starved) => "starved",
        (Range::Low, _) if !is_limited => "busy",
        (Range::Low, Thread::Free) => "limited",
        (Range::Low, Thread::Late) => "limited-late",
        (Range::Middle, Thread::Free) => "some",
        (Range::Middle, Thread::Late) => "some-late",
        (Range::High, Thread::Free) => "much",
        (Range::High, Thread::Late) => "much-late",
    })
}

/// How much of what arrived was left unread, and whether the reader was short of CPU time.
const READER: &[Class] = &[
    Class::new("read", Usually).possibly(&[ReceiverCpu, ReceiverApp]),
    Class::new("some", Possibly).rarely(&[ReceiverCpu]),
    Class::new("some-late", Rarely).possibly(&[ReceiverCpu, ReceiverApp]),
    Class::new("full", Hardly)
        .usually(&[ReceiverApp])
        .rarely(&[ReceiverCpu, ReceiverWindow]),
    Class::new("full-late", Hardly)
        .usually(&[ReceiverApp])
        .possibly(&[ReceiverCpu]),
    Class::new("starved", Hardly)
        .usually(&[ReceiverCpu])
        .rarely(&[ReceiverApp]),
    Class::new("read-starved", Rarely).possibly(&[ReceiverCpu]),
];

/// Of a receiver's space, held by bytes that its application had not read.
const UNREAD: [f64; 2] = [0.05, 0.25];

fn reader(trial: &Trial) -> Option<&'static str> {
    let unread = range(mean(unread_shares(trial))?, UNREAD);
    let thread = thread(trial, Side::Receiver).unwrap_or(Thread::Free);
    Some(match (unread, thread) {
        (Range::Low, Thread::Starved) => "read-starved",
        (Range::Low, _) => "read",
        (_, Thread::Starved) => "starved",
        (Range::Middle, Thread::Free) => "some",
        (Range::Middle, Thread::Late) => "some-late",
        (Range::High, Thread::Free) => "full",
        (Range::High, Thread::Late) => "full-late",
    })
}

/// How long the receiver's window held TCP back, and what filled it.
const RECEIVER_WINDOW: &[Class] = &[
    Class::new("open", Usually)
        .possibly(&[ReceiverCpu, ReceiverApp])
        .rarely(&[ReceiverWindow]),
    Class::new("some", Rarely).possibly(&[ReceiverWindow, ReceiverCpu, ReceiverApp]),
    Class::new("closed-by-little", Hardly)
        .usually(&[ReceiverWindow])
        .possibly(&[ReceiverCpu])
        .rarely(&[ReceiverApp, PathLoss]),
    Class::new("closed-by-unread", Hardly)
        .usually(&[ReceiverApp])
        .possibly(&[ReceiverCpu])
        .rarely(&[ReceiverWindow]),
    Class::new("closed", Hardly)
        .usually(&[ReceiverWindow])
        .possibly(&[ReceiverCpu, ReceiverApp]),
    // A window that only bounds a standing queue limits nothing.
    Class::new("closed-behind-queue", Hardly)
        .possibly(&[Link, OwnShaper, ReturnPath, ReceiverWindow])
        .rarely(&[ReceiverCpu, ReceiverApp]),
];

fn receiver_window(trial: &Trial) -> Option<&'static str> {
    let held = range(share(trial, TcpWait::ReceiverWindow)?, [0.1, 0.5]);
    let unread = mean(unread_shares(trial));
    let is_full = unread.map(|unread| unread >= UNREAD[1]);
    Some(match (held, is_full) {
        (Range::Low, _) => "open",
        (Range::Middle, _) => "some",
        (Range::High, Some(true)) => "closed-by-unread",
        (Range::High, _) if is_standing(trial) => "closed-behind-queue",
        (Range::High, Some(false)) => "closed-by-little",
        (Range::High, None) => "closed",
    })
}

/// How long the send buffer held TCP back.
const SEND_BUFFER: &[Class] = &[
    Class::new("roomy", Usually)
        .possibly(&[SenderCpu, SenderApp])
        .rarely(&[SenderBuffer]),
    Class::new("little", Possibly),
    Class::new("half", Rarely).possibly(&[
        SenderCpu,
        SenderApp,
        ReceiverCpu,
        ReceiverApp,
        SenderBuffer,
        Link,
    ]),
    Class::new("most", Rarely)
        .usually(&[SenderBuffer])
        .possibly(&[SenderCpu, SenderApp, ReceiverCpu]),
    Class::new("behind-queue", Hardly)
        .possibly(&[Link, OwnShaper, ReturnPath, SenderBuffer])
        .rarely(&[SenderCpu, SenderApp, ReceiverCpu, ReceiverApp]),
];

fn send_buffer(trial: &Trial) -> Option<&'static str> {
    let held = share(trial, TcpWait::SendBuffer)?;
    Some(match range(held, [0.05, 0.7]) {
        Range::Low => "roomy",
        Range::Middle if held < 0.3 => "little",
        Range::Middle => "half",
        Range::High if is_standing(trial) => "behind-queue",
        Range::High => "most",
    })
}

/// How many segments were sent again, and whether a queue stood.
const SENT_AGAIN: &[Class] = &[
    Class::new("none", Usually)
        .rarely(&[OwnShaper, PathLoss, ReturnPath, Congestion])
        .hardly(&[Link, Policer]),
    Class::new("none-queued", Possibly)
        .usually(&[Link, OwnShaper, ReturnPath])
        .rarely(&[Congestion])
        .hardly(&[Policer, PathLoss]),
    Class::new("none-unknown", Possibly),
    Class::new("few", Possibly)
        .usually(&[PathLoss])
        .rarely(&[Link, OwnShaper]),
    Class::new("few-queued", Possibly)
        .usually(&[Link, OwnShaper, ReturnPath, Congestion])
        .rarely(&[Policer, ReceiverWindow]),
    Class::new("few-unknown", Possibly),
    Class::new("some", Possibly)
        .usually(&[PathLoss, Policer])
        .rarely(&[Link, OwnShaper, Congestion]),
    Class::new("some-queued", Possibly).usually(&[Link, Congestion]),
    Class::new("some-unknown", Possibly),
    Class::new("many", Possibly)
        .usually(&[Policer, PathLoss])
        .rarely(&[Link, Congestion])
        .hardly(&[OwnShaper]),
    Class::new("many-queued", Rarely).possibly(&[Policer, Link, PathLoss, OwnShaper, Congestion]),
    Class::new("many-unknown", Hardly)
        .usually(&[Policer, PathLoss])
        .possibly(&[Link, OwnShaper, Congestion]),
];

/// Below this share of the segments few were sent again.
const FEW_AGAIN: f64 = 0.003;

fn sent_again(trial: &Trial) -> Option<&'static str> {
    let again = retransmitted(trial)?;
    let of = |queued: [&'static str; 3]| match is_queued(trial) {
        Some(false) => queued[0],
        Some(true) => queued[1],
        None => queued[2],
    };
    Some(of(match again {
        again if again < 1e-4 => ["none", "none-queued", "none-unknown"],
        again if again < FEW_AGAIN => ["few", "few-queued", "few-unknown"],
        again if again < 0.02 => ["some", "some-queued", "some-unknown"],
        _ => ["many", "many-queued", "many-unknown"],
    }))
}

/// How much of its congestion window TCP carried in a round trip, where it lost some: all of it behind a queue, or beside loss
/// by chance; little where its time went to waiting for what a policer had dropped of it.
const WINDOW_USED: &[Class] = &[
    Class::new("little", Rarely)
        .usually(&[Policer])
        .rarely(&[Link, PathLoss, Congestion]),
    Class::new("part", Possibly),
    Class::new("all", Possibly)
        .usually(&[Link, PathLoss, Congestion])
        .rarely(&[Policer]),
];

/// Edges of the share; one congestion control (BBR) has a window of twice what it carries.
const USED: [f64; 2] = [0.3, 0.6];

fn window_used(trial: &Trial) -> Option<&'static str> {
    retransmitted(trial).filter(|again| *again >= FEW_AGAIN)?;
    let window = trial.tcp()?.windows?.congestion_window_rate?.as_f64();
    let carried = trial.received_rate?.as_f64();
    Some(match range(carried / window.max(1.0), USED) {
        Range::Low => "little",
        Range::Middle => "part",
        Range::High => "all",
    })
}

/// Whether what was sent again had arrived before: late, and not lost.
const NEEDLESS: &[Class] = &[
    Class::new("few", Usually).possibly(&[Congestion]),
    Class::new("most", Rarely).usually(&[Congestion]),
];

/// Fewer segments sent again say nothing.
const LEAST_AGAIN: u64 = 10;

fn needless(trial: &Trial) -> Option<&'static str> {
    let counted = trial.tcp()?.retransmissions?;
    let again = counted.segments.filter(|again| *again >= LEAST_AGAIN)?;
    let is_most = counted.needless? * 2 > again;
    Some(if is_most { "most" } else { "few" })
}

/// How often the sender's own queueing discipline held packets back, for each packet of its interface.
const HELD_BACK: &[Class] = &[
    Class::new("never", Usually).hardly(&[OwnShaper]),
    Class::new("hardly", Rarely),
    Class::new("some", Rarely).possibly(&[OwnShaper]),
    Class::new("often", Hardly).usually(&[OwnShaper]),
];

fn held_back(trial: &Trial) -> Option<&'static str> {
    let counters = trial.counters(Side::Sender)?;
    let held = PacketCount::new(counters.get(QDISC_OVERLIMITS).copied().unwrap_or(0));
    let sent = counters.get(NIC_TX_PACKETS).copied().unwrap_or(0).max(1);
    let each = held.as_f64() / PacketCount::new(sent).as_f64();
    Some(match each {
        _ if held.get() == 0 => "never",
        each if each < 0.02 => "hardly",
        each if each < 0.2 => "some",
        _ => "often",
    })
}

/// Whether others sent through an interface of the test too, and what they did with room that the test left.
const CROSS_TRAFFIC: &[Class] = &[
    Class::new("none", Usually).possibly(&[Congestion]),
    // Whether they would take more is not known.
    Class::new("some", Rarely).possibly(&[Congestion]),
    Class::new("steady", Rarely),
    Class::new("fills-room", Hardly).usually(&[Congestion]),
];

/// Others that take this share of what the test leaves them, and more, had been waiting for it: they fill the link.
const FILLS: f64 = 0.3;

fn cross_traffic_class(shown: &Shown<'_>) -> Option<&'static str> {
    let sides = [Side::Sender, Side::Receiver].into_iter();
    let shares = sides.filter_map(|side| Some(cross_traffic(shown.trial, side)?.share));
    if shares.max_by(f64::total_cmp)? < HOUSEKEEPING {
        return Some("none");
    }
    Some(match room_taken(shown) {
        Some(share) if share >= FILLS => "fills-room",
        Some(_) => "steady",
        None => "some",
    })
}

/// The share that others took of what datagrams at half the rate left of it.
fn room_taken(shown: &Shown<'_>) -> Option<f64> {
    let half = shown.half?;
    let received = |trial: &Trial| Some(trial.received_rate?.as_f64());
    let others = |trial| Some(cross_traffic(trial, Side::Sender)?.rate);
    let left = received(shown.trial)? - received(half)?;
    let taken = others(half)? - others(shown.trial)?;
    (left > 0.0).then(|| taken / left)
}

/// Share of TCP's time.
fn share(trial: &Trial, wait: TcpWait) -> Option<f64> {
    Some(trial.tcp()?.shares?.of(wait).get())
}

/// Of a segment, where the connection does not say.
const SEGMENT: f64 = 1448.0;

/// Segments sent again, as a share of those sent; where a peer counts only the former, of those that the bytes fill.
fn retransmitted(trial: &Trial) -> Option<f64> {
    let counted = trial.tcp()?.retransmissions?;
    let again = PacketCount::new(counted.segments?).as_f64();
    if let Some(sent) = counted.sent.filter(|sent| *sent > 0) {
        return Some(again / PacketCount::new(sent).as_f64());
    }
    let received = trial.received_bytes.map(ByteCount::as_f64)?;
    (received > 0.0).then(|| again * SEGMENT / received)
}

/// A shorter round trip is one within a host, where the least is a reading's rounding.
const LEAST_RTT: Duration = Duration::from_micros(50);
/// A queue adds this, and a tenth of the least round trip.
const LEAST_QUEUE: Duration = Duration::from_micros(300);
const LEAST_GROWTH: f64 = 1.1;

/// The mean round trip is so many times the least behind a queue that holds more than the path.
const STANDING: f64 = 2.0;

/// The mean round trip, how much longer than the least it was, and how many times that.
fn round_trip(tcp: &TcpSummary) -> Option<(Duration, Duration, f64)> {
    let least = Duration::from_nanos(tcp.min_rtt_ns?);
    let mean = Duration::from_nanos(tcp.srtt_mean_ns?);
    let growth = mean.as_secs_f64() / least.max(LEAST_RTT).as_secs_f64();
    Some((mean, mean.saturating_sub(least), growth))
}

/// Whether the mean round trip was longer than the least by a queue: by the time of some packets at the rate that was
/// carried, since answers that are held back, or repeated after a loss, lengthen it too.
fn is_queued(trial: &Trial) -> Option<bool> {
    let (_, longer, growth) = round_trip(trial.tcp()?)?;
    let rate = trial.received_rate.map(BitRate::as_f64)?;
    let packets = QUEUED_PACKETS * SEGMENT * 8.0 / rate.max(1.0);
    let is_long = longer >= LEAST_QUEUE && longer.as_secs_f64() >= packets;
    Some(is_long && growth >= LEAST_GROWTH)
}

/// Whether more of what was in flight stood in a queue than was on its way.
fn is_standing(trial: &Trial) -> bool {
    let trip = trial.tcp().and_then(round_trip);
    trip.is_some_and(|(mean, _, growth)| mean >= LEAST_QUEUE && growth >= STANDING)
}

/// Share of the readings of which `is` holds; the first is taken before the first byte.
fn readings(trial: &Trial, is: fn(&TcpSample) -> Option<bool>) -> Option<f64> {
    let share = |holds: bool| Ratio::from_parts(u64::from(holds), 1).get();
    let later = trial
        .tcp()?
        .samples
        .iter()
        .filter(|sample| sample.at_ns > 0);
    mean(later.map(|sample| is(sample) == Some(true)).map(share))
}
