//! Frames through a device between two ports: what the device drops is its loss, and nothing else is.

use crate::bench::{Bench, assert_balanced, datagrams};
use linerate_model::PacketCount;
use linerate_model::run::{Place, Trial};
use linerate_model::spec::{DatapathChoice, Direction, TestSpec};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};

/// `spec` from interface `eth0` of host A to that of host B, by their MAC addresses.
fn between_ports(bench: &Bench, spec: TestSpec) -> TestSpec {
    let mac = |host| {
        let text = bench.shell(host, "cat /sys/class/net/eth0/address");
        text.trim().to_owned()
    };
    let (a, b) = (mac(HostId::A), mac(HostId::B));
    let datapath: DatapathChoice = format!("ports,a=eth0,b=eth0,a-to={b},b-to={a}")
        .parse()
        .unwrap();
    TestSpec { datapath, ..spec }
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
    let bench = Bench::over(Link::symmetric(way));
    for direction in [Direction::Forward, Direction::Reverse] {
        let dropped = |bench: &Bench| {
            let counted = bench.link();
            let way = match direction {
                Direction::Reverse => counted.b_to_a,
                _ => counted.a_to_b,
            };
            way.data.dropped_by_list.get()
        };
        let spec = TestSpec {
            direction,
            ..datagrams(5_000)
        };
        let run = bench.run(&between_ports(&bench, spec));
        let trial = &run.trials[0];
        let wanted = [5_000, 4_929, 71].map(|count| Some(PacketCount::new(count)));
        assert_eq!(
            (counts(trial), dropped(&bench)),
            (wanted, 71),
            "{direction:?}"
        );
        assert_balanced(trial);
        let ledger = trial.ledger();
        let places: Vec<(Place, u64)> = ledger
            .iter()
            .map(|entry| (entry.place, entry.packets.get()))
            .collect();
        assert_eq!(places, [(Place::Network, 71)]);
    }
    bench.close();
}

/// One in 10⁵, beside nothing else.
pub(crate) fn one_frame_of_a_hundred_thousand_is_missed() {
    let way = LinkConfig {
        drop: PacketList::from_numbers([77_777]),
        ..LinkConfig::default()
    };
    let bench = Bench::over(Link::symmetric(way));
    let run = bench.run(&between_ports(&bench, datagrams(100_000)));
    let wanted = [100_000, 99_999, 1].map(|count| Some(PacketCount::new(count)));
    assert_eq!(counts(&run.trials[0]), wanted);
    bench.close();
}
