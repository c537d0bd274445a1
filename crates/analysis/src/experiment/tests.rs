//! Each change as a test, and the judge against noise of known kind.

use super::*;
use linerate_model::Quantity;
use linerate_model::dut::{DutCores, DutCounters, DutDrop, DutPlace, DutRelief, DutTask};
use linerate_model::experiment::PREDICTED;
use linerate_model::random::Random;
use linerate_model::run::{
    Answer, Baseline, BoundedBy, ByteStreamResult, Change, Config, CpuSide, CpuSummary,
    DatagramsResult, DeviceReport, Experiment, ExperimentOutcome, ExperimentTest, GoalResult,
    Limit, Packets, Prediction, Run, RunKind, RunRequest, RunWork, Trial, Verdict,
};
use linerate_model::sample::{EndpointReport, StreamReport, StreamWork};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, PacketRate, Ratio};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

fn run_of(kind: RunKind, spec: &TestSpec) -> Run {
    let mut run: Run = serde_json::from_value(json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "udp", "status": "complete",
        "tool": {"name": "linerate"}, "config": {},
    }))
    .unwrap();
    run.work = kind.into();
    run.config = Config {
        asked: Some(RunRequest::Test { test: spec.clone() }),
        ..Config::default()
    };
    run
}

fn verdict(limit: &'static str, side: Option<Side>, test: Option<ExperimentTest>) -> Verdict {
    let experiment = test.map_or_else(|| Experiment::in_words("look", "see"), Experiment::from);
    Verdict {
        limit: Limit::new(limit, ""),
        side,
        share_ratio: None,
        confidence: linerate_model::run::Confidence::Supported,
        claim: "It limits.".to_owned(),
        evidence: Vec::new(),
        experiment: Some(Box::new(experiment)),
        weighed: None,
        directions: Vec::new(),
    }
}

fn test_of(change: Change) -> ExperimentTest {
    ExperimentTest {
        change,
        predictions: vec![Prediction::at_least(Quantity::ReceivedRate, 1.3)],
        baseline: Baseline::default(),
    }
}

fn design(spec: &TestSpec, change: Change) -> Design {
    let run = run_of(RunKind::Udp, spec);
    let verdict = verdict("link", None, Some(test_of(change)));
    Design::from_run(&run, &verdict).unwrap()
}

fn udp() -> TestSpec {
    TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(100_000_000)))
}

fn report(side: Side, buffer: u64) -> EndpointReport {
    let mut stream = StreamReport::new(0, StreamWork::Unreported);
    stream.path.send_buffer_bytes = Some(ByteCount::new(buffer));
    stream.path.receive_buffer_bytes = Some(ByteCount::new(buffer));
    EndpointReport::of_streams(side, vec![stream])
}

/// A trial of datagrams: offered in Mbit/s, of 10 000 packets that many lost.
fn trial(offered: f64, lost: u64) -> Trial {
    let packets = Packets {
        sent: Some(PacketCount::new(10_000)),
        received: Some(PacketCount::new(10_000 - lost)),
        lost: Some(PacketCount::new(lost)),
        loss_ratio: Some(Ratio::from_parts(lost, 10_000)),
        ..Packets::default()
    };
    let mut work = DatagramsResult::default();
    work.counts.packets = Some(packets);
    work.counts.received_packet_rate = Some(PacketRate::from_pps(
        PacketCount::new(10_000 - lost).as_f64(),
    ));
    let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
    trial.payload_bytes = Some(ByteCount::new(1448));
    trial.intended_load = Some(BitRate::from_f64(offered * 1e6));
    trial.offered_load = trial.intended_load;
    let share = 1.0 - Ratio::from_parts(lost, 10_000).get();
    trial.received_rate = Some(BitRate::from_f64(offered * share * 1e6));
    trial.measured_mut().unwrap().raw =
        vec![report(Side::Sender, 65_536), report(Side::Receiver, 32_768)];
    trial.cpu = Some(CpuSummary {
        sender: Some(cores(&[0.9, 0.1])),
        receiver: Some(cores(&[0.3])),
    });
    trial
}

