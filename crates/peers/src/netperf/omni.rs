//! OMNI: the one request for all tests, sent by clients from 2.5 on.
//!
//! The request says which way the *server* sends, over which transport, and how long messages are.

use super::block::{self, Block, kind};
use super::order::{Order, RequestValues, Wrong, errno, one_size, wrong};
use super::test::Test;
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{MAX_UDP_PAYLOAD, Transport};
use std::time::Duration;

/// Words of the request.
mod asked {
    pub(super) const SEND_BUFFER: usize = 0;
    pub(super) const SEND_SIZE: usize = 1;
    pub(super) const SEND_WIDTH: usize = 4;
    pub(super) const REQUEST_SIZE: usize = 5;
    pub(super) const RECEIVE_BUFFER: usize = 6;
    pub(super) const RECEIVE_SIZE: usize = 7;
    pub(super) const RECEIVE_WIDTH: usize = 10;
    pub(super) const RESPONSE_SIZE: usize = 11;
    pub(super) const FLAGS: usize = 12;
    pub(super) const TIME: usize = 14;
    pub(super) const PROTOCOL: usize = 23;
    pub(super) const DIRECTION: usize = 24;
    pub(super) const PRIORITY: usize = 36;
    pub(super) const TOS: usize = 37;
    pub(super) const CONGESTION: usize = 38;
}

/// Words of a name of congestion control.
const NAME: usize = 4;

/// Flag: no-delay.
const NO_DELAY: u32 = 1;
/// A new connection for each transaction.
const CONNECTION_TEST: u32 = 4;
/// Flag: measure CPU use.
const MEASURE_CPU: u32 = 8;

/// The server sends; it receives.
const TRANSMIT: u32 = 2;
const RECEIVE: u32 = 4;

const TCP: u32 = 6;
const UDP: u32 = 17;

/// Write size of a server where the client names none: netserver's with the default buffer of Linux.
const USUAL_WRITE: u64 = 16 * 1024;
/// Read size of a server where the client names none.
const USUAL_READ: u64 = 128 * 1024;

/// Parses a request.
pub(super) fn read(request: &Block) -> Result<Order, Wrong> {
    let transport = match request.word(asked::PROTOCOL) {
        TCP => Transport::Tcp,
        UDP => Transport::Udp,
        other => {
            let cause = format!("protocol {other} is not spoken here");
            return Err(wrong(errno::NOT_SUPPORTED, cause));
        }
    };
    if request.word(asked::FLAGS) & CONNECTION_TEST != 0 {
        let cause = "tests of connections (CRR, CC) are not made here";
        return Err(wrong(errno::NOT_SUPPORTED, cause));
    }
    let test = match (transport, request.word(asked::DIRECTION)) {
        (Transport::Tcp, RECEIVE) => Test::TcpStream,
        (Transport::Udp, RECEIVE) => Test::UdpStream,
        (Transport::Tcp, TRANSMIT) => Test::TcpMaerts,
        (Transport::Tcp, both) if both == TRANSMIT | RECEIVE => Test::TcpRr,
        (Transport::Udp, both) if both == TRANSMIT | RECEIVE => Test::UdpRr,
        (_, direction) => {
            let cause = format!("{transport} in direction {direction} is not made here");
            return Err(wrong(errno::NOT_SUPPORTED, cause));
        }
    };
    let asked = RequestValues {
        payload: payload(test, request)?,
        // An empty datagram ends the stream, whatever the length of the others.
        least: 1,
        length: request.signed(asked::TIME),
        send_buffer: request.signed(asked::SEND_BUFFER),
        receive_buffer: request.signed(asked::RECEIVE_BUFFER),
    };
    let mut order = asked.order(test, request)?;
    if test == Test::TcpMaerts {
        order.spec.socket.congestion_control = congestion(request)?;
        order.spec.socket.no_delay = request.word(asked::FLAGS) & NO_DELAY != 0;
    }
    Ok(order)
}

/// Length of messages, or of reads and writes, bytes.
fn payload(test: Test, request: &Block) -> Result<u64, Wrong> {
    let given = |at| u64::try_from(request.signed(at)).ok().filter(|n| *n > 0);
    Ok(match test {
        Test::TcpMaerts => given(asked::SEND_SIZE).unwrap_or(USUAL_WRITE),
        Test::TcpStream => given(asked::RECEIVE_SIZE).unwrap_or(USUAL_READ),
        // The client need not say how long its datagrams are.
        Test::UdpStream => {
            let most = MAX_UDP_PAYLOAD.get();
            given(asked::RECEIVE_SIZE).map_or(most, |size| size.min(most))
        }
        Test::TcpRr | Test::UdpRr => one_size(
            request.word(asked::REQUEST_SIZE),
            request.word(asked::RESPONSE_SIZE),
        )?,
    })
}

