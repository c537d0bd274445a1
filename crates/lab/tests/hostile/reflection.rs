//! Datagrams with a forged source: a server sends no more to it than came from it.

use super::attacks::PATIENCE;
use super::{plan, with_server};
use anyhow::{Context as _, Result, ensure};
use linerate_agent::AgentPlan;
use linerate_model::agent::AgentEvent;
use linerate_model::spec::MAX_DURATION;
use linerate_peers::sockperf;
use linerate_report::agent_event;
use linerate_sys::shared::bind_both;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::mpsc::Receiver;

/// L4 payload of a request, as iperf2 has it.
const REQUEST: usize = 1470;

/// Requests of a client that nobody answers.
const REQUESTS: usize = 100;

/// A time in an iperf2 header.
const HOUR: u32 = 360_000_u32.wrapping_neg();

/// Flags of iperf2's headers.
const EXTENDED: u32 = 0x6c01_00a0;
const REVERSE: u32 = 0x0400;
const FULL_DUPLEX: u32 = 0x0800;
const CALL_BACK_AT_ONCE: u32 = 0x8000_0001;

/// The first datagram of an iperf2 client that wants an hour at 10 Gbit/s, this way.
fn iperf2(way: u32) -> Vec<u8> {
    const RATE: [u32; 2] = [0x540b_e400, 2 << 8];
    let base = [1, 0, 0, 0, EXTENDED, 1, 0, 1470, 0, HOUR];
    let more = [0, 0, way << 16, 0x0002_0001, 0, 0, RATE[0], RATE[1]];
    filled(&[&base[..], &more].concat())
}

fn filled(words: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<_> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.resize(REQUEST, 0);
    bytes
}

/// What came to a socket until its server had ended.
fn came(socket: &UdpSocket) -> Result<usize> {
    socket.set_nonblocking(true)?;
    let (mut bytes, mut room) = (0, vec![0; 65_536]);
    loop {
        match socket.recv(&mut room) {
            Ok(length) => bytes += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(bytes),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A server of the protocol that sends to nobody as much as it is asked for.
fn careful(id: &str) -> Result<AgentPlan> {
    let kind = linerate_peers::find(id).context("a protocol")?;
    Ok(AgentPlan {
        allow_unproved: Vec::new(),
        max_duration: MAX_DURATION,
        ..plan(kind)?
    })
}

/// Waits until the server says `words`.
fn wait_for(said: &Receiver<AgentEvent>, words: &str) -> Result<()> {
    loop {
        let event = said.recv_timeout(PATIENCE).context(words.to_owned())?;
        if agent_event(&event).contains(words) {
            return Ok(());
        }
    }
}

/// A socket of whose address nobody knows.
fn victim() -> Result<UdpSocket> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)
}

/// What comes to the victim for `count` times `request` in its name, when the server has said `words`.
fn reflected(id: &str, request: &[u8], count: usize, words: &str) -> Result<usize> {
    let victim = victim()?;
    with_server(&careful(id)?, |server, said| {
        for _ in 0..count {
            victim.send_to(request, server)?;
        }
        wait_for(said, words)
    })?;
    came(&victim)
}

#[test]
fn one_forged_request_to_iperf2_is_answered_with_nothing() {
    let reverse = iperf2(REVERSE);
    assert_eq!(
        reflected("iperf2", &reverse, 1, "sends nothing").unwrap(),
        0
    );
    let duplex = iperf2(FULL_DUPLEX);
    assert_eq!(
        reflected("iperf2", &duplex, 1, "sends nothing back").unwrap(),
        0
    );
}

#[test]
fn many_forged_requests_to_iperf2_are_answered_with_fewer_bytes() {
    let reverse = iperf2(REVERSE);
    let bytes = reflected("iperf2", &reverse, REQUESTS, "left").unwrap();
    // Nothing at all where the server looked before the second request came.
    assert!(bytes <= REQUEST * REQUESTS, "{bytes}");
}

/// The port to call back is one that never asked, of the same address.
#[test]
fn a_forged_call_back_of_iperf2_goes_to_nobody() {
    let (listener, other) = bind_both((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    drop(listener);
    let port = other.local_addr().unwrap().port();
    let words = [
        0,
        0,
        0,
        CALL_BACK_AT_ONCE,
        1,
        port.into(),
        1470,
        1_000_000_000,
        HOUR,
    ];
    let request = filled(&words);
    let mut end = request.clone();
    end[..4].copy_from_slice(&(-1_i32).to_be_bytes());
    let victim = victim().unwrap();
    with_server(&careful("iperf2").unwrap(), |server, said| {
        victim.send_to(&request, server)?;
        victim.send_to(&end, server)?;
        wait_for(said, "it makes no test back")
    })
    .unwrap();
    assert_eq!(came(&other).unwrap(), 0);
    assert!(came(&victim).unwrap() < 2 * REQUEST);
}

#[test]
fn sockperf_echoes_no_more_than_came() {
    let mut request = vec![0; 1000];
    sockperf::wire::Header::ping(1, 1000).write(&mut request);
    let victim = victim().unwrap();
    with_server(&careful("sockperf").unwrap(), |server, _| {
        victim.send_to(&request, server)?;
        victim.set_read_timeout(Some(PATIENCE))?;
        // It answers: what follows the first answer is looked for when the server has ended.
        assert_eq!(victim.recv(&mut [0; 2000])?, request.len());
        Ok(())
    })
    .unwrap();
    assert_eq!(came(&victim).unwrap(), 0);
}

/// Others send datagrams only where a control connection has agreed on a test.
#[test]
fn without_control_connection_the_others_answer_no_datagram() {
    for kind in linerate_peers::served() {
        if matches!(kind.id(), "iperf2" | "sockperf") {
            continue;
        }
        let victim = victim().unwrap();
        with_server(&careful(kind.id()).unwrap(), |server, said| {
            for request in [&b"\x36\x37\x38\x39"[..], &[0; 1470], b"9876"] {
                victim.send_to(request, server)?;
            }
            // The server has met them when it says how a connection ended that came after them.
            drop(TcpStream::connect(server)?);
            let line = agent_event(&said.recv_timeout(PATIENCE)?);
            ensure!(line.contains("127.0.0.1"), "{line}");
            Ok(())
        })
        .unwrap();
        assert_eq!(came(&victim).unwrap(), 0, "{}", kind.id());
    }
}
