//! Made-up runs, and one made of the figures of a published study.

use linerate_model::Quantity;
use linerate_model::run::{
    Answer, Baseline, BoundedBy, ByteStreamResult, Change, ClosedLoopResult, Confidence, CpuSide,
    CpuSummary, CurveFacts, DatagramsResult, Delay, DelayOf, Experiment, ExperimentOutcome,
    ExperimentRecord, ExperimentTest, Finding, GoalResult, Host, HostRole, LedgerEntry, Limit,
    Observed, Packets, Place, Prediction, RuleOutcome, Run, RunKind, RunRequest, RunStatus,
    RunWork, Source, TcpSummary, Tool, Trial, TrialInterval, TrialWork, Verdict,
};
use linerate_model::sample::TcpSample;
use linerate_model::spec::{Direction, Pace, Side, TestSpec, Transport};
use linerate_model::tcp::{
    BottleneckFrom, Rfc6349, TcpQueueing, TcpRetransmissions, TcpShares, TcpStretch, TcpWait,
    TcpWindows,
};
use linerate_model::{
    BitRate, ByteCount, Estimate, Histogram, Interval, PacketCount, Ratio, WallTime,
};
use linerate_report::Report;
use serde_json::json;
use std::time::Duration;

/// 2026-11-21T05:00:00Z.
pub(crate) fn made() -> WallTime {
    WallTime::from_unix(1_795_237_200).unwrap()
}

pub(crate) fn report(runs: &[Run]) -> Report<'_> {
    Report {
        title: "Report of a test".to_owned(),
        made: made(),
        runs,
    }
}

/// A run without anything.
pub(crate) fn bare(kind: RunKind) -> Run {
    let id = format!("20261121-050000-{}-1f3a", kind.as_str());
    Run::new(id, kind, Tool::unversioned("linerate"))
}

fn mbit(rate: f64) -> BitRate {
    BitRate::from_f64(rate * 1e6)
}

/// `digits` after the point of a figure in Mbit/s: half a step either way.
fn rounded(rate: f64, step: f64) -> Interval {
    Interval {
        low: (rate - step / 2.0) * 1e6,
        high: (rate + step / 2.0) * 1e6,
    }
}

fn packets(sent: u64, lost: u64) -> Packets {
    Packets {
        sent: Some(PacketCount::new(sent)),
        received: Some(PacketCount::new(sent - lost)),
        lost: Some(PacketCount::new(lost)),
        duplicated: None,
        reordered: None,
        loss_ratio: Some(Ratio::from_parts(lost, sent)),
    }
}

/// Target, offered, received (Mbit/s), sent and lost of the published logs.
type Row = (f64, f64, f64, u64, u64);

const BOARD_SENDS: &[Row] = &[
    (1.0, 1.05, 1.05, 905, 0),
    (2.0, 2.0, 2.0, 1727, 0),
    (4.0, 4.0, 4.0, 3453, 0),
    (8.0, 8.0, 8.0, 6906, 0),
    (16.0, 16.0, 16.0, 13812, 0),
    (32.0, 32.0, 32.0, 27623, 0),
    (64.0, 64.0, 64.0, 55245, 0),
    (70.0, 70.0, 70.0, 60427, 0),
    (128.0, 88.6, 88.6, 76504, 0),
    (256.0, 89.1, 89.1, 76960, 0),
    (512.0, 66.5, 66.5, 57375, 0),
    (1000.0, 64.3, 64.3, 55496, 0),
];

const BOARD_RECEIVES: &[Row] = &[
    (1.0, 1.05, 1.05, 905, 0),
    (2.0, 2.0, 2.0, 1727, 0),
    (4.0, 4.0, 4.0, 3453, 0),
    (8.0, 8.0, 8.0, 6906, 0),
    (16.0, 16.0, 16.0, 13812, 0),
    (32.0, 32.0, 32.0, 27623, 0),
    (64.0, 64.0, 64.0, 55244, 0),
    (128.0, 128.0, 128.0, 110_489, 0),
    (256.0, 256.0, 183.0, 220_852, 62_608),
    (512.0, 512.0, 175.0, 441_703, 290_265),
    (1000.0, 956.0, 175.0, 825_232, 673_764),
];

