//! Every workload runs over every datapath, and both ends agree on what happened.

mod crr;
mod threads;

use super::*;
use crate::datapaths::DatapathKind;
use crate::{EndpointPlan, Opened, Role, Running, check, datapaths};
use linerate_model::sample::{
    ConnectionOpener, DatagramReceiver, DatagramSender, MarkedByteStreamSender, OpenLoopRequester,
    StreamWork,
};
use linerate_model::spec::{
    DatapathChoice, Direction, Imitation, OpenLoop, Pace, SocketChoice, Stop, TestWork, Transport,
    WaitMode, WorkloadId,
};
use linerate_model::{BitRate, ByteCount, PacketCount, PacketRate};
use linerate_peers::{Sent, native};
use std::time::Duration;

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

fn plan(spec: &TestSpec, role: Role, side: Side) -> EndpointPlan {
    EndpointPlan {
        side,
        role,
        spec: spec.clone(),
        format: Arc::new(native::Streams { token: 77 }),
    }
}

/// Client and server of `spec` at work, connected over `address`; the client is `side`.
fn started(spec: &TestSpec, side: Side, address: &str) -> (Running, Running) {
    let local = address.parse().unwrap();
    let mut server = Opened::listen(plan(spec, Role::Server, side.other()), local).unwrap();
    let (ports, client) = (server.ports(), plan(spec, Role::Client, side));
    let client =
        std::thread::spawn(move || Opened::connect(client, local, &ports, TEST_TIMEOUT).unwrap());
    server
        .await_peer(local.ip(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let client = client.join().unwrap();
    // Receivers first.
    match side {
        Side::Sender => {
            let server = server.start().unwrap();
            (client.start().unwrap(), server)
        }
        Side::Receiver => {
            let client = client.start().unwrap();
            (client, server.start().unwrap())
        }
    }
}

/// Runs `spec` to its end: reports of the sender and of the receiver.
fn exchange(
    spec: &TestSpec,
    client: Side,
    address: &str,
) -> (Vec<StreamReport>, Vec<StreamReport>) {
    let (client_end, server_end) = started(spec, client, address);
    let (sender, receiver) = match client {
        Side::Sender => (client_end, server_end),
        Side::Receiver => (server_end, client_end),
    };
    let sent = sender.join();
    let kind = find(&spec.workload).unwrap();
    if spec.transport() == Transport::Udp || kind.connects() {
        let counts: Vec<_> = sent.iter().map(|report| report.packets).collect();
        receiver.finish(Sent::Packets(counts), Duration::from_millis(300));
    }
    (sent, receiver.join())
}

fn over(id: &str, spec: TestSpec) -> TestSpec {
    TestSpec {
        datapath: DatapathChoice {
            id: id.to_owned(),
            ..DatapathChoice::default()
        },
        ..spec
    }
}

fn datagrams(count: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(count),
        // Room for 500 of them under the usual cap, should the receiver not run for a while.
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(2 << 20)),
            ..SocketChoice::default()
        },
        // Slow enough that no buffer overflows, so that "all arrived" can be asserted.
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(8_000_000)))
            .with_payload(ByteCount::new(200))
    }
}

fn bulk(bytes: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Bytes(ByteCount::new(bytes)),
        ..TestSpec::tcp_bulk()
    }
}

fn ping_pong(transport: Transport, payload: u64, count: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(count),
        ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(payload))
    }
}

fn requests(transport: Transport, count: u64) -> TestSpec {
    let rate = PacketRate::from_pps(2000.0);
    TestSpec {
        stop: Stop::Transactions(count),
        work: TestWork::OpenLoop(OpenLoop {
            // A loaded machine may keep an answer back for long; none is lost.
            answer_timeout: Duration::from_secs(10),
            ..OpenLoop::new(transport, rate)
        }),
        ..TestSpec::request_response(transport, rate)
    }
}

fn total_bytes(reports: &[StreamReport]) -> u64 {
    reports.iter().map(|report| report.bytes.get()).sum()
}

