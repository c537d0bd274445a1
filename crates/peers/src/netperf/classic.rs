//! The classic tests, which every netserver supports: requests and results.

use super::PAD;
use super::block::{self, Block};
use super::order::{Order, RequestValues, Wrong, errno, one_size, wrong};
use super::test::Test;
use linerate_model::sample::{EndpointReport, PeerStream, StreamReport};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use std::net::IpAddr;
use std::time::Duration;

/// Requested time where the client ends the test, seconds: long enough that netserver's own timer does not.
const MAX_TEST_SECONDS: u32 = 86_400;

/// Buffer size -1: chosen by the system. Since 2.4.4 zero requests the minimum.
const SYSTEMS_CHOICE: u32 = u32::MAX;

/// Word of a byte-stream request that sets no-delay.
const NO_DELAY: usize = 5;

/// Read and write size of a server where the client names none.
const USUAL_CALL: u64 = 16 * 1024;

/// Alignment requested for netperf's buffers.
const ALIGN: u32 = 8;

/// What this test needs and netperf does not support; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec) -> Option<&'static str> {
    let test = Test::from_spec(spec);
    let is_rr = matches!(test, Test::TcpRr | Test::UdpRr);
    let whole_seconds = matches!(spec.stop, Stop::After(time) if time.subsec_nanos() == 0);
    let why = if spec.streams > 1 {
        "netperf makes one stream per test: leave out -P"
    } else if spec.direction == Direction::Duplex {
        "netperf sends one way per test: measure each direction on its own"
    } else if spec.direction == Direction::Reverse && spec.transport() == Transport::Udp {
        "netperf's classic tests have no UDP from the server: measure with TCP, or start `linerate serve` there"
    } else if is_rr && spec.direction == Direction::Reverse {
        "netperf's client asks and its server answers: leave out --reverse"
    } else if test == Test::TcpMaerts && !whole_seconds {
        "only the server ends its sending, after whole seconds: give such a time with -t"
    } else if test == Test::TcpMaerts && spec.pace() != Pace::Unpaced {
        "the server of netperf sends as fast as it can: leave out --rate"
    } else if test == Test::TcpMaerts && spec.socket.congestion_control.is_some() {
        "the server of netperf chooses its congestion control: leave it out"
    } else if !is_rr && !spec.warm_up.is_zero() {
        "netperf counts all of a stream, so a warm-up cannot be left out: leave out --warm-up"
    } else if test == Test::UdpRr && !matches!(spec.stop, Stop::After(_)) {
        "a lost datagram would leave the server waiting for ever: give a time with -t"
    } else if spec.is_server_slow() {
        "netperf cannot imitate a slow application"
    } else {
        return None;
    };
    Some(why)
}

/// Time requested from the server, whole seconds.
pub(super) fn length(spec: &TestSpec) -> u32 {
    let Stop::After(time) = spec.stop else {
        return MAX_TEST_SECONDS;
    };
    let nanos = time.saturating_add(spec.warm_up).as_nanos();
    u32::try_from(nanos.div_ceil(1_000_000_000))
        .map_or(MAX_TEST_SECONDS, |seconds| seconds.min(MAX_TEST_SECONDS))
}

/// Time after the response by which the server ends the test by itself, without having seen its end.
pub(super) fn guard(spec: &TestSpec) -> Duration {
    Duration::from_secs(u64::from(length(spec))) + PAD
}

/// Request for a test without an [`obstacle`], over a control connection from `local`.
pub(super) fn request(spec: &TestSpec, local: IpAddr) -> Block {
    let test = Test::from_spec(spec);
    let places = test.places();
    let mut words = [0; 17];
    let buffer = |size: Option<ByteCount>| size.map_or(SYSTEMS_CHOICE, |bytes| word(bytes.get()));
    words[places.receive_buffer] = buffer(spec.socket.receive_buffer_bytes);
    words[places.send_buffer] = buffer(spec.socket.send_buffer_bytes);
    let payload = word(spec.payload().get());
    let no_delay = u32::from(spec.socket.no_delay);
    match test {
        Test::TcpMaerts => (words[2], words[3], words[NO_DELAY]) = (payload, ALIGN, no_delay),
        // Reads are as long as the server's buffer.
        Test::TcpStream => (words[3], words[NO_DELAY]) = (ALIGN, no_delay),
        // 6 and 7 are the lengths of both messages, 8 is no-delay.
        Test::TcpRr | Test::UdpRr => {
            (words[2], words[4]) = (ALIGN, ALIGN);
            (words[6], words[7], words[8]) = (payload, payload, 1);
        }
        // The server connects its socket to the first datagram's sender: others' datagrams are not counted.
        Test::UdpStream => (words[1], words[2], words[3], words[16]) = (payload, 1, ALIGN, 0),
    }
    words[places.time] = length(spec);
    words[places.port + 1] = match local.to_canonical() {
        IpAddr::V4(_) => 4,
        IpAddr::V6(_) => 6,
    };
    let core = spec.pinning.remote.unwrap_or(u32::MAX);
    Block::new(test.kind(), core, &words[..16])
}

