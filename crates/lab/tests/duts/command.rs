//! `linerate switch` on devices whose truth is known.

use crate::conformance::started;
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{Forwarding, Place, Run, RunStatus, RunWork, Trial};
use linerate_model::sample::StreamWork;
use linerate_model::{PacketCount, PacketRate};
use linerate_studies::context::unattended;
use linerate_studies::options::{OptionValue, Source, TestKind, find, request};
use linerate_studies::run::{After, Test, switch};
use linerate_sys::netns::NetNamespace;
use linerate_testkit::disturbance::undisturbed;

/// Measures as the command does with these options.
pub(crate) fn measured(options: &[(&str, &str)]) -> Run {
    // So that the device counts what the trial counts.
    measured_with(&[options, &[("warm-up", "0s")]].concat())
}

/// Measures as the command does with these options only; the run must be complete.
fn measured_with(options: &[(&str, &str)]) -> Run {
    let run = tried(options).unwrap();
    assert_eq!(run.status, RunStatus::Complete, "{:?}", run.notes);
    run
}

/// Measures as the command does with these options, or says why not.
pub(crate) fn tried(options: &[(&str, &str)]) -> anyhow::Result<Run> {
    tried_and(options, After::default())
}

/// The same, with what follows a search.
pub(crate) fn tried_and(options: &[(&str, &str)], after: After) -> anyhow::Result<Run> {
    let given = options.iter().map(|(name, value)| -> OptionValue {
        let option = find(TestKind::Switch, name).unwrap_or_else(|| panic!("{name}"));
        (option, (*value).to_owned())
    });
    let given: Vec<_> = given.collect();
    let request = request(TestKind::Switch, Source::CommandLine, &given);
    let Test::Switch(plan) = request.map_err(|refused| refused.message).unwrap().test else {
        panic!("options of a switch make a switch");
    };
    let target = Target::new(PeerAddress::parse("127.0.0.1").unwrap());
    unattended(|context| switch(context, &target, &plan, after))
}

/// What was found for each frame size, and the search that found it.
pub(crate) fn rows(run: &Run) -> (&[Forwarding], &[Run]) {
    match &run.work {
        RunWork::Switch {
            forwarding, parts, ..
        } => (forwarding, parts),
        other => panic!("{other:?}"),
    }
}

/// What the device's own counters say that it dropped in a trial.
fn dropped(trial: &Trial) -> PacketCount {
    let device = trial
        .measured()
        .and_then(|measured| measured.device.as_ref());
    device.unwrap().counted.dropped()
}

fn lost(trial: &Trial) -> PacketCount {
    trial.packets().unwrap().lost.unwrap()
}

/// With the warm-up of every test: what the ends count of it is what the device counts beside.
pub(crate) fn the_counters_of_every_device_equal_the_ledger_and_the_warm_up() {
    crate::conformance::for_every_device(|kind, _| {
        let run = measured_with(&[
            ("dut", kind.id()),
            ("frame-size", "128"),
            ("loss-goal", "0"),
            ("line-rate", "50M"),
            ("budget", "1s"),
            ("delay-load", ""),
            ("diagnose", "0s"),
            ("warm-up", "50ms"),
        ]);
        let (_, parts) = rows(&run);
        assert!(!parts[0].trials.is_empty(), "{}", kind.id());
        for trial in &parts[0].trials {
            let measured = trial.measured().unwrap();
            let report = measured.device.as_ref().unwrap();
            let [a, b] = &report.counted.ports[..] else {
                panic!("a device has two ports");
            };
            let counted = [a.received.get(), b.sent.get()];
            let about = format!("{}, trial {}", kind.id(), trial.index);
            assert_eq!(counted, of_both_ends(trial), "{about}");
        }
    });
}

/// Frames that the sender sent and that came to the receiver, the warm-up's and doubled ones included.
pub(crate) fn of_both_ends(trial: &Trial) -> [u64; 2] {
    let [mut sent, mut came] = [0, 0];
    for stream in trial.raw().iter().flat_map(|report| &report.streams) {
        match &stream.work {
            StreamWork::DatagramSender(sender) => {
                sent += stream.packets.get() + sender.warm_up.unwrap().get();
            }
            StreamWork::DatagramReceiver(receiver) => {
                let counted = &receiver.sequence;
                came += counted.received.get() + counted.duplicated.get();
                came += receiver.warm_up.unwrap().get();
            }
            other => panic!("{other:?}"),
        }
    }
    [sent, came]
}

/// The rate of the link element is exact, so both bounds of the search hold it: a width of 1 % and the queue's content,
/// which passes after a trial's end.
pub(crate) fn the_rate_of_a_link_is_found_and_its_drops_are_placed() {
    let rate = 20e6;
    let run = measured(&[
        ("dut", "link,rate=20M,queue=16384"),
        ("frame-size", "256,1518"),
        ("loss-goal", "0,0.5%"),
        ("width", "1%"),
        ("budget", "40s"),
        ("delay-load", "0,50%"),
        ("diagnose", "0s"),
    ]);
    let (forwarding, parts) = rows(&run);
    assert_eq!((forwarding.len(), parts.len()), (2, 2));
    for (row, part) in forwarding.iter().zip(parts) {
        let truth = rate / ((row.frame_bytes.as_f64() + 20.0) * 8.0);
        let goal = &row.goals[0];
        let (low, high) = (goal.lower_bound.unwrap(), goal.upper_bound.unwrap());
        assert!(goal.reached, "{goal:?}");
        assert!(low.pps() <= truth * 1.005, "{low} of {truth}");
        assert!(high.pps() >= truth * 0.995, "{high} of {truth}");
        assert!(low.pps() >= truth * 0.975, "{low} of {truth}");
        for trial in &part.trials {
            assert_eq!(dropped(trial), lost(trial), "trial {}", trial.index);
            let places = trial.ledger().iter().map(|entry| entry.place);
            let elsewhere = places.filter(|place| *place != Place::Device);
            assert_eq!(elsewhere.count(), 0, "{:?}", trial.ledger());
        }
        let verdict = part.verdict.as_ref().unwrap();
        assert_eq!(verdict.limit.id(), "device", "{verdict:?}");
        assert_eq!(row.delays.len(), 2);
        assert!(row.ceiling.unwrap().pps() > truth, "{:?}", row.ceiling);
    }
}

