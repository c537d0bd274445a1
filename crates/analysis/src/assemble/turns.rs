//! A trial that was measured in turns: sums over the turns, and how much the turns differ.
//!
//! The turns' reports are added up to one report for each end, from which the trial is made as any other:
//! counters are sums of what they gained, histograms are merged, times follow each other. Between two
//! turns of a trial others were measured, so the sums hold nothing of what happened there.

use super::{Ends, one_way, trial};
use crate::statistics::{USUAL_CONFIDENCE, mean, to_f64};
use linerate_model::one_way::OneWay;
use linerate_model::run::{Delay, DelayOf, Trial, TrialWork, Turn, Turns};
use linerate_model::sample::{
    EndpointReport, ErrorCount, IntervalCount, MAX_PATH_NOTES, MessageTimes, PathReport, Snapshot,
    StreamReport, StreamWork, XdpReport,
};
use linerate_model::spec::{Direction, Stop, TestSpec};
use linerate_model::{ByteCount, Estimate, PacketCount};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one turn gave.
#[derive(Debug, Clone)]
pub struct TurnReports {
    /// Its place among all turns of the run.
    pub position: u32,
    /// The test that it was; one that was stopped early is as long as it lasted.
    pub spec: TestSpec,
    /// Report of the asking end.
    pub sender: Option<EndpointReport>,
    /// Report of the answering end.
    pub receiver: Option<EndpointReport>,
}

/// The trial of some turns of one closed-loop test in one direction, in the order they were made; `None` of no turn.
pub fn trial_of_turns(
    index: u32,
    direction: Direction,
    mut turns: Vec<TurnReports>,
) -> Option<Trial> {
    if turns.len() <= 1 {
        let turn = turns.pop()?;
        return Some(trial(
            index,
            &turn.spec,
            direction,
            turn.sender,
            turn.receiver,
        ));
    }
    let spec = whole(&turns)?;
    let each: Vec<Turn> = turns.iter().map(summary).collect();
    let one_way = ways(&spec, &turns);
    let (senders, receivers): (Vec<_>, Vec<_>) =
        turns.into_iter().map(|t| (t.sender, t.receiver)).unzip();
    let mut made = trial(index, &spec, direction, sum(senders), sum(receivers));
    if let TrialWork::ClosedLoop(result) = &mut made.work {
        result.one_way = one_way.map(Box::new);
        result.turns = Some(Box::new(Turns {
            p50_ns: over(&each, |turn| turn.p50_ns),
            p99_ns: over(&each, |turn| turn.p99_ns),
            each,
        }));
    }
    Some(made)
}

/// The test that all turns are together.
fn whole(turns: &[TurnReports]) -> Option<TestSpec> {
    let first = &turns.first()?.spec;
    let stops = turns.iter().map(|turn| turn.spec.stop);
    let stop = stops.reduce(|sum, stop| match (sum, stop) {
        (Stop::After(sum), Stop::After(time)) => Stop::After(sum.saturating_add(time)),
        (Stop::Bytes(sum), Stop::Bytes(more)) => {
            Stop::Bytes(ByteCount::new(sum.get().saturating_add(more.get())))
        }
        (Stop::Transactions(sum), Stop::Transactions(more)) => {
            Stop::Transactions(sum.saturating_add(more))
        }
        (sum, _) => sum,
    })?;
    let warm_ups = turns.iter().map(|turn| turn.spec.warm_up);
    Some(TestSpec {
        stop,
        warm_up: warm_ups.fold(Duration::ZERO, Duration::saturating_add),
        ..first.clone()
    })
}

/// What a turn says by itself.
fn summary(turn: &TurnReports) -> Turn {
    let rtt = super::merged(turn.sender.as_ref(), |stream| stream.work.rtt());
    let delay = rtt.and_then(|all| Delay::from_histogram(DelayOf::RoundTrip, all));
    Turn {
        position: turn.position,
        p50_ns: delay.as_ref().and_then(|delay| delay.p50_ns),
        p99_ns: delay.as_ref().and_then(|delay| delay.p99_ns),
        count: delay.and_then(|delay| delay.count),
    }
}

