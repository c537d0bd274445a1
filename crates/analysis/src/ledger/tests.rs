use super::*;
use crate::assemble::tests::{any_report, received, report, set};
use linerate_model::sample::XdpReport;
use linerate_model::signals as signal;
use linerate_model::spec::Side;
use proptest::prelude::*;

fn lost(sent: u64, lost: u64) -> Packets {
    Packets {
        sent: Some(PacketCount::new(sent)),
        received: Some(PacketCount::new(sent - lost)),
        lost: Some(PacketCount::new(lost)),
        ..Packets::default()
    }
}

/// Two ends that read every counter: 1000 datagrams sent, `got` taken, nothing dropped anywhere.
fn ends(got: u64, arrived: u64) -> (EndpointReport, EndpointReport) {
    let mut sender = report(Side::Sender, 1000, 1448);
    let mut receiver = report(Side::Receiver, got, 1448);
    set(&mut sender, signal::NIC_TX_PACKETS, 1003);
    set(&mut sender, signal::NIC_TX_BYTES, 1003 * 1490);
    for name in [
        signal::QDISC_DROPPED,
        signal::UDP_SNDBUF_ERRORS,
        signal::NIC_TX_DROPPED,
    ] {
        set(&mut sender, name, 0);
    }
    set(&mut receiver, signal::NIC_RX_PACKETS, arrived);
    set(&mut receiver, signal::NIC_RX_BYTES, arrived * 1490);
    for name in [
        signal::NIC_RX_DROPPED,
        signal::NIC_RX_ERRORS,
        signal::SOFTNET_DROPPED,
        signal::UDP_RCVBUF_ERRORS,
        signal::UDP_CSUM_ERRORS,
    ] {
        set(&mut receiver, name, 0);
    }
    (sender, receiver)
}

fn placed(entries: &[LedgerEntry]) -> Vec<(Place, u64)> {
    entries
        .iter()
        .map(|entry| (entry.place, entry.packets.get()))
        .collect()
}

#[test]
fn what_is_counted_nowhere_and_did_not_arrive_was_lost_in_the_network() {
    let (sender, receiver) = ends(863, 866);
    let entries = place(&lost(1000, 137), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Network, 137)]);
    assert!(
        entries[0].source.contains("sent 1003"),
        "{}",
        entries[0].source
    );
    assert!(
        entries[0].source.contains("got 866"),
        "{}",
        entries[0].source
    );
}

#[test]
fn the_sockets_own_count_comes_first_and_is_exact() {
    let (sender, mut receiver) = ends(700, 902);
    received(&mut receiver).socket.socket_overflows = Some(PacketCount::new(200));
    set(&mut receiver, signal::UDP_RCVBUF_ERRORS, 200);
    let entries = place(&lost(1000, 300), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::Network, 100), (Place::ReceiverSocket, 200)]
    );
    assert!(entries[1].source.contains("SO_RXQ_OVFL"));
}

#[test]
fn runs_that_the_socket_dropped_are_its_own_however_many_datagrams_they_held() {
    let (sender, mut receiver) = ends(700, 902);
    received(&mut receiver).socket.socket_overflows = Some(PacketCount::new(200));
    received(&mut receiver).socket.dropped_runs = Some(5);
    set(&mut receiver, signal::UDP_RCVBUF_ERRORS, 5);
    let entries = place(&lost(1000, 300), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::Network, 100), (Place::ReceiverSocket, 200)]
    );
    assert!(
        entries[1].source.contains("5 runs"),
        "{}",
        entries[1].source
    );
}

/// 45 datagrams each came as one, and so they were dropped; who took them counts no drops of its own.
#[test]
fn a_drop_that_may_be_of_many_leaves_nothing_to_the_network() {
    for counter in [signal::UDP_RCVBUF_ERRORS, signal::NIC_RX_DROPPED] {
        let (sender, mut receiver) = ends(700, 22);
        set(&mut receiver, signal::NIC_RX_BYTES, 902 * 1490);
        set(&mut receiver, counter, 4);
        let entries = place(&lost(1000, 300), Some(&sender), Some(&receiver));
        let unknown = entries.iter().find(|entry| entry.place == Place::Unknown);
        let unknown = unknown.unwrap();
        assert_eq!(unknown.packets.get(), 296, "{entries:?}");
        assert!(unknown.source.contains("came as one"), "{}", unknown.source);
    }
}