fn cores(busy: &[f64]) -> CpuSide {
    CpuSide {
        cores: busy.iter().map(|share| Ratio::clamped(*share)).collect(),
        ..CpuSide::default()
    }
}

/// The changed test, from a pilot that lost a fifth.
fn changed(spec: &TestSpec, change: Change) -> Result<TestSpec, NotRun> {
    let (baseline, changed) = design(spec, change).prepare(&trial(100.0, 2_000))?;
    assert_ne!(baseline, changed);
    Ok(changed)
}

#[test]
fn the_baseline_is_the_test_but_short() {
    let design = design(&udp(), Change::Reverse);
    assert_eq!(design.baseline.stop, Stop::After(Duration::from_secs(1)));
    assert_eq!(design.baseline.pace(), udp().pace());
}

/// The baseline of a run of TCP with this mean round trip.
fn tcp_baseline(milliseconds: u64) -> TestSpec {
    let mut run = run_of(RunKind::Tcp, &TestSpec::tcp_bulk());
    let work = ByteStreamResult {
        tcp: Some(linerate_model::run::TcpSummary {
            srtt_mean_ns: Some(milliseconds * 1_000_000),
            ..Default::default()
        }),
        ..ByteStreamResult::default()
    };
    let slow = Trial::new(0, Transport::Tcp, Direction::Forward, work);
    run.trials.push(slow);
    let claim = verdict(
        "receiver-window",
        Some(Side::Receiver),
        Some(test_of(Change::ReceiveBuffer { factor: 2.0 })),
    );
    Design::from_run(&run, &claim).unwrap().baseline
}

#[test]
fn a_tcp_baseline_warms_up_for_its_slow_start() {
    assert_eq!(tcp_baseline(100).warm_up, Duration::from_secs(1));
}

#[test]
fn a_tcp_baseline_lasts_for_some_round_trips() {
    for (rtt, length) in [(100, 1500), (400, 4000), (2000, 5000)] {
        let length = Duration::from_millis(length);
        assert_eq!(tcp_baseline(rtt).stop, Stop::After(length));
    }
}

#[test]
fn the_baseline_of_a_search_is_just_above_its_bound() {
    let mut run = run_of(RunKind::Saturate, &TestSpec::udp_datagrams(Pace::Unpaced));
    let mut goals: Vec<GoalResult> = serde_json::from_value(json!([{
        "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": 95_000_000, "upper_bound_bps": 96_000_000,
        "conditional_throughput_bps": null, "reached": true, "bounded_by": "loss", "width_ratio": null, "trials": 9, "time_s": 9.0
    }]))
    .unwrap();
    let search = |goals: &[GoalResult]| RunWork::Saturate {
        goals: goals.to_vec(),
        curve: None,
        delay_trials: Vec::new(),
    };
    run.work = search(&goals);
    run.trials.push(trial(200.0, 5_000));
    let load = |run: &Run, baseline| {
        let test = ExperimentTest {
            baseline,
            ..test_of(Change::Load { factor: 0.5 })
        };
        let claim = verdict("link", None, Some(test));
        Design::from_run(run, &claim).unwrap().baseline.pace()
    };
    let mbit = |mbit: f64| Pace::At(BitRate::from_f64(mbit * 1e6));
    assert_eq!(load(&run, Baseline::AboveBound), mbit(105.6));
    assert_eq!(load(&run, Baseline::FarAboveBound), mbit(144.0));
    // 100 Mbit/s got through beyond the bound, so a link's limit is above that.
    assert_eq!(load(&run, Baseline::AbovePath), mbit(110.0));
    assert_eq!(load(&run, Baseline::BelowBest), mbit(80.0));
    goals[0].bounded_by = Some(BoundedBy::Sender);
    run.work = search(&goals);
    assert_eq!(load(&run, Baseline::AboveBound), mbit(120.0));
}