/// Both senders give every frame the length of its number: a link whose rate is exact carries so many frames of the exact
/// mean, and the ledger holds to the frame.
pub(crate) fn a_mix_of_frame_lengths_fills_a_link() {
    let rate = 20e6;
    for generator in ["kernel", "af-xdp"] {
        let search = undisturbed(|| {
            measured(&[
                ("dut", "link,rate=20M,queue=60000"),
                ("frame-size", "7x64,4x594,1x1518"),
                ("generator", generator),
                ("loss-goal", "0.5%"),
                ("width", "1%"),
                ("budget", "20s"),
                ("delay-load", "50%"),
                ("diagnose", "0s"),
            ])
        });
        let (forwarding, parts) = rows(&search.value);
        let [row] = forwarding else {
            panic!("{forwarding:?}");
        };
        let mix = row.mix.as_ref().unwrap();
        assert_eq!(mix.lengths_bytes.len(), 12);
        let truth = rate / ((4342.0 / 12.0 + 20.0) * 8.0);
        let goal = &row.goals[0];
        let (low, high) = (goal.lower_bound.unwrap(), goal.upper_bound.unwrap());
        assert!(low.pps() <= truth * 1.015, "{generator}: {low} of {truth}");
        // A queue of so many bytes passes short frames where it drops long ones, so loads above the truth take many trials,
        // and the budget ends before the bounds meet: the lower one is what was tried last below them. A sender that was
        // kept waiting sends more at once than the queue holds.
        let least = if search.is_disturbed() { 0.3 } else { 0.5 };
        assert!(low.pps() >= truth * least, "{generator}: {low} of {truth}");
        assert!(
            high.pps() >= truth * 0.995,
            "{generator}: {high} of {truth}"
        );
        // A frame of another length than its number's would be lost, and in no counter of the device.
        for trial in &parts[0].trials {
            assert_eq!(dropped(trial), lost(trial), "trial {}", trial.index);
        }
    }
}

/// A link that is known by its two ends only, as a black box is: its losses are the device's, and how it drops shows in the
/// delay of what passes.
pub(crate) fn a_device_without_counters_is_named_with_how_it_drops() {
    let home = NetNamespace::current().unwrap();
    let device = started("link,rate=50M,queue=200000");
    device.tester().enter().unwrap();
    let run = measured_with(&[
        ("ports", "port-a,port-b"),
        ("frame-size", "256"),
        ("loss-goal", "0.5%"),
        ("width", "5%"),
        ("budget", "10s"),
        ("delay-load", "0"),
        ("diagnose", "0s"),
    ]);
    home.enter().unwrap();
    device.close().unwrap();
    let (_, parts) = rows(&run);
    let verdict = parts[0].verdict.as_ref().unwrap();
    assert_eq!(verdict.limit.id(), "device", "{verdict:?}");
    let how = "a queue is full in it";
    assert!(verdict.claim.contains(how), "{verdict:?}");
}

/// One of 200 is above a goal of 0 and below one of 1 %, at any load.
pub(crate) fn what_a_device_drops_by_number_is_its_loss() {
    let run = measured(&[
        ("dut", "xdp,drop=1/200"),
        ("frame-size", "128"),
        ("loss-goal", "1%"),
        ("line-rate", "20M"),
        ("budget", "20s"),
        ("delay-load", "50%"),
        ("diagnose", "0s"),
    ]);
    let (forwarding, parts) = rows(&run);
    let lower = forwarding[0].goals[0].lower_bound.map(PacketRate::pps);
    assert!(lower.unwrap() > 10_000.0, "{lower:?}");
    for trial in &parts[0].trials {
        let sent = trial.packets().unwrap().sent.unwrap().get();
        let (lost, dropped) = (lost(trial).get(), dropped(trial).get());
        assert_eq!(lost, dropped, "trial {}", trial.index);
        // It counts on from trial to trial.
        assert!(lost.abs_diff(sent / 200) <= 1, "{lost} of {sent}");
    }
}

/// A router writes into the frames, whose memory is used again: each has its headers anew, or most have the address of
/// another and are lost from the first batch on.
pub(crate) fn what_a_router_writes_into_a_frame_is_in_no_other() {
    let run = measured(&[
        ("dut", "router"),
        ("frame-size", "128"),
        ("loss-goal", "1%"),
        ("line-rate", "50M"),
        ("budget", "10s"),
        ("delay-load", "50%"),
        ("diagnose", "0s"),
    ]);
    let (forwarding, parts) = rows(&run);
    let lower = forwarding[0].goals[0].lower_bound.map(PacketRate::pps);
    // 42 kframes/s are offered at most.
    assert!(lower.unwrap() > 35_000.0, "{lower:?}");
    let sum = |of: fn(&Trial) -> u64| parts[0].trials.iter().map(of).sum::<u64>();
    let sent = sum(|trial| trial.packets().unwrap().sent.unwrap().get());
    let lost = sum(|trial| lost(trial).get());
    assert!(lost * 100 <= sent, "{lost} of {sent}");
}