#[test]
fn what_other_sockets_of_the_receiver_dropped_is_not_ours() {
    let (sender, mut receiver) = ends(900, 5000);
    received(&mut receiver).socket.socket_overflows = Some(PacketCount::new(0));
    set(&mut receiver, signal::UDP_RCVBUF_ERRORS, 4000);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Network, 100)]);
}

#[test]
fn a_host_wide_counter_says_that_it_is_an_upper_bound() {
    let (sender, mut receiver) = ends(900, 1003);
    set(&mut receiver, signal::SOFTNET_DROPPED, 100);
    set(&mut receiver, signal::NIC_RX_DROPPED, 100);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::ReceiverBacklog, 100)]);
    assert!(entries[0].source.contains("upper bound"));
}

#[test]
fn a_qdisc_drop_is_not_counted_again_as_a_send_buffer_error() {
    let (mut sender, receiver) = ends(900, 902);
    set(&mut sender, signal::QDISC_DROPPED, 100);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, 100);
    set(&mut sender, signal::NIC_TX_PACKETS, 1000);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::SenderQdisc, 100)]);
}

#[test]
fn two_counters_that_claim_too_much_leave_a_rest_unknown() {
    let (mut sender, mut receiver) = ends(900, 1003);
    set(&mut sender, signal::NIC_TX_DROPPED, 70);
    set(&mut receiver, signal::NIC_RX_DROPPED, 60);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [
            (Place::SenderNic, 40),
            (Place::ReceiverNic, 30),
            (Place::Unknown, 30)
        ]
    );
    assert!(entries[2].source.contains("claim more than was lost"));
}

/// What Linux counts when a veth's peer drops on arrival: the same event four times.
fn veth_pair(dropped: u64, backlog: u64) -> (EndpointReport, EndpointReport) {
    let (mut sender, mut receiver) = ends(1000 - dropped, 1003 - dropped);
    for (report, own, peer) in [(&mut sender, 2, 3), (&mut receiver, 3, 2)] {
        report
            .after
            .values
            .insert(signal::NIC_INDEX.to_owned(), own);
        report
            .after
            .values
            .insert(signal::NIC_PEER_INDEX.to_owned(), peer);
    }
    set(&mut sender, signal::NIC_TX_PACKETS, 1003 - dropped);
    set(&mut sender, signal::NIC_TX_BYTES, (1003 - dropped) * 1490);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, dropped);
    set(&mut sender, signal::UDP_OUT_DATAGRAMS, 1000 - dropped);
    set(&mut sender, signal::NIC_TX_DROPPED, dropped);
    set(&mut receiver, signal::NIC_RX_DROPPED, dropped);
    set(&mut receiver, signal::SOFTNET_DROPPED, backlog);
    (sender, receiver)
}

#[test]
fn what_a_veths_peer_drops_on_arrival_is_one_event_in_four_counters() {
    let (sender, receiver) = veth_pair(100, 0);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::ReceiverNic, 100)]);
    let (sender, receiver) = veth_pair(100, 100);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::ReceiverBacklog, 100)]);
}

#[test]
fn backlog_drops_of_another_interface_are_not_ours() {
    let (sender, mut receiver) = ends(900, 903);
    set(&mut receiver, signal::SOFTNET_DROPPED, 5000);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Network, 100)]);
}

#[test]
fn without_another_sender_the_queues_share_of_the_send_errors_is_exact() {
    // The queue dropped 100 of ours and two segments of the control connection; 37 were lost later.
    let (mut sender, receiver) = ends(863, 866);
    set(&mut sender, signal::QDISC_DROPPED, 102);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, 100);
    set(&mut sender, signal::UDP_OUT_DATAGRAMS, 900);
    set(&mut sender, signal::NIC_TX_PACKETS, 903);
    set(&mut sender, signal::NIC_TX_BYTES, 903 * 1490);
    let entries = place(&lost(1000, 137), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::SenderQdisc, 100), (Place::Network, 37)]
    );
    assert!(entries[0].source.contains("exact"), "{entries:?}");
}

