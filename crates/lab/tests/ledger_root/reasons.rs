//! The kernel's drop reasons, against what was made to drop.

use crate::bench::{Bench, COUNTED, assert_balanced, datagrams, ledger_of, number_after};
use linerate_model::run::{Place, Trial};
use linerate_model::signals;
use linerate_model::spec::Side;
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn reason(trial: &Trial, side: Side, signal: &str) -> u64 {
    let report = trial
        .raw()
        .iter()
        .find(|report| report.side == side)
        .unwrap();
    let missing = report.after.missing.get(signals::DROPS_WATCHED);
    assert_eq!(missing, None, "drop reasons");
    report.after.values.get(signal).copied().unwrap_or(0)
}

pub(crate) fn each_drop_has_its_reason() {
    for amount in [1, 100, 100_000] {
        let bench = Bench::direct();
        bench.drop_at_egress(amount);
        let trial = bench.check(
            "reason",
            &datagrams(amount + 100),
            &[(Place::SenderSocket, &Bench::dropped_by_filter)],
        );
        let own = signals::own_drops("NETFILTER_DROP");
        assert_eq!(reason(&trial, Side::Sender, &own), amount);
        assert_eq!(reason(&trial, Side::Receiver, &own), 0);
        bench.close();
    }
}

/// With the reasons even a flood of foreign drops at the same place changes nothing.
pub(crate) fn another_flow_dropped_beside_is_told_apart() {
    let bench = Bench::over(Link::symmetric(LinkConfig {
        drop: PacketList::from_numbers((0..137).map(|k| 3 + 7 * k)),
        ..LinkConfig::default()
    }));
    bench.shell(
        HostId::A,
        &format!(
            "nft 'add table netdev t; add chain netdev t c {{ type filter hook egress device \"eth0\" priority 0; }};
             add rule netdev t c udp dport 9 drop;
             add rule netdev t c {COUNTED} numgen inc mod 100 == 0 counter drop'"
        ),
    );
    let running = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&running);
    let other = bench.spawn(HostId::A, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let mut sent = 0_u64;
        while flag.load(Ordering::Relaxed) {
            sent += u64::from(socket.send_to(&[0; 200], "10.77.0.2:9").is_ok());
        }
        sent
    });
    let trial = bench.run(&datagrams(20_000)).trials.remove(0);
    running.store(false, Ordering::Relaxed);
    let others = other.join().unwrap();
    assert_balanced(&trial);
    let ledger = ledger_of(&trial);
    println!("\n    {others} foreign drops: {ledger:?}");
    assert_eq!(
        ledger[&Place::SenderSocket],
        bench.dropped_by_filter(),
        "{:?}",
        trial.ledger()
    );
    let network = bench.link().a_to_b.data.dropped_by_list.get();
    assert_eq!(ledger[&Place::Network], network, "{:?}", trial.ledger());
    bench.close();
}

pub(crate) fn what_a_filter_at_the_receiver_drops_is_named() {
    let bench = Bench::direct();
    bench.shell(
        HostId::B,
        &format!(
            "nft 'add table inet t; add chain inet t c {{ type filter hook input priority 0; }};
             add rule inet t c {COUNTED} numgen inc mod 10 == 0 counter drop'"
        ),
    );
    let trial = bench.run(&datagrams(5000)).trials.remove(0);
    let rules = bench.shell(HostId::B, "nft list table inet t");
    let dropped = number_after(&rules, "counter packets ").unwrap();
    assert_balanced(&trial);
    assert_eq!(
        ledger_of(&trial)[&Place::Unknown],
        dropped,
        "{:?}",
        trial.ledger()
    );
    let entry = trial
        .ledger()
        .iter()
        .find(|entry| entry.place == Place::Unknown);
    assert!(
        entry.unwrap().source.contains("NETFILTER_DROP"),
        "{entry:?}"
    );
    bench.close();
}
