//! The sender's own interface is down for a time.

use crate::bench::{Bench, lasting};
use linerate_agent::AgentPlan;
use linerate_model::BitRate;
use linerate_model::run::RuleOutcome;
use linerate_model::spec::{Direction, Pace, TestSpec};
use linerate_testbed::HostId;

/// `from 2.97 s to 6 s: …` as seconds.
fn times(claim: &str) -> (f64, f64) {
    let (_, rest) = claim.split_once(" from ").unwrap();
    let (from, rest) = rest.split_once(" s to ").unwrap();
    let (to, _) = rest.split_once(" s:").unwrap();
    (from.parse().unwrap(), to.parse().unwrap())
}

pub(crate) fn a_sender_whose_interface_is_down_goes_on_and_says_when() {
    let rate = Pace::At(BitRate::from_bps(5_000_000));
    let tcp = TestSpec::tcp_bulk().with_pace(rate);
    for (work, direction, sender) in [
        (TestSpec::udp_datagrams(rate), Direction::Forward, HostId::A),
        (TestSpec::udp_datagrams(rate), Direction::Reverse, HostId::B),
        (tcp, Direction::Forward, HostId::A),
    ] {
        let bench = Bench::with(AgentPlan::private());
        let gap = "sleep 2.5; ip link set eth0 down; sleep 3; ip link set eth0 up";
        let gap = bench.start(sender, gap);
        let spec = TestSpec {
            direction,
            ..lasting(8.0, work)
        };
        let run = bench.run(false, &spec).unwrap();
        gap.join().unwrap();
        assert!(run.trials[0].valid, "{:?}", run.trials[0].reasons);
        let outcome = run.findings.iter().find(|finding| finding.rule == "outage");
        let RuleOutcome::Found { verdict } = &outcome.unwrap().outcome else {
            panic!("{outcome:?}");
        };
        let claim = format!("{verdict:?}");
        let (from, to) = times(&claim);
        // TCP goes on at its next retransmission, whose timeout has doubled four times at most.
        assert!((1.0..3.5).contains(&from), "{claim}");
        assert!((2.9..6.5).contains(&(to - from)), "{claim}");
        bench.close();
    }
}
