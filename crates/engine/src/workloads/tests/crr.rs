//! Connections that are opened as fast as they go: what both ends count of them.

use super::*;
use linerate_model::sample::{AcceptedCounts, ConnectionCounts, FlowClass, FlowReport, Responder};
use linerate_model::spec::{ConnectionClose, FlowLoad, ShortConnections, SizeDistribution};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

const ALL: [ConnectionClose; 3] = [
    ConnectionClose::Client,
    ConnectionClose::Reset,
    ConnectionClose::Server,
];

fn crr(stop: Stop, work: ShortConnections) -> TestSpec {
    TestSpec {
        stop,
        streams: 2,
        work: TestWork::Connections(work),
        ..TestSpec::tcp_crr()
    }
}

fn opened(reports: &[StreamReport]) -> ConnectionCounts {
    let of = |report: &StreamReport| report.work.get::<ConnectionOpener>().unwrap().counts;
    let all = reports.iter().map(|report| of(report).unwrap());
    all.reduce(ConnectionCounts::merged).unwrap()
}

fn accepted(reports: &[StreamReport]) -> AcceptedCounts {
    let of = |report: &StreamReport| report.work.get::<Responder>().unwrap().connections;
    let all = reports.iter().map(|report| of(report).unwrap());
    all.reduce(AcceptedCounts::merged).unwrap()
}

fn assert_balanced(client: &ConnectionCounts, server: &AcceptedCounts) {
    let outcomes = client.answered.get() + client.failed_in_all().get();
    assert_eq!(client.attempted.get(), outcomes, "{client:?}");
    let outcomes = [
        server.answered,
        server.foreign,
        server.unrequested,
        server.reset,
        server.unfinished,
    ];
    let outcomes: u64 = outcomes.into_iter().map(PacketCount::get).sum();
    assert_eq!(server.accepted.get(), outcomes, "{server:?}");
}

#[test]
fn both_ends_count_the_same_however_connections_are_closed() {
    for (close, address) in ALL
        .into_iter()
        .zip(["127.0.0.1:0", "[::1]:0", "127.0.0.1:0"])
    {
        let work = ShortConnections {
            request: ByteCount::new(1),
            response: ByteCount::new(1),
            concurrent: 7,
            close,
            ..ShortConnections::default()
        };
        let (sent, received) = exchange(&crr(Stop::Transactions(60), work), Side::Sender, address);
        let (client, server) = (opened(&sent), accepted(&received));
        assert_balanced(&client, &server);
        let counts = [client.attempted, client.opened, client.answered].map(PacketCount::get);
        assert_eq!(counts, [60; 3], "{close:?} {:?}", sent[0].errors);
        let counts = [server.accepted, server.answered].map(PacketCount::get);
        assert_eq!(counts, [60; 2], "{close:?}");
        assert!(client.most_open.get() <= 7, "{client:?}");
        assert_eq!(total_packets(&sent), 60);
        assert_eq!(total_packets(&received), 60);
        let timed = sent[0].work.get::<ConnectionOpener>().unwrap();
        assert_eq!(timed.handshake.len(), 30);
        assert_eq!(timed.rtt.len(), 30);
        assert_eq!(timed.transaction.as_ref().unwrap().len(), 30);
    }
}

#[test]
fn messages_may_be_longer_than_any_buffer() {
    for close in ALL {
        let work = ShortConnections {
            request: ByteCount::new(1 << 20),
            response: ByteCount::new(1 << 20),
            concurrent: 2,
            close,
            timeout: Duration::from_secs(10),
            flows: None,
        };
        let (sent, received) = exchange(
            &crr(Stop::Transactions(6), work),
            Side::Sender,
            "127.0.0.1:0",
        );
        let (client, server) = (opened(&sent), accepted(&received));
        assert_balanced(&client, &server);
        assert_eq!(client.answered.get(), 6, "{close:?} {client:?} {server:?}");
        assert_eq!(server.answered.get(), 6, "{close:?}");
    }
}

