//! What each kind of work tells, from the raw reports of its ends.

use super::{Ends, cpu, duration, merged, one_way, packets, requests, stages, streams, tcp, total};
use crate::ledger;
use crate::statistics::to_f64;
use linerate_model::run::{
    ByteStreamResult, ClosedLoopResult, ConnectionOutcomes, ConnectionsResult, DatagramsResult,
    Delay, DelayOf, FlowClassResult, FlowsResult, OpenLoopResult, Slowdown, TrialWork, UnitCounts,
};
use linerate_model::sample::{
    AcceptedCounts, ConnectionCounts, ConnectionOpener, EndpointReport, FlowClass, FlowReport,
    FlowTimes, MarkedByteStreamSender, Moments, Requester, Responder, StreamReport,
};
use linerate_model::spec::{OpenLoop, ShortConnections, TestWork};
use linerate_model::{Histogram, PacketCount, PacketRate};
use std::time::Duration;

/// What the ends of a trial tell of their kind of work.
pub(super) fn result(ends: &Ends<'_>) -> TrialWork {
    match &ends.spec.work {
        TestWork::ByteStream(_) => byte_stream(ends).into(),
        TestWork::ClosedLoop(_) => closed_loop(ends).into(),
        TestWork::Connections(asked) => connections(ends, asked).into(),
        TestWork::Datagrams(_) => datagrams(ends).into(),
        TestWork::OpenLoop(open) => open_loop(ends, open).into(),
    }
}

fn byte_stream(ends: &Ends<'_>) -> ByteStreamResult {
    ByteStreamResult {
        lateness: lateness(ends),
        tcp: tcp::summary(ends),
        in_band: round_trips(ends, |stream| {
            Some(&stream.work.get::<MarkedByteStreamSender>()?.in_band)
        })
        .map(Box::new),
    }
}

fn closed_loop(ends: &Ends<'_>) -> ClosedLoopResult {
    ClosedLoopResult {
        counts: counts(ends),
        delay: delay(ends),
        one_way: one_way::summary(ends).map(Box::new),
        decomposition: stages::summary(ends).map(Box::new),
        tcp: tcp::summary(ends),
        turns: None,
        conditions: None,
    }
}

fn connections(ends: &Ends<'_>, asked: &ShortConnections) -> ConnectionsResult {
    let opened = streams(ends.sender).filter_map(|s| s.work.get::<ConnectionOpener>()?.counts);
    let accepted = streams(ends.receiver).filter_map(|s| s.work.get::<Responder>()?.connections);
    let client = opened.reduce(ConnectionCounts::merged);
    ConnectionsResult {
        transaction: round_trips(ends, |stream| {
            stream.work.get::<ConnectionOpener>()?.transaction.as_ref()
        })
        .map(Box::new),
        flows: flows(ends).map(Box::new),
        connections: client.map(|client| {
            Box::new(ConnectionOutcomes {
                asked: asked.clone(),
                client,
                server: accepted.reduce(AcceptedCounts::merged),
            })
        }),
        received_packet_rate: transactions(ends),
        handshake: round_trips(ends, |stream| {
            Some(&stream.work.get::<ConnectionOpener>()?.handshake)
        })
        .map(Box::new),
        delay: delay(ends),
    }
}

fn flows(ends: &Ends<'_>) -> Option<FlowsResult> {
    let all =
        streams(ends.sender).filter_map(|s| s.work.get::<ConnectionOpener>()?.flows.as_deref());
    let all = all.fold(None, |sum: Option<FlowReport>, one| {
        Some(sum.unwrap_or_default().merged(one))
    })?;
    let class = |(class, times): (FlowClass, FlowTimes)| {
        let unfinished = times.scheduled.get().saturating_sub(times.finished.get());
        FlowClassResult {
            class,
            scheduled: times.scheduled,
            finished: times.finished,
            bytes: times.bytes,
            slowdown: (!times.slowdown.is_empty())
                .then(|| Slowdown::from_thousandths(&times.slowdown, unfinished)),
            completion: Delay::with_unanswered(DelayOf::ResponseTime, times.completion, unfinished),
        }
    };
    let classes = FlowClass::ALL.into_iter().zip(all.classes);
    let classes = classes.filter(|(_, times)| times.scheduled.get() > 0);
    Some(FlowsResult {
        classes: classes.map(class).collect(),
        lateness: Delay::from_histogram(DelayOf::Lateness, all.lateness),
        base_rtt_ns: all.base_rtt_ns,
        miscounted: all.miscounted,
    })
}

