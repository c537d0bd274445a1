//! Scenes end where they must.

mod bursts;
mod calibration;
mod carried_load;
mod carried_more;
mod contention;
mod cross_traffic;
mod delivered;
mod falls;
mod line_rate;
mod loss;
mod lost;
mod lost_behind;
mod off_path;
mod paused;
mod queue;
mod searches;
mod shaper;
mod short_queue;
mod starved;
mod window;

use super::explained::LimitedTrials;
use super::likelihoods::LikelihoodData;
use super::weights::Suspect;
use super::{Counts, NextProbe, Observation, limited, next_by, open_probes};
use crate::causes::{link, own_shaper, sender_app, sender_cpu};
use crate::diagnose;
use linerate_model::run::{Change, Confidence, Probe as Made, Run, Trial};
use linerate_model::sample::{EndpointReport, ErrorCount, StreamReport, StreamWork};
use linerate_model::signals::NIC_TX_PACKETS;
use linerate_model::spec::{Direction, Side, TestSpec, Transport};
use linerate_model::tcp::TcpShares;
use linerate_model::{BitRate, ByteCount, PacketCount};
use searches::search;
use serde_json::{Value, json};
use std::time::Duration;

const BUDGET: Duration = Duration::from_secs(10);

/// TCP at 94 Mbit/s, of which the rules know next to nothing.
fn run() -> Run {
    serde_json::from_value(json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
        "tool": {"name": "linerate"},
        "config": {"asked": {"kind": "test", "test": TestSpec::tcp_bulk()}},
        "trials": [trial("tcp", 94.0, &json!({"work": "byte-stream"}))]
    }))
    .unwrap()
}

fn trial(transport: &str, megabits: f64, more: &Value) -> Value {
    let mut trial = json!({
        "index": 0, "transport": transport, "direction": "forward", "valid": true, "reasons": [],
        "origin": "measured", "payload_bytes": 1448, "duration_s": 1.0,
        "offered_bps": 141_000_000, "received_bps": BitRate::from_f64(megabits * 1e6)
    });
    let map = trial.as_object_mut().unwrap();
    map.extend(more.as_object().unwrap().clone());
    trial
}

fn datagrams(megabits: f64, more: &Value) -> Made {
    let mut all = json!({"work": "datagrams", "intended_bps": 141_000_000});
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    made(
        Change::Datagrams { factor: 1.5 },
        trial("udp", megabits, &all),
    )
}

fn bytes(change: Change, megabits: f64) -> Made {
    made(
        change,
        trial("tcp", megabits, &json!({"work": "byte-stream"})),
    )
}

fn made(change: Change, trial: Value) -> Made {
    let trial: Trial = serde_json::from_value(trial).unwrap();
    Made { change, trial }
}

/// With one stream at `side`, whose report `edit` fills.
fn with_stream(mut made: Made, side: Side, edit: impl FnOnce(&mut StreamReport)) -> Made {
    let mut stream = StreamReport::new(0, StreamWork::Unreported);
    edit(&mut stream);
    let raw = EndpointReport::of_streams(side, vec![stream]);
    made.trial.measured_mut().unwrap().raw = vec![raw];
    made
}

fn with_receive_buffer(made: Made, bytes: u64) -> Made {
    with_stream(made, Side::Receiver, |stream| {
        stream.path.receive_buffer_bytes = Some(ByteCount::new(bytes));
    })
}

fn lost(packets: u64, place: &str, delay_ns: u64) -> Value {
    json!({
        "packets": {"sent": 10_000, "received": 10_000 - packets, "lost": packets,
                    "loss_ratio": f64::from(u32::try_from(packets).unwrap()) / 10_000.0},
        "ledger": [{"place": place, "packets": packets, "source": "a counter"}],
        "delay": {"of": "pdv", "p50_ns": delay_ns}
    })
}

/// Every suspect of what `transport` carries, with its weight before anything is known of the run.
fn of(transport: Transport) -> Vec<(Suspect, f64)> {
    LikelihoodData::built_in().priors(transport)
}

/// The ids of what may limit `trial` of `run`, beside what `exclusion` rules out.
fn left_by(
    exclusion: fn(&LimitedTrials<'_>, Suspect) -> bool,
    run: &Run,
    trial: &Trial,
) -> Vec<&'static str> {
    let explained = LimitedTrials {
        run,
        limited: trial,
        shown: trial,
    };
    let all = of(trial.transport).into_iter().map(|(suspect, _)| suspect);
    all.filter(|suspect| !exclusion(&explained, suspect))
        .map(|suspect| suspect.id)
        .collect()
}

