//! The sender's own interface is down for a time.

use crate::bench::{Bench, lasting};
use linerate_agent::AgentPlan;
use linerate_model::BitRate;
use linerate_model::exit::{ExitCode, Failure};
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

/// Of both, the connection that times out and the one that finds no route.
pub(crate) fn an_interface_that_is_down_is_named_and_no_firewall() {
    let bench = Bench::with(AgentPlan::private());
    let error = |on, to: &str| {
        let spec = lasting(1.0, TestSpec::tcp_bulk());
        let error = bench.client(on, to, &spec).join().unwrap().0.unwrap_err();
        let failure: Failure = error.downcast().unwrap();
        assert_eq!(failure.code, ExitCode::HostLacks, "{failure}");
        assert!(!failure.message.contains("firewall"), "{failure}");
        failure.message
    };
    let own = bench.address().to_string();
    bench.shell(HostId::B, "ip link set lo down");
    for to in [own.as_str(), "127.0.0.1"] {
        let message = error(HostId::B, to);
        assert!(message.contains("ip link set lo up"), "{to}: {message}");
    }
    bench.shell(HostId::B, "ip link set lo up");
    bench.shell(HostId::A, "ip link set eth0 down");
    let message = error(HostId::A, &own);
    assert!(message.contains("no route there"), "{message}");
    bench.shell(HostId::A, "ip link set eth0 up");
    bench.close();
}
