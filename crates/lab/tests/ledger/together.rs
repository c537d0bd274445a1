//! Drops at several places at once, and beside traffic that is none of the test's.

use crate::bench::{Bench, assert_balanced, datagrams, ledger_of};
use crate::places::{dropped_by_queue, short_queue, slow_reader};
use linerate_model::run::Place;
use linerate_model::signals;
use linerate_model::spec::Pace;
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

fn listed(packets: u64) -> Link {
    Link::symmetric(LinkConfig {
        drop: PacketList::from_numbers((0..packets).map(|k| 3 + 7 * k)),
        ..LinkConfig::default()
    })
}

fn dropped_by_list(bench: &Bench) -> u64 {
    bench.link().a_to_b.data.dropped_by_list.get()
}

pub(crate) fn in_the_queue_and_in_the_network() {
    for amount in [1, 100, 10_000] {
        let bench = Bench::over(listed(amount));
        bench.shell(HostId::A, &short_queue("10mbit", 50));
        let spec = datagrams(100 + amount * 20).with_pace(Pace::Unpaced);
        bench.check(
            "queue + list",
            &spec,
            &[
                (Place::SenderQdisc, &dropped_by_queue),
                (Place::Network, &dropped_by_list),
            ],
        );
        bench.close();
    }
}

pub(crate) fn at_the_socket_the_queue_and_the_network() {
    let bench = Bench::over(listed(50));
    bench.drop_at_egress(70);
    bench.shell(HostId::A, &short_queue("10mbit", 50));
    let spec = datagrams(3000).with_pace(Pace::Unpaced);
    bench.check(
        "filter + queue + list",
        &spec,
        &[
            (Place::SenderSocket, &Bench::dropped_by_filter),
            (Place::SenderQdisc, &dropped_by_queue),
            (Place::Network, &dropped_by_list),
        ],
    );
    bench.close();
}

pub(crate) fn at_both_sockets_and_in_the_network() {
    for amount in [1, 100, 1000] {
        let bench = Bench::over(listed(amount));
        bench.drop_at_egress(amount * 2);
        let trial = bench.check(
            "filter + list + slow reader",
            &slow_reader(amount * 10 + 200),
            &[
                (Place::SenderSocket, &Bench::dropped_by_filter),
                (Place::Network, &dropped_by_list),
            ],
        );
        assert!(ledger_of(&trial)[&Place::ReceiverSocket] > 0);
        bench.close();
    }
}

/// A flow from `host` to a socket of host B that nobody reads, while `running`. Returns what it sent.
fn stranger(bench: &Bench, host: HostId, running: &Arc<AtomicBool>) -> JoinHandle<u64> {
    let deaf = bench.on(HostId::B, || UdpSocket::bind("0.0.0.0:9").unwrap());
    let running = Arc::clone(running);
    bench.spawn(host, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let mut sent = 0;
        while running.load(Ordering::Relaxed) {
            sent += u64::from(socket.send_to(&[0; 500], "10.77.0.2:9").is_ok());
            thread::yield_now();
        }
        drop(deaf);
        sent
    })
}

/// Another flow overflows another socket of the receiver's host, in far greater numbers. It stays
/// within that host, so that it takes nothing from the link element.
pub(crate) fn what_another_socket_drops_is_not_claimed() {
    let bench = Bench::over(listed(137));
    let running = Arc::new(AtomicBool::new(true));
    let (other, before) = (stranger(&bench, HostId::B, &running), bench.full_sockets());
    let trial = bench.run(&datagrams(20_000)).trials.remove(0);
    let others = bench.full_sockets() - before;
    running.store(false, Ordering::Relaxed);
    assert!(other.join().unwrap() > 0);
    assert_balanced(&trial);
    assert!(others > 137, "the other socket dropped {others}");
    let own = trial.raw()[1].streams[0]
        .work
        .socket_overflows()
        .unwrap()
        .get();
    let ledger = ledger_of(&trial);
    assert_eq!(
        ledger.get(&Place::ReceiverSocket).copied().unwrap_or(0),
        own
    );
    assert_eq!(
        ledger[&Place::Network],
        dropped_by_list(&bench),
        "{:?}",
        trial.ledger()
    );
    bench.close();
}

/// Another flow is dropped at the sender's host, in far greater numbers: what our own loss was
/// cannot be told from the host's counters, and the ledger says so instead of blaming the sender.
pub(crate) fn what_another_flow_loses_at_the_sender_is_not_claimed() {
    let bench = Bench::over(listed(137));
    bench.drop_first("egress", 1 << 40, "udp dport 9");
    let running = Arc::new(AtomicBool::new(true));
    let other = stranger(&bench, HostId::A, &running);
    let trial = bench.run(&datagrams(20_000)).trials.remove(0);
    running.store(false, Ordering::Relaxed);
    assert!(other.join().unwrap() > 0);
    assert_balanced(&trial);
    let others = bench.dropped_by_filter();
    assert!(others > 137, "the other flow lost {others}");
    let ledger = ledger_of(&trial);
    for place in [Place::SenderSocket, Place::SenderQdisc, Place::SenderNic] {
        assert_eq!(ledger.get(&place), None, "{:?}", trial.ledger());
    }
    let placed = ledger.get(&Place::Network).copied().unwrap_or(0);
    assert!(placed <= dropped_by_list(&bench), "{:?}", trial.ledger());
    // Real root would have had the drop reasons; a user namespace says what it takes to have them.
    if let Some(why) = trial.raw()[0].after.missing.get(signals::DROPS_WATCHED) {
        assert!(why.contains("run as root"), "{why}");
        let unknown = trial
            .ledger()
            .iter()
            .find(|entry| entry.place == Place::Unknown);
        assert!(
            unknown.unwrap().source.contains(why),
            "{:?}",
            trial.ledger()
        );
    }
    bench.close();
}

/// A filter at the sender that answers EPERM: those datagrams were never taken, so they are not lost.
pub(crate) fn what_the_system_refuses_is_not_loss() {
    let bench = Bench::direct();
    bench.shell(
        HostId::A,
        "nft 'add table inet t; add chain inet t c { type filter hook output priority 0; };
         add rule inet t c udp length 208 @th,104,8 0 numgen inc mod 100 == 0 counter drop'",
    );
    let trial = bench.check("output filter", &datagrams(10_000), &[]);
    let rules = bench.shell(HostId::A, "nft list table inet t");
    let refused = crate::bench::number_after(&rules, "counter packets ").unwrap();
    assert!(refused >= 100, "{refused}");
    assert_eq!(trial.packets().unwrap().sent.unwrap().get(), 10_000);
    let words = trial.reasons.iter().find(|reason| reason.contains("EPERM"));
    assert!(
        words
            .unwrap()
            .contains("packet filter on the sender's host"),
        "{words:?}"
    );
    bench.close();
}
