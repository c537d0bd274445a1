//! Who gets a place at a server, and that none keeps the server from its end.

use super::{plan, with_server};
use anyhow::{Context as _, Result, bail, ensure};
use linerate_agent::{AgentPlan, serve};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::{TestSpec, Transport};
use linerate_model::{Clock as _, RefusalCode};
use linerate_peers::{Action, ClientConfig, Input, PeerEvent, RANDOM_BYTES};
use linerate_sys::clock::MonoClock;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn client(server: SocketAddr) -> Result<Client> {
    let mut target = Target::new(PeerAddress::parse(&server.to_string())?);
    // The first hello waits for the server's facts, which a busy machine collects slowly.
    target.set_timeout(linerate_peers::TIMEOUT);
    Client::connect(&target)
}

#[test]
fn one_address_does_not_get_all_places_and_hears_why() {
    let plan = AgentPlan {
        max_clients: 4,
        ..plan(linerate_peers::own()).unwrap()
    };
    with_server(&plan, |server, _| {
        let held = (0..3).map(|_| client(server)).collect::<Result<Vec<_>>>()?;
        for _ in 0..5 {
            let error = client(server).err().context("a fourth place")?;
            let said = format!("{error:#}");
            assert!(said.contains("3 of this server's 4 places"), "{said}");
        }
        drop(held);
        Ok(())
    })
    .unwrap();
}

/// A cookie, and after the server's word for it a test of which no stream ever comes.
fn never_opens_its_streams(server: SocketAddr) -> Result<TcpStream> {
    const PARAMETERS: &[u8] = br#"{"tcp":true,"omit":0,"time":1,"parallel":1,"len":131072}"#;
    const PARAM_EXCHANGE: u8 = 9;
    const CREATE_STREAMS: u8 = 10;
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(b"abcdefghijklmnopqrstuvwxyz234567abcd\0")?;
    let mut state = [0];
    stream.read_exact(&mut state)?;
    assert_eq!(state, [PARAM_EXCHANGE]);
    stream.write_all(&u32::try_from(PARAMETERS.len())?.to_be_bytes())?;
    stream.write_all(PARAMETERS)?;
    stream.read_exact(&mut state)?;
    assert_eq!(state, [CREATE_STREAMS]);
    Ok(stream)
}

/// A client of linerate's own protocol that asks for a test and never connects its streams.
fn never_connects(server: SocketAddr) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(server)?;
    let config = ClientConfig::new(server.ip(), [7; RANDOM_BYTES]);
    let mut session = linerate_peers::own().client(config, MonoClock.now());
    loop {
        while let Some(action) = session.poll_action() {
            match action {
                Action::Send(bytes) => stream.write_all(&bytes)?,
                Action::Peer(PeerEvent::Hello(_)) => {
                    // Shorter than the server's tests may be.
                    let spec = Box::new(TestSpec::ping_pong(Transport::Tcp));
                    session.handle(MonoClock.now(), Input::Begin(spec))?;
                }
                Action::OpenStreams { .. } => return Ok(stream),
                Action::TestOver(end) => bail!("{end:?}"),
                _ => {}
            }
        }
        let mut room = [0; 4096];
        let length = stream.read(&mut room)?;
        ensure!(length > 0, "the server hung up");
        session.handle(MonoClock.now(), Input::Bytes(&room[..length]))?;
    }
}

/// Shorter than a server waits for an own client's streams (5 s), for what an iperf2 stream begins with (10 s) and for
/// an iperf3 client's streams (25 s).
const PROMPT: Duration = Duration::from_secs(2);

#[test]
fn a_server_ends_though_clients_keep_it_waiting() {
    type Begin = fn(SocketAddr) -> Result<TcpStream>;
    let ways: [(&str, Begin); 3] = [
        ("iperf2", |address| Ok(TcpStream::connect(address)?)),
        ("iperf3", never_opens_its_streams),
        ("native", never_connects),
    ];
    for (id, begin) in ways {
        let plan = plan(linerate_peers::find(id).unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (say, said) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let server = thread::spawn(move || {
            serve(&plan, &stopped, &mut |event| {
                let _ = say.send(event.clone());
            })
        });
        let AgentEvent::Listening { address, .. } = said.recv().unwrap() else {
            panic!("it says first where it listens");
        };
        let mut held = begin(address).unwrap();
        stop.store(true, Ordering::Relaxed);
        // The connection ends before the wait for its client would.
        let (done, outcome) = mpsc::channel();
        thread::spawn(move || done.send(server.join().expect("no panic")));
        outcome.recv_timeout(PROMPT).expect(id).unwrap();
        let mut rest = Vec::new();
        let _ = held.read_to_end(&mut rest);
        assert!(rest.len() < 1000, "{rest:?}");
    }
}

/// Whether the server ended a test by one of its limits.
const fn is_limit(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::TestEnded { code, .. } if matches!(code, RefusalCode::Limit))
}

/// What a client sends beyond the server's longest test is no test of its own: it would be told of a part as of all.
#[test]
fn datagrams_beyond_the_longest_test_are_no_other_test() {
    const PING: &[u8] = b"\0\0\0\0\0\0\0\x01\0\x03\0\0\0\x0e";
    let kind = linerate_peers::find("sockperf").unwrap();
    let plan = AgentPlan {
        max_duration: Duration::from_millis(100),
        ..plan(kind).unwrap()
    };
    with_server(&plan, |server, said| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server)?;
        // An answer within a host needs less.
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        let ping = || {
            socket.send(PING)?;
            let mut room = [0; 64];
            anyhow::Ok(std::iter::from_fn(|| socket.recv(&mut room).ok()).count())
        };
        let mut answers = 0;
        while !said.try_iter().any(|event| is_limit(&event)) {
            answers += ping()?;
        }
        ensure!(answers > 0, "nothing was answered in time");
        // What was answered before the end may still come.
        ping()?;
        for _ in 0..500 {
            ensure!(ping()? == 0, "it is answered again");
        }
        Ok(())
    })
    .unwrap();
}
