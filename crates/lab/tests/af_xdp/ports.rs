//! Frames through a device between two ports: what the device drops is its loss, and nothing else is.

use crate::bench::{Bench, assert_balanced, datagrams};
use crate::ending::program_at;
use linerate_model::PacketCount;
use linerate_model::run::{Place, Trial};
use linerate_model::sample::DatagramReceiver;
use linerate_model::spec::{DatapathChoice, Direction, Side, TestSpec};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::time::Duration;

/// Both generators.
const GENERATORS: [&str; 2] = ["", ",generator=kernel"];

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

/// What the receiver of a trial reported.
fn receiver(trial: &Trial) -> &DatagramReceiver {
    let report = trial
        .raw()
        .iter()
        .find(|report| report.side == Side::Receiver);
    report.unwrap().streams[0].work.get().unwrap()
}
