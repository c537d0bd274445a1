//! A server sends no more UDP to an address than came from it, unless it may.

use super::super::header::{Amount, DataDirection, Request, write};
use super::super::server::Server;
use super::sessions::{START, actions, report, server_config};
use super::words;
use crate::session::{
    Action, Input, PeerEvent, Progress, ServerConfig, Session as _, StreamEvent, TestEnd,
    UnprovedSending,
};
use linerate_model::sample::{DatagramReceiver, StreamReport};
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount};
use std::time::Duration;

/// L4 payload of every datagram here.
const PAYLOAD: u64 = 1000;

/// The first datagram of a client that wants ten seconds at 100 Mbit/s.
fn opening(way: DataDirection) -> Vec<u8> {
    let request = Request {
        transport: Transport::Udp,
        way,
        streams: 1,
        buffer: u32::try_from(PAYLOAD).unwrap(),
        rate: Some(BitRate::from_bps(100_000_000)),
        amount: Amount::Time(Duration::from_secs(10)),
    };
    let mut bytes = words(&[1, 0, 0, 0]);
    bytes.extend(write(&request));
    filled(bytes)
}

fn filled(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(usize::try_from(PAYLOAD).unwrap(), 0);
    bytes
}

/// The opening of a client that wants a test back: at once, or when it is done.
fn opening_with_back(run_now: u32) -> Vec<u8> {
    let time = (-1000_i32).cast_unsigned();
    let flags = 0x8000_0000 | run_now;
    let payload = u32::try_from(PAYLOAD).unwrap();
    filled(words(&[
        0,
        1,
        2,
        flags,
        1,
        6001,
        payload,
        100_000_000,
        time,
    ]))
}

/// A server that this came to.
fn opened(unproved: UnprovedSending, bytes: &[u8]) -> Server {
    let config = ServerConfig {
        unproved,
        ..server_config()
    };
    let mut server = Server::new(config, START);
    let transport = Transport::Udp;
    let opened = StreamEvent::Opened { transport, bytes };
    server.handle(START, Input::Stream(opened)).unwrap();
    server
}

fn prepared(all: &[Action]) -> Option<&TestSpec> {
    all.iter().find_map(|action| match action {
        Action::Prepare { spec, .. } => Some(spec.as_ref()),
        _ => None,
    })
}

fn called_back(all: &[Action]) -> Option<(u16, Stop)> {
    all.iter().find_map(|action| match action {
        Action::Peer(PeerEvent::CallBack { port, spec }) => Some((*port, spec.stop)),
        _ => None,
    })
}

fn is_curtailed(all: &[Action]) -> bool {
    let is_news = |action: &Action| matches!(action, Action::Peer(PeerEvent::Curtailed(_)));
    all.iter().any(is_news)
}

/// Hears a client repeat its opening, and has answered it then.
fn collected(repeats: u64) -> (Server, MonoInstant) {
    let bytes = opening(DataDirection::Reverse);
    let mut server = opened(UnprovedSending::AtMostReceived, &bytes);
    for _ in 0..repeats {
        let again = StreamEvent::Datagram {
            stream: 0,
            bytes: &bytes,
        };
        server.handle(START, Input::Stream(again)).unwrap();
    }
    let (all, datagrams) = actions(&mut server);
    assert!(prepared(&all).is_none() && datagrams.is_empty(), "{all:?}");
    let now = server.deadline().unwrap();
    server.handle(now, Input::Timeout).unwrap();
    (server, now)
}

#[test]
fn one_forged_datagram_is_answered_with_none() {
    let (mut server, _) = collected(0);
    let (all, datagrams) = actions(&mut server);
    assert!(datagrams.is_empty() && prepared(&all).is_none(), "{all:?}");
    let refused = |action: &Action| matches!(action, Action::TestOver(TestEnd::Refused(_)));
    assert!(is_curtailed(&all) && all.iter().any(refused), "{all:?}");
    assert_eq!(all.last(), Some(&Action::Closed));
}

#[test]
fn as_much_as_came_is_sent_and_the_ends_are_part_of_it() {
    const CAME: u64 = 50 * PAYLOAD;
    let (mut server, mut now) = collected(49);
    let (all, _) = actions(&mut server);
    assert!(is_curtailed(&all), "{all:?}");
    let Some(Stop::Bytes(bytes)) = prepared(&all).map(|spec| spec.stop) else {
        panic!("{all:?}");
    };
    server.handle(now, Input::Prepared(Ok(Vec::new()))).unwrap();
    server.handle(now, Input::Connected).unwrap();
    let sent = vec![PacketCount::new(bytes.get() / PAYLOAD)];
    server.handle(now, Input::Finished { sent }).unwrap();
    let own = vec![report(Side::Sender, Vec::new())];
    server.handle(now, Input::Reports(own)).unwrap();
    let (mut ends, mut is_over) = (0, false);
    while !is_over {
        let (all, datagrams) = actions(&mut server);
        ends += datagrams.iter().map(|end| end.len() as u64).sum::<u64>();
        is_over = all.contains(&Action::Closed);
        if let Some(next) = server.deadline() {
            now = next;
            server.handle(now, Input::Timeout).unwrap();
        }
    }
    assert!(ends > 0);
    assert_eq!(bytes.get() + ends, CAME);
}