fn datagrams(ends: &Ends<'_>) -> DatagramsResult {
    let counts = counts(ends);
    let place = |packets| ledger::place(packets, ends.sender, ends.receiver);
    DatagramsResult {
        ledger: counts.packets.as_ref().map(place).unwrap_or_default(),
        counts,
        delay: delay(ends),
        lateness: lateness(ends),
        send_blocked_ratio: cpu::send_blocked(ends),
        one_way: one_way::summary(ends).map(Box::new),
        ipdv: one_way::ipdv(ends).map(Box::new),
        rtp_jitter_ns: one_way::rtp_jitter(ends),
    }
}

fn open_loop(ends: &Ends<'_>, open: &OpenLoop) -> OpenLoopResult {
    let mut result = OpenLoopResult {
        counts: counts(ends),
        lateness: lateness(ends),
        one_way: one_way::summary(ends).map(Box::new),
        decomposition: stages::summary(ends).map(Box::new),
        tcp: tcp::summary(ends),
        ..OpenLoopResult::default()
    };
    requests::tell(ends, open, &mut result);
    result
}

/// Datagrams, or requests and answers, and their rates.
fn counts(ends: &Ends<'_>) -> UnitCounts {
    let Some(packets) = packets::count(ends) else {
        let received_packet_rate = ends.has_round_trips().then(|| transactions(ends)).flatten();
        return UnitCounts {
            received_packet_rate,
            ..UnitCounts::default()
        };
    };
    let offered = ends
        .sender
        .and_then(|_| rate(packets.sent, duration(ends.sender)));
    UnitCounts {
        packets: Some(packets),
        offered_packet_rate: offered,
        received_packet_rate: rate(packets.received, ends.received_over()),
    }
}

/// Transactions per second.
fn transactions(ends: &Ends<'_>) -> Option<PacketRate> {
    let done = total(ends.sender?, |stream| stream.packets.get());
    rate(Some(PacketCount::new(done)), duration(ends.sender))
}

fn rate(packets: Option<PacketCount>, time: Option<Duration>) -> Option<PacketRate> {
    PacketRate::from_packets(packets?, time?)
}

/// Round trips where they were timed, else delay variation of what came to the receiver.
fn delay(ends: &Ends<'_>) -> Option<Delay> {
    let pdv = || merged(ends.receiver, |stream| stream.work.times()?.pdv.as_ref());
    round_trips(ends, |stream| stream.work.rtt())
        .map(|delay| exact(delay, ends.sender))
        .or_else(|| Delay::from_histogram(DelayOf::Pdv, pdv()?))
}

fn round_trips(ends: &Ends<'_>, part: fn(&StreamReport) -> Option<&Histogram>) -> Option<Delay> {
    Delay::from_histogram(DelayOf::RoundTrip, merged(ends.sender, part)?)
}

fn lateness(ends: &Ends<'_>) -> Option<Delay> {
    let all = merged(ends.sender, |stream| stream.work.lateness())?;
    Delay::from_histogram(DelayOf::Lateness, all)
}

/// The delay with mean, deviation and ends of every single value, if they are those of its histogram.
fn exact(mut delay: Delay, report: Option<&EndpointReport>) -> Delay {
    let all = streams(report).filter_map(|stream| stream.work.get::<Requester>()?.rtt_moments);
    let Some(moments) = all.reduce(Moments::merged) else {
        return delay;
    };
    // Reports may come from the peer: what its own histogram denies is not believed.
    let near = |own: u64, theirs: Option<u64>| {
        theirs.is_some_and(|theirs| own.abs_diff(theirs) <= theirs / 500 + 1)
    };
    let end = |nanos: u64| to_f64(nanos);
    let inside = (end(moments.min_ns)..=end(moments.max_ns)).contains(&moments.mean_ns);
    let is_its = Some(moments.count) == delay.count
        && near(moments.min_ns, delay.min_ns)
        && near(moments.max_ns, delay.max_ns)
        && inside
        && moments.stdev_ns.is_finite();
    if is_its {
        delay.mean_ns = Some(moments.mean_ns);
        delay.stdev_ns = Some(moments.stdev_ns);
        return delay.with_ends(moments.min_ns, moments.max_ns);
    }
    delay
}