#[test]
fn a_counter_that_holds_far_more_than_was_lost_proves_nothing() {
    let (mut sender, receiver) = ends(900, 1003);
    set(&mut sender, signal::QDISC_DROPPED, 5000);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, 5000);
    set(&mut sender, signal::UDP_OUT_DATAGRAMS, 9000);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Unknown, 100)]);
    assert!(entries[0].source.contains("other traffic"), "{entries:?}");
}

#[test]
fn what_reached_the_receivers_interface_and_no_protocol_was_filtered_there() {
    let (sender, mut receiver) = ends(900, 1003);
    set(&mut receiver, signal::IP_IN_RECEIVES, 1003);
    set(&mut receiver, signal::IP_IN_DELIVERS, 903);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    let unknown = entries.iter().find(|entry| entry.place == Place::Unknown);
    assert_eq!(unknown.unwrap().packets.get(), 98, "all but the skew");
    assert!(unknown.unwrap().source.contains("packet filter"));
}

#[test]
fn without_the_receivers_counters_the_place_is_unknown_and_says_why() {
    let (sender, mut receiver) = ends(900, 1003);
    receiver.after.values.remove(signal::SOFTNET_DROPPED);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Unknown, 100)]);
    assert!(entries[0].source.contains(signal::SOFTNET_DROPPED));
}

#[test]
fn what_provably_did_not_arrive_is_the_networks_even_if_the_receiver_is_half_blind() {
    let (sender, mut receiver) = ends(900, 920);
    receiver.after.values.remove(signal::SOFTNET_DROPPED);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::Network, 80), (Place::Unknown, 20)]
    );
}

#[test]
fn an_interface_that_sent_too_little_does_not_accuse_the_network() {
    let (mut sender, receiver) = ends(900, 903);
    set(&mut sender, signal::NIC_TX_PACKETS, 950);
    set(&mut sender, signal::NIC_TX_BYTES, 950 * 1490);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Unknown, 100)]);
    assert!(entries[0].source.contains("at most 950 left"));
}

#[test]
fn aggregated_packets_are_bounded_by_their_bytes() {
    let (mut sender, mut receiver) = ends(900, 0);
    // Ten datagrams of 1448 bytes in each packet: 100 went out, 90 came in.
    set(&mut sender, signal::NIC_TX_PACKETS, 100);
    set(&mut sender, signal::NIC_TX_BYTES, 100 * 14_522);
    set(&mut receiver, signal::NIC_RX_PACKETS, 90);
    set(&mut receiver, signal::NIC_RX_BYTES, 90 * 14_522);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Network, 100)]);
    assert!(entries[0].source.contains("aggregated"));
}

#[test]
fn nothing_lost_is_an_empty_ledger() {
    let (sender, receiver) = ends(1000, 1003);
    assert!(place(&lost(1000, 0), Some(&sender), Some(&receiver)).is_empty());
    assert!(place(&Packets::default(), Some(&sender), None).is_empty());
}

const REASONS: [&str; 4] = [
    "CPU_BACKLOG",
    "NETFILTER_DROP",
    "NOT_SPECIFIED",
    "QDISC_DROP",
];

/// Lets the kernel have counted drop reasons at this end: own and all packets.
fn watched(report: &mut EndpointReport, reason: &str, own: u64, all: u64) {
    let values = &mut report.after.values;
    values.insert(signal::DROPS_WATCHED.to_owned(), 1);
    values.insert(signal::own_drops(reason), own);
    values.insert(signal::all_drops(reason), all);
}

#[test]
fn drop_reasons_tell_the_tests_own_from_another_flows() {
    let (mut sender, receiver) = ends(900, 903);
    set(&mut sender, signal::QDISC_DROPPED, 5000);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, 5000);
    set(&mut sender, signal::UDP_OUT_DATAGRAMS, 9000);
    watched(&mut sender, "QDISC_DROP", 60, 5000);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::SenderQdisc, 60), (Place::Network, 40)]
    );
}

#[test]
fn a_drop_at_the_receiver_that_has_no_place_is_unknown_with_its_reason() {
    let (sender, mut receiver) = ends(900, 963);
    watched(&mut receiver, "NETFILTER_DROP", 60, 60);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::Network, 40), (Place::Unknown, 60)]
    );
    assert!(entries[1].source.contains("NETFILTER_DROP"));
}

