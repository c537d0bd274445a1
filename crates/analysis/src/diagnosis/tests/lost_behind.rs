//! Datagrams that were fewer than intended and of which many were lost.

use super::{at_half, datagrams, left_by, lost, run};
use crate::diagnosis::lost_behind::speaks_against;
use linerate_model::run::{Probe, Run};
use linerate_model::spec::Transport;

/// Whether the sender's CPU may limit a run that lost so many of 10 000, and so many at half its load.
fn is_open(packets: u64, at_half_load: Option<u64>) -> bool {
    let some = |packets| datagrams(61.0, &lost(packets, "network", 15_000));
    let probes: Vec<Probe> = at_half_load.map(|n| at_half(some(n))).into_iter().collect();
    let run = Run { probes, ..run() };
    left_by(speaks_against, &run, &some(packets).trial).contains(&"sender-cpu")
}

#[test]
fn a_sender_does_not_limit_what_is_lost_behind_it() {
    assert!(!is_open(9700, None));
    assert!(!is_open(1000, Some(0)));
    // More would arrive of more, where as large a share is lost at any load.
    assert!(is_open(3000, Some(3000)));
    assert!(is_open(900, None));
    let everything = super::of(Transport::Udp).len();
    let trial = datagrams(61.0, &lost(9700, "network", 15_000)).trial;
    assert_eq!(
        left_by(speaks_against, &run(), &trial).len(),
        everything - 1
    );
}