fn imported(title: &str, rows: &[Row]) -> Run {
    let trials = rows.iter().enumerate().map(|(index, row)| {
        let (target, offered, received, sent, lost) = *row;
        let mut work = DatagramsResult::default();
        work.counts.packets = Some(packets(sent, lost));
        let index = u32::try_from(index).unwrap();
        let mut trial = Trial::from_log(index, Transport::Udp, Direction::Forward, work);
        trial.label = Some(format!("{target}M"));
        trial.intended_load = Some(mbit(target));
        trial.offered_load = Some(mbit(offered));
        trial.received_rate = Some(mbit(received));
        trial.duration = Some(Duration::from_secs(10));
        trial.streams = Some(1);
        trial.payload_bytes = Some(ByteCount::new(1448));
        let step = if received >= 99.95 { 1.0 } else { 0.1 };
        trial.set_rounding(Quantity::ReceivedRate, Some(rounded(received, step)));
        trial.intervals = (0..10_u32)
            .map(|second| TrialInterval {
                start: Duration::from_secs(second.into()),
                end: Duration::from_secs(u64::from(second) + 1),
                received_rate: Some(mbit(received * (1.0 + 0.01 * f64::from(second % 3) - 0.01))),
                ..TrialInterval::default()
            })
            .collect();
        trial
    });
    Run {
        title: Some(title.to_owned()),
        tool: Tool::unversioned("iperf3"),
        source: Some(Source {
            format: "iperf3-text".to_owned(),
            files: vec!["udp/001M.log".to_owned()],
        }),
        trials: trials.collect(),
        ..bare(RunKind::Udp)
    }
}

fn verdict(limit: Limit, side: Option<Side>, claim: &str) -> Verdict {
    Verdict {
        limit,
        side,
        share_ratio: Ratio::new(0.97),
        confidence: Confidence::Supported,
        claim: claim.to_owned(),
        evidence: vec!["the first figure that shows it".to_owned()],
        experiment: Some(Box::new(Experiment::in_words(
            "halve the datagram's size",
            "the same packets per second at half the rate",
        ))),
        weighed: None,
        directions: Vec::new(),
    }
}

/// The published study: UDP, the board sends.
pub(crate) fn board_sends() -> Run {
    let mut run = imported("UDP, the board sends", BOARD_SENDS);
    run.verdict = Some(verdict(
        Limit::new("sender-cpu", "the sender's CPU"),
        Some(Side::Sender),
        "The sender itself never offers more than 89.1 Mbit/s; no packet is lost.",
    ));
    run
}

/// The published study: UDP, the board receives.
pub(crate) fn board_receives() -> Run {
    let mut run = imported("UDP, the board receives", BOARD_RECEIVES);
    run.verdict = Some(Verdict {
        confidence: Confidence::Weak,
        ..verdict(
            Limit::unknown(),
            Some(Side::Receiver),
            "From 256 Mbit/s on the receiver's side takes at most 183 Mbit/s and loses the rest.",
        )
    });
    run.findings = vec![Finding {
        rule: "receiver-socket".to_owned(),
        outcome: RuleOutcome::NotEvaluated {
            missing: "SO_RXQ_OVFL of the receiver".to_owned(),
        },
    }];
    run
}

/// The published study: TCP, the board sends; rates, congestion window in KB.
pub(crate) fn board_sends_tcp() -> Run {
    let rows = [
        (1.02, 124.0, 148),
        (2.03, 125.0, 157),
        (3.03, 126.0, 164),
        (4.04, 126.0, 181),
        (5.03, 127.0, 181),
        (6.01, 128.0, 181),
        (7.07, 129.0, 230),
        (8.06, 127.0, 230),
        (9.04, 128.0, 230),
        (10.03, 127.0, 230),
    ];
    let work = ByteStreamResult::default();
    let mut trial = Trial::from_log(0, Transport::Tcp, Direction::Forward, work);
    trial.offered_load = Some(mbit(127.0));
    trial.received_rate = Some(mbit(127.0));
    trial.duration = Some(Duration::from_secs_f64(10.03));
    trial.set_rounding(Quantity::ReceivedRate, Some(rounded(127.0, 1.0)));
    let mut start = 0.0;
    for (end, rate, cwnd_kib) in rows {
        trial.intervals.push(TrialInterval {
            start: Duration::from_secs_f64(start),
            end: Duration::from_secs_f64(end),
            offered_load: Some(mbit(rate)),
            cwnd_bytes: Some(ByteCount::new(cwnd_kib * 1024)),
            retransmitted_segments: Some(0),
            ..TrialInterval::default()
        });
        start = end;
    }
    Run {
        title: Some("TCP, the board sends".to_owned()),
        trials: vec![trial],
        ..imported("", &[])
    }
    .into_kind(RunKind::Tcp)
}

