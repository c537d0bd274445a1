//! The methods of `linerate switch` on devices whose truth is known.

use crate::command::measured;
use crate::conformance::need;
use linerate_model::run::{LoadPlace, MethodResult, Run, RunWork};
use linerate_testkit::disturbance::undisturbed;

/// What the one method found in the one row.
fn found(options: &[(&str, &str)]) -> MethodResult {
    only_method(&measured(options))
}

fn only_method(run: &Run) -> MethodResult {
    let RunWork::Switch { forwarding, .. } = &run.work else {
        panic!("{:?}", run.work);
    };
    let [row] = forwarding.as_slice() else {
        panic!("{forwarding:?}");
    };
    let [found] = row.methods.as_slice() else {
        panic!("{:?}, {:?}", row.methods, run.notes);
    };
    found.clone()
}

/// A burst passes as long as it fits into the queue, and what leaves it meanwhile makes room for more.
pub(crate) fn the_queue_of_a_link_is_its_longest_burst() {
    // 252 bytes without FCS.
    for queue in [64_u64, 200] {
        let bytes = (queue * 252 + 100).to_string();
        let device = format!("link,rate=5M,queue={bytes}");
        let found = found(&[
            ("dut", &device),
            ("method", "back-to-back"),
            ("bursts", "10"),
            ("frame-size", "256"),
            ("loss-goal", "0"),
            ("width", "5%"),
            ("budget", "10s"),
            ("delay-load", ""),
            ("diagnose", "0s"),
        ]);
        let MethodResult::BackToBack(found) = found else {
            panic!("{found:?}");
        };
        assert_eq!(found.bursts.len(), 10);
        let held = found.corrected_frames.unwrap();
        let truth = f64::from(u32::try_from(queue).unwrap());
        assert!((held - truth).abs() <= 1.0, "{held} of {truth}: {found:?}");
    }
}

/// A bridge that may learn so many addresses learns these and no more: the first ones that came, since none is forgotten.
pub(crate) fn a_bridge_learns_as_many_addresses_as_it_may() {
    for (device, learned) in [("bridge,addresses=700", 700), ("bridge", 2000)] {
        let found = found(&[
            ("dut", device),
            ("method", "address-table"),
            ("addresses", "2000"),
            ("frame-size", "64"),
            ("diagnose", "0s"),
        ]);
        let MethodResult::AddressTable(found) = found else {
            panic!("{found:?}");
        };
        assert_eq!((found.taught, found.learned), (2000, learned), "{device}");
        let first = (learned < 2000).then_some(learned);
        assert_eq!(found.first_unlearned, first, "{device}");
    }
}

/// A bridge learns in the same step in which it forwards; one that does not learn never knows an address.
pub(crate) fn a_bridge_that_does_not_learn_has_no_learning_rate() {
    for (device, learns) in [("bridge", true), ("bridge,learning=false", false)] {
        let found = found(&[
            ("dut", device),
            ("method", "learning-rate"),
            ("addresses", "300"),
            ("frame-size", "64"),
            ("diagnose", "0s"),
        ]);
        let MethodResult::LearningRate(found) = found else {
            panic!("{found:?}");
        };
        assert_eq!(found.learned_all.is_some(), learns, "{device}: {found:?}");
    }
}