fn total_packets(reports: &[StreamReport]) -> u64 {
    reports.iter().map(|report| report.packets.get()).sum()
}

#[test]
fn ids_are_unique_and_summaries_are_sentences() {
    let mut ids: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ALL.len());
    for kind in ALL {
        assert!(kind.summary().ends_with('.'), "{}", kind.id());
        assert!(find(&WorkloadId::new(kind.id())).is_ok());
    }
}

/// Those that carry traffic within one host.
fn local_datapaths() -> impl Iterator<Item = &'static dyn DatapathKind> {
    let all = datapaths::ALL.iter().copied();
    all.filter(|kind| kind.runs_on_loopback())
}

#[test]
fn every_workload_does_its_example_and_both_ends_count_alike() {
    for (kind, path) in ALL
        .iter()
        .flat_map(|kind| local_datapaths().map(move |path| (kind, path)))
    {
        let spec = over(path.id(), kind.example());
        assert_eq!(spec.workload.as_str(), kind.id());
        if path.check(&spec).is_err() || check(&spec, &native::Streams { token: 1 }).is_err() {
            // A datapath may lack what a workload needs; its sockets have all.
            assert_ne!(path.id(), DatapathChoice::default().id, "{}", kind.id());
            continue;
        }
        let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
        let what = format!("{} over {}: {sent:?} {received:?}", kind.id(), path.id());
        assert!(total_bytes(&sent) > 0, "{what}");
        assert_eq!(total_bytes(&sent), total_bytes(&received), "{what}");
        for report in sent.iter().chain(&received) {
            assert!(report.errors.is_empty(), "{what}");
            assert_ne!(report.work, StreamWork::Unreported, "{what}");
        }
    }
}

#[test]
fn the_page_of_workloads_has_a_row_for_each() {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    assert_eq!(rows.count(), ALL.len());
}

#[test]
fn datagrams_all_arrive_and_are_counted_alike() {
    for kind in local_datapaths() {
        for client in [Side::Sender, Side::Receiver] {
            let spec = over(kind.id(), datagrams(500));
            let (sent, received) = exchange(&spec, client, "127.0.0.1:0");
            assert_eq!(total_packets(&sent), 500, "{}", kind.id());
            assert_eq!(total_packets(&received), 500, "{}", kind.id());
            assert_eq!(total_bytes(&received), 100_000);
            let seen = received[0].work.get::<DatagramReceiver>().unwrap();
            let sequence = seen.sequence;
            assert_eq!(sequence.next_expected, 500);
            assert_eq!(sequence.foreign, PacketCount::new(0));
            assert_eq!(seen.socket.socket_overflows, Some(PacketCount::new(0)));
            assert_eq!(seen.times.pdv.as_ref().unwrap().len(), 500);
            assert_eq!(sent[0].work.lateness().unwrap().len(), 500);
        }
    }
}

#[test]
fn bulk_bytes_all_arrive() {
    for kind in local_datapaths() {
        for client in [Side::Sender, Side::Receiver] {
            let spec = over(kind.id(), bulk(3_000_001));
            let (sent, received) = exchange(&spec, client, "127.0.0.1:0");
            assert_eq!(total_bytes(&sent), 3_000_001, "{}", kind.id());
            assert_eq!(total_bytes(&received), 3_000_001, "{}", kind.id());
            let intervals = &received[0].intervals;
            let sum: u64 = intervals.iter().map(|i| i.bytes.get()).sum();
            assert_eq!(sum, 3_000_001);
        }
    }
}