#[test]
fn held_connections_are_open_at_once_at_both_ends() {
    let work = ShortConnections {
        concurrent: 150,
        close: ConnectionClose::Hold,
        ..ShortConnections::default()
    };
    let spec = crr(Stop::After(Duration::from_millis(500)), work);
    let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
    let (client, server) = (opened(&sent), accepted(&received));
    assert_balanced(&client, &server);
    assert_eq!(client.answered.get(), 150, "{client:?}");
    assert_eq!(client.most_open.get(), 150);
    assert_eq!(server.most_open.get(), 150, "{server:?}");
    assert_eq!(client.lost_open.get(), 0);
}

/// Both ends of `spec`, connected and not started, and the server's ports.
fn connected(spec: &TestSpec) -> (Opened, Opened, Vec<u16>) {
    let local = "127.0.0.1:0".parse().unwrap();
    let mut server = Opened::listen(plan(spec, Role::Server, Side::Receiver), local).unwrap();
    let (ports, client) = (server.ports(), plan(spec, Role::Client, Side::Sender));
    let there = ports.clone();
    let client =
        std::thread::spawn(move || Opened::connect(client, local, &there, TEST_TIMEOUT).unwrap());
    server
        .await_peer(local.ip(), TEST_TIMEOUT, &|| false)
        .unwrap();
    (client.join().unwrap(), server, ports)
}

#[test]
fn connections_that_nobody_takes_are_refused() {
    let spec = crr(Stop::Transactions(20), ShortConnections::default());
    let spec = TestSpec { streams: 1, ..spec };
    let (client, server, _) = connected(&spec);
    drop(server);
    let sent = client.start().unwrap().join();
    let counts = opened(&sent);
    assert_eq!(
        (counts.attempted.get(), counts.refused.get()),
        (20, 20),
        "{counts:?}"
    );
    assert_eq!(counts.opened.get(), 0);
}

#[test]
fn a_connection_of_another_test_is_closed_and_counts_apart() {
    let spec = crr(Stop::Transactions(4), ShortConnections::default());
    let (client, server, ports) = connected(&TestSpec { streams: 1, ..spec });
    let server = server.start().unwrap();
    let mut foreign = TcpStream::connect((Ipv4Addr::LOCALHOST, ports[0])).unwrap();
    foreign.write_all(&[0; 18]).unwrap();
    assert!(!foreign.read(&mut [0]).is_ok_and(|read| read > 0));
    let sent = client.start().unwrap().join();
    let counts: Vec<_> = sent.iter().map(|report| report.packets).collect();
    server.finish(Sent::Packets(counts), Duration::from_millis(300));
    let (client, server) = (opened(&sent), accepted(&server.join()));
    assert_balanced(&client, &server);
    assert_eq!((server.foreign.get(), server.answered.get()), (1, 4));
}

#[test]
fn what_a_server_would_have_to_hold_is_bounded() {
    let spec = crr(Stop::Transactions(1), ShortConnections::default());
    let (client, server, ports) = connected(&TestSpec { streams: 1, ..spec });
    let server = server.start().unwrap();
    let most = usize::try_from(most_accepted(1, ConnectionClose::Client)).unwrap();
    let open = || TcpStream::connect((Ipv4Addr::LOCALHOST, ports[0])).unwrap();
    let silent: Vec<_> = (0..most + 10).map(|_| open()).collect();
    // Those that say nothing are closed in time, and the client has its turn.
    let sent = client.start().unwrap().join();
    server.finish(Sent::Untold, Duration::from_millis(300));
    let server = accepted(&server.join());
    drop(silent);
    assert!(server.most_open.get() <= most as u64, "{server:?}");
    assert!(server.unrequested.get() > 0, "{server:?}");
    assert_eq!(opened(&sent).attempted.get(), 1);
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    type Change = fn(&mut TestSpec);
    let bad: [(&str, Change); 6] = [
        ("direction", |spec| spec.direction = Direction::Reverse),
        ("datapath", |spec| spec.datapath.id = "io-uring".to_owned()),
        ("wait", |spec| spec.wait = WaitMode::BusyPoll),
        ("stop", |spec| spec.stop = Stop::Bytes(ByteCount::new(9))),
        ("workload", |spec| spec.work = TestSpec::tcp_bulk().work),
        ("response", |spec| {
            if let TestWork::Connections(work) = &mut spec.work {
                work.response = ByteCount::new(0);
            }
        }),
    ];
    for (key, change) in bad {
        let mut spec = TestSpec::tcp_crr();
        check(&spec, &native::Streams { token: 1 }).unwrap();
        change(&mut spec);
        let error = check(&spec, &native::Streams { token: 1 }).unwrap_err();
        assert!(error.to_string().starts_with(key), "{key}: {error}");
    }
    let error = check(&TestSpec::tcp_crr(), &linerate_peers::sockperf::Streams).unwrap_err();
    assert!(error.to_string().contains("`linerate serve`"), "{error}");
}

