//! A token bucket in a router: the full rate while it has tokens, then its own.

use crate::bench::{Bench, lasting};
use linerate_agent::AgentPlan;
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Verdict};
use linerate_model::spec::{Direction, Pace, TestSpec, Transport};
use linerate_testbed::Link;
use linerate_testkit::namespaces::at_once;
use std::time::Duration;

/// Bytes of frames that a bucket holds.
const BUCKET: f64 = 1.25e6;

/// At 10 Mbit/s, twice the rate of the buckets here, whose tokens so last some two of eight seconds.
fn tests() -> Vec<TestSpec> {
    let pace = Pace::At(BitRate::from_bps(10_000_000));
    let mut tests = Vec::new();
    for work in [
        TestSpec::udp_datagrams(pace),
        TestSpec::tcp_bulk().with_pace(pace),
    ] {
        for direction in [Direction::Forward, Direction::Reverse] {
            tests.push(TestSpec {
                direction,
                interval: Duration::from_millis(250),
                ..lasting(8.0, work.clone())
            });
        }
    }
    tests
}

/// The verdict on a test through a router that is set up so.
fn verdict(setup: &str, spec: &TestSpec) -> Verdict {
    let bench = Bench::over(Link::Routed { mtu: 1500 }, AgentPlan::private());
    bench.route(setup);
    let run = bench.run(false, spec).unwrap();
    bench.close();
    run.verdict.unwrap()
}

/// `about 1.19 MiB` in bytes, and `4.78 Mbit/s` in bit/s.
fn figures(claim: &str) -> (f64, f64) {
    let figure = |begin: &str, end: &str| -> f64 {
        let (_, rest) = claim.split_once(begin).unwrap();
        rest.split_once(end).unwrap().0.parse().unwrap()
    };
    (
        figure("about ", " MiB") * 1_048_576.0,
        figure("limits to ", " Mbit/s") * 1e6,
    )
}

/// Payload is 95 % of frames. Where packets are dropped, TCP gets less than the bucket's rate. Beside programs that take
/// the whole host nothing else has to be found.
#[track_caller]
fn is_said(verdict: &Verdict, least_rate: f64) {
    let is_busy = |said: &String| said.starts_with("Other programs");
    if verdict.evidence.iter().any(is_busy) && !verdict.claim.contains("token bucket") {
        return;
    }
    assert!(verdict.claim.contains("token bucket"), "{verdict:?}");
    let (held, rate) = figures(&verdict.claim);
    assert!((0.7 * BUCKET..1.3 * BUCKET).contains(&held), "{verdict:?}");
    assert!((least_rate..5.2e6).contains(&rate), "{verdict:?}");
}

fn shaper(burst: u32) -> String {
    format!(
        "for leg in to-a to-b; do tc qdisc add dev $leg root tbf rate 5mbit burst {burst} limit 40000; done"
    )
}

pub(crate) fn a_shaper_with_a_bucket_is_said_with_its_rate_and_size() {
    at_once(tests(), |spec| {
        is_said(&verdict(&shaper(1_250_000), &spec), 4.2e6);
    });
}

/// The kernel's limit has a bucket of one second of its rate beside the burst that it is given. What TCP makes of losses need
/// not be two steady rates, and then nothing else is supported.
pub(crate) fn a_policer_with_a_bucket_is_said_with_its_rate_and_size() {
    at_once(tests(), |spec| {
        let policer = "nft 'add table inet t; add chain inet t c { type filter hook forward priority 0; }; \
             add rule inet t c ip length > 500 limit rate over 625 kbytes/second burst 625 kbytes drop'";
        let verdict = verdict(policer, &spec);
        let is_named = verdict.claim.contains("token bucket");
        if is_named || spec.work.transport() == Transport::Udp {
            is_said(&verdict, 2e6);
        } else {
            let is_busy = verdict.limit.id() == "other-programs";
            assert!(
                is_busy || verdict.confidence == Confidence::Weak,
                "{verdict:?}"
            );
        }
    });
}

/// The same rate without a bucket has none in its verdict.
pub(crate) fn a_shaper_without_a_bucket_has_none() {
    at_once(tests(), |spec| {
        let said = format!("{:?}", verdict(&shaper(4000), &spec));
        assert!(!said.contains("oken bucket"), "{said}");
    });
}