trait IntoKind {
    fn into_kind(self, kind: RunKind) -> Self;
}

impl IntoKind for Run {
    fn into_kind(mut self, kind: RunKind) -> Self {
        self.work = kind.into();
        self
    }
}

/// A pseudo-random walk that every build repeats.
struct Noise(u64);

impl Noise {
    /// From −1 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1_u32 << 30) - 1.0
    }
}

pub(crate) fn histogram(median_ns: f64, spread: f64, seed: u64) -> Histogram {
    let mut noise = Noise(seed);
    let mut histogram = Histogram::new();
    for _ in 0..5000 {
        let tail = noise.next().abs().powi(8) * 10.0;
        let value = median_ns * (1.0 + spread * noise.next() + spread * tail);
        histogram.record_duration(Duration::from_secs_f64(value.max(1.0) / 1e9));
    }
    histogram
}

fn cpu(sender: f64, receiver: f64) -> CpuSummary {
    let side = |busy: f64| CpuSide {
        host_ratio: Ratio::new(busy / 2.0),
        softirq_ratio: Ratio::new(busy / 8.0),
        busiest_core_ratio: Ratio::new(busy),
        thread_ratio: Ratio::new(busy * 0.8),
        ..CpuSide::default()
    };
    CpuSummary {
        sender: Some(side(sender)),
        receiver: Some(side(receiver)),
    }
}

fn load_trial(index: u32, load: f64, direction: Direction, noise: &mut Noise) -> Trial {
    let capacity = 93.3 + 0.02 * noise.next();
    let received: f64 = f64::min(load, capacity);
    let sent = BitRate::from_f64(load * 1e6 / 8.0 / 1448.0).bps();
    let lost = BitRate::from_f64((load - received) * 1e6 / 8.0 / 1448.0).bps();
    let queue = if load > 93.0 { 14e6 } else { 60e3 + 4e3 * load };
    let mut work = DatagramsResult {
        delay: Delay::from_histogram(DelayOf::Pdv, histogram(queue, 0.2, index.into())),
        ledger: vec![LedgerEntry {
            place: Place::Network,
            packets: PacketCount::new(lost),
            source: "link element's queue".to_owned(),
        }],
        ..DatagramsResult::default()
    };
    work.counts.packets = Some(packets(sent, lost));
    let mut trial = Trial::new(index, Transport::Udp, direction, work);
    trial.intended_load = Some(mbit(load));
    trial.offered_load = Some(mbit(load));
    trial.received_rate = Some(mbit(received));
    trial.duration = Some(Duration::from_secs(1));
    trial.payload_bytes = Some(ByteCount::new(1448));
    trial.cpu = Some(cpu(load / 300.0, load / 200.0));
    trial.intervals = (0..10_u64)
        .map(|tenth| TrialInterval {
            start: Duration::from_millis(tenth * 100),
            end: Duration::from_millis(tenth * 100 + 100),
            received_rate: Some(mbit(received * (1.0 + 0.01 * noise.next()))),
            ..TrialInterval::default()
        })
        .collect();
    trial
}

