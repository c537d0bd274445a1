//! The link element's own delay is the truth.

use crate::rig::Rig;
use linerate_model::one_way::ClockMethod;
use linerate_model::run::{Delay, Trial};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Imitation, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_testbed::{Link, LinkConfig};
use linerate_testkit::disturbance::undisturbed;
use std::time::Duration;

const MILLIS: u64 = 1_000_000;

/// What may be missing or too much beside the element's own overhead.
const TOLERANCE: u64 = 20_000;

/// Smallest, and what one message in ten stays below: of the others any may have waited for a core.
#[derive(Debug, Clone, Copy)]
struct Seen {
    least: u64,
    tenth: u64,
}

/// What came to one end: its delay above the smallest, in steps of less than 1 µs.
fn one_way(delay: Option<&Delay>, end: &EndpointReport) -> Seen {
    let least = delay.unwrap().min_ns.unwrap();
    let times = end.streams[0].work.times().unwrap();
    let pdv = times.pdv.as_ref().unwrap();
    Seen {
        least,
        tenth: least + pdv.quantile_nanos(0.1),
    }
}

/// There, back, and both.
fn seen(trial: &Trial) -> [Seen; 3] {
    let known = trial.one_way().unwrap();
    assert_eq!(known.clock.unwrap().method, ClockMethod::CommonClock);
    let [sender, receiver] = trial.raw() else {
        panic!("a report of each end");
    };
    let both = trial.delay().unwrap();
    let histogram = both.histogram.as_ref().unwrap();
    [
        one_way(known.forward.as_ref(), receiver),
        one_way(known.backward.as_ref(), sender),
        Seen {
            least: both.min_ns.unwrap(),
            tenth: histogram.quantile_nanos(0.1),
        },
    ]
}

fn ping_pong() -> TestSpec {
    TestSpec {
        stop: Stop::After(Duration::from_secs(2)),
        warm_up: Duration::from_millis(200),
        ..TestSpec::ping_pong(Transport::Udp)
    }
}

/// The overhead of the element and the hosts is what the same two hosts take through the same element beyond
/// a delay of 5 ms. There the peer rests 20 ms before each answer, so that hosts and element wake from as long
/// a sleep, and the element by the same timer, as with 10 ms. Of some hundred messages the fastest must be on
/// time: any other may have waited for a core.
pub(crate) fn of_10_ms() {
    let rig = Rig::over(Link::symmetric(LinkConfig::default()));
    let delay = Duration::from_millis(10);
    let measured = undisturbed(|| {
        let short = delay / 2;
        rig.delay(short, short);
        let rests = ping_pong().with_imitation(Imitation::slow_receiver(delay * 2));
        let overhead = seen(&rig.run(&rests));
        rig.delay(delay, delay);
        (overhead, seen(&rig.run(&ping_pong())))
    });
    let (overhead, found) = measured.value;
    println!("\n    overhead {overhead:?}\n    with the delay {found:?}");
    let [own_there, own_back, _] = overhead.map(|seen| seen.tenth);
    let own = own_there.max(own_back) - 5 * MILLIS;
    // The histogram of round trips has steps of 16 µs there, that of one way of less than one.
    let truths = [
        (10 * MILLIS, own, 0),
        (10 * MILLIS, own, 0),
        (20 * MILLIS, 2 * own, 16_384),
    ];
    for (found, (truth, own, step)) in found.into_iter().zip(truths) {
        assert!(found.least + step >= truth, "{found:?} of {truth}");
        let most = truth + TOLERANCE + own + step;
        assert!(found.least <= most, "{found:?} of {truth}, at most {most}");
    }
    rig.close();
}

/// What half of a round trip cannot tell.
pub(crate) fn with_two_delays() {
    let rig = Rig::over(Link::symmetric(LinkConfig::default()));
    rig.delay(Duration::from_millis(8), Duration::from_millis(2));
    let [there, back, both] = seen(&rig.run(&ping_pong()));
    println!("\n    there {there:?}, back {back:?}, both {both:?}");
    // The other direction's delay is 6 ms away.
    for (found, truth) in [(there, 8 * MILLIS), (back, 2 * MILLIS)] {
        assert!(
            (truth..truth + 3 * MILLIS).contains(&found.least),
            "{found:?}"
        );
    }
    rig.close();
}

/// Datagrams have one way only, and their variation from one to the next.
pub(crate) fn datagrams() {
    let rig = Rig::over(Link::symmetric(LinkConfig::default()));
    rig.delay(Duration::from_millis(5), Duration::ZERO);
    let trial = rig.run(&TestSpec {
        stop: Stop::Transactions(300),
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(200_000)))
            .with_payload(ByteCount::new(100))
    });
    let one_way = trial.one_way().unwrap();
    let there = self::one_way(one_way.forward.as_ref(), &trial.raw()[1]);
    let ipdv = trial.ipdv().unwrap();
    println!(
        "\n    there {there:?}, ipdv p1 {} p99 {}",
        ipdv.p01_ns, ipdv.p99_ns
    );
    assert_eq!(one_way.backward, None);
    assert!((5 * MILLIS..8 * MILLIS).contains(&there.least), "{there:?}");
    assert_eq!(ipdv.count, 299);
    assert!(ipdv.min_ns <= ipdv.p50_ns && ipdv.p50_ns <= ipdv.max_ns);
    assert!(trial.rtp_jitter_ns().is_some());
    rig.close();
}
