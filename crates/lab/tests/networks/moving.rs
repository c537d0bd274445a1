//! A client that moves: to another network with another address, and between access points of one network.

use crate::bench::{Bench, lasting};
use linerate_agent::AgentPlan;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::RuleOutcome;
use linerate_model::spec::{Direction, Pace, TestSpec};
use linerate_model::{BitRate, Clock as _, Ratio};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::{HostId, Link, LinkConfig};
use linerate_testkit::namespaces::at_once;
use std::time::Duration;

fn rate() -> Pace {
    Pace::At(BitRate::from_bps(5_000_000))
}

/// The old address is removed and a new one added, as where a telephone goes from Wi-Fi to LTE: no connection of the old
/// one gets anything any more.
pub(crate) fn a_client_whose_address_changes_ends_in_seconds_and_keeps_its_counts() {
    let tests = [
        (TestSpec::udp_datagrams(rate()), Direction::Forward),
        (TestSpec::udp_datagrams(rate()), Direction::Reverse),
        (TestSpec::tcp_bulk().with_pace(rate()), Direction::Forward),
        (TestSpec::tcp_bulk().with_pace(rate()), Direction::Reverse),
    ];
    at_once(tests, |(work, direction)| {
        address_changes(&TestSpec {
            direction,
            ..lasting(6.0, work)
        });
    });
}

fn address_changes(spec: &TestSpec) {
    let bench = Bench::with(AgentPlan::private());
    let change = "sleep 2; ip addr add 10.77.0.9/24 dev eth0; ip addr del 10.77.0.1/24 dev eth0";
    let change = bench.start(HostId::A, change);
    let began = MonoClock.now();
    let (run, trials) = bench.watched(false, spec);
    let took = MonoClock.now().saturating_since(began);
    change.join().unwrap();
    // Ten seconds without a word of the peer, beside what the test takes and a busy machine.
    assert!(took < Duration::from_secs(40), "{took:?}");
    let error = run.unwrap_err();
    let failure = Failure::of(error.as_ref()).unwrap();
    assert_eq!(failure.code, ExitCode::Peer, "{error:#}");
    let [trial] = &trials[..] else {
        panic!("{error:#}: {} trials", trials.len());
    };
    let why = trial.reasons.first();
    assert!(
        !trial.valid && why.is_some_and(|why| why.contains(&failure.message)),
        "{error:#}: {:?}",
        trial.reasons
    );
    let moved = match spec.direction {
        Direction::Reverse => trial.received_bytes,
        _ => trial.sent_bytes,
    };
    // A second at least of what it was to move.
    assert!(moved.unwrap().get() > 600_000, "{:?}", trial.reasons);
    bench.close();
}

/// Three outages of 0.4 s, and another delay after each: a host that goes from one access point to the next.
pub(crate) fn short_outages_of_roaming_are_said_one_by_one() {
    let bench = Bench::over(Link::symmetric(LinkConfig::default()), AgentPlan::private());
    let spec = lasting(6.0, TestSpec::udp_datagrams(rate()));
    let test = bench.client(HostId::A, &bench.address().to_string(), &spec);
    let wait = |time| sleep_until(MonoClock.now().after(Duration::from_millis(time)));
    for delay in [20, 2, 40] {
        wait(1100);
        bench.set_link(&LinkConfig {
            loss: Ratio::clamped(1.0),
            ..LinkConfig::default()
        });
        wait(400);
        bench.set_link(&LinkConfig {
            delay: Duration::from_millis(delay),
            ..LinkConfig::default()
        });
    }
    let run = test.join().unwrap().0.unwrap();
    let trial = &run.trials[0];
    assert!(trial.valid, "{:?}", trial.reasons);
    let said = trial
        .reasons
        .iter()
        .filter(|reason| reason.starts_with("nothing arrived from"));
    assert_eq!(said.count(), 3, "{:?}", trial.reasons);
    let outcome = run.findings.iter().find(|finding| finding.rule == "outage");
    let found = outcome.map(|finding| &finding.outcome);
    assert!(
        matches!(found, Some(RuleOutcome::Found { .. })),
        "{found:?}"
    );
    bench.close();
}