#[test]
fn ping_pong_completes_every_transaction_at_every_size() {
    for kind in local_datapaths() {
        for wait in [WaitMode::Block, WaitMode::Spin] {
            let udp = [0, 1, 8, 17, 18, 1400].map(|size| (Transport::Udp, size));
            let tcp = [1, 17, 18, 70_000].map(|size| (Transport::Tcp, size));
            for (transport, size) in udp.into_iter().chain(tcp) {
                let mut spec = over(kind.id(), ping_pong(transport, size, 20));
                spec.wait = wait;
                let (asked, answered) = exchange(&spec, Side::Sender, "127.0.0.1:0");
                let what = format!("{} {transport:?} {size} {wait:?}", kind.id());
                let timeouts = asked[0].work.timeouts().unwrap().get();
                assert_eq!(total_packets(&asked) + timeouts, 20, "{what}");
                // A timeout needs 100 ms without a core on a loaded machine; ten are a fault.
                assert!(timeouts < 10, "{what}");
                assert!(total_packets(&answered) >= total_packets(&asked), "{what}");
                let rtts = asked[0].work.rtt().unwrap().len();
                assert_eq!(rtts, total_packets(&asked), "{what}");
            }
        }
    }
}

#[test]
fn requests_at_a_rate_are_all_answered_whoever_asks() {
    for kind in datapaths::ALL.iter().filter(|kind| kind.runs_on_loopback()) {
        for (transport, wait, client) in [
            (Transport::Udp, WaitMode::Block, Side::Sender),
            (Transport::Udp, WaitMode::Spin, Side::Receiver),
            (Transport::Tcp, WaitMode::Block, Side::Receiver),
            (Transport::Tcp, WaitMode::Spin, Side::Sender),
        ] {
            let mut spec = over(kind.id(), requests(transport, 200));
            spec.wait = wait;
            let (asked, answered) = exchange(&spec, client, "127.0.0.1:0");
            let what = format!("{} {transport:?} {wait:?}", kind.id());
            let requester = asked[0].work.get::<OpenLoopRequester>().unwrap();
            let count = requester.requests;
            assert_eq!(count.intended.get(), 200, "{what}: {count:?}");
            assert_eq!(count.answered.get(), 200, "{what}: {count:?}");
            assert_eq!(count.foreign.get(), 0, "{what}");
            let (response, service) = (&requester.response, &requester.rtt);
            assert_eq!((response.len(), service.len()), (200, 200), "{what}");
            assert!(response.max_nanos() >= service.max_nanos(), "{what}");
            assert_eq!(total_packets(&answered), 200, "{what}");
        }
    }
}

#[test]
fn marks_come_back_through_the_stream_that_carries_them() {
    for kind in datapaths::ALL.iter().filter(|kind| kind.runs_on_loopback()) {
        let spec = TestSpec {
            stop: Stop::After(Duration::from_millis(300)),
            streams: 2,
            ..TestSpec::marked_bulk().with_payload(ByteCount::new(5000))
        };
        let spec = over(kind.id(), spec);
        let (sent, received) = exchange(&spec, Side::Receiver, "127.0.0.1:0");
        assert_eq!(total_bytes(&sent), total_bytes(&received), "{}", kind.id());
        for stream in &sent {
            let sender = stream.work.get::<MarkedByteStreamSender>().unwrap();
            assert!(!sender.in_band.is_empty(), "{}", kind.id());
        }
    }
}

#[test]
fn short_connections_are_timed_each() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (opened, answered) =
            exchange(&connections::Connections.example(), Side::Sender, address);
        assert_eq!(total_packets(&opened), 3, "{:?}", opened[0].errors);
        assert_eq!(total_packets(&answered), 3);
        let timed = opened[0].work.get::<ConnectionOpener>().unwrap();
        assert_eq!(timed.handshake.len(), 3);
        assert_eq!(timed.rtt.len(), 3);
    }
}

#[test]
fn a_test_with_another_tool_is_refused_with_the_reason() {
    let rate = PacketRate::from_pps(10.0);
    for spec in [
        TestSpec::request_response(Transport::Tcp, rate),
        TestSpec::marked_bulk(),
        TestSpec::connections(),
    ] {
        let error = check(&spec, &linerate_peers::sockperf::Streams)
            .unwrap_err()
            .to_string();
        assert!(error.contains("`linerate serve`"), "{error}");
    }
}

