//! What every device under test does, whatever it is.

use crate::frames::{Family, Way, missing, send_through};
use linerate_model::Clock as _;
use linerate_model::PacketCount;
use linerate_model::dut::{DutChoice, DutCounters};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::duts::{ALL, Availability, Dut, DutKind, DutSetup, find, start};
use linerate_testkit::namespaces::not_run;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The device that `text` names, such as `bridge,learning=false`.
pub(crate) fn started(text: &str) -> Box<dyn Dut> {
    start(&DutSetup::new(text.parse().unwrap())).unwrap()
}

/// Ends the case as not run if this host lacks a program of the device.
pub(crate) fn need(text: &str) {
    let setup = DutSetup::new(text.parse().unwrap());
    let kind = find(&setup.choice.kind).unwrap();
    if let Availability::Missing { what, remedy } = kind.availability(&setup) {
        not_run(format!("{text}: {what}; {remedy}"));
    }
}

/// Devices that no Debian package has: they are tested where a developer has built one.
const UNPACKAGED: &[&str] = &["bmv2"];

/// Calls `test` with every kind that this host has; the case counts as not run if it lacks one that it could install.
pub(crate) fn for_every_device(test: impl Fn(&'static dyn DutKind, &DutSetup)) {
    let mut lacking = Vec::new();
    // One that runs already is no device of this host's.
    for kind in ALL.iter().filter(|kind| !kind.is_between_given_ports()) {
        let setup = DutSetup::new(DutChoice {
            kind: kind.id().to_owned(),
            params: BTreeMap::new(),
        });
        match kind.availability(&setup) {
            Availability::Available => test(*kind, &setup),
            Availability::Missing { .. } if UNPACKAGED.contains(&kind.id()) => {}
            Availability::Missing { what, remedy } => {
                lacking.push(format!("{}: {what}; {remedy}", kind.id()));
            }
        }
    }
    if !lacking.is_empty() {
        not_run(lacking.join("; "));
    }
}

/// What the device counted since `before`.
pub(crate) fn grown(dut: &mut dyn Dut, before: &DutCounters) -> DutCounters {
    dut.counters().unwrap().since(before).unwrap()
}

/// Sends `count` frames and asserts that all arrive in order, and that the device counts each once.
pub(crate) fn assert_forwards(dut: &mut dyn Dut, way: Way, family: Family, count: u32) {
    let before = dut.counters().unwrap();
    let arrived = send_through(dut, way, family, count);
    let counted = grown(dut, &before);
    let about = format!("{} {way:?} {family:?}: {counted:?}", dut.facts().choice);
    assert_eq!(missing(&arrived, count), [0_u32; 0], "{about}");
    assert!(arrived.is_sorted(), "{about}");
    let [from, to] = way.ports();
    let all = PacketCount::new(count.into());
    let none = PacketCount::new(0);
    assert_eq!(counted.ports[from].received, all, "{about}");
    assert_eq!(counted.ports[to].sent, all, "{about}");
    assert_eq!(counted.ports[to].received, none, "{about}");
    assert_eq!(counted.dropped(), none, "{about}");
}

pub(crate) fn every_device_forwards_both_ways_and_counts_every_frame() {
    for_every_device(|_, setup| {
        let mut dut = start(setup).unwrap();
        for way in Way::BOTH {
            for family in [Family::V4, Family::V6] {
                assert_forwards(&mut *dut, way, family, 5_000);
            }
        }
        assert!(!dut.facts().description.is_empty() && !dut.facts().version.is_empty());
        dut.close().unwrap();
    });
}

/// Devices that nothing of linerate's can reset as they are started here.
const NEVER_RESET: &[&str] = &["wire", "xdp", "link"];

/// It forwards again as soon as its counters can be read, and these go on from where they were.
pub(crate) fn every_device_that_is_reset_forwards_again() {
    for_every_device(|kind, setup| {
        let mut dut = start(setup).unwrap();
        if NEVER_RESET.contains(&kind.id()) {
            let error = dut.reset().unwrap_err().to_string();
            assert!(error.contains("--reset-command"), "{error}");
            return;
        }
        for _ in 0..2 {
            assert_forwards(&mut *dut, Way::AToB, Family::V4, 1_000);
            let before = dut.counters().unwrap();
            dut.reset().unwrap();
            let counted = grown(&mut *dut, &before);
            assert_eq!(counted.dropped(), PacketCount::new(0), "{counted:?}");
            for family in [Family::V4, Family::V6] {
                assert_forwards(&mut *dut, Way::BToA, family, 1_000);
            }
        }
        dut.close().unwrap();
    });
}

pub(crate) fn every_device_is_silent_by_itself() {
    let started = RefCell::new(Vec::new());
    for_every_device(|kind, setup| {
        let mut dut = start(setup).unwrap();
        let before = dut.counters().unwrap();
        started.borrow_mut().push((kind, dut, before));
    });
    // As long as the kernel takes for what it repeats by itself, such as membership reports.
    sleep_until(MonoClock.now().after(Duration::from_millis(1500)));
    for (kind, mut dut, before) in started.into_inner() {
        let counted = grown(&mut *dut, &before);
        for port in &counted.ports {
            let both = [port.received, port.sent];
            assert_eq!(both, [PacketCount::new(0); 2], "{}: {counted:?}", kind.id());
        }
        dut.close().unwrap();
    }
}

/// What a device could leave: interfaces of this network, processes, temporary files.
pub(crate) fn traces() -> [Vec<String>; 3] {
    let names = |folder: &str, wanted: fn(&str) -> bool| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| wanted(name)).collect();
        names.sort();
        names
    };
    let task = format!("/proc/self/task/{}/children", std::process::id());
    let mut children: Vec<_> = fs::read_to_string(task)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    children.sort();
    let is_ours = |name: &str| name.contains("linerate-dut");
    [
        names("/sys/class/net", |_| true),
        children,
        [names("/tmp", is_ours), names("/run", is_ours)].concat(),
    ]
}

pub(crate) fn no_device_leaves_interfaces_processes_or_files() {
    for_every_device(|kind, setup| {
        let before = traces();
        let dut = start(setup).unwrap();
        dut.close().unwrap();
        assert_eq!(traces(), before, "{} closed", kind.id());
        drop(start(setup).unwrap());
        assert_eq!(traces(), before, "{} dropped", kind.id());
    });
}

pub(crate) fn a_bridge_that_does_not_learn_floods() {
    let mut dut = started("bridge,learning=false");
    for way in [Way::AToB, Way::BToA, Way::AToB] {
        assert_forwards(&mut *dut, way, Family::V4, 1_000);
    }
    assert!(dut.facts().description.contains("learning off"));
    dut.close().unwrap();
}