fn goals(direction: Direction) -> Vec<GoalResult> {
    [(0.0, 93.2, 93.5), (0.005, 93.5, 93.9)]
        .map(|(loss, low, high)| GoalResult {
            shortfall: None,
            direction,
            loss_goal: Ratio::clamped(loss),
            delay_goal: None,
            lower_bound: Some(mbit(low)),
            upper_bound: Some(mbit(high)),
            conditional_throughput: Some(mbit(low * (1.0 - loss))),
            reached: true,
            bounded_by: Some(BoundedBy::Loss),
            width: Ratio::new((high - low) / high),
            trials: 12,
            time: Duration::from_secs(12),
        })
        .into()
}

/// A search on a link that carries 93.3 Mbit/s of payload.
pub(crate) fn search(direction: Direction) -> Run {
    let loads = [
        20.0, 50.0, 100.0, 150.0, 80.0, 90.0, 95.0, 92.0, 94.0, 93.0, 93.5, 93.2, 93.2, 93.2, 93.4,
        93.4,
    ];
    let mut noise = Noise(7);
    let mut run = bare(RunKind::Saturate);
    for (index, load) in (0..).zip(loads) {
        run.trials
            .push(load_trial(index, load, direction, &mut noise));
    }
    run.trials[3].valid = false;
    run.trials[3].reasons = vec!["the sender was 40 ms late against its schedule".to_owned()];
    run.work = RunWork::Saturate {
        goals: goals(direction),
        curve: Some(CurveFacts {
            peak_received: Some(mbit(93.3)),
            peak_intended: Some(mbit(150.0)),
            max_offered: Some(mbit(150.0)),
            delay_rise: Some(mbit(93.2)),
            overload_received: None,
            knee: None,
        }),
        delay_trials: Vec::new(),
    };
    run.verdict = Some(verdict(
        Limit::new("link", "the link's rate"),
        None,
        "The link carries 93.3 Mbit/s of L4 payload and no more.",
    ));
    run.config.command = Some("linerate saturate 10.0.0.2 --loss-goal 0,0.5%".to_owned());
    run.config.asked = Some(RunRequest::Test {
        test: TestSpec::udp_datagrams(Pace::Unpaced),
    });
    run
}

/// One TCP transfer of our own with readings over time.
pub(crate) fn tcp(direction: Direction) -> Run {
    let mut noise = Noise(3);
    let mut trial = Trial::new(0, Transport::Tcp, direction, ByteStreamResult::default());
    trial.offered_load = Some(mbit(91.2));
    trial.received_rate = Some(mbit(91.0));
    trial.duration = Some(Duration::from_secs(5));
    trial.cpu = Some(cpu(0.3, 0.4));
    let mut samples = Vec::new();
    for n in 0..50_u32 {
        let at = f64::from(n) / 10.0;
        samples.push(TcpSample {
            at_ns: u64::from(n) * 100_000_000,
            cwnd_bytes: Some(100_000 + u64::from(n % 17) * 12_000),
            srtt_ns: Some(1_000_000 + u64::from(n % 17) * 900_000),
            ..TcpSample::default()
        });
        if n % 5 == 0 {
            trial.intervals.push(TrialInterval {
                start: Duration::from_secs_f64(at),
                end: Duration::from_secs_f64(at + 0.5),
                received_rate: Some(mbit(91.0 + noise.next())),
                ..TrialInterval::default()
            });
        }
    }
    let tcp = Some(tcp_state(samples));
    trial.work = TrialWork::from(ByteStreamResult {
        tcp,
        ..ByteStreamResult::default()
    });
    let mut run = bare(RunKind::Tcp);
    run.trials = vec![trial];
    run.config.command = Some("linerate tcp 10.0.0.2 -t 5s".to_owned());
    run.verdict = Some(verdict(
        Limit::new("link", "the link's rate"),
        None,
        "TCP fills the link: 91 Mbit/s of payload is 97.5 % of what UDP can carry.",
    ));
    if direction == Direction::Reverse {
        prove(&mut run);
    }
    run
}