fn over(turns: &[Turn], part: impl Fn(&Turn) -> Option<u64>) -> Option<Estimate> {
    let values: Vec<f64> = turns.iter().filter_map(part).map(to_f64).collect();
    mean(&values, USUAL_CONFIDENCE).ok()
}

/// One end's reports added up; `None` if a turn lacks one, since a sum without it would tell too little.
fn sum(reports: Vec<Option<EndpointReport>>) -> Option<EndpointReport> {
    let mut reports = reports.into_iter();
    let mut all = reports.next()??;
    let mut time = longest(&all);
    single(&mut all);
    for report in reports {
        let report = report?;
        let length = longest(&report);
        add_snapshots(&mut all, &report);
        for (index, stream) in report.streams.into_iter().enumerate() {
            match all.streams.get_mut(index) {
                Some(known) => add_stream(known, stream, time),
                None => all.streams.push(stream),
            }
        }
        time = time.saturating_add(length);
    }
    Some(all)
}

/// One-way delays of all turns: their clocks are the same, so each turn is a stream of its own.
fn ways(spec: &TestSpec, turns: &[TurnReports]) -> Option<OneWay> {
    let side_by_side = |end: fn(&TurnReports) -> Option<&EndpointReport>| {
        let reports: Vec<&EndpointReport> = turns.iter().filter_map(end).collect();
        let mut all = (*reports.first()?).clone();
        let streams = reports.iter().flat_map(|report| &report.streams);
        all.streams = streams.cloned().collect();
        Some(all)
    };
    let sender = side_by_side(|turn| turn.sender.as_ref());
    let receiver = side_by_side(|turn| turn.receiver.as_ref());
    one_way::summary(&Ends {
        spec,
        sender: sender.as_ref(),
        receiver: receiver.as_ref(),
        silent: None,
    })
}

fn longest(report: &EndpointReport) -> Duration {
    let times = report.streams.iter().map(|stream| stream.duration);
    times.max().unwrap_or_default()
}

/// Leaves out of a turn what no sum over turns has: each has connections and a profile of its own.
fn single(report: &mut EndpointReport) {
    report.profile = None;
    for stream in &mut report.streams {
        match &mut stream.work {
            StreamWork::Requester(end) => {
                end.tcp.samples.clear();
                (end.times, end.stages) = (MessageTimes::default(), None);
            }
            StreamWork::Responder(end) => {
                (end.times, end.stages) = (MessageTimes::default(), None);
            }
            _ => {}
        }
    }
}

/// Lets `all` end as much later, and with as much more, as `turn` took and gained.
fn add_snapshots(all: &mut EndpointReport, turn: &EndpointReport) {
    let took = turn.after.at_ns.saturating_sub(turn.before.at_ns);
    all.after.at_ns = all.after.at_ns.saturating_add(took);
    let Snapshot {
        values, missing, ..
    } = &mut all.after;
    // What one turn does not tell is not known of the whole; what went back is not a gain.
    values.retain(|signal, _| turn.after.gained(&turn.before, signal).is_some());
    for (signal, value) in values {
        let gained = turn.after.gained(&turn.before, signal).unwrap_or(0);
        *value = value.saturating_add(gained);
    }
    for (signal, why) in &turn.after.missing {
        missing.entry(signal.clone()).or_insert_with(|| why.clone());
    }
}

