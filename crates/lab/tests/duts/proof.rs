//! `linerate switch --prove`: what a wire in the device's place, and a device with less work, show.

use crate::command::{rows, tried_and};
use linerate_model::ByteCount;
use linerate_model::dut::DutRelief;
use linerate_model::run::{Answer, Change, Confidence, ExperimentRecord, Quantity, Run};
use linerate_studies::run::After;
use linerate_testkit::disturbance::undisturbed;

/// The one search of a device, with its verdict put to the proof.
pub(crate) fn proved(device: &str) -> Run {
    let options = [
        ("dut", device),
        ("frame-size", "64"),
        ("loss-goal", "0"),
        ("width", "5%"),
        ("budget", "4s"),
        ("delay-load", ""),
        ("diagnose", "0s"),
        ("method", "throughput,loss-curve"),
        ("loss-step", "50%"),
    ];
    let after = After {
        prove: true,
        ..After::default()
    };
    let run = tried_and(&options, after).unwrap();
    rows(&run).1[0].clone()
}

/// The same, if the proof confirms that the device limits. `None` where other programs took the machine, and were named.
fn confirmed(device: &str) -> Option<Run> {
    let made = undisturbed(|| proved(device));
    let is_disturbed = made.is_disturbed();
    let part = made.value;
    let verdict = part.verdict.as_ref().unwrap();
    if is_disturbed && verdict.limit.id() == "other-programs" {
        return None;
    }
    assert_eq!(verdict.limit.id(), "device", "{device}: {verdict:?}");
    assert_eq!(
        verdict.confidence,
        Confidence::Confirmed,
        "{device}: {verdict:?}"
    );
    Some(part)
}

pub(crate) fn relief(record: &ExperimentRecord) -> Option<DutRelief> {
    change(record).and_then(Change::relief)
}

fn change(record: &ExperimentRecord) -> Option<Change> {
    record.experiment.test.as_ref().map(|test| test.change)
}

/// Changed ÷ baseline of the frames received, at least.
fn gain(record: &ExperimentRecord) -> f64 {
    let seen = record.experiment.outcome.as_ref().unwrap().observed[0];
    assert_eq!(seen.prediction.quantity, Quantity::ReceivedPacketRate);
    seen.estimate.interval.unwrap().low
}

/// A device whose work is many instructions per frame is named, a wire in its place carries more, and without these
/// instructions so does it. The same of a router whose rules all frames pass. Its counters go on meanwhile: the trials of the
/// method that follows balance with them.
pub(crate) fn a_device_is_proved_by_a_wire_and_by_less_work() {
    for device in ["xdp,work=20000", "router,rules=2000"] {
        let Some(part) = confirmed(device) else {
            continue;
        };
        let [wire, without, moved @ ..] = part.experiments.as_slice() else {
            panic!("{device}: {:?}", part.experiments);
        };
        assert_eq!(change(wire), Some(Change::Wire), "{device}");
        assert!(
            matches!(relief(without), Some(DutRelief::Without { .. })),
            "{device}: {without:?}"
        );
        for record in [wire, without] {
            let outcome = record.experiment.outcome.as_ref().unwrap();
            assert_eq!(outcome.answer, Answer::Agreed, "{device}: {outcome:?}");
        }
        // Most of its time goes there: without that work it forwards several times as much.
        assert!(gain(without) > 2.0, "{device}: {without:?}");
        let evidence = &part.verdict.as_ref().unwrap().evidence;
        let without = evidence
            .iter()
            .find(|said| said.starts_with("Without the "));
        assert!(without.is_some(), "{evidence:?}");
        // An XDP program works where the frame came; what the kernel does moves.
        assert_eq!(moved.len(), usize::from(device.starts_with("router")));
    }
}

/// What a link drops above its rate arrives over a wire.
pub(crate) fn a_device_that_drops_is_proved_by_a_wire() {
    let Some(part) = confirmed("link,rate=20M,queue=65536") else {
        return;
    };
    let [wire, longer] = part.experiments.as_slice() else {
        panic!("{:?}", part.experiments);
    };
    assert_eq!(change(wire), Some(Change::Wire));
    let outcome = wire.experiment.outcome.as_ref().unwrap();
    assert_eq!(outcome.observed[0].prediction.quantity, Quantity::LossRatio);
    // What is above its rate is lost whatever its queue holds.
    let bytes = ByteCount::new(2 * 65_536);
    assert_eq!(relief(longer), Some(DutRelief::LongerQueue { bytes }));
    let outcome = longer.experiment.outcome.as_ref().unwrap();
    assert_ne!(outcome.answer, Answer::Agreed, "{outcome:?}");
}
