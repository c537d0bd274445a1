//! Signs of a byte stream: what TCP waited for and who was late, what it sent again and what waited where.

use super::{RECEIVER_THREAD, SHAPER, Sign, SignInput, sign};
use crate::diagnosis::class::classes;
use crate::diagnosis::thread::{Spent, Thread, spent, thread};
use crate::readings::{cross_traffic, mean, unread_shares};
use crate::thresholds::load::HOUSEKEEPING;
use crate::thresholds::queue::QUEUED_PACKETS;
use crate::thresholds::signs::{
    APP_LIMITED, FEW_AGAIN, FILLS, LEAST_GROWTH, STANDING, UNREAD, USED,
};
use linerate_model::run::{TcpSummary, Trial};
use linerate_model::sample::TcpSample;
use linerate_model::signals::{NIC_TX_PACKETS, QDISC_OVERLIMITS};
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;

pub(super) const SIGNS: &[Sign] = &[
    sign!("sender-thread", Spent, shown => spent(shown.trial, Side::Sender)),
    RECEIVER_THREAD,
    SHAPER,
    sign!("application", Application, shown => application(shown.trial)),
    sign!("reader", Reader, shown => reader(shown.trial)),
    sign!("receiver-window", ReceiverWindow, shown => receiver_window(shown.trial)),
    sign!("send-buffer-share", SendBuffer, shown => send_buffer(shown.trial)),
    sign!("sent-again", SentAgain, shown => sent_again(shown.trial)),
    sign!("window-used", WindowUsed, shown => window_used(shown.trial)),
    sign!("needless", Needless, shown => needless(shown.trial)),
    sign!("held-back", HeldBack, shown => held_back(shown.trial)),
    sign!("cross-traffic", CrossTraffic, shown => cross_traffic_class(shown)),
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

classes! {
    /// How long TCP had nothing to send, and whether the application that left it so was short of CPU time.
    Application {
        Busy "busy",
        /// What was sent kept TCP waiting, but there was never more of it.
        Limited "limited", LimitedLate "limited-late", Some "some", SomeLate "some-late", Much "much",
        MuchLate "much-late", Starved "starved",
    }
}

fn application(trial: &Trial) -> Option<Application> {
    let waited = range(share(trial, TcpWait::Application)?, [0.05, 0.3]);
    let limited = readings(trial, |sample| sample.delivery_rate_app_limited);
    let is_limited = limited.is_some_and(|share| share >= APP_LIMITED);
    let thread = thread(trial, Side::Sender).unwrap_or(Thread::Free);
    Some(match (waited, thread) {
        (_, Thread::Starved) => Application::Starved,
        (Range::Low, _) if !is_limited => Application::Busy,
        (Range::Low, Thread::Free) => Application::Limited,
        (Range::Low, Thread::Late) => Application::LimitedLate,
        (Range::Middle, Thread::Free) => Application::Some,
        (Range::Middle, Thread::Late) => Application::SomeLate,
        (Range::High, Thread::Free) => Application::Much,
        (Range::High, Thread::Late) => Application::MuchLate,
    })
}

classes! {
    /// How much of what arrived was left unread, and whether the reader was short of CPU time.
    Reader {
        Read "read", Some "some", SomeLate "some-late", Full "full", FullLate "full-late", Starved "starved",
        ReadStarved "read-starved",
    }
}

fn reader(trial: &Trial) -> Option<Reader> {
    let unread = range(mean(unread_shares(trial))?, UNREAD);
    let thread = thread(trial, Side::Receiver).unwrap_or(Thread::Free);
    Some(match (unread, thread) {
        (Range::Low, Thread::Starved) => Reader::ReadStarved,
        (Range::Low, _) => Reader::Read,
        (_, Thread::Starved) => Reader::Starved,
        (Range::Middle, Thread::Free) => Reader::Some,
        (Range::Middle, Thread::Late) => Reader::SomeLate,
        (Range::High, Thread::Free) => Reader::Full,
        (Range::High, Thread::Late) => Reader::FullLate,
    })
}

classes! {
    /// How long the receiver's window held TCP back, and what filled it.
    ReceiverWindow {
        Open "open", Some "some", ClosedByLittle "closed-by-little", ClosedByUnread "closed-by-unread",
        Closed "closed",
        /// A window that only bounds a standing queue limits nothing.
        ClosedBehindQueue "closed-behind-queue",
    }
}

fn receiver_window(trial: &Trial) -> Option<ReceiverWindow> {
    let held = range(share(trial, TcpWait::ReceiverWindow)?, [0.1, 0.5]);
    let unread = mean(unread_shares(trial));
    let is_full = unread.map(|unread| unread >= UNREAD[1]);
    Some(match (held, is_full) {
        (Range::Low, _) => ReceiverWindow::Open,
        (Range::Middle, _) => ReceiverWindow::Some,
        (Range::High, Some(true)) => ReceiverWindow::ClosedByUnread,
        (Range::High, _) if is_standing(trial) => ReceiverWindow::ClosedBehindQueue,
        (Range::High, Some(false)) => ReceiverWindow::ClosedByLittle,
        (Range::High, None) => ReceiverWindow::Closed,
    })
}

classes! {
    /// How long the send buffer held TCP back.
    SendBuffer {
        Roomy "roomy", Little "little", Half "half", Most "most", BehindQueue "behind-queue",
    }
}

fn send_buffer(trial: &Trial) -> Option<SendBuffer> {
    let held = share(trial, TcpWait::SendBuffer)?;
    Some(match range(held, [0.05, 0.7]) {
        Range::Low => SendBuffer::Roomy,
        Range::Middle if held < 0.3 => SendBuffer::Little,
        Range::Middle => SendBuffer::Half,
        Range::High if is_standing(trial) => SendBuffer::BehindQueue,
        Range::High => SendBuffer::Most,
    })
}

classes! {
    /// How many segments were sent again, and whether a queue stood.
    SentAgain {
        None "none", NoneQueued "none-queued", NoneUnknown "none-unknown", Few "few", FewQueued "few-queued",
        FewUnknown "few-unknown", Some "some", SomeQueued "some-queued", SomeUnknown "some-unknown", Many "many",
        ManyQueued "many-queued", ManyUnknown "many-unknown",
    }
}

fn sent_again(trial: &Trial) -> Option<SentAgain> {
    let again = retransmitted(trial)?;
    let of = |queued: [SentAgain; 3]| match is_queued(trial) {
        Some(false) => queued[0],
        Some(true) => queued[1],
        None => queued[2],
    };
    Some(of(match again {
        again if again < 1e-4 => [
            SentAgain::None,
            SentAgain::NoneQueued,
            SentAgain::NoneUnknown,
        ],
        again if again < FEW_AGAIN => [SentAgain::Few, SentAgain::FewQueued, SentAgain::FewUnknown],
        again if again < 0.02 => [
            SentAgain::Some,
            SentAgain::SomeQueued,
            SentAgain::SomeUnknown,
        ],
        _ => [
            SentAgain::Many,
            SentAgain::ManyQueued,
            SentAgain::ManyUnknown,
        ],
    }))
}

classes! {
    /// How much of its congestion window TCP carried in a round trip, where it lost some: all of it behind a queue, or beside loss
    /// by chance; little where its time went to waiting for what a policer had dropped of it.
    WindowUsed {
        Little "little", Part "part", All "all",
    }
}

fn window_used(trial: &Trial) -> Option<WindowUsed> {
    retransmitted(trial).filter(|again| *again >= FEW_AGAIN)?;
    let window = trial.tcp()?.windows?.congestion_window_rate?.as_f64();
    let carried = trial.received_rate?.as_f64();
    Some(match range(carried / window.max(1.0), USED) {
        Range::Low => WindowUsed::Little,
        Range::Middle => WindowUsed::Part,
        Range::High => WindowUsed::All,
    })
}

classes! {
    /// Whether what was sent again had arrived before: late, and not lost.
    Needless {
        Few "few", Most "most",
    }
}

/// Fewer segments sent again say nothing.
const LEAST_AGAIN: u64 = 10;

fn needless(trial: &Trial) -> Option<Needless> {
    let counted = trial.tcp()?.retransmissions?;
    let again = counted.segments.filter(|again| *again >= LEAST_AGAIN)?;
    let is_most = counted.needless? * 2 > again;
    Some(if is_most {
        Needless::Most
    } else {
        Needless::Few
    })
}

classes! {
    /// How often the sender's own queueing discipline held packets back, for each packet of its interface.
    HeldBack {
        Never "never", Hardly "hardly", Some "some", Often "often",
    }
}

fn held_back(trial: &Trial) -> Option<HeldBack> {
    let counters = trial.counters(Side::Sender)?;
    let held = PacketCount::new(counters.get(QDISC_OVERLIMITS).copied().unwrap_or(0));
    let sent = counters.get(NIC_TX_PACKETS).copied().unwrap_or(0).max(1);
    let each = held.as_f64() / PacketCount::new(sent).as_f64();
    Some(match each {
        _ if held.get() == 0 => HeldBack::Never,
        each if each < 0.02 => HeldBack::Hardly,
        each if each < 0.2 => HeldBack::Some,
        _ => HeldBack::Often,
    })
}

classes! {
    /// Whether others sent through an interface of the test too, and what they did with room that the test left.
    CrossTraffic {
        None "none",
        /// Whether they would take more is not known.
        Some "some", Steady "steady", FillsRoom "fills-room",
    }
}

fn cross_traffic_class(shown: &SignInput<'_>) -> Option<CrossTraffic> {
    let sides = [Side::Sender, Side::Receiver].into_iter();
    let shares = sides.filter_map(|side| Some(cross_traffic(shown.trial, side)?.share));
    if shares.max_by(f64::total_cmp)? < HOUSEKEEPING {
        return Some(CrossTraffic::None);
    }
    Some(match room_taken(shown) {
        Some(share) if share >= FILLS => CrossTraffic::FillsRoom,
        Some(_) => CrossTraffic::Steady,
        None => CrossTraffic::Some,
    })
}

/// The share that others took of what datagrams at half the rate left of it.
fn room_taken(shown: &SignInput<'_>) -> Option<f64> {
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
