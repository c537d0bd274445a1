//! Requests at a rate and round trips per minute against a peer and a link whose truth is known.

use crate::bench_rig::Rig;
use linerate_model::run::{Run, RunWork, Trial};
use linerate_model::spec::{
    Arrival, DEFAULT_ANSWER_TIMEOUT, Observe, Pinning, Stall, TransactionBounds, Transport,
};
use linerate_model::{BitRate, ByteCount, Layer, PacketCount, PacketRate, units::FrameOverhead};
use linerate_studies::run::{LatencyPlan, Mode, OpenLoop, RequestRate, Sending, latency};
use linerate_testbed::{Link, LinkConfig};
use linerate_testkit::disturbance::undisturbed;
use std::time::Duration;

/// A peer that stands still for 50 ms in each second.
const STALL: Stall = Stall {
    every: Duration::from_secs(1),
    lasting: Duration::from_millis(50),
};

/// What counts as hurt: far above what a busy machine's scheduler does to a single message.
const HURT: Duration = Duration::from_millis(20);

fn plan() -> LatencyPlan {
    LatencyPlan {
        transport: Transport::Udp,
        sizes: vec![ByteCount::new(32)],
        modes: vec![Mode::default()],
        pinning: Pinning::default(),
        time: Duration::from_secs(4),
        warm_up: Duration::from_millis(100),
        load: None,
        observe: Observe::Counters,
        sending: Sending::InTurn,
        stall: None,
        rounds: None,
        seed: 1,
        wrap: None,
        percentiles: Vec::new(),
        transactions: TransactionBounds::default(),
        decompose: false,
    }
}

fn at(rate: RequestRate) -> OpenLoop {
    OpenLoop {
        rate,
        arrival: Arrival::Constant,
        answer_timeout: DEFAULT_ANSWER_TIMEOUT,
    }
}

/// The share of all messages of a trial that were hurt.
fn hurt(trial: &Trial) -> f64 {
    assert!(trial.valid, "{:?}", trial.reasons);
    let delay = trial.delay().unwrap();
    let limit = u64::try_from(HURT.as_nanos()).unwrap();
    let buckets = delay.histogram.as_ref().unwrap().buckets();
    let long = buckets.filter(|(nanos, _)| *nanos > limit);
    let long: u64 = long.map(|(_, count)| count).sum();
    let unanswered = delay.unanswered.unwrap_or(0);
    let all = PacketCount::new(delay.count.unwrap() + unanswered).as_f64();
    PacketCount::new(long + unanswered).as_f64() / all
}

/// Of 1000 requests per second those of the first 30 ms of each stall wait for more than 20 ms: 3 %. With five
/// standard deviations of a binomial share on each side fewer than one run in a million fails by chance.
/// The closed loop has one message under way at a time: four stalls hurt some four of its many.
pub(crate) fn a_stall_shows_in_an_open_loop_and_not_in_a_closed_one() {
    let rig = Rig::over(Link::Direct { mtu: 1500 });
    let measured = undisturbed(|| {
        let rate = RequestRate::At(PacketRate::from_pps(1000.0));
        let open = LatencyPlan {
            sending: Sending::AtRate(at(rate)),
            stall: Some(STALL),
            ..plan()
        };
        let closed = LatencyPlan {
            stall: Some(STALL),
            ..plan()
        };
        let run =
            |plan: LatencyPlan| rig.run(move |context, target| latency(context, target, &plan));
        (run(open), run(closed))
    });
    let (open, closed): (Run, Run) = measured.value;
    let requests = open.trials[0].requests().unwrap();
    assert_eq!(requests.intended.get(), 4000);
    let (share, expected) = (hurt(&open.trials[0]), 0.03_f64);
    let spread = 5.0 * (expected * (1.0 - expected) / 4000.0).sqrt();
    assert!((share - expected).abs() < spread, "open loop: {share}");
    let p90 = open.trials[0].delay().unwrap().p90_ns.unwrap();
    assert!(Duration::from_nanos(p90) < HURT, "{p90}");
    let closed = hurt(&closed.trials[0]);
    assert!(closed < expected / 5.0, "closed loop: {closed}");
    rig.close();
}

/// The link carries 20 Mbit/s at L1. Its capacity in requests must lie between the highest load that was
/// answered in full and the lowest that was not, up to the tenth below which a load still counts as answered.
pub(crate) fn the_curve_holds_the_capacity_of_a_link() {
    let rate = BitRate::from_bps(20_000_000);
    let link = LinkConfig {
        rate: Some(rate),
        ..LinkConfig::default()
    };
    let rig = Rig::shaped(link);
    let rising = RequestRate::Rising {
        lowest: PacketRate::from_pps(600.0),
        highest: PacketRate::from_pps(20_000.0),
    };
    let curve = LatencyPlan {
        sizes: vec![ByteCount::new(1000)],
        time: Duration::from_secs(1),
        sending: Sending::AtRate(at(rising)),
        ..plan()
    };
    let measured = undisturbed(|| {
        let curve = curve.clone();
        rig.run(move |context, target| latency(context, target, &curve))
    });
    let run = measured.value;
    let payload = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, rate, 1000);
    let capacity = payload.as_f64() / 8000.0;
    let knee = run.curve().unwrap().knee.unwrap();
    let (full, saturated) = (knee.answered_in_full.unwrap(), knee.saturated.unwrap());
    assert!(full.pps() < 1.12 * capacity, "{knee:?} for {capacity}");
    assert!(saturated.pps() > capacity, "{knee:?} for {capacity}");
    assert!(saturated.pps() / full.pps() < 1.2, "{knee:?}");
    assert!(!knee.sender_limited, "{knee:?}");
    let worst = run.trials.iter().max_by_key(|trial| trial.intended_load);
    let worst = worst.unwrap().delay().unwrap();
    assert!(worst.unanswered.unwrap() > 0);
    assert_eq!((worst.max_ns, worst.p999_ns), (None, None));
    rig.close();
}

/// A path of 10 ms both ways and a queue of its own: no more than 6000 round trips per minute are possible,
/// and under load a mark waits in that queue too.
pub(crate) fn round_trips_per_minute_are_those_of_the_path_and_its_queue() {
    let rate = BitRate::from_bps(20_000_000);
    let delay = Duration::from_millis(5);
    let link = LinkConfig {
        rate: Some(rate),
        delay,
        ..LinkConfig::default()
    };
    let rig = Rig::shaped(link);
    let rpm = LatencyPlan {
        time: Duration::from_secs(1),
        sending: Sending::Responsiveness,
        ..plan()
    };
    let run = rig.run(move |context, target| latency(context, target, &rpm));
    let idle = run.trials[0].handshake().unwrap().min_ns.unwrap();
    assert!(Duration::from_nanos(idle) >= 2 * delay, "{idle}");
    let RunWork::Latency { responsiveness, .. } = &run.work else {
        panic!("a {} run", run.kind().as_str());
    };
    assert_eq!(responsiveness.len(), 2);
    for found in responsiveness {
        assert!(found.responsiveness_rpm.unwrap() < 6000.0, "{found:?}");
        assert!(found.in_band_ns.unwrap() > 2.0 * 5e6, "{found:?}");
        assert!(found.handshake_ns.unwrap() > 2.0 * 5e6, "{found:?}");
        assert!(found.connections > 0 && found.marks > 0, "{found:?}");
        let goodput = found.goodput.unwrap();
        assert!(
            goodput < rate && goodput.as_f64() > 0.5 * rate.as_f64(),
            "{found:?}"
        );
    }
    rig.close();
}
