//! The delay by stage of a P4 program, beside the whole delay of the same frames.

use crate::command::{measured, of_both_ends, rows};
use crate::conformance::need;
use linerate_model::dut::DutStage;
use linerate_model::run::{StageDelay, Trial};

/// A stage is a part of each frame's way, so each of its quantiles is at most that of the whole delay. That a queue which
/// fills is seen as long as it holds frames, show tests of the switch.
pub(crate) fn stages_are_parts_of_the_whole_delay() {
    need("p4");
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../p4/timestamps/timestamps.json"
    );
    let device = format!("p4,program={program}");
    let run = measured(&[
        ("dut", &device),
        ("frame-size", "128"),
        ("loss-goal", "10%"),
        ("line-rate", "20M"),
        ("budget", "8s"),
        ("delay-load", "0,90%"),
        ("diagnose", "0s"),
    ]);
    let (forwarding, parts) = rows(&run);
    let [row] = forwarding else {
        panic!("{forwarding:?}");
    };
    let timed = parts[0].delay_trials();
    assert_eq!((row.delays.len(), timed.len()), (2, 2), "{:?}", row.goals);
    for (delay, one) in row.delays.iter().zip(timed) {
        let of = |stage: &StageDelay| stage.stage;
        assert!(delay.stages.iter().map(of).eq(DutStage::ALL), "{delay:?}");
        for stage in &delay.stages {
            assert!(stage.p50_ns <= delay.p50_ns.unwrap(), "{delay:?}");
            assert!(stage.p99_ns <= delay.p99_ns.unwrap(), "{delay:?}");
        }
        let outside = delay.outside_ratio().unwrap().get();
        assert!(outside > 0.0 && outside < 1.0, "{delay:?}");
        let mut trials = parts[0].trials.iter();
        let trial = trials.find(|trial| trial.index == one.trial).unwrap();
        assert_eq!(timed_packets(trial), [of_both_ends(trial)[1]; 3]);
    }
}

/// Packets of which the device tells the time in each stage.
fn timed_packets(trial: &Trial) -> [u64; 3] {
    let device = trial.measured().unwrap().device.as_ref().unwrap();
    DutStage::ALL.map(|stage| device.counted.stages[&stage].len())
}