/// Held back by the receiver's window at first, by loss later.
fn tcp_state(samples: Vec<TcpSample>) -> TcpSummary {
    let split = |loss: f64, start: f64| {
        let mut shares = TcpShares::default();
        shares.set(TcpWait::Loss, Ratio::clamped(loss));
        shares.set(TcpWait::ReceiverWindow, Ratio::clamped(0.9 - loss));
        shares.set(TcpWait::SlowStart, Ratio::clamped(start));
        shares.set(TcpWait::Application, Ratio::clamped(0.1 - start));
        shares
    };
    let stretch = |n: u32| TcpStretch {
        start: Duration::from_millis(500) * n,
        end: Duration::from_millis(500) * (n + 1),
        shares: split(0.09 * f64::from(n), if n == 0 { 0.1 } else { 0.0 }),
    };
    TcpSummary {
        retransmitted_segments: Some(12),
        min_rtt_ns: Some(210_000),
        shares: Some(split(0.4, 0.02)),
        shares_over_time: (0..10).map(stretch).collect(),
        windows: Some(TcpWindows {
            receiver_window_bytes: Some(ByteCount::new(3 << 20)),
            congestion_window_rate: Some(mbit(93.1)),
            receiver_window_rate: Some(mbit(2900.0)),
            ..TcpWindows::default()
        }),
        rfc6349: Some(Rfc6349 {
            efficiency_ratio: Some(Ratio::clamped(0.998)),
            buffer_delay_ratio: Some(39.2),
            transfer_time_ratio: Some(1.04),
            bottleneck: Some(mbit(94.9)),
            bottleneck_from: Some(BottleneckFrom::DeliveryRate),
            bdp_bytes: Some(ByteCount::new(2491)),
        }),
        retransmissions: Some(TcpRetransmissions {
            sent: Some(40_000),
            segments: Some(12),
            needless: Some(3),
            ..TcpRetransmissions::default()
        }),
        queueing: TcpQueueing::from_idle_ns(210_000, 8_440_000),
        samples,
        ..TcpSummary::default()
    }
}

/// What an experiment did to a rate: changed ÷ baseline, with a hundredth of noise.
fn record(limit: Limit, change: Change, prediction: Prediction, ratio: f64) -> ExperimentRecord {
    let mut experiment = Experiment::from(ExperimentTest {
        change,
        predictions: vec![prediction],
        baseline: Baseline::default(),
    });
    let estimate = Estimate {
        point: ratio,
        interval: Some(Interval {
            low: ratio - 0.01,
            high: ratio + 0.01,
        }),
        confidence_ratio: 0.95,
        n: 4,
    };
    let holds = prediction.at_least.is_none_or(|low| low <= ratio);
    experiment.outcome = Some(ExperimentOutcome {
        answer: if holds {
            Answer::Agreed
        } else {
            Answer::Disagreed
        },
        pairs: 4,
        observed: vec![Observed {
            prediction,
            estimate,
            came_true: Some(holds),
        }],
        notes: vec!["left out: 1 pair with an invalid trial".to_owned()],
    });
    experiment.result = Some(format!(
        "the received rate was {ratio} times the baseline's"
    ));
    ExperimentRecord {
        limit,
        side: None,
        started: None,
        experiment,
        trials: Vec::new(),
    }
}

/// The window was refuted, the link confirmed.
fn prove(run: &mut Run) {
    let rises = Prediction::at_least(Quantity::ReceivedRate, 1.3);
    let stays = Prediction::within(Quantity::ReceivedRate, 0.93, 1.07);
    let buffer = Change::ReceiveBuffer { factor: 2.0 };
    run.experiments = vec![
        record(
            Limit::new("receiver-window", "the receiver's window"),
            buffer,
            rises,
            1.01,
        ),
        record(
            Limit::new("link", "the link's rate"),
            Change::Streams { factor: 2 },
            stays,
            0.99,
        ),
    ];
    let verdict = run.verdict.as_mut().unwrap();
    verdict.confidence = Confidence::Confirmed;
    verdict.experiment = Some(Box::new(run.experiments[1].experiment.clone()));
}

