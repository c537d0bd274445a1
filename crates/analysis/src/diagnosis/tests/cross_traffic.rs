//! Flows of others through an interface of the test.

use super::{made, run, trial, with_stream};
use crate::diagnosis::Observation;
use linerate_model::run::Change;
use linerate_model::signals::NIC_TX_BYTES;
use linerate_model::spec::Side;
use serde_json::json;

/// 10 MB of the test, and so much more that its interface sent.
#[test]
fn flows_of_others_through_the_interface_speak_for_congestion() {
    let after = |others: u64| {
        let mut run = run();
        let more = json!({"work": "byte-stream", "tcp": {"smss_bytes": 1448}});
        let limited = made(Change::Streams { factor: 4 }, trial("tcp", 94.0, &more));
        let samples =
            json!([{"at_ns": 1_000_000_000, "bytes_sent": 10_000_000, "notsent_bytes": 0}]);
        let mut limited = with_stream(limited, Side::Sender, |stream| {
            stream.work =
                serde_json::from_value(json!({"kind": "byte-stream-sender", "tcp": samples}))
                    .unwrap();
        });
        let measured = limited.trial.measured_mut().unwrap();
        let counters = json!({"sender": {(NIC_TX_BYTES): 10_460_000 + others}});
        measured.counters = serde_json::from_value(counters).unwrap();
        run.trials = vec![limited.trial];
        let seen = Observation::from_run(&run).unwrap().seen;
        seen.into_iter()
            .find(|seen| seen.id == "cross-traffic")
            .map(|seen| seen.classes)
    };
    assert_eq!(after(0), Some(vec!["none".to_owned()]));
    assert_eq!(after(1_500_000), Some(vec!["some".to_owned()]));
    assert_eq!(after(4_000_000), Some(vec!["much".to_owned()]));
}
