//! Frames through a device between two ports: what the device drops is its loss, and nothing else is.

use crate::bench::{Bench, assert_balanced, datagrams};
use crate::ending::{PATIENCE, program_at, until};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{Place, Trial};
use linerate_model::sample::DatagramReceiver;
use linerate_model::spec::{DatapathChoice, Direction, Side, Stop, TestSpec};
use linerate_model::{ByteCount, PacketCount};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Both generators.
const GENERATORS: [&str; 2] = ["", ",generator=either"];

/// `spec` from interface `eth0` of host A to that of host B, by their MAC addresses, with parameters of the datapath.
fn between_ports(bench: &Bench, params: &str, spec: TestSpec) -> TestSpec {
    let mac = |host| {
        let text = bench.shell(host, "cat /sys/class/net/eth0/address");
        text.trim().to_owned()
    };
    let (a, b) = (mac(HostId::A), mac(HostId::B));
    let datapath: DatapathChoice = format!("ports,a=eth0,b=eth0,a-to={b},b-to={a}{params}")
        .parse()
        .unwrap();
    TestSpec { datapath, ..spec }
}

/// Packets that the link dropped by its list on this way.
fn dropped_by_list(bench: &Bench, direction: Direction) -> u64 {
    let counted = bench.link();
    let way = match direction {
        Direction::Reverse => counted.b_to_a,
        _ => counted.a_to_b,
    };
    way.data.dropped_by_list.get()
}

fn counts(trial: &Trial) -> [Option<PacketCount>; 3] {
    let packets = trial.packets().unwrap();
    [packets.sent, packets.received, packets.lost]
}

pub(crate) fn what_a_device_drops_by_list_is_lost_in_the_network() {
    let spread = (0..40).map(|k| 17 + k * 97);
    let list = PacketList::from_numbers(spread.chain(4_000..4_030).chain([5_000]));
    let way = LinkConfig {
        drop: list,
        ..LinkConfig::default()
    };
    let ways = [Direction::Forward, Direction::Reverse];
    for (direction, params) in ways
        .into_iter()
        .flat_map(|way| GENERATORS.map(|by| (way, by)))
    {
        // The list is of the first packets of a link.
        let bench = Bench::over(Link::symmetric(way.clone()));
        let spec = TestSpec {
            direction,
            ..datagrams(5_000)
        };
        let run = bench.run(&between_ports(&bench, params, spec));
        let trial = &run.trials[0];
        let wanted = [5_000, 4_929, 71].map(|count| Some(PacketCount::new(count)));
        let dropped = dropped_by_list(&bench, direction);
        let name = format!("{direction:?}{params}");
        assert_eq!((counts(trial), dropped), (wanted, 71), "{name}");
        assert_balanced(trial);
        let ledger = trial.ledger();
        let places: Vec<(Place, u64)> = ledger
            .iter()
            .map(|entry| (entry.place, entry.packets.get()))
            .collect();
        assert_eq!(places, [(Place::Network, 71)]);
        bench.close();
    }
}

/// One in 10⁵, beside nothing else.
pub(crate) fn one_frame_of_a_hundred_thousand_is_missed() {
    let way = LinkConfig {
        drop: PacketList::from_numbers([77_777]),
        ..LinkConfig::default()
    };
    let bench = Bench::over(Link::symmetric(way));
    let run = bench.run(&between_ports(&bench, "", datagrams(100_000)));
    let wanted = [100_000, 99_999, 1].map(|count| Some(PacketCount::new(count)));
    assert_eq!(counts(&run.trials[0]), wanted);
    bench.close();
}