/// Adds a turn of a stream that follows `time` of earlier turns.
fn add_stream(all: &mut StreamReport, turn: StreamReport, time: Duration) {
    all.bytes = ByteCount::new(all.bytes.get().saturating_add(turn.bytes.get()));
    all.packets = both(all.packets, turn.packets);
    all.duration = all.duration.saturating_add(turn.duration);
    let later = |interval: IntervalCount| IntervalCount {
        start: interval.start.saturating_add(time),
        end: interval.end.saturating_add(time),
        next_expected: None,
        ..interval
    };
    all.intervals.extend(turn.intervals.into_iter().map(later));
    if let (StreamWork::Requester(all), StreamWork::Requester(turn)) = (&mut all.work, turn.work) {
        all.rtt.merge(&turn.rtt);
        let moments = all.rtt_moments.zip(turn.rtt_moments);
        all.rtt_moments = moments.map(|(all, turn)| all.merged(turn));
        all.timeouts = both(all.timeouts, turn.timeouts);
    }
    all.errors = errors(std::mem::take(&mut all.errors), turn.errors);
    all.thread_cpu = all.thread_cpu.saturating_add(turn.thread_cpu);
    all.thread_system_cpu = together(all.thread_system_cpu, turn.thread_system_cpu);
    all.run_delay = together(all.run_delay, turn.run_delay);
    all.paused = together(all.paused, turn.paused);
    add_path(&mut all.path, turn.path);
}

fn add_path(all: &mut PathReport, turn: PathReport) {
    all.helper_cpu = together(all.helper_cpu, turn.helper_cpu);
    all.xdp = all
        .xdp
        .take()
        .zip(turn.xdp)
        .map(|(all, turn)| passed_by(all, &turn));
    for note in turn.notes {
        if all.notes.len() < MAX_PATH_NOTES && !all.notes.contains(&note) {
            all.notes.push(note);
        }
    }
}

fn passed_by(a: XdpReport, b: &XdpReport) -> XdpReport {
    XdpReport {
        dropped: both(a.dropped, b.dropped),
        ring_full: a.ring_full.zip(b.ring_full).map(|(a, b)| both(a, b)),
        fill_ring_empty: a
            .fill_ring_empty
            .zip(b.fill_ring_empty)
            .map(|(a, b)| a.saturating_add(b)),
        malformed: both(a.malformed, b.malformed),
        stray: both(a.stray, b.stray),
        ..a
    }
}

fn both(a: PacketCount, b: PacketCount) -> PacketCount {
    PacketCount::new(a.get().saturating_add(b.get()))
}