/// The next probe, by what was judged of the probes alone.
fn next_probe(run: &Run, left: Duration, refused: &[Change]) -> Option<NextProbe> {
    next_by(&Counts::default(), run, left, refused)
}

/// What most likely limits, by what was judged of the probes alone: the counts of scenes change as scenes are added.
fn likeliest(run: &Run) -> &'static str {
    let observation = Observation::from_run(run).unwrap();
    observation.weigh(&Counts::default())[0].0
}

/// What most likely limits the run of TCP after these probes.
fn likeliest_after(probes: Vec<Made>) -> &'static str {
    let mut run = run();
    run.probes = probes;
    likeliest(&run)
}

/// How many times as likely one limit is as another after these probes, by what was judged of them alone.
fn odds(probes: Vec<Made>, one: &str, other: &str) -> f64 {
    let mut run = run();
    run.probes = probes;
    let weights = Observation::from_run(&run)
        .unwrap()
        .weigh(&Counts::default());
    let of = |id: &str| weights.iter().find(|(name, _)| *name == id).unwrap().1;
    of(one) / of(other)
}

/// The verdict after these probes.
fn verdict(probes: Vec<Made>) -> (String, Option<Side>, Confidence) {
    let mut run = run();
    run.probes = probes;
    let (verdict, _) = diagnose(&run);
    (
        verdict.limit.id().to_owned(),
        verdict.side,
        verdict.confidence,
    )
}

#[test]
fn the_first_probe_asks_what_the_path_carries_without_tcp() {
    let next = next_probe(&run(), BUDGET, &[]).unwrap();
    assert_eq!(next.change, Change::Datagrams { factor: 1.5 });
    assert_eq!(next.test.pace().intended_load().unwrap().bps(), 141_000_000);
    assert_eq!(next.test.payload().get(), 1448);
}

#[test]
fn loss_behind_a_queue_is_the_links() {
    let probes = vec![
        datagrams(95.6, &lost(3200, "network", 41_000_000)),
        bytes(Change::Streams { factor: 4 }, 94.4),
    ];
    assert_eq!(likeliest_after(probes), "link");
}

#[test]
fn loss_without_a_queue_is_a_policers() {
    let probes = vec![
        datagrams(95.6, &lost(3200, "network", 15_000)),
        bytes(Change::Streams { factor: 4 }, 94.4),
    ];
    assert_eq!(likeliest_after(probes), "policer");
}

#[test]
fn a_policer_under_which_tcp_collapses_shows_far_above_its_rate() {
    let far = |megabits: f64, more: &Value| {
        let mut made = datagrams(megabits, more);
        made.change = Change::Datagrams { factor: 6.0 };
        made.trial.offered_load = Some(BitRate::from_bps(564_000_000));
        made
    };
    let near = || datagrams(140.9, &lost(0, "network", 15_000));
    let dropped = far(310.0, &lost(4500, "network", 3_000));
    let half = || at_half(datagrams(47.0, &lost(0, "network", 15_000)));
    assert_eq!(likeliest_after(vec![near(), half(), dropped]), "policer");
    let carried = far(563.0, &lost(0, "network", 3_000));
    assert_ne!(likeliest_after(vec![near(), half(), carried]), "policer");
}

#[test]
fn a_sender_that_its_own_shaper_holds_back_is_told_from_a_slow_one() {
    let short = |overlimits: u64, waited: f64| {
        datagrams(
            95.0,
            &json!({
                "offered_bps": 96_000_000,
                "counters": {"sender": {"qdisc.overlimits": overlimits}},
                "cpu": {"sender": {"run_delay_ratio": waited}}
            }),
        )
    };
    assert_eq!(likeliest_after(vec![short(900, 0.0)]), "own-shaper");
    assert_eq!(likeliest_after(vec![short(0, 0.0)]), "sender-cpu");
    // A packet filter of its own host lets pass so many.
    let refused = with_stream(short(0, 0.0), Side::Sender, |stream| {
        stream.errors = vec![ErrorCount {
            operation: "sendmmsg".to_owned(),
            errno: "EPERM".to_owned(),
            count: 900,
        }];
    });
    assert_eq!(likeliest_after(vec![refused]), "policer");
    // A thread that waited for a core as it had not in the run says nothing, and is asked once more.
    let mut run = run();
    let free = json!({
        "work": "byte-stream", "counters": {"sender": {"qdisc.overlimits": 0}},
        "cpu": {"sender": {"run_delay_ratio": 0.01}}
    });
    run.trials = vec![serde_json::from_value(trial("tcp", 94.0, &free)).unwrap()];
    run.probes = vec![short(0, 0.7)];
    let again = next_probe(&run, BUDGET, &[]).unwrap();
    assert_eq!(again.change, Change::Datagrams { factor: 1.5 });
    run.probes.push(short(0, 0.7));
    let next = next_probe(&run, BUDGET, &[]).unwrap();
    assert_ne!(next.change, again.change);
}