#[test]
fn streams_share_the_whole() {
    let mut spec = datagrams(100);
    spec.streams = 3;
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    let each: Vec<_> = sent.iter().map(|report| report.packets.get()).collect();
    assert_eq!(each, [34, 33, 33]);
    assert_eq!(total_packets(&received), 100);
    assert_eq!(received[2].index, 2);
}

#[test]
fn ipv6_carries_all_workloads() {
    let specs = [
        datagrams(50),
        bulk(100_000),
        ping_pong(Transport::Udp, 32, 5),
        ping_pong(Transport::Tcp, 32, 5),
    ];
    for spec in specs {
        let (sent, received) = exchange(&spec, Side::Sender, "[::1]:0");
        assert_eq!(
            total_bytes(&sent),
            total_bytes(&received),
            "{}",
            spec.workload
        );
        assert!(total_bytes(&received) > 0);
    }
}

#[test]
fn segmentation_offload_delivers_the_same_datagrams() {
    let mut spec = datagrams(400);
    spec.work.set_pace(Pace::At(BitRate::from_bps(400_000_000)));
    for (key, value) in [("gso", "8"), ("gro", "true")] {
        spec.datapath
            .params
            .insert(key.to_owned(), value.to_owned());
    }
    spec.socket.receive_buffer_bytes = Some(ByteCount::new(2 << 20));
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    assert_eq!(total_packets(&sent), 400);
    assert_eq!(total_packets(&received), 400);
    let sender = sent[0].work.get::<DatagramSender>().unwrap();
    assert!(sender.burst_max.get() > 1);
}

#[test]
fn warm_up_is_sent_and_not_counted() {
    let mut spec = datagrams(50);
    spec.warm_up = Duration::from_millis(50);
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    assert_eq!(total_packets(&sent), 50);
    assert_eq!(total_packets(&received), 50);
    assert_eq!(received[0].work.sequence().unwrap().next_expected, 50);
}

#[test]
fn a_slow_reader_loses_exactly_what_its_socket_dropped() {
    let spec = TestSpec {
        stop: Stop::Transactions(2000),
        imitation: Some(Imitation::slow_receiver(Duration::from_millis(1))),
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(8192)),
            ..SocketChoice::default()
        },
        ..datagrams(0)
            .with_pace(Pace::At(BitRate::from_bps(80_000_000)))
            .with_payload(ByteCount::new(1000))
    };
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    let lost = total_packets(&sent) - total_packets(&received);
    assert!(lost > 0, "nothing was lost");
    let overflows = received[0].work.socket_overflows();
    assert_eq!(overflows, Some(PacketCount::new(lost)));
}

/// Four writes with three rests between them: the transfer cannot be shorter than the rests.
#[test]
fn a_bursty_application_rests_between_its_writes() {
    let rest = Duration::from_millis(30);
    let spec = TestSpec {
        imitation: Some(Imitation::SlowSender { pause: rest }),
        ..bulk(4000).with_payload(ByteCount::new(1000))
    };
    for kind in local_datapaths() {
        let (sent, received) =
            exchange(&over(kind.id(), spec.clone()), Side::Sender, "127.0.0.1:0");
        assert!(sent[0].duration >= rest * 3, "{:?}", sent[0].duration);
        assert_eq!(total_bytes(&received), 4000, "{}", kind.id());
    }
}