fn together(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

fn errors(known: Vec<ErrorCount>, more: Vec<ErrorCount>) -> Vec<ErrorCount> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for error in known.into_iter().chain(more) {
        let count = counts.entry((error.operation, error.errno)).or_default();
        *count = count.saturating_add(error.count);
    }
    let error = |((operation, errno), count)| ErrorCount {
        operation,
        errno,
        count,
    };
    counts.into_iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Histogram;
    use linerate_model::sample::{Requester, Responder};
    use linerate_model::spec::{Side, Transport};

    /// A turn of a second with so many answers that took so long, on a host whose counter is at `count`.
    fn turn(position: u32, answers: u64, rtt_ns: u64, count: u64) -> TurnReports {
        let mut rtt = Histogram::new();
        rtt.record_n(rtt_ns, answers);
        let snapshot = |at_ns, count| Snapshot {
            at_ns,
            values: BTreeMap::from([("cpu.idle_ns".to_owned(), count)]),
            ..Snapshot::default()
        };
        let start = u64::from(position) * 5_000_000_000;
        let work = |side| match side {
            Side::Sender => StreamWork::from(Requester {
                rtt: rtt.clone(),
                ..Requester::default()
            }),
            Side::Receiver => Responder::default().into(),
        };
        let report = |side| EndpointReport {
            side,
            streams: vec![StreamReport {
                bytes: ByteCount::new(answers * 32),
                packets: PacketCount::new(answers),
                duration: Duration::from_secs(1),
                intervals: vec![IntervalCount {
                    end: Duration::from_secs(1),
                    packets: PacketCount::new(answers),
                    ..IntervalCount::default()
                }],
                thread_cpu: Duration::from_millis(550),
                ..StreamReport::new(0, work(side))
            }],
            before: snapshot(start, count),
            after: snapshot(start + 1_200_000_000, count + 7),
            profile: None,
            clock: None,
        };
        let mut spec = TestSpec::ping_pong(Transport::Udp);
        spec.warm_up = Duration::from_millis(100);
        TurnReports {
            position,
            spec,
            sender: Some(report(Side::Sender)),
            receiver: Some(report(Side::Receiver)),
        }
    }

    #[test]
    fn turns_add_up_and_what_happens_between_them_does_not_count() {
        let turns = vec![turn(0, 100, 10_000, 50), turn(4, 300, 30_000, 9000)];
        let whole = trial_of_turns(7, Direction::Forward, turns).unwrap();
        assert!(whole.valid, "{:?}", whole.reasons);
        assert_eq!(
            (whole.index, whole.duration),
            (7, Some(Duration::from_secs(2)))
        );
        let delay = whole.delay().unwrap();
        assert_eq!(delay.count, Some(400));
        assert!((29_900..=30_100).contains(&delay.p50_ns.unwrap()));
        let sender = &whole.raw()[0];
        assert_eq!(sender.streams[0].packets.get(), 400);
        assert_eq!(sender.after.at_ns - sender.before.at_ns, 2_400_000_000);
        assert_eq!(sender.after.gained(&sender.before, "cpu.idle_ns"), Some(14));
        let starts = sender.streams[0]
            .intervals
            .iter()
            .map(|i| i.start.as_secs());
        assert_eq!(starts.collect::<Vec<_>>(), [0, 1]);
        assert_eq!(whole.packets().unwrap().lost.unwrap().get(), 0);
        let turns = whole.turns().unwrap();
        let positions: Vec<_> = turns.each.iter().map(|turn| turn.position).collect();
        assert_eq!(positions, [0, 4]);
        let median = turns.p50_ns.unwrap();
        assert_eq!(median.n, 2);
        assert!((median.point - 20_000.0).abs() < 40.0, "{median:?}");
        let interval = median.interval.unwrap();
        assert!(interval.low < 10_000.0 && interval.high > 30_000.0);
    }

    #[test]
    fn the_cost_of_a_transaction_counts_the_warm_ups_of_all_turns() {
        let turns = vec![turn(0, 1000, 10_000, 0), turn(1, 1000, 10_000, 0)];
        let cpu = trial_of_turns(0, Direction::Forward, turns)
            .unwrap()
            .cpu
            .unwrap();
        for side in [cpu.sender.unwrap(), cpu.receiver.unwrap()] {
            // 1.1 s of CPU in 2.4 s between the readings; 2200 transactions were made, of which 2000 counted.
            assert!((side.thread_cores.unwrap() - 1.1 / 2.4).abs() < 1e-9);
            assert!((side.thread_ns_per_transaction.unwrap() - 500_000.0).abs() < 1e-3);
        }
    }

    #[test]
    fn one_turn_is_a_trial_as_any_other_and_no_turn_is_none() {
        let one = trial_of_turns(0, Direction::Forward, vec![turn(3, 10, 1000, 0)]).unwrap();
        assert_eq!(one.turns(), None);
        assert_eq!(trial_of_turns(0, Direction::Forward, Vec::new()), None);
    }

    #[test]
    fn what_one_turn_lacks_the_sum_does_not_claim() {
        let mut turns = vec![turn(0, 10, 1000, 0), turn(1, 10, 1000, 0)];
        turns[1].receiver = None;
        let sender = turns[1].sender.as_mut().unwrap();
        sender.after.values.clear();
        let whole = trial_of_turns(0, Direction::Forward, turns).unwrap();
        assert_eq!(whole.raw().len(), 1);
        assert_eq!(
            whole.raw()[0]
                .after
                .gained(&whole.raw()[0].before, "cpu.idle_ns"),
            None
        );
        assert!(
            whole.reasons[0].contains("responder"),
            "{:?}",
            whole.reasons
        );
    }
}