/// How probable `suspect` is by a sending thread that spent its time so, once TCP's own probes were not made.
fn by_sending_thread(suspect: &str, paused: f64, blocked: f64) -> f64 {
    let mut run = run();
    let spent = json!({
        "thread_ratio": 0.05, "run_delay_ratio": 0.05, "paused_ratio": paused, "blocked_ratio": blocked
    });
    let more = json!({"work": "byte-stream", "cpu": {"sender": spent}});
    run.trials = vec![serde_json::from_value(trial("tcp", 94.0, &more)).unwrap()];
    let weights = Observation::from_run(&run).unwrap();
    let weights = weights.weigh(&Counts::default());
    weights
        .into_iter()
        .find(|(id, _)| *id == suspect)
        .unwrap()
        .1
}

#[test]
fn an_application_limits_where_it_pauses_and_not_where_its_socket_holds_it_up() {
    let before = of(Transport::Tcp).into_iter();
    let before: f64 = before
        .filter(|(suspect, _)| **suspect == sender_app::CAUSE)
        .map(|(_, weight)| weight)
        .sum();
    let paused = by_sending_thread("sender-app", 0.85, 0.05);
    assert!(paused > 5.0 * before, "{paused} after {before}");
    let held_up = by_sending_thread("sender-app", 0.0, 0.9);
    assert!(held_up < before / 5.0, "{held_up} after {before}");
    let (held_up, busy) = (
        by_sending_thread("sender-cpu", 0.0, 0.9),
        by_sending_thread("sender-cpu", 0.02, 0.03),
    );
    assert!(10.0 * held_up < busy, "{held_up} and {busy}");
}

#[test]
fn slow_acknowledgements_are_told_from_a_slow_link() {
    let standing = json!({
        "work": "byte-stream", "received_bytes": 11_750_000,
        "counters": {"sender": {}, "receiver": {(NIC_TX_PACKETS): 4000}},
        "tcp": {"smss_bytes": 1448, "min_rtt_ns": 20_000_000, "srtt_mean_ns": 400_000_000,
                "shares": TcpShares::default(),
                "retransmissions": {"segments": 0, "sent": 8115}}
    });
    let mut run = run();
    run.trials = vec![serde_json::from_value(trial("tcp", 94.0, &standing)).unwrap()];
    run.probes = vec![
        datagrams(140.9, &lost(0, "network", 15_000)),
        at_half(datagrams(47.0, &lost(0, "network", 15_000))),
    ];
    let next = next_probe(&run, BUDGET, &[]).unwrap();
    assert_eq!(next.change, Change::ReturnDatagrams { factor: 1.5 });
    let back = &next.test;
    assert_eq!(
        (back.direction, back.payload().get()),
        (Direction::Reverse, 24)
    );
    // 6000 datagrams a second.
    let load = back.pace().intended_load().unwrap();
    assert_eq!(load.bps(), 6000 * 24 * 8);

    let answered = |megabits: f64, mut more: Value| {
        more["work"] = json!("datagrams");
        more["direction"] = json!("reverse");
        more["intended_bps"] = json!(load.bps());
        more["offered_bps"] = json!(load.bps());
        more["payload_bytes"] = json!(24);
        made(next.change, trial("udp", megabits, &more))
    };
    let mut likeliest = |answer: Made| {
        run.probes.truncate(2);
        run.probes.push(answer);
        let (verdict, _) = diagnose(&run);
        (likeliest(&run), verdict)
    };
    let (limit, verdict) = likeliest(answered(0.76, lost(3300, "network", 300_000_000)));
    assert_eq!(limit, "return-path");
    assert_eq!((verdict.limit.id(), verdict.side), ("return-path", None));
    assert!(
        verdict.claim.starts_with("The return path limits TCP"),
        "{verdict:?}"
    );
    let (limit, _) = likeliest(answered(1.152, lost(0, "network", 15_000)));
    assert_ne!(limit, "return-path");
}