#[test]
fn a_load_is_relative_to_what_was_received_and_a_lower_one_is_measured_longer() {
    let low = changed(&udp(), Change::Load { factor: 0.25 }).unwrap();
    assert_eq!(low.pace(), Pace::At(BitRate::from_bps(20_000_000)));
    assert_eq!(low.stop, Stop::After(Duration::from_secs(4)));
    let high = changed(&udp(), Change::Load { factor: 1.5 }).unwrap();
    assert_eq!(high.pace(), Pace::At(BitRate::from_bps(120_000_000)));
    assert_eq!(high.stop, Stop::After(Duration::from_secs(1)));
}

#[test]
fn what_a_bucket_held_is_no_part_of_the_rate() {
    let mut pilot = trial(100.0, 2_000);
    pilot.intervals = serde_json::from_value(serde_json::json!([
        {"start_s": 0.0, "end_s": 0.25, "received_bps": 98_000_000},
        {"start_s": 0.25, "end_s": 0.5, "received_bps": 62_000_000},
        {"start_s": 0.5, "end_s": 0.75, "received_bps": 40_000_000},
        {"start_s": 0.75, "end_s": 1.0, "received_bps": 40_000_000}
    ]))
    .unwrap();
    let design = design(&udp(), Change::Load { factor: 0.5 });
    let (_, low) = design.prepare(&pilot).unwrap();
    assert_eq!(low.pace(), Pace::At(BitRate::from_bps(20_000_000)));
}

#[test]
fn payload_and_streams_are_multiplied() {
    let half = changed(&udp(), Change::Payload { factor: 0.5 }).unwrap();
    assert_eq!(half.payload(), ByteCount::new(724));
    assert_eq!(half.pace(), udp().pace());
    let twice = changed(&udp(), Change::Streams { factor: 2 }).unwrap();
    assert_eq!(twice.streams, 2);
}

#[test]
fn a_buffer_is_relative_to_the_one_that_was_given() {
    let more = changed(&udp(), Change::ReceiveBuffer { factor: 8.0 }).unwrap();
    // 32 768 were given, so 16 384 were asked for, or would have been.
    assert_eq!(
        more.socket.receive_buffer_bytes,
        Some(ByteCount::new(131_072))
    );
    // A fifth of 100 Mbit/s fills 8 × 32 KiB in about a tenth of a second.
    assert!(
        (0.1..0.11).contains(&more.warm_up.as_secs_f64()),
        "{more:?}"
    );
    let more = changed(&udp(), Change::SendBuffer { factor: 2.0 }).unwrap();
    assert_eq!(more.socket.send_buffer_bytes, Some(ByteCount::new(65_536)));
    assert_eq!(more.warm_up, Duration::ZERO);
}

#[test]
fn a_buffer_that_stays_the_same_is_the_systems_maximum() {
    let design = design(&udp(), Change::ReceiveBuffer { factor: 8.0 });
    let pilot = trial(100.0, 2_000);
    let why = design.took_effect(&pilot, &pilot).unwrap_err().to_string();
    assert!(why.contains("net.core.rmem_max"), "{why}");
    let mut larger = pilot.clone();
    larger.measured_mut().unwrap().raw = vec![report(Side::Receiver, 262_144)];
    assert_eq!(design.took_effect(&pilot, &larger), Ok(()));
}

#[test]
fn a_thread_moves_to_the_idlest_core_of_its_own_host() {
    let sender = Change::OtherCore { side: Side::Sender };
    assert_eq!(changed(&udp(), sender).unwrap().pinning.local, Some(1));
    let reverse = TestSpec {
        direction: Direction::Reverse,
        ..udp()
    };
    assert_eq!(changed(&reverse, sender).unwrap().pinning.remote, Some(1));
}

#[test]
fn aggregation_sets_both_ends() {
    let on = changed(&udp(), Change::Aggregation { on: true }).unwrap();
    assert_eq!(
        (&*on.datapath.params["gso"], &*on.datapath.params["gro"]),
        ("true", "true")
    );
    let again = changed(&on, Change::Aggregation { on: true }).unwrap_err();
    assert!(again.to_string().contains("already"), "{again}");
}

