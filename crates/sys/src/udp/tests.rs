use super::*;
use crate::sockopt;
use std::net::UdpSocket;
use std::time::Duration;

/// Two connected sockets on the loopback address.
fn pair() -> (UdpSocket, UdpSocket) {
    let a = UdpSocket::bind("127.0.0.1:0").unwrap();
    let b = UdpSocket::bind("127.0.0.1:0").unwrap();
    a.connect(b.local_addr().unwrap()).unwrap();
    b.connect(a.local_addr().unwrap()).unwrap();
    sockopt::set_receive_timeout(&b, Duration::from_secs(5)).unwrap();
    (a, b)
}

/// Everything `receiver` gets until `want` datagrams came: their bytes.
fn drain(batch: &mut RecvBatch, receiver: &UdpSocket, want: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < want {
        let count = batch.receive(receiver, Blocking::Yes).unwrap();
        for index in 0..count {
            let message = batch.message(index);
            let bytes = &batch.bytes()[message.offset..message.offset + message.length];
            let segment = message.segment.unwrap_or(bytes.len()).max(1);
            all.extend(bytes.chunks(segment).map(<[u8]>::to_vec));
        }
    }
    all
}

fn numbered(batch: &mut SendBatch, payload: usize, count: usize) -> Vec<Vec<u8>> {
    let slots = batch.bytes_mut().chunks_mut(payload).take(count);
    slots
        .zip(0_u8..)
        .map(|(slot, number)| {
            slot.fill(number);
            slot.to_vec()
        })
        .collect()
}

#[test]
fn a_batch_arrives_as_it_was_sent() {
    let (a, b) = pair();
    let mut out = SendBatch::new(8, 100, 1);
    let sent = numbered(&mut out, 100, 7);
    assert_eq!(out.send(&a, 7, Blocking::Yes), Ok(7));
    let mut inbox = RecvBatch::new(4, 2048);
    assert_eq!(drain(&mut inbox, &b, 7), sent);
}

#[test]
fn segments_arrive_as_single_datagrams() {
    let (a, b) = pair();
    sockopt::set_udp_segment(&a, 100).unwrap();
    let mut out = SendBatch::new(8, 100, 3);
    let sent = numbered(&mut out, 100, 8);
    assert_eq!(out.send(&a, 8, Blocking::Yes), Ok(8));
    assert_eq!(drain(&mut RecvBatch::new(16, 2048), &b, 8), sent);
}

#[test]
fn joined_datagrams_say_their_segment_length() {
    let (a, b) = pair();
    sockopt::set_udp_segment(&a, 100).unwrap();
    sockopt::set_udp_gro(&b).unwrap();
    let mut out = SendBatch::new(8, 100, 8);
    let sent = numbered(&mut out, 100, 8);
    assert_eq!(out.send(&a, 8, Blocking::Yes), Ok(8));
    assert_eq!(drain(&mut RecvBatch::new(4, 65_536), &b, 8), sent);
}

#[test]
fn one_socket_reaches_many_addresses_and_knows_whose_answer_came() {
    let one = UdpSocket::bind("127.0.0.1:0").unwrap();
    sockopt::set_receive_timeout(&one, Duration::from_secs(5)).unwrap();
    let many: Vec<_> = (0..3)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();
    let addresses: Vec<_> = many
        .iter()
        .map(|socket| Address::from(socket.local_addr().unwrap()))
        .collect();
    let mut out = SendBatch::new(3, 10, 1);
    numbered(&mut out, 10, 3);
    assert_eq!(out.send_to(&one, &addresses, Blocking::Yes), Ok(3));
    let mut inbox = RecvBatch::new(4, 64).with_sources();
    for (socket, number) in many.iter().zip(0_u8..) {
        let mut bytes = [0; 20];
        let (length, from) = socket.recv_from(&mut bytes).unwrap();
        assert_eq!(bytes[..length], [number; 10]);
        socket.send_to(&bytes[..1], from).unwrap();
        assert_eq!(inbox.receive(&one, Blocking::Yes), Ok(1));
        let source = inbox.source(0).unwrap().decoded();
        assert_eq!(source, socket.local_addr().ok());
        assert_eq!(inbox.source(1), None);
    }
}

#[test]
fn empty_datagrams_are_datagrams() {
    let (a, b) = pair();
    let mut out = SendBatch::new(1, 0, 1);
    assert_eq!(out.send(&a, 1, Blocking::Yes), Ok(1));
    let mut inbox = RecvBatch::new(4, 64);
    assert_eq!(inbox.receive(&b, Blocking::Yes), Ok(1));
    assert_eq!(inbox.message(0).length, 0);
}

#[test]
fn nothing_there_is_said_at_once_without_blocking() {
    let (_a, b) = pair();
    let failure = RecvBatch::new(1, 64).receive(&b, Blocking::No).unwrap_err();
    assert_eq!(failure, Failure::would_block("recvmmsg"));
}

#[test]
fn drops_at_the_socket_come_with_the_next_datagram() {
    let (a, b) = pair();
    sockopt::set_overflow_count(&b).unwrap();
    sockopt::set_receive_buffer(&b, 4096).unwrap();
    let mut out = SendBatch::new(64, 1000, 1);
    assert_eq!(out.send(&a, 64, Blocking::Yes), Ok(64));
    let mut inbox = RecvBatch::new(64, 2048);
    let before = inbox.receive(&b, Blocking::No).unwrap();
    assert_eq!(out.send(&a, 1, Blocking::Yes), Ok(1));
    assert_eq!(inbox.receive(&b, Blocking::Yes), Ok(1));
    inbox.message(0);
    assert_eq!(inbox.overflow().unwrap() as usize, 64 - before);
}

#[test]
fn cut_control_messages_end_the_reading() {
    assert_eq!(parse_control(&[]), ControlFacts::default());
    assert_eq!(parse_control(&[0xff; 12]), ControlFacts::default());
    let mut bytes = [0_u8; 24];
    bytes[..8].copy_from_slice(&20_usize.to_ne_bytes());
    bytes[8..12].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    bytes[12..16].copy_from_slice(&libc::UDP_GRO.to_ne_bytes());
    bytes[16..20].copy_from_slice(&1448_i32.to_ne_bytes());
    assert_eq!(parse_control(&bytes).segment, Some(1448));
    assert_eq!(parse_control(&bytes[..18]), ControlFacts::default());
}

#[test]
#[should_panic(expected = "out of bounds")]
fn more_datagrams_than_there_is_room_for_are_refused_even_without_payload() {
    let (a, _b) = pair();
    let _sent = SendBatch::new(1, 0, 1).send(&a, 2, Blocking::No);
}
