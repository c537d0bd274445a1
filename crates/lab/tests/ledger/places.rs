//! Drops at one place, counted there by somebody else.

use crate::bench::{Bench, datagrams, ledger_of, number_after};
use linerate_model::ByteCount;
use linerate_model::run::Place;
use linerate_model::spec::{Imitation, Pace, SocketChoice, TestSpec};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::time::Duration;

/// How many are dropped; where a place cannot be told to drop so many, at least so many.
const AMOUNTS: [u64; 3] = [1, 100, 100_000];

/// Datagrams beside the dropped ones, which must arrive.
const OTHERS: u64 = 1000;

/// A packet filter between the socket and the interface; oracle: its counter.
pub(crate) fn at_the_sending_socket() {
    for amount in AMOUNTS {
        let bench = Bench::direct();
        bench.drop_at_egress(amount);
        let place = Place::SenderSocket;
        bench.check(
            "filter",
            &datagrams(amount + OTHERS),
            &[(place, &|bench| {
                let dropped = bench.dropped_by_filter();
                assert_eq!(dropped, amount);
                dropped
            })],
        );
        bench.close();
    }
}

/// A class of its own for UDP of this rate, whose queue holds so many packets; oracle: `tc -s`.
pub(crate) fn short_queue(rate: &str, packets: u32) -> String {
    format!(
        "tc qdisc add dev eth0 root handle 1: htb default 1
    tc class add dev eth0 parent 1: classid 1:1 htb rate 1gbit
    tc class add dev eth0 parent 1: classid 1:2 htb rate {rate} burst 2k
    tc qdisc add dev eth0 parent 1:2 handle 2: pfifo limit {packets}
    tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:2"
    )
}

/// What the short queue dropped.
pub(crate) fn dropped_by_queue(bench: &Bench) -> u64 {
    let text = bench.shell(HostId::A, "tc -s qdisc show dev eth0");
    let leaf = &text[text.find("qdisc pfifo 2:").unwrap()..];
    number_after(leaf, "dropped ").unwrap()
}

pub(crate) fn in_the_sending_queue() {
    for amount in AMOUNTS {
        let bench = Bench::direct();
        // So slow that the sender may stand still for a third of a second, and the least test still overflows it.
        bench.shell(HostId::A, &short_queue("200kbit", 10));
        let spec = datagrams(60 + amount * 2).with_pace(Pace::Unpaced);
        bench.check(
            "queue",
            &spec,
            &[(Place::SenderQdisc, &|bench| {
                let dropped = dropped_by_queue(bench);
                assert!(dropped >= amount, "{dropped}");
                dropped
            })],
        );
        bench.close();
    }
}

/// A macvlan whose lower device refuses: what the test's interface did not send; oracle: the counter
/// of the filter that makes the lower device refuse.
pub(crate) fn at_the_sending_interface() {
    for amount in AMOUNTS {
        let mut bench = Bench::direct();
        bench.shell(
            HostId::A,
            "ip link add link eth0 name mv0 type macvlan mode bridge
             ip address add 10.78.0.1/24 dev mv0; ip link set mv0 up",
        );
        bench.shell(HostId::B, "ip address add 10.78.0.2/24 dev eth0");
        bench.aim_at("10.78.0.2");
        bench.drop_at_egress(amount);
        let place = Place::SenderNic;
        bench.check(
            "macvlan",
            &datagrams(amount + OTHERS),
            &[(place, &|bench| {
                let dropped = bench.dropped_by_filter();
                assert_eq!(dropped, amount);
                dropped
            })],
        );
        bench.close();
    }
}

/// The link element's list; oracle: its counter.
pub(crate) fn in_the_network() {
    for amount in AMOUNTS {
        let bench = Bench::over(Link::symmetric(LinkConfig {
            drop: PacketList::from_numbers(10..10 + amount),
            ..LinkConfig::default()
        }));
        let place = Place::Network;
        bench.check(
            "list",
            &datagrams(amount + OTHERS),
            &[(place, &|bench| {
                let dropped = bench.link().a_to_b.data.dropped_by_list.get();
                assert_eq!(dropped, amount);
                dropped
            })],
        );
        bench.close();
    }
}

/// Packets longer than the receiving interface takes: all of them; oracle: `/proc/net/dev`, less the datagram that the
/// sender looks for the path's MTU with, which no test counts.
pub(crate) fn at_the_receiving_interface() {
    for amount in AMOUNTS {
        let bench = Bench::direct();
        bench.shell(HostId::B, "ip link set eth0 mtu 1300");
        let spec = datagrams(amount)
            .with_payload(ByteCount::new(1448))
            .with_pace(Pace::Unpaced);
        let before = bench.dropped_on_arrival();
        bench.check(
            "mtu",
            &spec,
            &[(Place::ReceiverNic, &|bench| {
                let dropped = bench.dropped_on_arrival() - before - 1;
                assert_eq!(dropped, amount);
                dropped
            })],
        );
        bench.close();
    }
}

/// A reader that pauses, with a small buffer.
pub(crate) fn slow_reader(total: u64) -> TestSpec {
    TestSpec {
        imitation: Some(Imitation::slow_receiver(Duration::from_millis(10))),
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(8 * 1024)),
            ..SocketChoice::default()
        },
        ..datagrams(total)
    }
}

/// Oracle: `RcvbufErrors` of a host on which no other socket is used.
pub(crate) fn at_the_receiving_socket() {
    for amount in AMOUNTS {
        let bench = Bench::direct();
        let before = bench.full_sockets();
        bench.check("slow reader", &slow_reader(amount + amount / 10 + 100), &[]);
        let dropped = bench.full_sockets() - before;
        assert!(dropped >= amount, "{dropped} of at least {amount}");
        bench.close();
    }
}

/// Drops at the receiving socket where the kernel joins datagrams and drops them so: nothing else drops any, so the socket's entry is all
/// that was lost. Oracle of the runs: `RcvbufErrors`, which counts each as one.
pub(crate) fn at_the_receiving_socket_in_runs() {
    for amount in AMOUNTS {
        let bench = Bench::direct();
        let before = bench.full_sockets();
        let spec = TestSpec {
            datapath: "sockets,gso=true,gro=true".parse().unwrap(),
            ..slow_reader(amount * 2 + 10_000).with_pace(Pace::Unpaced)
        };
        let trial = bench.run(&spec).trials.remove(0);
        let dropped = bench.full_sockets() - before;
        let lost = trial.packets().unwrap().lost.unwrap().get();
        println!("\n    slow reader of runs: {dropped} runs, {lost} datagrams");
        assert!(lost >= amount, "{lost} of at least {amount}");
        assert!(lost > dropped, "the kernel joined none");
        let ledger = ledger_of(&trial);
        assert_eq!(
            ledger,
            [(Place::ReceiverSocket, lost)].into(),
            "{:?}",
            trial.ledger()
        );
        let socket = trial.raw()[1].streams[0].work.receive_socket().unwrap();
        assert_eq!(socket.dropped_runs, Some(dropped));
        bench.close();
    }
}