#[test]
fn a_shaper_above_the_limit_is_what_limits_next_at_its_rate() {
    let mut run = run();
    let own = json!({
        "role": "client",
        "facts": {"queueing_discipline": "tbf", "queueing_discipline_rate_bps": 120_000_000}
    });
    run.hosts = vec![serde_json::from_value(own).unwrap()];
    let tcp = json!({"work": "byte-stream", "tcp": {"smss_bytes": 1448}});
    run.trials = vec![serde_json::from_value(trial("tcp", 94.0, &tcp)).unwrap()];
    let next = |run: &Run, limit| super::next_limit::next(run, &run.trials[0], limit);
    let after = next(&run, &sender_cpu::CAUSE).unwrap();
    // 1448 of 1514 bytes of each frame, without its FCS, are payload.
    assert_eq!(after.rate.bps(), 120_000_000 * 1448 / 1514);
    assert_eq!((after.limit.id(), after.side), ("link", Some(Side::Sender)));
    assert_eq!(next(&run, &own_shaper::CAUSE), None);
    // The receiver's own shapes what it sends.
    run.hosts[0].role = linerate_model::run::HostRole::Server;
    assert_eq!(next(&run, &sender_cpu::CAUSE), None);
}

/// What a sender's thread would do with a whole core it sends, whatever becomes of that.
#[test]
fn a_busy_sender_would_limit_next_at_a_multiple_of_what_it_sends() {
    let next = |megabits: f64| {
        let mut run = run();
        let more = json!({
            "work": "datagrams", "offered_bps": 2_300_000_000_u64, "intended_bps": 10_000_000_000_u64,
            "cpu": {"sender": {"thread_ratio": 0.8}}
        });
        run.trials = vec![serde_json::from_value(trial("udp", megabits, &more)).unwrap()];
        super::next_limit::next(&run, &run.trials[0], &link::CAUSE)
    };
    assert_eq!(next(48.8), None, "far above what arrived");
    let near = next(900.0).unwrap();
    assert_eq!(
        (near.limit.id(), near.rate.bps()),
        ("sender-cpu", 2_875_000_000)
    );
}

#[test]
fn datagrams_are_probed_at_more_than_the_most_that_arrived() {
    let mut run = search();
    let next = next_probe(&run, BUDGET, &[]).unwrap();
    assert_eq!(next.change, Change::Datagrams { factor: 1.5 });
    assert_eq!(next.test.pace().intended_load().unwrap().bps(), 141_000_000);
    // Other changes are made at the same load, and only once that has been tried without any.
    let unknown =
        json!({"packets": {"sent": 10_000, "received": 6_800, "lost": 3_200, "loss_ratio": 0.32}});
    run.probes = vec![datagrams(95.6, &unknown)];
    let at_half = Change::Datagrams { factor: 0.5 };
    let next = next_probe(&run, BUDGET, &[at_half]).unwrap();
    assert_eq!(next.change, Change::Payload { factor: 0.5 });
    assert_eq!(next.test.pace().intended_load().unwrap().bps(), 141_000_000);
    assert_eq!(next.test.payload().get(), 724);
    let refused = [1.5, 0.5].map(|factor| Change::Datagrams { factor });
    let without = next_probe(&search(), BUDGET, &refused);
    assert_eq!(without, None);
}

#[test]
fn what_holds_datagrams_back_at_the_sender_is_told_apart() {
    let judged = |blocked: f64, overlimits: u64| {
        let more = json!({
            "offered_bps": 95_000_000, "send_blocked_ratio": blocked,
            "counters": {"sender": {"qdisc.overlimits": overlimits}}
        });
        let mut run = search();
        run.probes = vec![datagrams(95.0, &more)];
        likeliest(&run)
    };
    assert_eq!(judged(0.7, 900), "own-shaper", "its shaper");
    assert_eq!(judged(0.7, 0), "link", "its interface");
    assert_eq!(judged(0.02, 0), "sender-cpu", "its CPU");
}

#[test]
fn loss_at_any_rate_is_looked_for_at_what_one_thread_sends() {
    let mut run = run();
    let at = |megabits: f64, run: &mut Run| {
        let tcp = json!({"work": "byte-stream", "tcp": {"smss_bytes": 1448}});
        run.trials = vec![serde_json::from_value(trial("tcp", megabits, &tcp)).unwrap()];
        let test = super::Probe::test(&super::half_load::HalfLoad, run, &run.trials[0]);
        test.unwrap().pace().intended_load().unwrap().bps()
    };
    assert_eq!(at(94.0, &mut run), 47_000_000);
    assert_eq!(at(8000.0, &mut run), 1_125_000_000);
}