#[test]
fn nothing_is_sent_beside_what_comes() {
    let bytes = opening(DataDirection::FullDuplex);
    let mut server = opened(UnprovedSending::AtMostReceived, &bytes);
    let (all, _) = actions(&mut server);
    assert!(is_curtailed(&all), "{all:?}");
    assert_eq!(prepared(&all).unwrap().direction, Direction::Forward);
}

#[test]
fn a_test_back_is_no_larger_than_what_came() {
    let stream = |bytes| {
        let receiver = DatagramReceiver::default();
        let bytes = ByteCount::new(bytes);
        StreamReport::new(0, receiver).with_counts(bytes, PacketCount::new(1))
    };
    // What closes such a test is 25 datagrams.
    for (received, back) in [(25 * PAYLOAD, None), (1000 * PAYLOAD, Some(975 * PAYLOAD))] {
        let mut server = running(UnprovedSending::AtMostReceived, &opening_with_back(0));
        let saw = vec![report(Side::Receiver, vec![stream(received)])];
        server.handle(START, Input::Reports(saw)).unwrap();
        let (all, _) = actions(&mut server);
        let back = back.map(|bytes| (6001, Stop::Bytes(ByteCount::new(bytes))));
        assert_eq!(called_back(&all), back);
        assert!(is_curtailed(&all), "{all:?}");
    }
}

#[test]
fn a_test_back_at_once_waits_until_enough_has_come() {
    let mut server = running(UnprovedSending::AtMostReceived, &opening_with_back(1));
    for (received, back) in [(50, None), (51, Some(26 * PAYLOAD)), (400, None)] {
        let progress = Progress {
            bytes: ByteCount::new(received * PAYLOAD),
            ..Progress::default()
        };
        server.handle(START, Input::Progress(progress)).unwrap();
        let back = back.map(|bytes| (6001, Stop::Bytes(ByteCount::new(bytes))));
        assert_eq!(called_back(&actions(&mut server).0), back, "{received}");
    }
}

#[test]
fn who_is_allowed_gets_what_was_asked_for() {
    let ten = Stop::After(Duration::from_secs(10));
    for (way, direction) in [
        (DataDirection::Reverse, Direction::Reverse),
        (DataDirection::FullDuplex, Direction::Duplex),
    ] {
        let mut server = opened(UnprovedSending::AsAsked, &opening(way));
        let (all, _) = actions(&mut server);
        let spec = prepared(&all).unwrap();
        assert_eq!((spec.direction, spec.stop), (direction, ten));
        assert!(!is_curtailed(&all), "{all:?}");
    }
    let mut server = opened(UnprovedSending::AsAsked, &opening_with_back(1));
    server.handle(START, Input::Connected).unwrap();
    assert_eq!(called_back(&actions(&mut server).0), Some((6001, ten)));
}

#[test]
fn an_end_is_not_answered_by_more_bytes_than_it_has() {
    let mut server = running(
        UnprovedSending::AtMostReceived,
        &opening(DataDirection::Forward { back: None }),
    );
    let receiver = DatagramReceiver {
        sent_there: Some(PacketCount::new(1)),
        ..DatagramReceiver::default()
    };
    let saw = vec![report(Side::Receiver, vec![StreamReport::new(0, receiver)])];
    server.handle(START, Input::Reports(saw)).unwrap();
    let (_, answers) = actions(&mut server);
    assert_eq!(answers.len(), 1);
    assert!(answers[0].len() as u64 <= PAYLOAD);
    for (length, answered) in [(16, 0), (answers[0].len(), 1)] {
        let mut end = words(&[2_u32.wrapping_neg(), 0, 0, u32::MAX]);
        end.resize(length, 0);
        let bytes = &end[..];
        let heard = StreamEvent::Datagram { stream: 0, bytes };
        server.handle(START, Input::Stream(heard)).unwrap();
        assert_eq!(actions(&mut server).1.len(), answered, "{length}");
    }
}

/// A server whose test runs.
fn running(unproved: UnprovedSending, bytes: &[u8]) -> Server {
    let mut server = opened(unproved, bytes);
    server.handle(START, Input::Connected).unwrap();
    let (all, _) = actions(&mut server);
    assert!(called_back(&all).is_none(), "{all:?}");
    server
}