/// Ping-pong idle and under load.
pub(crate) fn latency() -> Run {
    let mut run = bare(RunKind::Latency);
    for (index, (label, median)) in (0..).zip([("idle", 45e3), ("under load", 12.3e6)]) {
        let all = histogram(median, 0.1, u64::from(index));
        let work = ClosedLoopResult {
            delay: Delay::from_histogram(DelayOf::RoundTrip, all),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(index, Transport::Udp, Direction::Forward, work);
        trial.label = Some(label.to_owned());
        trial.payload_bytes = Some(ByteCount::new(32));
        run.trials.push(trial);
    }
    run.config.command = Some("linerate latency 10.0.0.2 --load".to_owned());
    run.verdict = Some(Verdict {
        confidence: Confidence::Confirmed,
        share_ratio: None,
        experiment: None,
        weighed: None,
        directions: Vec::new(),
        ..verdict(
            Limit::new("link", "the link's rate"),
            None,
            "Under load the queue of the link adds 12.3 ms to the median round trip.",
        )
    });
    run
}

/// A published size sweep: only quantiles.
pub(crate) fn sweep() -> Run {
    let mut run = bare(RunKind::Latency);
    run.title = Some("TCP half round trip, OpenOnload".to_owned());
    let rows: [(u64, f64, u64, u64, u64); 5] = [
        (1, 7668.0, 6472, 7556, 8855),
        (64, 7100.0, 6200, 7000, 8100),
        (1024, 9800.0, 8800, 9700, 11000),
        (16384, 31000.0, 29000, 30800, 34000),
        (65536, 92000.0, 89000, 91500, 99000),
    ];
    for (index, (size, mean, min, median, p99)) in (0..).zip(rows) {
        let delay = Some(Delay {
            of: DelayOf::HalfRoundTrip,
            min_ns: Some(min),
            mean_ns: Some(mean),
            p50_ns: Some(median),
            p90_ns: None,
            p99_ns: Some(p99),
            p999_ns: None,
            max_ns: Some(p99 * 4),
            stdev_ns: Some(500.0),
            count: Some(650_000),
            unanswered: None,
            histogram: None,
            quantiles: Vec::new(),
        });
        let work = ClosedLoopResult {
            delay,
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(index, Transport::Tcp, Direction::Forward, work);
        trial.label = Some(format!("{size} B"));
        trial.payload_bytes = Some(ByteCount::new(size));
        run.trials.push(trial);
    }
    run
}

fn host(role: HostRole) -> Host {
    let facts = [
        ("kernel", json!("6.12.0")),
        ("cpu_model", json!("a processor of eight cores")),
        ("cores", json!(8)),
        ("memory_bytes", json!(17_179_869_184_u64)),
        ("link_speed_bps", json!(null)),
        ("sysctl", json!({"net.core.rmem_max": 212_992})),
    ]
    .into_iter()
    .collect();
    Host {
        name: Some(format!("netns://{}", role.as_str())),
        facts,
        ..Host::new(role)
    }
}

/// What `linerate demo` makes.
pub(crate) fn demo() -> Run {
    let mut run = bare(RunKind::Demo);
    run.title = Some("Demonstration on this machine".to_owned());
    run.started = Some(made());
    run.tool.version = Some("0.1.0".to_owned());
    run.hosts = vec![host(HostRole::Client), host(HostRole::Server)];
    run.config.command = Some("linerate demo -o report.html".to_owned());
    run.notes = vec!["The link element shapes to 100 Mbit/s at L1.".to_owned()];
    *run.parts_mut().unwrap() = vec![
        tcp(Direction::Forward),
        tcp(Direction::Reverse),
        search(Direction::Forward),
        search(Direction::Reverse),
        latency(),
    ];
    run
}

/// A run that was killed after one trial.
pub(crate) fn incomplete() -> Run {
    let mut run = search(Direction::Forward);
    run.trials.truncate(1);
    run.status = RunStatus::Incomplete;
    run.work = RunKind::Saturate.into();
    run.verdict = None;
    run
}

/// Trials of which nothing is known, of each kind.
pub(crate) fn unknown(kind: RunKind) -> Run {
    let mut run = bare(kind);
    let work: fn() -> TrialWork = match kind {
        RunKind::Latency => || ClosedLoopResult::default().into(),
        RunKind::Tcp => || ByteStreamResult::default().into(),
        _ => || DatagramsResult::default().into(),
    };
    run.trials = [0, 1]
        .map(|index| Trial::new(index, Transport::Udp, Direction::Forward, work()))
        .into();
    run
}