#[test]
fn an_unknown_says_that_drop_reasons_could_tell_and_why_there_are_none() {
    let (mut sender, receiver) = ends(900, 1003);
    set(&mut sender, signal::QDISC_DROPPED, 5000);
    let why = "bpf map: not permitted; run as root".to_owned();
    sender
        .after
        .missing
        .insert(signal::DROPS_WATCHED.to_owned(), why);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert!(entries[0].source.contains("run as root"), "{entries:?}");
}

proptest! {
    #[test]
    fn places_always_sum_to_what_was_lost(
        sent in any::<u64>(),
        share in 0.0..=1.0_f64,
        sender in proptest::option::of(any_report(Side::Sender)),
        receiver in proptest::option::of(any_report(Side::Receiver)),
        (reason, own, all) in (0..REASONS.len(), any::<u64>(), any::<u64>()),
    ) {
        let with_reasons = |report: EndpointReport| {
            let mut report = report;
            watched(&mut report, REASONS[reason], own, all);
            report
        };
        let sender = sender.map(with_reasons);
        let receiver = receiver.map(with_reasons);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "any share will do")]
        let missing = ((sent as f64 * share) as u64).min(sent);
        let entries = place(&lost(sent, missing), sender.as_ref(), receiver.as_ref());
        let sum: u64 = entries.iter().map(|entry| entry.packets.get()).sum();
        prop_assert_eq!(sum, missing);
        prop_assert!(entries.iter().all(|entry| entry.packets.get() > 0));
        prop_assert!(entries.iter().all(|entry| !entry.source.is_empty()));
    }
}

/// Makes both ends those of a stream past the stack, of which the receiver's sockets dropped so many.
fn past_the_stack(sender: &mut EndpointReport, receiver: &mut EndpointReport, dropped: u64) {
    sender.streams[0].path.xdp = Some(XdpReport::default());
    received(receiver).socket.socket_overflows = Some(PacketCount::new(dropped));
    receiver.streams[0].path.xdp = Some(XdpReport {
        dropped: PacketCount::new(dropped),
        ..XdpReport::default()
    });
    // Its datagrams are none of IP's.
    set(receiver, signal::IP_IN_RECEIVES, 3);
    set(receiver, signal::IP_IN_DELIVERS, 3);
}

#[test]
fn what_an_af_xdp_socket_dropped_is_its_own_and_a_veth_s_count_of_it_is_not_another() {
    let (mut sender, mut receiver) = ends(700, 902);
    past_the_stack(&mut sender, &mut receiver, 200);
    set(&mut receiver, signal::NIC_RX_DROPPED, 200);
    set(&mut receiver, signal::NIC_PEER_INDEX, 7);
    let entries = place(&lost(1000, 300), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::Network, 100), (Place::ReceiverSocket, 200)]
    );
    assert!(entries[1].source.contains("XDP_STATISTICS"));
}

#[test]
fn a_device_s_own_drops_before_an_af_xdp_socket_stay_the_device_s() {
    let (mut sender, mut receiver) = ends(750, 953);
    past_the_stack(&mut sender, &mut receiver, 200);
    set(&mut receiver, signal::NIC_RX_DROPPED, 50);
    let entries = place(&lost(1000, 250), Some(&sender), Some(&receiver));
    assert_eq!(
        placed(&entries),
        [(Place::ReceiverNic, 50), (Place::ReceiverSocket, 200)]
    );
}

#[test]
fn queues_and_sockets_of_the_sender_never_saw_what_passed_its_stack_by() {
    let (mut sender, mut receiver) = ends(900, 903);
    past_the_stack(&mut sender, &mut receiver, 0);
    set(&mut sender, signal::QDISC_DROPPED, 100);
    set(&mut sender, signal::UDP_SNDBUF_ERRORS, 100);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::Network, 100)]);
    set(&mut sender, signal::NIC_TX_DROPPED, 100);
    set(&mut sender, signal::NIC_TX_PACKETS, 903);
    let entries = place(&lost(1000, 100), Some(&sender), Some(&receiver));
    assert_eq!(placed(&entries), [(Place::SenderNic, 100)]);
}
