//! Readers without CPU time.

use super::{datagrams, left_by, lost, of, run};
use crate::diagnosis::starved::speaks_against;
use linerate_model::run::Trial;
use linerate_model::signals::CGROUP_THROTTLED_NS;
use linerate_model::spec::Transport;
use serde_json::json;

/// What may limit a second of datagrams, a third of which was lost here, before a reader that ran and waited so long and was
/// stopped by its quota for so much of it.
fn left(place: &str, [ran, waited, stopped]: [f64; 3]) -> usize {
    let mut trial: Trial = datagrams(94.0, &lost(3300, place, 15_000)).trial;
    let thread = json!({"receiver": {"thread_ratio": ran, "run_delay_ratio": waited}});
    trial.cpu = serde_json::from_value(thread).unwrap();
    let nanos = std::time::Duration::from_secs_f64(stopped).as_nanos();
    let counters =
        json!({"sender": {}, "receiver": {(CGROUP_THROTTLED_NS): u64::try_from(nanos).unwrap()}});
    trial.measured_mut().unwrap().counters = serde_json::from_value(counters).unwrap();
    left_by(speaks_against, &run(), &trial).len()
}

#[test]
fn a_full_socket_before_a_starved_reader_is_a_symptom() {
    let all = of(Transport::Udp).len();
    let socket = "receiver-socket";
    // Kernels count the time of a quota's pauses as waiting, or not.
    assert_eq!(left(socket, [0.1, 0.02, 0.9]), all - 2);
    assert_eq!(left(socket, [0.1, 0.85, 0.9]), all - 2);
    assert_eq!(left(socket, [0.97, 0.02, 0.0]), all - 2);
    assert_eq!(left(socket, [0.3, 0.05, 0.0]), all, "it had time");
    assert_eq!(left("network", [0.97, 0.02, 0.0]), all, "lost before it");
}