#[test]
fn aggregation_that_relieves_no_receiver_shows_nothing() {
    let run = run_of(RunKind::Udp, &udp());
    let design = |limit, side| {
        let test = test_of(Change::Aggregation { on: true });
        Design::from_run(&run, &verdict(limit, side, Some(test))).unwrap()
    };
    let cpu = design("receiver-cpu", Some(Side::Receiver));
    let ran = |share: f64, lost| {
        let mut trial = trial(100.0, lost);
        let receiver = CpuSide {
            thread_ratio: Some(Ratio::clamped(share)),
            ..CpuSide::default()
        };
        trial.cpu.as_mut().unwrap().receiver = Some(receiver);
        trial
    };
    // A fifth was lost at full use: with all of it taken, as much for each datagram would be 1.25 times the time.
    let pilot = ran(1.0, 2_000);
    assert_eq!(cpu.took_effect(&pilot, &ran(0.3, 0)), Ok(()));
    let why = cpu.took_effect(&pilot, &ran(1.0, 1_500)).unwrap_err();
    assert!(
        why.to_string().contains("CPU time for each datagram"),
        "{why}"
    );
    let unknown = trial(100.0, 0);
    assert_eq!(cpu.took_effect(&pilot, &unknown), Ok(()));
    let elsewhere = design("path-loss", None);
    assert_eq!(elsewhere.took_effect(&pilot, &ran(1.0, 1_500)), Ok(()));
}

#[test]
fn the_other_way_is_the_other_way() {
    let back = changed(&udp(), Change::Reverse).unwrap();
    assert_eq!(back.direction, Direction::Reverse);
}

#[test]
fn what_cannot_be_changed_says_why() {
    let tiny = udp().with_payload(ByteCount::new(40));
    let receiver = Change::OtherCore {
        side: Side::Receiver,
    };
    let cases = [
        (tiny, Change::Payload { factor: 0.5 }, "smallest"),
        (udp(), Change::Payload { factor: 2.0 }, "fragments"),
        (udp(), receiver, "only one core"),
        (udp(), Change::Streams { factor: 1000 }, "streams"),
        (
            TestSpec::tcp_bulk(),
            Change::Aggregation { on: true },
            "datagrams",
        ),
    ];
    for (spec, change, want) in cases {
        let why = changed(&spec, change).unwrap_err().to_string();
        assert!(why.contains(want), "{change:?}: {why}");
    }
    let design = design(&udp(), Change::ReceiveBuffer { factor: 8.0 });
    for (pilot, want) in [
        (trial(100.0, 0), "lost no packet"),
        (trial(100.0, 1), "to fill"),
    ] {
        let why = design.prepare(&pilot).unwrap_err().to_string();
        assert!(why.contains(want), "{why}");
    }
}

/// Both tests of a pair have their threads where they leave the device its core, so that nothing else differs.
#[test]
fn a_device_that_is_moved_moves_alone() {
    let cores = DutCores::apart(&[0, 1, 2], [None; 2]).unwrap();
    let relief = DutRelief::OtherCore(cores);
    for (direction, pins) in [
        (Direction::Forward, (Some(0), Some(1))),
        (Direction::Reverse, (Some(1), Some(0))),
    ] {
        let spec = TestSpec { direction, ..udp() };
        let design = design(&spec, Change::Relief { relief });
        let (baseline, changed) = design.prepare(&trial(100.0, 2_000)).unwrap();
        assert_eq!(baseline, changed);
        assert_eq!((changed.pinning.local, changed.pinning.remote), pins);
    }
    let helped = judge(&relieved(relief), None, &[]);
    assert_eq!(describe_relief(&helped), "undecided over 0 pairs");
    let pairs = [(5_000, 2_000), (5_100, 2_050), (4_900, 1_900)]
        .map(|(before, after)| (trial(100.0, before), trial(100.0, after)));
    let helped = describe_relief(&judge(&relieved(relief), None, &pairs));
    assert!(helped.starts_with("helps over 3 pairs: "), "{helped}");
    let pairs = pairs.map(|(before, after)| (after, before));
    let harmed = describe_relief(&judge(&relieved(relief), None, &pairs));
    assert!(
        harmed.starts_with("does not help over 3 pairs: "),
        "{harmed}"
    );
}

