//! Every datapath does the same things.

use super::*;
use linerate_model::spec::Pace;
use std::net::TcpListener;

fn udp_pair() -> (UdpSocket, UdpSocket) {
    let a = UdpSocket::bind("127.0.0.1:0").unwrap();
    let b = UdpSocket::bind("127.0.0.1:0").unwrap();
    a.connect(b.local_addr().unwrap()).unwrap();
    b.connect(a.local_addr().unwrap()).unwrap();
    (a, b)
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (a, listener.accept().unwrap().0)
}

/// Each datapath that carries traffic within one host, with each set of parameters worth a run. The others have
/// their tests where there are two hosts: `lab/tests/af_xdp`.
fn variants() -> Vec<(&'static dyn DatapathKind, BTreeMap<String, String>)> {
    let here = ALL.iter().filter(|kind| kind.runs_on_loopback());
    let mut all: Vec<_> = here.map(|kind| (*kind, BTreeMap::new())).collect();
    let offload = [("gso", "4"), ("gro", "true")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    all.push((ALL[0], BTreeMap::from(offload)));
    let thread = [("sqpoll".to_owned(), "true".to_owned())];
    all.push((find("io-uring").unwrap(), BTreeMap::from(thread)));
    for (key, value) in [("batch", "1"), ("zerocopy", "true")] {
        all.push((ALL[0], BTreeMap::from([(key.to_owned(), value.to_owned())])));
    }
    all
}

fn setup(params: &BTreeMap<String, String>, wait: WaitMode) -> PathSetup<'_> {
    PathSetup {
        payload: 200,
        calls: Calls::Batch(8),
        wait,
        role: Role::Client,
        nagle: Nagle::Off,
        own_receive_buffer: false,
        stamps: false,
        params,
        both_ways: false,
        probe: None,
        ports: Box::leak(Box::default()),
    }
}

type DatagramPair = (Box<dyn DatagramPath>, Box<dyn DatagramPath>);

fn datagram_paths(
    kind: &dyn DatapathKind,
    params: &BTreeMap<String, String>,
    wait: WaitMode,
) -> DatagramPair {
    let (a, b) = udp_pair();
    let setup = setup(params, wait);
    (
        kind.datagrams(a, &setup).unwrap(),
        kind.datagrams(b, &setup).unwrap(),
    )
}

fn receive_all(path: &mut dyn DatagramPath, want: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < want {
        match path.receive() {
            Ok(arrivals) => all.extend(arrivals.iter().map(<[u8]>::to_vec)),
            Err(failure) => assert!(is_passing(failure), "{failure:?}"),
        }
    }
    all
}

/// Whether the same call may well succeed later. The end of a ring of `io_uring` interrupts a call that the
/// thread it belonged to waits in.
fn is_passing(failure: Failure) -> bool {
    matches!(failure.name().as_str(), "EAGAIN" | "EINTR")
}

#[test]
fn ids_are_unique_and_summaries_are_sentences() {
    let mut ids: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ALL.len());
    for kind in ALL {
        let id = kind.id();
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
            "{id}"
        );
        assert!(kind.summary().ends_with('.'), "{id}");
        assert!(find(id).is_ok());
    }
}

#[test]
fn an_unknown_datapath_names_the_known_ones() {
    let error = find("pigeons").err().unwrap().to_string();
    assert!(
        error.contains("sockets, io-uring, af-xdp, ports, loopback"),
        "{error}"
    );
}