fn flows(size: u64, load: u64, time: Duration) -> TestSpec {
    let load = BitRate::from_bps(load);
    TestSpec {
        stop: Stop::After(time),
        streams: 2,
        ..TestSpec::short_flows(FlowLoad {
            sizes: SizeDistribution::fixed(ByteCount::new(size)),
            load,
            ideal: BitRate::from_bps(1_000_000_000),
        })
    }
}

#[test]
fn every_flow_of_the_schedule_is_counted_and_its_bytes_agree() {
    for size in [14, 1000, 300_000] {
        let load = size * 8 * 100;
        let spec = flows(size, load, Duration::from_millis(500));
        let (sent, received) = exchange(&spec, Side::Sender, "127.0.0.1:0");
        let (client, server) = (opened(&sent), accepted(&received));
        assert_balanced(&client, &server);
        let of = |report: &StreamReport| {
            let opener = report.work.get::<ConnectionOpener>().unwrap();
            *opener.flows.clone().unwrap()
        };
        let all = sent
            .iter()
            .map(of)
            .fold(FlowReport::default(), |sum, one| sum.merged(&one));
        let class = &all.classes[FlowClass::of(size) as usize];
        let scheduled: u64 = all.classes.iter().map(|class| class.scheduled.get()).sum();
        // A Poisson process of mean 50.
        assert!((15..=100).contains(&scheduled), "{scheduled}");
        assert_eq!(class.scheduled.get(), scheduled);
        assert_eq!(class.finished.get(), scheduled, "{client:?}");
        assert_eq!(class.bytes.get(), scheduled * size);
        assert_eq!(class.completion.len(), scheduled);
        assert_eq!(class.slowdown.len(), scheduled);
        assert_eq!(all.lateness.len(), scheduled);
        assert_eq!(all.miscounted.get(), 0);
        assert_eq!(server.answered.get(), scheduled, "{server:?}");
        assert_eq!(total_bytes(&received), scheduled * size);
    }
}

#[test]
fn flows_that_nobody_takes_stay_among_the_scheduled() {
    let spec = flows(1000, 800_000, Duration::from_millis(300));
    let (client, server, _) = connected(&spec);
    drop(server);
    let sent = client.start().unwrap().join();
    let counts = opened(&sent);
    let scheduled: u64 = sent
        .iter()
        .flat_map(|report| {
            let opener = report.work.get::<ConnectionOpener>().unwrap();
            opener.flows.clone().unwrap().classes
        })
        .map(|class| class.scheduled.get() - class.finished.get())
        .sum();
    assert!(scheduled > 0);
    assert_eq!(counts.attempted.get(), scheduled);
    assert_eq!(counts.refused.get(), scheduled);
}

/// The server's system takes connections, and nobody reads from them: the first flow of each thread keeps the thread's only
/// place until after the time.
#[test]
fn flows_that_find_no_place_in_time_never_begin_and_are_not_offered() {
    const SIZE: u64 = 1000;
    let mut spec = flows(SIZE, 800_000, Duration::from_millis(300));
    if let TestWork::Connections(work) = &mut spec.work {
        work.concurrent = spec.streams.into();
        work.timeout = Duration::from_millis(400);
    }
    let (client, _server, _) = connected(&spec);
    let sent = client.start().unwrap().join();
    let counts = opened(&sent);
    assert_eq!(counts.attempted.get(), u64::from(spec.streams));
    assert_eq!(total_bytes(&sent), counts.attempted.get() * SIZE);
}