/// Until a longer queue is full it hides the loss, whatever its cause.
#[test]
fn a_longer_queue_is_filled_before_it_counts() {
    let bytes = ByteCount::new(1_000_000);
    let relief = DutRelief::LongerQueue { bytes };
    let design = design(&udp(), Change::Relief { relief });
    // 20 of 100 Mbit/s are lost.
    let (baseline, changed) = design.prepare(&trial(100.0, 2_000)).unwrap();
    assert_eq!(baseline, changed);
    assert_eq!(changed.warm_up, Duration::from_millis(400));
    for (lost, want) in [(0, "lost no packet"), (10, "would take 80 s to fill")] {
        let why = design.prepare(&trial(100.0, lost)).unwrap_err().to_string();
        assert!(why.contains(want), "{why}");
    }
}

#[test]
fn a_longer_queue_answers_only_to_a_queue_that_drops() {
    let relief = DutRelief::LongerQueue {
        bytes: ByteCount::new(1),
    };
    for (places, answers) in [
        (&[(DutPlace::Queue, 60), (DutPlace::PortRx, 40)][..], true),
        (&[(DutPlace::Queue, 40), (DutPlace::Intended, 60)], false),
        (&[], false),
    ] {
        let mut run = run_of(RunKind::Udp, &udp());
        let mut made = trial(100.0, 100);
        let drops = places.iter().map(|(place, packets)| DutDrop {
            place: *place,
            at: String::new(),
            packets: PacketCount::new(*packets),
        });
        made.measured_mut().unwrap().device = Some(DeviceReport {
            counted: DutCounters {
                drops: drops.collect(),
                ..DutCounters::default()
            },
            ..DeviceReport::default()
        });
        run.trials.push(made);
        assert_eq!(may_help(&run, relief), answers, "{places:?}");
        let work = DutTask::PacketFilter;
        assert!(may_help(&run, DutRelief::Without { work }));
    }
}

#[test]
fn runs_that_cannot_be_repeated_say_why() {
    let claim = verdict("link", None, Some(test_of(Change::Reverse)));
    let why = |run: &Run, claim: &Verdict| Design::from_run(run, claim).unwrap_err().to_string();
    let mut imported = run_of(RunKind::Udp, &udp());
    imported.tool.name = "iperf3".to_owned();
    assert!(why(&imported, &claim).contains("imported from iperf3"));
    let duplex = TestSpec {
        direction: Direction::Duplex,
        ..udp()
    };
    assert!(why(&run_of(RunKind::Udp, &duplex), &claim).contains("both ways"));
    let latency = run_of(RunKind::Latency, &TestSpec::ping_pong(Transport::Udp));
    assert!(why(&latency, &claim).contains("request/response"));
    assert!(why(&run_of(RunKind::Demo, &udp()), &claim).contains("parts"));
    let by_hand = verdict("tool", None, None);
    assert!(why(&run_of(RunKind::Udp, &udp()), &by_hand).contains("look"));
    let mut empty = run_of(RunKind::Udp, &udp());
    empty.config.asked = None;
    assert!(why(&empty, &claim).contains("does not hold the test"));
}

fn judged(predictions: &[Prediction], pairs: &[(Trial, Trial)]) -> ExperimentOutcome {
    let test = ExperimentTest {
        change: Change::Load { factor: 0.95 },
        predictions: predictions.to_vec(),
        baseline: Baseline::default(),
    };
    judge(&test, None, pairs)
}

#[test]
fn loss_that_goes_away_is_told_from_loss_that_stays() {
    let gone = [Prediction::at_most(Quantity::LossRatio, 0.1)];
    let pair = |(before, after)| (trial(100.0, before), trial(95.0, after));
    let cured = judged(&gone, &[(900, 0), (950, 1), (880, 0)].map(pair));
    assert_eq!(cured.answer, Answer::Agreed, "{}", describe(&cured));
    let stays = judged(&gone, &[(900, 800), (950, 900), (880, 870)].map(pair));
    assert_eq!(stays.answer, Answer::Disagreed, "{}", describe(&stays));
    // Nothing was lost in the baseline either: that is no confirmation.
    let never = judged(&gone, &[(0, 0); 3].map(pair));
    assert_eq!(never.answer, Answer::Disagreed, "{}", describe(&never));
}