#[test]
fn the_half_of_a_few_round_trips_is_not_what_lasts() {
    // Of TCP at 94 Mbit/s, which handed on hardly anything for a round trip of its second half.
    let half_load = |rtt_ns: u64| {
        let mut run = run();
        let tcp = json!({
            "work": "byte-stream", "tcp": {"smss_bytes": 1448, "srtt_mean_ns": rtt_ns},
            "intervals": [
                {"start_s": 0.0, "end_s": 0.5, "received_bps": 138_000_000},
                {"start_s": 0.5, "end_s": 1.0, "received_bps": 50_000_000}
            ]
        });
        run.trials = vec![serde_json::from_value(trial("tcp", 94.0, &tcp)).unwrap()];
        let test = super::Probe::test(&super::half_load::HalfLoad, &run, &run.trials[0]);
        test.unwrap().pace().intended_load().unwrap().bps()
    };
    assert_eq!(half_load(50_000_000), 25_000_000);
    assert_eq!(half_load(51_000_000), 47_000_000);
}

/// The probe at half the rate.
fn at_half(mut made: Made) -> Made {
    made.change = Change::Datagrams { factor: 0.5 };
    made.trial.intended_load = Some(BitRate::from_bps(47_000_000));
    made.trial.offered_load = made.trial.intended_load;
    made
}

#[test]
fn loss_at_a_queue_that_others_fill_is_not_the_paths() {
    let some = |delay_ns: u64| datagrams(137.0, &lost(250, "network", delay_ns));
    let judged = |delay_ns: u64| likeliest_after(vec![some(delay_ns), at_half(some(delay_ns))]);
    assert_eq!(judged(15_000), "path-loss", "no queue stands");
    assert_eq!(judged(9_000_000), "congestion");
}

#[test]
fn loss_by_chance_is_told_from_a_policers_at_half_the_load() {
    let judged = |at_half_lost: u64| {
        let mut run = search();
        let fifth = || datagrams(113.0, &lost(2000, "network", 15_000));
        run.trials = vec![fifth().trial];
        let half = at_half(datagrams(47.0, &lost(at_half_lost, "network", 15_000)));
        run.probes = vec![fifth(), half];
        likeliest(&run)
    };
    assert_eq!(judged(2000), "path-loss", "a fifth, as before");
    assert_eq!(judged(0), "policer", "none");
}

#[test]
fn what_a_socket_drops_beside_it_hides_no_loss_of_the_path() {
    // A receiver that is late now and then loses some too, above the rate more than at half of it.
    let also = |on_path: u64, at_socket: u64| {
        let mut more = lost(on_path + at_socket, "receiver-socket", 15_000);
        more["ledger"] = json!([
            {"place": "network", "packets": on_path, "source": "a counter"},
            {"place": "receiver-socket", "packets": at_socket, "source": "a counter"}
        ]);
        more
    };
    let odds = |at_half: u64| {
        let above = datagrams(136.0, &also(15, 345));
        let half = self::at_half(datagrams(46.8, &also(at_half, 20)));
        odds(vec![above, half], "path-loss", "policer")
    };
    assert!(odds(14) > 5.0 * odds(0));
}

#[test]
fn a_queue_of_the_senders_own_is_not_the_one_that_drops() {
    let odds = |overlimits: u64| {
        let mut more = lost(3200, "network", 41_000_000);
        more["counters"] = json!({"sender": {"qdisc.overlimits": overlimits}});
        odds(vec![datagrams(95.6, &more)], "policer", "link")
    };
    assert!(odds(900) > 2.0 * odds(0));
}

#[test]
fn a_receiver_is_told_from_its_socket_by_what_more_room_does() {
    let at = |megabits: f64, buffer: u64, packets: u64| {
        let made = datagrams(megabits, &lost(packets, "receiver-socket", 300_000));
        with_receive_buffer(made, buffer)
    };
    let roomy = Change::ReceiveBuffer { factor: 8.0 };
    let half = Change::Payload { factor: 0.5 };
    let judged = |changes: Vec<(Change, Made)>| {
        let mut run = search();
        run.probes = vec![at(94.0, 100_000, 3200)];
        let changed = changes.into_iter();
        run.probes
            .extend(changed.map(|(change, made)| Made { change, ..made }));
        likeliest(&run)
    };
    assert_eq!(
        judged(vec![(roomy, at(140.0, 800_000, 3))]),
        "receiver-socket"
    );
    let no_better = vec![
        (roomy, at(94.0, 800_000, 3200)),
        (half, at(48.0, 100_000, 6600)),
    ];
    assert_eq!(judged(no_better), "receiver-cpu");
}