/// Above its rate a link loses what is more, whatever the sender could send.
pub(crate) fn a_link_loses_what_is_above_its_rate() {
    let found = found(&[
        ("dut", "link,rate=20M,queue=16384"),
        ("method", "loss-curve"),
        ("line-rate", "40M"),
        ("loss-step", "25%"),
        ("frame-size", "256"),
        ("diagnose", "0s"),
    ]);
    let MethodResult::LossCurve(found) = found else {
        panic!("{found:?}");
    };
    let truth = 20e6 / ((256.0 + 20.0) * 8.0);
    assert!((found.full.pps() / truth - 2.0).abs() < 1e-3, "{found:?}");
    for point in &found.points {
        let offered = point.offered.unwrap().pps();
        let expected = (1.0 - truth / offered).max(0.0);
        let loss = point.loss_ratio.get();
        // The queue's content passes after the trial's end.
        assert!(loss >= expected - 0.01, "{loss} of {expected}: {point:?}");
        // A sender that others stop sends the rest faster than that.
        let is_on_time = offered >= point.intended.pps() * 0.995;
        assert!(
            !is_on_time || loss <= expected + 0.01,
            "{loss} of {expected}: {point:?}"
        );
        let placed: u64 = point.ledger.iter().map(|entry| entry.packets.get()).sum();
        assert_eq!(placed, point.lost.get(), "{point:?}");
    }
    assert_eq!(found.points.last().unwrap().lost.get(), 0, "{found:?}");
}

/// Below the rate of a link that loses every thousandth frame, a soak loses that, in every interval.
pub(crate) fn a_soak_tells_what_is_lost_and_when() {
    let found = found(&[
        ("dut", "xdp,drop=1/1000"),
        ("method", "soak"),
        ("soak", "4s"),
        ("soak-load", "50%"),
        ("line-rate", "20M"),
        ("frame-size", "128"),
        ("loss-goal", "1%"),
        ("budget", "8s"),
        ("delay-load", ""),
        ("diagnose", "0s"),
    ]);
    let MethodResult::Soak(found) = found else {
        panic!("{found:?}");
    };
    let (sent, lost) = (found.sent.get(), found.lost.get());
    assert!(sent > 5000, "{found:?}");
    assert!(lost.abs_diff(sent / 1000) <= 1, "{lost} of {sent}");
    let by_interval: u64 = found.lossy().map(|one| one.lost.get()).sum();
    assert_eq!(by_interval, lost, "{:?}", found.intervals);
    assert!(
        found.intervals.len() >= 4 && found.p99_ns.is_some(),
        "{found:?}"
    );
}

/// A link that is offered more than its rate for long loses it, but for what its queue holds at the end of a trial. What a busy
/// host makes it lose below is the onset of more to the search: the estimate may be lower, never higher.
pub(crate) fn the_critical_load_of_a_link_is_below_its_rate() {
    let found = found(&[
        ("dut", "link,rate=20M,queue=16384"),
        ("method", "critical-load"),
        ("soak", "20s"),
        ("target-loss", "0.001"),
        ("line-rate", "40M"),
        ("frame-size", "256"),
        ("diagnose", "0s"),
    ]);
    let MethodResult::CriticalLoad(found) = found else {
        panic!("{found:?}");
    };
    // Frames of 252 bytes without FCS in the queue, and trials of a second or more.
    let held = 16384.0 / 252.0;
    let truth = 20e6 / ((256.0 + 20.0) * 8.0) / (1.0 - 0.001) + held;
    let (mean, deviation) = (found.mean.pps(), found.deviation.pps());
    assert_eq!(found.place, LoadPlace::Within, "{found:?}");
    assert!(mean <= truth + 3.0 * deviation, "{found:?}");
    assert!(mean >= truth * 0.7 && deviation < truth * 0.2, "{found:?}");
    let [sent, lost] = found.frames();
    assert!(
        found.trials.len() >= 10 && sent > lost && lost.get() > 1000,
        "{found:?}"
    );
}

/// A forwarder that remembers so many flows, each at one place, and works for others.
pub(crate) fn a_cache_of_flows_is_found_with_its_size() {
    let (entries, work) = (2000.0, 8000.0);
    let device = format!("xdp,cache={entries},miss-work={work}");
    let options = [
        ("dut", device.as_str()),
        ("method", "flow-cost"),
        ("frame-size", "64"),
        ("diagnose", "0s"),
    ];
    let found = undisturbed(|| found(&options));
    let MethodResult::FlowCost(curve) = &found.value else {
        panic!("{found:?}");
    };
    assert_eq!(curve.points.len(), 12);
    let cache = curve
        .cache
        .as_ref()
        .expect("a cache that costs microseconds");
    let seen = cache.entries.point;
    assert!(
        found.is_disturbed() || (seen / entries).ln().abs() < 0.5,
        "{curve:?}"
    );
    assert!((seen / entries).ln().abs() < 1.0, "{curve:?}");
    // At most forty such instructions a nanosecond.
    assert!(cache.miss_ns > cache.hit_ns + work / 40.0, "{curve:?}");
}