#[test]
fn one_pair_shows_nothing() {
    let rises = [Prediction::at_least(Quantity::ReceivedRate, 1.3)];
    let outcome = judged(&rises, &[(trial(50.0, 0), trial(100.0, 0))]);
    assert_eq!(outcome.answer, Answer::Undecided);
    assert!(describe(&outcome).contains("no interval from one pair"));
}

#[test]
fn one_false_prediction_of_two_is_enough() {
    let both = [
        Prediction::at_least(Quantity::ReceivedRate, 1.3),
        Prediction::at_most(Quantity::LossRatio, 0.5),
    ];
    let pair = || (trial(50.0, 100), trial(100.0, 200));
    let outcome = judged(&both, &[(); 3].map(|()| pair()));
    assert_eq!(outcome.observed[0].came_true, Some(true));
    assert_eq!(outcome.observed[1].came_true, Some(false));
    assert_eq!(outcome.answer, Answer::Disagreed);
}

#[test]
fn a_sender_that_falls_short_refutes_only_claims_about_itself() {
    let wire = Prediction::within(Quantity::WireRate, 0.9, 1.1);
    let mut short = trial(50.0, 0);
    short.intended_load = Some(BitRate::from_bps(100_000_000));
    let pairs = vec![
        (trial(100.0, 0), short.clone()),
        (trial(101.0, 0), short.clone()),
        (trial(99.0, 0), short),
    ];
    let test = ExperimentTest {
        change: Change::Payload { factor: 0.5 },
        predictions: vec![wire],
        baseline: Baseline::default(),
    };
    let outcome = judge(&test, None, &pairs);
    assert_eq!(outcome.answer, Answer::Undecided);
    assert_eq!(outcome.pairs, 0);
    assert!(
        describe(&outcome).contains("could not offer"),
        "{}",
        describe(&outcome)
    );
    let sender = judge(&test, Some(Side::Sender), &pairs);
    assert_eq!(sender.answer, Answer::Disagreed);
}

#[test]
fn invalid_trials_and_what_was_not_recorded_are_said() {
    let rises = [
        Prediction::at_least(Quantity::ReceivedRate, 1.3),
        Prediction::at_most(Quantity::DelayUnderLoad, 0.5),
    ];
    let mut bad = trial(100.0, 0);
    bad.valid = false;
    let good = || (trial(50.0, 0), trial(100.0, 0));
    let mut pairs = vec![good(), good()];
    pairs.push((trial(50.0, 0), bad));
    let outcome = judged(&rises, &pairs);
    assert_eq!((outcome.pairs, outcome.answer), (2, Answer::Undecided));
    let words = describe(&outcome);
    assert!(words.contains("1 pair with an invalid trial"), "{words}");
    assert!(
        words.contains("delay under load was not recorded"),
        "{words}"
    );
}

#[test]
fn an_experiment_ends_where_further_pairs_would_tell_nothing() {
    let outcome = |pairs, answer| ExperimentOutcome {
        answer,
        pairs,
        observed: Vec::new(),
        notes: Vec::new(),
    };
    for (pairs, answer, tries, expected) in [
        // Fewer than the first look's have intervals too wide to be believed.
        (3, Answer::Agreed, 3, Next::Pair),
        (4, Answer::Undecided, 4, Next::Pair),
        (4, Answer::Disagreed, 7, Next::Done),
        (6, Answer::Undecided, 6, Next::Done),
        (3, Answer::Undecided, 9, Next::Pair),
        (3, Answer::Agreed, 10, Next::TooFew),
        (5, Answer::Undecided, 10, Next::TooFew),
        // Whatever spoils every pair.
        (0, Answer::Undecided, 2, Next::Pair),
        (0, Answer::Undecided, 3, Next::TooFew),
    ] {
        let found = next(&outcome(pairs, answer), tries);
        assert_eq!(found, expected, "{pairs} of {tries}, {answer:?}");
    }
}

