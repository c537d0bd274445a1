//! What devices can be relieved of while they run: that it works, that nothing stays of it, and that what it shows is true.

use crate::command::{measured, rows};
use crate::conformance::{assert_forwards, need, started};
use crate::frames::{Family, Way, missing, send_through};
use crate::proof::{proved, relief};
use linerate_model::dut::{DutCores, DutRelief};
use linerate_model::run::{ExperimentRecord, Part, Run, Trial};
use linerate_model::spec::{Pace, Pinning, TestSpec};
use linerate_model::units::float;
use linerate_sys::affinity::{allowed_cores, pin_current_thread};
use linerate_sys::bpf::RunCounting;
use linerate_testkit::disturbance::undisturbed;
use linerate_testkit::namespaces::not_run;
use std::fs;
use std::panic::resume_unwind;

/// Devices with every relief that there is.
const RELIEVED: [&str; 5] = [
    "bridge",
    "router,rules=10",
    "container",
    "xdp,work=100",
    "link,rate=1G",
];

/// While it is relieved a device forwards every frame in order, and after that it counts each as before.
pub(crate) fn what_relieves_a_device_is_undone() {
    for text in RELIEVED {
        need(text);
        let mut dut = started(text);
        let reliefs = dut.reliefs(&TestSpec::udp_datagrams(Pace::Unpaced));
        assert!(!reliefs.is_empty(), "{text}");
        for relief in reliefs {
            assert_forwards(&mut *dut, Way::AToB, Family::V4, 1_000);
            dut.relieve(relief, true).unwrap();
            for way in Way::BOTH {
                let arrived = send_through(&*dut, way, Family::V4, 2_000);
                assert_eq!(missing(&arrived, 2_000), [0_u32; 0], "{text}: {relief}");
                assert!(arrived.is_sorted(), "{text}: {relief}");
            }
            dut.relieve(relief, false).unwrap();
            for way in Way::BOTH {
                assert_forwards(&mut *dut, way, Family::V6, 1_000);
            }
        }
        dut.close().unwrap();
    }
}

/// Packets that the stack of a core took, whatever their network: column 0 of its line in `/proc/net/softnet_stat`, which
/// has its number in column 12.
fn processed_by(core: u32) -> u64 {
    let text = fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let mut found = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        (number(words.get(12)?) == u64::from(core)).then(|| number(words[0]))
    });
    found.next().unwrap()
}

/// With the sender on one core, the kernel's own count says on which one frames are forwarded.
pub(crate) fn a_device_forwards_on_the_core_that_it_is_given() {
    let Some(cores) = DutCores::apart(&allowed_cores().unwrap(), [None; 2]) else {
        not_run("one core: there is no other");
    };
    let moved = move || {
        pin_current_thread(cores.sender).unwrap();
        for text in ["bridge", "router", "container"] {
            need(text);
            let mut dut = started(text);
            let mut gain = |is_relieved| {
                let relief = DutRelief::OtherCore(cores);
                dut.relieve(relief, is_relieved).unwrap();
                let before = processed_by(cores.device);
                let count = 20_000;
                assert_eq!(
                    send_through(&*dut, Way::AToB, Family::V4, count).len(),
                    20_000
                );
                processed_by(cores.device) - before
            };
            for _ in 0..2 {
                let gained = gain(true);
                assert!(gained >= 20_000, "{text}: {gained}");
                // Others of this machine have some.
                let gained = gain(false);
                assert!(gained < 10_000, "{text}: {gained}");
            }
            dut.close().unwrap();
        }
    };
    let thread = std::thread::spawn(moved);
    thread.join().unwrap_or_else(|panic| resume_unwind(panic));
}

/// The cores that are offered leave the threads of a test where they are pinned.
pub(crate) fn a_device_is_offered_a_core_beside_pinned_threads() {
    let mut test = TestSpec::udp_datagrams(Pace::Unpaced);
    test.pinning = Pinning {
        local: Some(1),
        remote: None,
    };
    let dut = started("bridge");
    let [DutRelief::OtherCore(cores)] = dut.reliefs(&test)[..] else {
        not_run("one core: there is no other");
    };
    assert_eq!(cores.sender, 1);
    assert_ne!(cores.device, 1);
    dut.close().unwrap();
}

/// Time of a frame through the device in nanoseconds.
fn frame_ns(trial: &Trial) -> f64 {
    1e9 / trial.received_packet_rate().unwrap().pps()
}

/// What a frame takes longer with the device's work than without, by the trials of its experiment that others disturbed
/// least: they only ever add to the time of a frame.
fn cost_of(record: &ExperimentRecord) -> f64 {
    let least = |part: Part| {
        let of_part = record.trials.iter().filter(|made| made.part == part);
        let times = of_part.map(|made| frame_ns(&made.trial));
        times.fold(f64::INFINITY, f64::min)
    };
    least(Part::Baseline) - least(Part::Changed)
}

/// Time of the program at port A for a frame, by the kernel's own clock, in all trials of a search.
fn counted_ns(work: u32) -> f64 {
    let counting = RunCounting::start().unwrap();
    let device = format!("xdp,work={work}");
    let run: Run = measured(&[
        ("dut", &device),
        ("frame-size", "64"),
        ("loss-goal", "0"),
        ("width", "5%"),
        ("budget", "2s"),
        ("delay-load", ""),
        ("diagnose", "0s"),
    ]);
    drop(counting);
    let trials = rows(&run).1[0].trials.iter();
    let device = trials.filter_map(|trial| trial.measured()?.device.as_ref());
    let (mut runs, mut nanos) = (0, 0);
    for report in device {
        let count = |name: &str| report.counted.counters[name];
        assert_eq!(count("dut-a runs"), count("dut-a frames"), "{report:?}");
        runs += count("dut-a runs");
        nanos += count("dut-a run time ns");
    }
    assert!(runs > 10_000, "{runs}");
    float(nanos) / float(runs)
}

/// The kernel counts the time that programs run; what that costs itself is the same with work and without, and is not
/// there when linerate measures.
pub(crate) fn the_cost_of_a_devices_work_is_what_the_kernel_counts() {
    const WORK: u32 = 20_000;
    let made = undisturbed(|| {
        let part = proved(&format!("xdp,work={WORK}"));
        let is_work =
            |record: &&ExperimentRecord| matches!(relief(record), Some(DutRelief::Without { .. }));
        let found = part.experiments.iter().find(is_work).map(cost_of);
        (found, counted_ns(WORK) - counted_ns(0))
    });
    let (found, truth) = made.value;
    let Some(found) = found else {
        // Other programs took the machine, so that nothing was proved.
        assert!(made.is_disturbed(), "no experiment on the device's work");
        return;
    };
    let ratio = found / truth;
    let bound = if made.is_disturbed() { 2.0 } else { 1.1 };
    assert!(
        ratio.ln().abs() < f64::ln(bound),
        "{found} ns, {truth} ns by the kernel"
    );
}