#[test]
fn unknown_parameters_are_refused() {
    for kind in ALL {
        let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
        // Of a device under test nothing can be guessed.
        if kind.id() == ports::Ports.id() {
            let ends = [("a", "eth1"), ("b", "eth2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
            spec.datapath.params.extend(ends);
        }
        kind.check(&spec).unwrap();
        spec.datapath
            .params
            .insert("pigeons".to_owned(), "true".to_owned());
        let error = kind.check(&spec).unwrap_err().to_string();
        assert!(error.contains("pigeons"), "{error}");
    }
}

#[test]
fn datagrams_keep_their_borders_order_and_bytes() {
    for (kind, params) in variants() {
        let (mut a, mut b) = datagram_paths(kind, &params, WaitMode::Block);
        let batch = u8::try_from(a.batch()).unwrap();
        for first in (0..8).step_by(usize::from(batch)) {
            for (slot, number) in a.slots().chunks_mut(200).zip(first + 1..) {
                slot.fill(number);
            }
            assert_eq!(
                a.send(usize::from(batch)),
                Ok(usize::from(batch)),
                "{}",
                kind.id()
            );
        }
        let got = receive_all(b.as_mut(), 8);
        let want: Vec<_> = (1_u8..=8).map(|number| vec![number; 200]).collect();
        assert_eq!(got, want, "{}", kind.id());
    }
}

#[test]
fn single_calls_carry_one_datagram_each() {
    for (kind, params) in variants() {
        let (a, b) = udp_pair();
        let setup = PathSetup {
            calls: Calls::Single,
            ..setup(&params, WaitMode::Block)
        };
        let mut a = kind.datagrams(a, &setup).unwrap();
        let mut b = kind.datagrams(b, &setup).unwrap();
        for number in 1..=3 {
            a.slots().fill(number);
            assert_eq!(a.send(1), Ok(1), "{}", kind.id());
        }
        let want: Vec<_> = (1..=3).map(|number| vec![number; 200]).collect();
        assert_eq!(receive_all(b.as_mut(), 3), want, "{}", kind.id());
    }
}

#[test]
fn nothing_to_receive_is_said_in_bounded_time() {
    for wait in [WaitMode::Block, WaitMode::Spin] {
        for (kind, params) in variants() {
            let (_a, mut b) = datagram_paths(kind, &params, wait);
            let failure = b
                .receive()
                .map(|arrivals| arrivals.spans.len())
                .unwrap_err();
            assert!(is_passing(failure), "{}: {failure:?}", kind.id());
        }
    }
}

#[test]
fn a_closed_peer_is_noticed_by_the_sender() {
    for (kind, params) in variants() {
        let (mut a, b) = datagram_paths(kind, &params, WaitMode::Block);
        drop(b);
        let noticed = (0..10).any(|_| a.send(1).is_err());
        assert!(noticed, "{}", kind.id());
    }
}

#[test]
fn no_overflow_is_counted_where_none_was() {
    for (kind, params) in variants() {
        let (mut a, mut b) = datagram_paths(kind, &params, WaitMode::Block);
        let sent = a.batch().min(3);
        a.send(sent).unwrap();
        receive_all(b.as_mut(), sent);
        // With GRO the kernel counts runs.
        let known = if params.contains_key("gro") {
            None
        } else {
            Some(0)
        };
        assert_eq!(b.overflows(), known, "{}", kind.id());
    }
}

#[test]
fn streams_carry_bytes_and_their_end() {
    for (kind, params) in variants() {
        let (a, b) = tcp_pair();
        let setup = setup(&params, WaitMode::Block);
        let mut a = kind.stream(a, &setup).unwrap();
        let mut b = kind.stream(b, &setup).unwrap();
        let sent: Vec<_> = (0..=255_u8).cycle().take(5000).collect();
        assert_eq!(a.write(&sent), Ok(5000), "{}", kind.id());
        a.shutdown().unwrap();
        let (mut got, mut room) = (Vec::new(), [0; 999]);
        loop {
            match b.read(&mut room) {
                Ok(0) => break,
                Ok(length) => got.extend_from_slice(&room[..length]),
                Err(failure) => assert!(is_passing(failure), "{failure:?}"),
            }
        }
        assert_eq!(got, sent, "{}", kind.id());
    }
}

#[test]
fn a_full_stream_says_so_and_goes_on_when_read() {
    for wait in [WaitMode::Block, WaitMode::Spin] {
        for (kind, params) in variants() {
            let (a, b) = tcp_pair();
            let setup = setup(&params, wait);
            let mut a = kind.stream(a, &setup).unwrap();
            let mut b = kind.stream(b, &setup).unwrap();
            a.limit_write(Duration::from_millis(4));
            let block = vec![0; 1 << 20];
            let mut written = 0;
            loop {
                match a.write(&block) {
                    Ok(length) => written += length,
                    Err(failure) if failure.name() == "EINTR" => {}
                    Err(_) => break,
                }
            }
            let (mut read, mut room) = (0, vec![0; 1 << 20]);
            while read < written {
                read += b.read(&mut room).unwrap_or(0);
            }
            assert_eq!(read, written, "{}", kind.id());
            let more = (0..1000).find_map(|_| a.write(&block).ok());
            assert!(more.is_some_and(|length| length > 0), "{}", kind.id());
        }
    }
}