/// The answer of an experiment as `studies` runs it: looks from [`FIRST_LOOK`] pairs on.
fn sequential(random: &mut Random, truth: f64, noise: f64, prediction: Prediction) -> Answer {
    let mut pairs = Vec::new();
    for tries in 1.. {
        let rate = |random: &mut Random, mean: f64| mean * (noise * random.normal()).exp();
        pairs.push((
            trial(rate(random, 100.0), 0),
            trial(rate(random, 100.0 * truth), 0),
        ));
        let outcome = judged(&[prediction], &pairs);
        if next(&outcome, tries) == Next::Done {
            return outcome.answer;
        }
    }
    unreachable!("it ends")
}

/// Shares of agreed and disagreed among 2000 experiments.
fn shares(truth: f64, noise: f64, prediction: Prediction) -> (f64, f64) {
    let mut random = Random::new(11);
    let answers: Vec<Answer> = (0..2000)
        .map(|_| sequential(&mut random, truth, noise, prediction))
        .collect();
    let share = |wanted: Answer| {
        let n = answers.iter().filter(|answer| **answer == wanted).count();
        Ratio::from_parts(n as u64, answers.len() as u64).get()
    };
    (share(Answer::Agreed), share(Answer::Disagreed))
}

/// The worst case of a false alarm: the truth is right on the bound.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let rises = Prediction::at_least(Quantity::ReceivedRate, 1.3);
    let (agreed, disagreed) = shares(1.3, 0.05, rises);
    assert!(agreed < 0.06 && disagreed < 0.06, "{agreed} {disagreed}");
    assert!(agreed > 0.02 && disagreed > 0.02, "{agreed} {disagreed}");
    // Ratios of two trials spread by √2 × 5 %: twice that off the bound.
    let off = (2.0 * 0.05 * std::f64::consts::SQRT_2).exp();
    let (agreed, _) = shares(1.3 / off, 0.05, rises);
    assert!(agreed < 0.001, "{agreed}");
    let (_, disagreed) = shares(1.3 * off, 0.05, rises);
    assert!(disagreed < 0.001, "{disagreed}");
}

/// With a twentieth of noise, a doubled rate and an unchanged one are told apart.
#[test]
fn true_and_false_claims_are_decided() {
    let rises = Prediction::at_least(Quantity::ReceivedRate, 1.3);
    let (agreed, _) = shares(2.0, 0.05, rises);
    assert!(agreed > 0.99, "{agreed}");
    let (_, disagreed) = shares(1.0, 0.05, rises);
    assert!(disagreed > 0.99, "{disagreed}");
}

proptest! {
    /// Whatever the trials, an answer follows from the observations, and words can be made of it.
    #[test]
    fn the_answer_follows_from_the_observations(
        pairs in prop::collection::vec(((0.0..1e6f64, 0..10_000u64), (0.0..1e6f64, 0..10_000u64)), 0..8),
        low in prop::option::of(0.0..10.0f64), high in prop::option::of(0.0..10.0f64), relative: bool,
    ) {
        let pairs: Vec<_> = pairs
            .into_iter()
            .map(|(a, b)| (trial(a.0, a.1), trial(b.0, b.1)))
            .collect();
        let predictions: Vec<Prediction> = PREDICTED
            .into_iter()
            .map(|(quantity, _)| Prediction { quantity, relative, at_least: low, at_most: high })
            .collect();
        let outcome = judged(&predictions, &pairs);
        let any_false = outcome.observed.iter().any(|seen| seen.came_true == Some(false));
        prop_assert_eq!(outcome.answer == Answer::Disagreed, any_false);
        if outcome.answer == Answer::Agreed {
            prop_assert!(outcome.observed.iter().all(|seen| seen.came_true == Some(true)));
            prop_assert_eq!(outcome.observed.len(), predictions.len());
        }
        prop_assert!(describe(&outcome).starts_with(outcome.answer.as_str()));
    }
}