#[test]
fn a_sender_whose_peer_closed_ends_with_an_error_count() {
    let mut spec = datagrams(0);
    spec.stop = Stop::After(TEST_TIMEOUT);
    spec.work.set_pace(Pace::Unpaced);
    let (sender, receiver) = started(&spec, Side::Sender, "127.0.0.1:0");
    receiver.stop();
    receiver.join();
    let reports = sender.join();
    let errors = &reports[0].errors;
    assert!(
        errors.iter().any(|error| error.errno == "ECONNREFUSED"),
        "{errors:?}"
    );
    let spec = bulk(1 << 40);
    let (sender, receiver) = started(&spec, Side::Sender, "127.0.0.1:0");
    receiver.stop();
    receiver.join();
    let reports = sender.join();
    let gone = ["ECONNRESET", "EPIPE"];
    let errors = &reports[0].errors;
    assert!(
        errors
            .iter()
            .any(|error| gone.contains(&error.errno.as_str())),
        "{errors:?}"
    );
}

#[test]
fn stopping_ends_both_ends() {
    for kind in local_datapaths() {
        for spec in [
            datagrams(1 << 40),
            bulk(1 << 50),
            ping_pong(Transport::Udp, 32, 1 << 40),
        ] {
            let spec = over(kind.id(), spec);
            let (sender, receiver) = started(&spec, Side::Sender, "127.0.0.1:0");
            sender.stop();
            sender.join();
            receiver.stop();
            let progress = receiver.progress();
            let reports = receiver.join();
            assert!(total_bytes(&reports) >= progress.bytes);
        }
    }
}

#[test]
fn the_first_answer_of_a_ping_pong_is_heard() {
    for transport in [Transport::Udp, Transport::Tcp] {
        let spec = ping_pong(transport, 32, 1);
        let (sender, receiver) = started(&spec, Side::Sender, "127.0.0.1:0");
        while !sender.is_finished() {
            std::thread::yield_now();
        }
        assert!(sender.heard().all(|heard| heard), "{transport}");
        sender.join();
        receiver.stop();
        receiver.join();
    }
}

#[test]
fn a_time_limit_ends_a_paced_sender_with_every_slot_accounted_for() {
    let mut spec = datagrams(0);
    spec.stop = Stop::After(Duration::from_millis(100));
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    // 8 Mbit/s of 200 bytes: 5000 per second.
    let sender = sent[0].work.get::<DatagramSender>().unwrap();
    let slots = sent[0].packets.get() + sender.unsent.get();
    assert_eq!(slots, 500);
    assert!(sent[0].duration >= Duration::from_millis(100));
    assert_eq!(total_packets(&received), total_packets(&sent));
}

#[test]
fn tcp_reports_what_the_kernel_knows() {
    let mut spec = bulk(1_000_000);
    spec.socket.congestion_control = Some("reno".to_owned());
    spec.socket.send_buffer_bytes = Some(ByteCount::new(65_536));
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    let last = sent[0].work.tcp_samples().last().unwrap();
    assert!(last.cwnd_bytes.unwrap() > 0);
    assert!(last.bytes_sent.unwrap() >= 1_000_000);
    assert_eq!(
        sent[0].path.send_buffer_bytes,
        Some(ByteCount::new(131_072))
    );
    let last = received[0].work.tcp_samples().last().unwrap();
    assert!(last.bytes_received.unwrap() >= 1_000_000);
}

#[test]
fn a_missing_core_is_an_error_that_names_it() {
    let mut spec = datagrams(1);
    spec.pinning.local = Some(1000);
    let local = "127.0.0.1:0".parse().unwrap();
    let mut server = Opened::listen(plan(&spec, Role::Server, Side::Receiver), local).unwrap();
    let (ports, client) = (server.ports(), plan(&spec, Role::Client, Side::Sender));
    let client =
        std::thread::spawn(move || Opened::connect(client, local, &ports, TEST_TIMEOUT).unwrap());
    server
        .await_peer(local.ip(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let error = client.join().unwrap().start().err().unwrap().to_string();
    assert!(error.contains("core 1000"), "{error}");
}

#[test]
fn too_small_a_datagram_names_the_least_size() {
    let mut spec = datagrams(1);
    spec.work.set_payload(ByteCount::new(17));
    let error = check(&spec, &native::Streams { token: 1 })
        .unwrap_err()
        .to_string();
    assert!(error.contains("18"), "{error}");
}