/// Measures with the method `reset` alone, after a short search for any load that is mostly forwarded: a busy machine loses
/// frames of its own.
fn reset(options: &[(&str, &str)]) -> Run {
    const METHOD: [(&str, &str); 5] = [
        ("method", "reset"),
        ("loss-goal", "10%"),
        ("budget", "8s"),
        ("delay-load", ""),
        ("diagnose", "0s"),
    ];
    measured(&[&METHOD[..], options].concat())
}

/// The outage of a link that is reset is as long as it was asked for, by both methods of RFC 6201.
pub(crate) fn the_outage_of_a_link_is_its_reset_time() {
    let found = only_method(&reset(&[
        ("dut", "link,outage=500ms"),
        ("resets", "2"),
        ("reset-time", "2s"),
        ("line-rate", "8M"),
        ("frame-size", "256"),
    ]));
    let MethodResult::Reset(found) = found else {
        panic!("{found:?}");
    };
    assert_eq!(found.tests.len(), 2);
    // A frame before and one after.
    let error = 0.5 * 0.01 + 1.0 / found.load.pps();
    for test in &found.tests {
        let by_stamps = test.by_stamps.unwrap().as_secs_f64();
        assert!((by_stamps - 0.5).abs() <= error, "{test:?}");
        // A sender that another program stopped offered less than it lost.
        let by_loss = test.by_loss.as_secs_f64();
        assert!((by_loss - 0.5).abs() <= 5.0 * error, "{test:?}");
        assert!(test.lost_in_gap.unwrap() <= test.lost, "{test:?}");
    }
}

/// A program that is killed and started again, and a router whose rules are made anew, forward nothing meanwhile; the
/// device says where each frame that was lost went.
pub(crate) fn a_restart_is_timed_and_its_losses_have_a_place() {
    // One after the other: a device that polls takes a core, and a search beside it may find no load at all.
    for device in ["router,rules=300", "ovs", "testpmd"] {
        need(device);
        let run = reset(&[
            ("dut", device),
            ("resets", "1"),
            ("reset-time", "5s"),
            ("line-rate", "8M"),
            ("frame-size", "256"),
        ]);
        let MethodResult::Reset(found) = only_method(&run) else {
            panic!("{device}: {run:?}");
        };
        let [test] = &found.tests[..] else {
            panic!("{device}: {:?}", run.notes);
        };
        assert!(test.lost.get() > 0, "{device}: {test:?}");
        assert!(test.lost_in_gap.unwrap() <= test.lost, "{device}: {test:?}");
        let reset = run.trials.iter().find(|trial| {
            let label = trial.label.as_deref();
            label.is_some_and(|label| label.ends_with("reset 1"))
        });
        let measured = reset.and_then(|trial| trial.measured()).unwrap();
        let counted = &measured.device.as_ref().unwrap().counted;
        let lost = counted.dropped();
        assert_eq!(lost, test.lost, "{device}: {counted:?}");
    }
}

/// A bridge that goes down and up loses some frames, and forwards again.
pub(crate) fn a_bridge_forwards_again_after_a_reset() {
    let found = only_method(&reset(&[
        ("dut", "bridge"),
        ("resets", "1"),
        ("reset-time", "2s"),
        ("line-rate", "20M"),
        ("frame-size", "128"),
    ]));
    let MethodResult::Reset(found) = found else {
        panic!("{found:?}");
    };
    assert!(found.tests[0].by_loss.as_secs_f64() < 0.5, "{found:?}");
}