/// A paced stream may stay at its rate for that alone.
#[test]
fn what_no_more_was_intended_of_did_not_stay_for_a_limit() {
    let judged = |intended: u64| {
        let mut run = run();
        run.trials[0].intended_load = Some(BitRate::from_bps(intended));
        run.probes = vec![bytes(Change::Streams { factor: 4 }, 94.0)];
        run.probes[0].trial.intended_load = run.trials[0].intended_load;
        Observation::from_run(&run)
            .unwrap()
            .seen
            .into_iter()
            .find(|seen| seen.id == "streams")
            .unwrap()
            .classes
    };
    assert_eq!(judged(100_000_000), ["stayed", "rose"]);
    assert_eq!(judged(500_000_000), ["stayed"]);
}

#[test]
fn a_probe_without_a_figure_is_said_to_have_none() {
    let mut run = run();
    run.probes = vec![bytes(Change::Streams { factor: 4 }, 94.0)];
    let said = |run: &Run| diagnose(run).0.evidence.join(" ");
    assert!(
        said(&run).contains("With four times the streams, 94 Mbit/s arrived instead of 94 Mbit")
    );
    run.probes[0].trial.received_rate = None;
    assert!(said(&run).contains("A trial with four times the streams could not be measured."));
}

#[test]
fn a_window_is_what_limits_where_the_rate_follows_it() {
    let carried = || datagrams(140.9, &lost(0, "network", 15_000));
    let receive = Change::ReceiveBuffer { factor: 4.0 };
    let with_buffer = |change: Change, megabits: f64, received: u64| {
        with_receive_buffer(bytes(change, megabits), received)
    };
    let mut run = run();
    run.trials = vec![with_buffer(receive, 94.0, 100_000).trial];
    run.probes = vec![carried(), with_buffer(receive, 180.0, 400_000)];
    assert_eq!(likeliest(&run), "receiver-window");
    // The same rate with a buffer that the system did not enlarge says nothing, and would say nothing again.
    let may_be_tried = |run: &Run| {
        let mut open = open_probes(run, limited(run).unwrap(), &[]).into_iter();
        open.any(|(probe, _)| probe.change() == receive)
    };
    run.probes = vec![carried()];
    assert!(may_be_tried(&run));
    run.probes.push(with_buffer(receive, 94.0, 100_000));
    assert!(!may_be_tried(&run));
    let (verdict, _) = diagnose(&run);
    assert_eq!(verdict.confidence, Confidence::Weak, "{verdict:?}");
}

/// A foreign receiver tells no place: a little that is lost at any load is the path's, but no path loses half of all by chance.
#[test]
fn much_loss_of_no_known_place_is_not_the_paths() {
    let judged = |lost: u64| {
        let packets = json!({"packets": {
            "sent": 10_000, "received": 10_000 - lost, "lost": lost, "loss_ratio": PacketCount::new(lost).as_f64() / 10_000.0
        }});
        let mut run = search();
        run.trials = vec![datagrams(90.0, &packets).trial];
        run.probes = vec![
            datagrams(90.0, &packets),
            at_half(datagrams(30.0, &packets)),
        ];
        likeliest(&run)
    };
    assert_eq!(judged(100), "path-loss");
    assert_ne!(judged(5500), "path-loss");
}

#[test]
fn what_is_left_open_is_said_and_never_supported() {
    // A foreign receiver: a third is lost, nobody knows where, and no delay is known.
    let probes = vec![datagrams(
        95.6,
        &json!({"packets": {"sent": 10_000, "received": 6_800, "lost": 3_200, "loss_ratio": 0.32}}),
    )];
    let (_, _, confidence) = verdict(probes);
    assert_eq!(confidence, Confidence::Weak);
}

#[test]
fn no_probe_is_made_that_was_refused_or_has_no_time_left() {
    let run = run();
    let first = next_probe(&run, BUDGET, &[]).unwrap().change;
    let second = next_probe(&run, BUDGET, &[first]).map(|next| next.change);
    assert_ne!(second, Some(first));
    assert_eq!(next_probe(&run, Duration::from_millis(900), &[]), None);
}