fn congestion(request: &Block) -> Result<Option<String>, Wrong> {
    let name = request.text(asked::CONGESTION, NAME);
    let is_name = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if !is_name {
        let cause = "this is not the name of a congestion control";
        return Err(wrong(errno::INVALID, cause));
    }
    Ok((!name.is_empty()).then_some(name))
}

/// Response with the data port.
pub(super) fn response(order: &Order, port: u16) -> Block {
    let request = &order.request;
    let payload = u32::try_from(order.spec.payload().get()).unwrap_or(u32::MAX);
    let words = [
        request.word(asked::RECEIVE_BUFFER),
        payload,
        request.word(asked::RECEIVE_WIDTH),
        request.word(asked::SEND_BUFFER),
        payload,
        request.word(asked::SEND_WIDTH),
        // CPU use is not measured here.
        request.word(asked::FLAGS) & !MEASURE_CPU,
        0,
        request.word(asked::TIME),
        0,
        0,
        u32::from(port),
        0,
        0,
        0,
        0,
        request.word(asked::PRIORITY),
        request.word(asked::TOS),
    ];
    Block::new(kind::OMNI + 1, 0, &words)
}

/// The results of a test.
pub(super) fn results(
    order: &Order,
    report: &EndpointReport,
    elapsed: Duration,
    cores: u32,
) -> Block {
    let stream = report.streams.first();
    let bytes = stream.map_or(0, |stream| stream.bytes.get());
    let calls = stream.map_or(0, |stream| stream.packets.get());
    let path = stream.map(|stream| &stream.path);
    let (received, sent) = match order.test {
        Test::TcpMaerts => (0, bytes),
        Test::TcpRr | Test::UdpRr => (bytes, bytes),
        Test::TcpStream | Test::UdpStream => (bytes, 0),
    };
    let transactions = match order.test {
        Test::TcpRr | Test::UdpRr => calls,
        _ => 0,
    };
    let [received_high, received_low] = halves(received);
    let [sent_high, sent_low] = halves(sent);
    let (time, unknown) = (block::seconds(elapsed), (-1.0_f32).to_bits());
    let buffer = |size: Option<linerate_model::ByteCount>| {
        size.and_then(|bytes| u32::try_from(bytes.get()).ok())
            .unwrap_or(u32::MAX)
    };
    let mut words = vec![
        received_high,
        received_low,
        low(if received > 0 { calls } else { 0 }),
        buffer(path.and_then(|path| path.receive_buffer_bytes)),
        sent_high,
        sent_low,
        low(if sent > 0 { calls } else { 0 }),
        buffer(path.and_then(|path| path.send_buffer_bytes)),
        0,
        low(transactions),
        time,
    ];
    // CPU use in all its parts, and the service demand.
    words.extend([unknown; 7]);
    words.extend([0, cores, u32::MAX, unknown]);
    // NIC: vendor, device, and both of its subsystem.
    words.extend([u32::MAX; 4]);
    words.push(stream.and_then(retransmitted).unwrap_or(u32::MAX));
    let mut block = Block::new(kind::OMNI + 2, 0, &words);
    let name = stream.and_then(|stream| stream.work.congestion_control());
    block.set_text(CONGESTION_AT, NAME, name.unwrap_or_default());
    block
}

/// Word at which the results name the congestion control: after 27 words and 160 bytes about the NIC.
const CONGESTION_AT: usize = 27 + 40;

fn retransmitted(stream: &StreamReport) -> Option<u32> {
    let samples = stream.work.tcp_samples();
    let (first, last) = (samples.first()?, samples.last()?);
    let segments = last
        .retrans_segments?
        .checked_sub(first.retrans_segments?)?;
    u32::try_from(segments).ok()
}

fn low(count: u64) -> u32 {
    halves(count)[1]
}

fn halves(count: u64) -> [u32; 2] {
    [count >> 32, count & u64::from(u32::MAX)].map(|half| u32::try_from(half).unwrap_or(0))
}