/// Over a bare wire every frame arrives, made and counted by the kernel, one way and both ways at once.
pub(crate) fn the_kernel_counts_every_frame_of_a_wire() {
    let bench = Bench::direct();
    for direction in [Direction::Forward, Direction::Reverse, Direction::Duplex] {
        let spec = TestSpec {
            direction,
            warm_up: Duration::from_millis(50),
            ..datagrams(20_000)
        };
        let run = bench.run(&between_ports(&bench, ",generator=kernel", spec));
        let wanted = [20_000, 20_000, 0].map(|count| Some(PacketCount::new(count)));
        let ways = if direction == Direction::Duplex { 2 } else { 1 };
        assert_eq!(run.trials.len(), ways);
        for trial in &run.trials {
            assert_eq!(counts(trial), wanted, "{direction:?}");
            let packets = trial.packets().unwrap();
            let nothing = Some(PacketCount::new(0));
            assert_eq!([packets.duplicated, packets.reordered], [nothing; 2]);
            assert_balanced(trial);
            let report = receiver(trial);
            let pdv = report.times.pdv.as_ref().unwrap();
            assert_eq!(pdv.len(), 20_000, "the delay of every frame");
        }
        let bare = [HostId::A, HostId::B].map(|host| program_at(&bench, host));
        assert_eq!(bare, [None, None]);
    }
    bench.close();
}

/// IPv6, many flows, the shortest and a long frame: what is sent is what is counted.
pub(crate) fn the_kernel_counts_flows_of_both_families() {
    let bench = Bench::direct();
    let v6 = ",a-ip=2001:2::1,b-ip=2001:2:0:1::2";
    for (params, payload) in [("", 18), (v6, 18), (v6, 1_452)] {
        let params = format!(",generator=kernel,flows=1000{params}");
        let spec = datagrams(5_000).with_payload(ByteCount::new(payload));
        let run = bench.run(&between_ports(&bench, &params, spec));
        let wanted = [5_000, 5_000, 0].map(|count| Some(PacketCount::new(count)));
        assert_eq!(counts(&run.trials[0]), wanted, "{params}");
    }
    bench.close();
}

/// What the device drops, doubles and moves is counted as such by the kernel too.
pub(crate) fn the_kernel_tells_duplicates_and_reordering() {
    let way = LinkConfig {
        duplicate_list: PacketList::from_numbers([100, 2_000]),
        reorder_list: PacketList::from_numbers([300, 301, 4_000]),
        displacement: 5,
        ..LinkConfig::default()
    };
    let told = GENERATORS.map(|params| {
        let bench = Bench::over(Link::symmetric(way.clone()));
        let run = bench.run(&between_ports(&bench, params, datagrams(5_000)));
        let sequence = receiver(&run.trials[0]).sequence;
        bench.close();
        sequence
    });
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0].duplicated, PacketCount::new(2));
    assert!(told[0].reordered > PacketCount::new(0), "{told:?}");
}

/// The argument by which this program knows itself as the process that is killed.
pub(crate) const CHILD: &str = "--send-until-killed";

pub(crate) fn a_killed_process_leaves_no_program() {
    let bench = Bench::direct();
    let own = std::env::current_exe().unwrap();
    let address = bench.address();
    let spec = between_ports(&bench, ",generator=kernel", datagrams(1));
    let datapath = spec.datapath.to_string();
    let start = move || {
        let mut child = Command::new(own);
        child
            .args([CHILD, &address, &datapath])
            .stdin(Stdio::null());
        child.spawn().unwrap()
    };
    let mut child = bench.on(HostId::A, start);
    let programs = || [HostId::A, HostId::B].map(|host| program_at(&bench, host).is_some());
    until("programs at both ends", || programs() == [true; 2]);
    assert_eq!(child.try_wait().unwrap(), None, "it measures still");
    child.kill().unwrap();
    child.wait().unwrap();
    until("no programs", || programs() == [false; 2]);
    let run = bench.run(&spec);
    assert_eq!(counts(&run.trials[0])[1], Some(PacketCount::new(1)));
    bench.close();
}

/// Measures both ways for longer than anybody waits.
pub(crate) fn child(address: &str, datapath: Option<String>) -> ExitCode {
    let peer = PeerAddress::parse(address).unwrap();
    let spec = TestSpec {
        stop: Stop::After(PATIENCE * 2),
        direction: Direction::Duplex,
        datapath: datapath.unwrap().parse().unwrap(),
        ..datagrams(1)
    };
    let run = unattended(|context| single(context, &Target::new(peer), &spec));
    panic!("it ended by itself: {run:?}");
}

/// What the receiver of a trial reported.
fn receiver(trial: &Trial) -> &DatagramReceiver {
    let report = trial
        .raw()
        .iter()
        .find(|report| report.side == Side::Receiver);
    report.unwrap().streams[0].work.get().unwrap()
}
