//! Round trips taken apart by the kernel's stamps.

use crate::rig::Rig;
use linerate_model::one_way::Stage;
use linerate_model::spec::{ClosedLoop, Stop, TestSpec, TestWork, Transport};
use linerate_testbed::Link;
use std::time::Duration;

pub(crate) fn over_udp() {
    over(Transport::Udp);
}

pub(crate) fn over_tcp() {
    over(Transport::Tcp);
}

/// So few that all of them are kept: the parts are of the very messages that the round trips are of.
const MESSAGES: u64 = 1000;

fn over(transport: Transport) {
    let rig = Rig::over(Link::Direct { mtu: 1500 });
    let trial = rig.run(&TestSpec {
        stop: Stop::Transactions(MESSAGES),
        // The kernel begins to stamp a little after it is asked to.
        warm_up: Duration::from_millis(200),
        work: TestWork::ClosedLoop(ClosedLoop {
            decompose: true,
            ..ClosedLoop::new(transport)
        }),
        ..TestSpec::ping_pong(transport)
    });
    let parts = trial.decomposition().unwrap();
    for part in &parts.parts {
        println!("\n    {}: p50 {:?}", part.stage.as_str(), part.delay.p50_ns);
    }
    println!(
        "    {:?} {:?} {}",
        parts.covered_ratio, parts.incomplete, parts.messages
    );
    let stages: Vec<_> = parts.parts.iter().map(|part| part.stage).collect();
    assert_eq!(stages, Stage::ALL);
    assert_eq!(parts.missing, None);
    // A message more or less at the edges of the counted time, which each end finds by its own clock.
    assert!(parts.messages >= MESSAGES * 9 / 10, "{}", parts.messages);
    let covered = parts.covered_ratio.unwrap();
    assert!((covered - 1.0).abs() < 0.05, "{covered}");
    rig.close();
}