fn word(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Counts of this end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LocalCounts {
    /// Datagrams or transactions sent.
    pub(super) sent: u64,
    /// L4 payload bytes received.
    pub(super) taken: u64,
}

/// Report from the server's results, checked against this end's counts; without figures where its counts include a
/// warm-up that it does not separate.
pub(super) fn report(
    spec: &TestSpec,
    results: &Block,
    seen: LocalCounts,
) -> Result<Vec<EndpointReport>, String> {
    let test = Test::from_spec(spec);
    let bytes = |at| {
        let count = results.count(at).map(ByteCount::new);
        count.ok_or("its bytes are not a number from 0 to 2^53")
    };
    let time = |at| {
        let time = results.seconds(at);
        time.ok_or("its elapsed time is not a number of seconds")
    };
    let payload = spec.payload().get();
    let counted = |bytes, messages| {
        let counted = StreamReport::new(0, PeerStream::default());
        counted.with_counts(bytes, PacketCount::new(messages))
    };
    let stream = match test {
        Test::TcpMaerts => StreamReport {
            duration: time(3)?,
            ..counted(with_last_write(bytes(0)?, seen, spec.payload()), 0)
        },
        Test::TcpStream => StreamReport {
            duration: time(3)?,
            ..counted(bytes(0)?, 0)
        },
        Test::TcpRr | Test::UdpRr => {
            time(3)?;
            let answers = unwrapped(results.word(2), seen.sent);
            counted(ByteCount::new(answers.saturating_mul(payload)), answers)
        }
        Test::UdpStream => {
            time(2)?;
            let messages = unwrapped(results.word(0), seen.sent);
            // The server's byte count wraps at 4 GiB and includes the datagram that ends the test.
            counted(ByteCount::new(messages.saturating_mul(payload)), messages)
        }
    };
    let report = EndpointReport::of_streams(test.server_side(), vec![stream]);
    Ok(spec
        .warm_up
        .is_zero()
        .then_some(report)
        .into_iter()
        .collect())
}

/// Bytes that a server sent. It leaves out the last write if the end of its time cut that short; the sent part of it
/// was received, since the stream was read to its end.
fn with_last_write(counted: ByteCount, seen: LocalCounts, write: ByteCount) -> ByteCount {
    let missing = seen.taken.saturating_sub(counted.get());
    if missing < write.get() {
        ByteCount::new(counted.get() + missing)
    } else {
        counted
    }
}

/// Tolerance for duplicates before a count is taken to have wrapped.
const DUPLICATES: u64 = 1 << 24;

/// Reconstructs a count of which only the lower 32 bits are reported, from `sent` at the other end.
fn unwrapped(low: u32, sent: u64) -> u64 {
    let most = sent.saturating_add(DUPLICATES);
    let low = u64::from(low);
    let wraps = most.checked_sub(low).map_or(0, |above| above >> 32);
    low + (wraps << 32)
}

/// Parses a request.
pub(super) fn read(test: Test, request: &Block) -> Result<Order, Wrong> {
    let places = test.places();
    let [there, back] = places.sizes.map(|at| request.word(at));
    let payload = match test {
        Test::TcpMaerts | Test::TcpStream if there == 0 => USUAL_CALL,
        Test::TcpRr | Test::UdpRr => one_size(there, back)?,
        Test::TcpMaerts | Test::TcpStream | Test::UdpStream => u64::from(there),
    };
    let least = match test {
        // A shorter datagram ends the stream.
        Test::UdpStream => u16::try_from(payload)
            .map_err(|_| wrong(errno::MESSAGE_SIZE, format!("datagrams of {payload} bytes")))?,
        _ => 1,
    };
    let asked = RequestValues {
        payload,
        least,
        length: request.signed(places.time),
        send_buffer: request.signed(places.send_buffer),
        receive_buffer: request.signed(places.receive_buffer),
    };
    let mut order = asked.order(test, request)?;
    order.spec.socket.no_delay = test == Test::TcpMaerts && request.word(NO_DELAY) != 0;
    Ok(order)
}

/// Results of a test that this end served.
pub(super) fn results(test: Test, report: &EndpointReport, elapsed: Duration) -> Block {
    let stream = report.streams.first();
    let taken = stream.map_or(0, |stream| stream.bytes.get());
    let [high, low] = block::count(taken);
    let time = block::seconds(elapsed);
    // Calls of byte streams are not counted.
    let calls = 0;
    let packets = low_word(stream.map_or(0, |stream| stream.packets.get()));
    // CPU use was not measured: -1.
    let unknown = (-1.0_f32).to_bits();
    let cores = 1;
    let words = match test {
        Test::TcpMaerts | Test::TcpStream => {
            vec![high, low, calls, time, unknown, unknown, 0, cores]
        }
        Test::TcpRr | Test::UdpRr => {
            // Received and sent bytes together.
            let bytes = low_word(taken.saturating_mul(2));
            vec![bytes, packets, packets, time, unknown, unknown, 0, cores]
        }
        Test::UdpStream => {
            let bytes = low_word(taken);
            vec![packets, bytes, time, unknown, 0, cores]
        }
    };
    Block::new(test.kind() + 2, 0, &words)
}

/// Lower 32 bits of a count: netperf reports no more.
fn low_word(count: u64) -> u32 {
    u32::try_from(count & u64::from(u32::MAX)).unwrap_or(0)
}

/// Response with the data port; the rest repeats the request.
pub(super) fn response(test: Test, request: &Block, port: u16) -> Block {
    let places = test.places();
    let mut words = [0; 10];
    let buffer = |at: usize| request.word(at);
    words[0] = buffer(places.receive_buffer);
    match test {
        Test::TcpMaerts | Test::TcpStream => {
            words[1] = request.word(places.sizes[0]);
            words[2] = request.word(5);
            words[4] = request.word(places.time);
            words[5] = buffer(places.send_buffer);
        }
        Test::TcpRr | Test::UdpRr => {
            words[1] = request.word(8);
            words[3] = request.word(places.time);
            words[4] = buffer(places.send_buffer);
        }
        Test::UdpStream => words[3] = request.word(places.time),
    }
    words[test.port_at()] = u32::from(port);
    Block::new(test.kind() + 1, 0, &words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netperf::block::kind;

    #[test]
    fn a_count_that_wrapped_is_the_one_that_fits_what_was_sent() {
        assert_eq!(unwrapped(7, 7), 7);
        assert_eq!(unwrapped(7, 1000), 7);
        // A duplicate is no wrap.
        assert_eq!(unwrapped(8, 7), 8);
        assert_eq!(unwrapped(5, (1 << 32) + 5), (1 << 32) + 5);
        assert_eq!(unwrapped(u32::MAX, (1 << 32) + 5), u64::from(u32::MAX));
        assert_eq!(unwrapped(0, u64::MAX) & u64::from(u32::MAX), 0);
    }

    #[test]
    fn a_write_that_the_end_cut_short_was_sent_as_far_as_it_came() {
        let whole = |taken| {
            let seen = LocalCounts { sent: 0, taken };
            with_last_write(ByteCount::new(2000), seen, ByteCount::new(1000)).get()
        };
        assert_eq!(whole(2000), 2000);
        assert_eq!(whole(2999), 2999);
        // More than a write, or less than was sent, is not explained so.
        assert_eq!(whole(3000), 2000);
        assert_eq!(whole(1500), 2000);
    }

    #[test]
    fn bytes_that_wrapped_do_not_matter() {
        let spec = TestSpec::udp_datagrams(Pace::Unpaced);
        let messages = 10_000_000_u32;
        let wrapped = messages.wrapping_mul(1448);
        let words = [messages, wrapped, block::seconds(Duration::from_secs(10))];
        let results = Block::new(kind::UDP_STREAM + 2, 0, &words);
        let seen = LocalCounts {
            sent: 10_000_001,
            taken: 0,
        };
        let report = &report(&spec, &results, seen).unwrap()[0];
        assert_eq!(report.streams[0].bytes.get(), 14_480_000_000);
        assert_eq!(report.streams[0].packets.get(), 10_000_000);
    }

    #[test]
    fn what_netperf_cannot_do_is_refused_with_a_remedy() {
        type Corrupt = fn(&mut TestSpec);
        let spoils: &[(&str, Corrupt)] = &[
            ("-P", |s| s.streams = 2),
            ("each direction", |s| s.direction = Direction::Duplex),
            ("linerate serve", |s| {
                *s = TestSpec::udp_datagrams(Pace::Unpaced);
                s.direction = Direction::Reverse;
            }),
            ("-t", |s| {
                s.direction = Direction::Reverse;
                s.stop = Stop::After(Duration::from_millis(1500));
            }),
            ("--warm-up", |s| s.warm_up = Duration::from_secs(1)),
            ("-t", |s| {
                *s = TestSpec::ping_pong(Transport::Udp);
                s.stop = Stop::Transactions(5);
            }),
        ];
        for (word, corrupt) in spoils {
            let mut spec = TestSpec::tcp_bulk();
            assert_eq!(obstacle(&spec), None);
            corrupt(&mut spec);
            let problem = obstacle(&spec).unwrap();
            assert!(problem.contains(word), "{problem}");
        }
    }
}
