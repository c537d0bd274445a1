//! A load that was carried but for a few packets, below a probe that carried more.

use super::{BUDGET, datagrams, next_probe, run, trial};
use crate::diagnose;
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Probe as Made, Run, Verdict};
use linerate_model::spec::{Pace, TestSpec};
use serde_json::{Value, json};

/// Of 100 000 datagrams so many lost at the receiver's socket.
fn lost(packets: u64) -> Value {
    json!({
        "work": "datagrams",
        "packets": {"sent": 100_000, "received": 100_000 - packets, "lost": packets,
                    "loss_ratio": BitRate::from_bps(packets).as_f64() / 100_000.0},
        "ledger": [{"place": "receiver-socket", "packets": packets, "source": "a counter"}]
    })
}

/// A test at 94 Mbit/s of which `sent` Mbit/s were sent and `packets` of 100 000 lost, after these probes.
fn paced(sent: f64, packets: u64, probes: Vec<Made>) -> Run {
    let mut run = run();
    let mut limited = trial("udp", sent, &lost(packets));
    limited["intended_bps"] = json!(94_000_000);
    limited["offered_bps"] = json!(BitRate::from_f64(sent * 1e6));
    run.trials = vec![serde_json::from_value(limited).unwrap()];
    let test = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(94_000_000)));
    run.config = serde_json::from_value(json!({"asked": {"kind": "test", "test": test}})).unwrap();
    run.probes = probes;
    run
}

fn verdict(run: &Run) -> Verdict {
    diagnose(run).0
}

#[test]
fn a_few_lost_packets_limit_nothing_where_a_probe_carried_more() {
    let run = paced(94.0, 40, vec![datagrams(140.9, &lost(60))]);
    assert_eq!(next_probe(&run, BUDGET, &[]), None);
    let said = verdict(&run);
    assert!(said.limit.is_none(), "{said:?}");
    assert_eq!(said.confidence, Confidence::Supported);
    assert!(
        said.claim.starts_with("The intended load of 94 Mbit/s") && said.claim.contains("0.04 %"),
        "{said:?}"
    );
    assert!(
        said.evidence[0].starts_with("Probe with datagrams"),
        "{said:?}"
    );
    let place = "40 of 40 lost packets: receiver's socket (a counter).";
    assert!(said.evidence.contains(&place.to_owned()), "{said:?}");
}

#[test]
fn it_limits_where_no_probe_carried_more() {
    let more = |packets, megabits| vec![datagrams(megabits, &lost(packets))];
    for run in [
        paced(94.0, 40, Vec::new()),
        paced(94.0, 40, more(30_000, 98.7)),
        // Lost more than none, or sent less than intended.
        paced(94.0, 60, more(60, 140.9)),
        paced(90.0, 40, more(60, 140.9)),
    ] {
        let said = verdict(&run);
        assert!(!said.limit.is_none(), "{said:?}");
    }
}
