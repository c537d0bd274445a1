use super::*;
use linerate_model::sample::{StreamReport, UnnumberedDatagramReceiver};
use linerate_model::spec::{Pace, Side, Stop, TestSpec};
use linerate_model::units::ByteCount;
use linerate_peers::{StreamFormat, native};
use std::io::Write;
use std::sync::Arc;

const TEST_TIMEOUT: Duration = Duration::from_secs(10);

fn plan(role: Role, spec: &TestSpec) -> EndpointPlan {
    EndpointPlan {
        side: match role {
            Role::Client => Side::Sender,
            Role::Server => Side::Receiver,
        },
        role,
        spec: spec.clone(),
        format: Arc::new(native::Streams { token: 0xfeed_beef }),
    }
}

fn server(spec: &TestSpec) -> Opened {
    let local = "127.0.0.1:0".parse().unwrap();
    Opened::listen(plan(Role::Server, spec), local).unwrap()
}

#[test]
fn strangers_on_a_tcp_port_are_sent_away() {
    let spec = TestSpec::tcp_bulk();
    let mut server = server(&spec);
    let ports = server.ports();
    let mut stranger = TcpStream::connect(("127.0.0.1", ports[0])).unwrap();
    stranger.write_all(&[0; 6]).unwrap();
    let remote = "127.0.0.1:0".parse().unwrap();
    let client = Opened::connect(plan(Role::Client, &spec), remote, &ports, TEST_TIMEOUT).unwrap();
    server
        .await_peer([127, 0, 0, 1].into(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let (Sockets::Tcp(taken), Sockets::Tcp(own)) = (&server.sockets, &client.sockets) else {
        unreachable!()
    };
    assert_eq!(taken[0].peer_addr().unwrap(), own[0].local_addr().unwrap());
}

#[test]
fn another_address_than_the_control_peers_is_not_taken() {
    let spec = TestSpec::tcp_bulk();
    let mut server = server(&spec);
    let remote = "127.0.0.1:0".parse().unwrap();
    let _client = Opened::connect(
        plan(Role::Client, &spec),
        remote,
        &server.ports(),
        TEST_TIMEOUT,
    )
    .unwrap();
    let error = server.await_peer([192, 0, 2, 1].into(), Duration::from_millis(50), &|| false);
    assert!(
        matches!(error, Err(EngineError::NoPeer { stream: 0, .. })),
        "{error:?}"
    );
}

#[test]
fn nobody_is_waited_for_when_it_is_over() {
    for spec in [TestSpec::tcp_bulk(), TestSpec::udp_datagrams(Pace::Unpaced)] {
        let waits = std::cell::Cell::new(0);
        let is_over = || waits.replace(waits.get() + 1) > 0;
        // Were it not for that, the test would never end.
        let for_ever = Duration::from_hours(24);
        let error = server(&spec).await_peer([127, 0, 0, 1].into(), for_ever, &is_over);
        assert!(
            matches!(error, Err(EngineError::NoPeer { .. })),
            "{error:?}"
        );
    }
}

#[test]
fn a_hello_without_the_token_gets_no_answer() {
    let spec = TestSpec::udp_datagrams(Pace::Unpaced);
    let mut server = server(&spec);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.connect(("127.0.0.1", server.ports()[0])).unwrap();
    let mut other = plan(Role::Client, &spec);
    other.format = Arc::new(native::Streams { token: 1 });
    let mut hello = [0; native::wire::HEADER_LEN];
    let header = native::wire::Header {
        token: 1,
        stream: 0,
        kind: native::wire::Kind::Hello,
        sequence: 0,
        sent: linerate_peers::Stamp::from_instant(MonoInstant::default()),
    };
    header.write(&mut hello);
    stranger.send(&hello).unwrap();
    let error = server.await_peer([127, 0, 0, 1].into(), Duration::from_millis(50), &|| false);
    assert!(
        matches!(error, Err(EngineError::NoPeer { .. })),
        "{error:?}"
    );
    stranger.set_nonblocking(true).unwrap();
    assert!(
        stranger.recv(&mut [0; 64]).is_err(),
        "a stranger was answered"
    );
}

#[test]
fn every_stream_meets_its_own_port() {
    let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
    spec.streams = 3;
    spec.work.set_payload(ByteCount::new(100));
    let mut server = server(&spec);
    let ports = server.ports();
    let remote = "127.0.0.1:0".parse().unwrap();
    let client_plan = plan(Role::Client, &spec);
    let client = std::thread::spawn(move || {
        Opened::connect(client_plan, remote, &ports, TEST_TIMEOUT)
            .unwrap()
            .ports()
    });
    server
        .await_peer([127, 0, 0, 1].into(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let Sockets::Udp(sockets) = &server.sockets else {
        unreachable!()
    };
    let peers: Vec<_> = sockets
        .iter()
        .map(|s| s.peer_addr().unwrap().port())
        .collect();
    assert_eq!(peers, client.join().unwrap());
}

/// Both ends of a test that nothing but its streams begins and ends; what they counted.
fn by_itself(spec: &TestSpec, disturb: impl FnOnce(u16)) -> [StreamReport; 2] {
    let format: Arc<dyn StreamFormat> = Arc::new(linerate_peers::netperf::Streams { least: 100 });
    let with = |role| EndpointPlan {
        format: Arc::clone(&format),
        ..plan(role, spec)
    };
    let local = "127.0.0.1:0".parse().unwrap();
    let mut server = Opened::listen(with(Role::Server), local).unwrap();
    disturb(server.ports()[0]);
    let client = Opened::connect(with(Role::Client), local, &server.ports(), TEST_TIMEOUT).unwrap();
    let sender = client.start().unwrap();
    server
        .await_peer([127, 0, 0, 1].into(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let receiver = server.start().unwrap();
    [sender, receiver].map(|running| running.join().remove(0))
}

#[test]
fn datagrams_without_numbers_are_counted_until_an_empty_one() {
    let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
    spec.work.set_payload(ByteCount::new(100));
    spec.stop = Stop::Transactions(50);
    let [sent, received] = by_itself(&spec, |port| {
        let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
        stranger.send_to(&[0; 100], ("127.0.0.1", port)).unwrap();
    });
    assert_eq!((sent.packets.get(), sent.bytes.get()), (50, 5000));
    assert_eq!((received.packets.get(), received.bytes.get()), (50, 5000));
    let unnumbered = received.work.get::<UnnumberedDatagramReceiver>();
    assert!(unnumbered.is_some(), "{:?}", received.work);
}

#[test]
fn a_byte_stream_without_opening_is_counted_to_its_end() {
    let spec = TestSpec {
        stop: Stop::Bytes(ByteCount::new(1_000_000)),
        ..TestSpec::tcp_bulk()
    };
    let [sent, received] = by_itself(&spec, |_| {});
    assert_eq!(
        (sent.bytes.get(), received.bytes.get()),
        (1_000_000, 1_000_000)
    );
}

#[test]
fn nobody_there_is_an_error_in_bounded_time() {
    let spec = TestSpec::udp_datagrams(Pace::Unpaced);
    let hole = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = hole.local_addr().unwrap().port();
    let remote = "127.0.0.1:0".parse().unwrap();
    let limit = Duration::from_millis(120);
    let error = Opened::connect(plan(Role::Client, &spec), remote, &[port], limit);
    let text = error.err().unwrap().to_string();
    assert!(text.contains("firewall"), "{text}");
}

#[test]
fn a_wrong_number_of_ports_is_refused() {
    let remote = "127.0.0.1:0".parse().unwrap();
    let plan = plan(Role::Client, &TestSpec::tcp_bulk());
    let error = Opened::connect(plan, remote, &[1, 2], TEST_TIMEOUT);
    assert!(matches!(
        error,
        Err(EngineError::PortCount {
            ports: 2,
            streams: 1
        })
    ));
}

#[test]
fn an_endpoint_without_its_peer_does_not_start() {
    for spec in [TestSpec::tcp_bulk(), TestSpec::udp_datagrams(Pace::Unpaced)] {
        let error = server(&spec).start().err().unwrap();
        assert!(matches!(error, EngineError::NotConnected { stream: 0 }));
    }
}

#[test]
fn a_mapped_address_is_ipv4() {
    let mapped = "[::ffff:10.0.0.1]:7".parse().unwrap();
    assert_eq!(canonical(mapped, 9), "10.0.0.1:9".parse().unwrap());
    let scoped: SocketAddr = "[fe80::1%3]:7".parse().unwrap();
    assert_eq!(canonical(scoped, 9), "[fe80::1%3]:9".parse().unwrap());
}

#[test]
fn every_answer_to_iperf3s_request_is_taken_behind_traffic_too() {
    use linerate_peers::iperf3::{self, COOKIE_LEN, Cookie};
    let answers = [b"6789", b"9876", b"\xb1\x68\xde\x3a", b"\x3a\xde\x68\xb1"];
    for answer in answers {
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let remote = far.local_addr().unwrap();
        let far = std::thread::spawn(move || {
            let mut request = [0; 5];
            let (length, from) = far.recv_from(&mut request).unwrap();
            far.send_to(&[0; 100], from).unwrap();
            far.send_to(answer, from).unwrap();
            request[..length].to_vec()
        });
        let plan = EndpointPlan {
            format: Arc::new(iperf3::Streams {
                cookie: Cookie::from_wire([0; COOKIE_LEN]),
                counters: iperf3::Counters::Bits64,
            }),
            ..plan(Role::Client, &TestSpec::udp_datagrams(Pace::Unpaced))
        };
        Opened::connect(plan, remote, &[], TEST_TIMEOUT).unwrap();
        assert_eq!(far.join().unwrap(), b"9876");
    }
}

#[test]
fn a_stream_that_came_to_a_shared_port_gets_the_options_of_its_test() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let same = stream.try_clone().unwrap();
    let mut spec = TestSpec::tcp_bulk();
    spec.socket.no_delay = true;
    spec.socket.send_buffer_bytes = Some(ByteCount::new(65_536));
    let _opened = Opened::with_tcp(plan(Role::Server, &spec), vec![stream]).unwrap();
    assert!(same.nodelay().unwrap());
    assert_eq!(linerate_sys::sockopt::send_buffer(&same).unwrap(), 131_072);
    spec.socket.congestion_control = Some("pigeon".to_owned());
    let error = Opened::with_tcp(plan(Role::Server, &spec), vec![same]);
    assert!(error.is_err());
}

#[test]
fn a_datagram_of_another_address_is_no_streams_although_it_has_the_token() {
    let spec = TestSpec {
        streams: 300,
        threads: Some(2),
        stop: Stop::Transactions(600),
        ..TestSpec::udp_datagrams(Pace::At(linerate_model::BitRate::from_bps(8_000_000)))
            .with_payload(ByteCount::new(100))
    };
    let mut server = server(&spec);
    let ports = server.ports();
    assert_eq!(ports.len(), 2);
    let client = std::thread::spawn({
        let (client, ports) = (plan(Role::Client, &spec), ports.clone());
        let remote = "127.0.0.1:0".parse().unwrap();
        move || Opened::connect(client, remote, &ports, TEST_TIMEOUT).unwrap()
    });
    server
        .await_peer([127, 0, 0, 1].into(), TEST_TIMEOUT, &|| false)
        .unwrap();
    let client = client.join().unwrap();
    let far_end = server.start().unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut datagram = [0; 100];
    let header = native::wire::Header {
        token: 0xfeed_beef,
        stream: 7,
        kind: native::wire::Kind::Counted,
        sequence: 1,
        sent: linerate_peers::Stamp::from_instant(MonoInstant::default()),
    };
    header.write(&mut datagram);
    stranger
        .send_to(&datagram, ("127.0.0.1", ports[0]))
        .unwrap();
    let sent = client.start().unwrap().join();
    let counts = sent.iter().map(|report| report.packets).collect();
    far_end.finish(
        linerate_peers::Sent::Packets(counts),
        Duration::from_millis(300),
    );
    let received = far_end.join();
    let of = |report: &StreamReport| {
        let work = report
            .work
            .get::<linerate_model::sample::DatagramReceiver>();
        let sequence = work.unwrap().sequence;
        (
            sequence.received.get(),
            sequence.duplicated.get(),
            sequence.foreign.get(),
        )
    };
    assert_eq!(of(&received[0]), (300, 0, 1));
    assert_eq!(of(&received[1]), (300, 0, 0));
}
