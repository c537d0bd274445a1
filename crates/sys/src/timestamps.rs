//! When the kernel saw a message pass: software timestamps of sockets (`SO_TIMESTAMPING`).
//!
//! A message that is sent is stamped before the queueing discipline and again by the driver; both stamps come
//! back through the socket's error queue. A message that arrives is stamped when the driver hands it to the
//! stack; the stamp comes with the message. Stamps are in wall time: see [`Conversion`].
//!
//! # References
//! - Linux `Documentation/networking/timestamping.rst` §1.3, §2.1

use crate::clock::MonotonicOffset;
use crate::control::messages;
use crate::error_queue::{self, ExtendedError, from_error_queue};
use crate::failure::Failure;
use crate::sockopt;
use crate::udp::Blocking;
use linerate_model::MonoInstant;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Enables timestamps of everything sent and received from now on. A connected TCP socket must have no unacknowledged
/// data.
pub fn enable<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_SCHED
        | libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    sockopt::set_timestamping(socket, flags)
}

/// A timestamp in the kernel's wall time, nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallStamp(u64);

/// Result of a receiving call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes; zero at the end of a stream.
    pub length: usize,
    /// When the last of them was handed over by the driver.
    pub stamp: Option<WallStamp>,
}

/// Where a sent message was timestamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// Before the queueing discipline.
    Scheduler,
    /// By the driver, as it handed the message to the device.
    Driver,
}

/// Timestamp of a sent message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// UDP: number of the datagram since timestamps were enabled. TCP: sequence offset of its last byte.
    pub id: u32,
    /// Point of the timestamp.
    pub passed: Passed,
    /// Time.
    pub stamp: WallStamp,
}

/// Receives bytes on a connected socket, with their arrival timestamp.
pub fn receive<Fd: AsFd>(
    socket: Fd,
    room: &mut [u8],
    blocking: Blocking,
) -> Result<Received, Failure> {
    let flags = match blocking {
        Blocking::No => libc::MSG_DONTWAIT,
        Blocking::Yes => 0,
    };
    let (length, facts) = error_queue::receive(socket, room, flags, parse)?;
    Ok(Received {
        length,
        stamp: facts.stamp,
    })
}

/// The next timestamp of a sent message; `None` if there is none yet.
pub fn departure<Fd: AsFd>(socket: Fd) -> Result<Option<Departure>, Failure> {
    from_error_queue(socket, |bytes| {
        let facts = parse(bytes);
        let ((passed, id), stamp) = facts.passed.zip(facts.stamp)?;
        Some(Departure { id, passed, stamp })
    })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Facts {
    stamp: Option<WallStamp>,
    passed: Option<(Passed, u32)>,
}

/// Parses the control messages in `bytes`.
fn parse(bytes: &[u8]) -> Facts {
    let mut facts = Facts::default();
    for (level, kind, data) in messages(bytes) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => facts.stamp = software(data),
            _ if ExtendedError::is(level, kind) => facts.passed = passed(data),
            _ => {}
        }
    }
    facts
}

/// The software timestamp, first of three: seconds and nanoseconds in words of the C library's length; zero means none.
fn software(data: &[u8]) -> Option<WallStamp> {
    let word = |at: usize, size: usize| -> Option<u64> {
        let bytes = data.get(at..at + size)?;
        Some(match size {
            8 => u64::from_ne_bytes(*bytes.first_chunk()?),
            _ => u64::from(u32::from_ne_bytes(*bytes.first_chunk()?)),
        })
    };
    let size = if data.len() >= 48 { 8 } else { 4 };
    let (seconds, nanos) = (word(0, size)?, word(size, size)?);
    let stamp = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    (stamp > 0).then_some(WallStamp(stamp))
}

/// Where a sent message passed, and its id.
fn passed(data: &[u8]) -> Option<(Passed, u32)> {
    /// `linux/errqueue.h`: `SCM_TSTAMP_SND`, `SCM_TSTAMP_SCHED`.
    const DRIVER: u32 = 0;
    const SCHEDULER: u32 = 1;
    let error = ExtendedError::parse(data)?;
    if error.origin != libc::SO_EE_ORIGIN_TIMESTAMPING {
        return None;
    }
    let passed = match error.info {
        DRIVER => Passed::Driver,
        SCHEDULER => Passed::Scheduler,
        _ => return None,
    };
    Some((passed, error.data))
}

/// Converts the kernel's wall time to the monotonic clock.
///
/// Between two settings of the wall time its distance from `CLOCK_MONOTONIC` does not change: the kernel slews both
/// alike. So one good reading of both is valid until wall time is set, which [`check`](Self::check) detects.
#[derive(Debug, Clone, Copy)]
pub struct Conversion {
    offset: MonotonicOffset,
    error: Duration,
}

/// Readings of both clocks from which the best is taken: some µs once, for an error of some 20 ns.
const READINGS: u32 = 64;

/// Minimum detectable setting of wall time: a smaller one looks like an interrupted reading.
const MIN_STEP: Duration = Duration::from_micros(2);

impl Conversion {
    /// Reads both clocks.
    pub fn measure() -> Self {
        let (offset, gap) = MonotonicOffset::measure_best(READINGS);
        Self {
            offset,
            error: gap / 2,
        }
    }

    /// Uncertainty of a converted timestamp.
    pub const fn error(&self) -> Duration {
        self.error
    }

    /// The timestamp on the monotonic clock.
    pub const fn monotonic(&self, stamp: WallStamp) -> MonoInstant {
        self.offset.monotonic(stamp.0)
    }

    /// Reads both clocks again. If wall time has been set since, converts by the new reading from now on and returns
    /// [`Wall::Set`]: timestamps from before and after it must not be compared.
    pub fn check(&mut self) -> Wall {
        let (now, gap) = MonotonicOffset::measure_best(1);
        let moved = Duration::from_nanos(now.distance(self.offset));
        if moved <= gap + self.error + MIN_STEP {
            return Wall::Steady;
        }
        *self = Self::measure();
        Wall::Set
    }
}

/// Whether wall time has been set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// It has.
    Set,
    /// It has not.
    Steady,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonoClock;
    use crate::error_queue::RECVMSG;
    use linerate_model::Clock as _;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    /// Both stamps of the last thing sent.
    fn departures<Fd: AsFd>(socket: Fd) -> Vec<Departure> {
        let next = || departure(socket.as_fd()).unwrap();
        std::iter::from_fn(next).collect()
    }

    /// The stamps of a message are in the order in which it passes, between the times of both programs.
    fn check(
        conversion: Conversion,
        times: [MonoInstant; 2],
        sent: &[Departure],
        received: Received,
    ) {
        let at = |stamp| conversion.monotonic(stamp).as_nanos();
        let of = |passed| sent.iter().find(|d| d.passed == passed).unwrap();
        let slack = u64::try_from(conversion.error().as_nanos()).unwrap() + 1;
        let all = [
            times[0].as_nanos().saturating_sub(slack),
            at(of(Passed::Scheduler).stamp),
            at(of(Passed::Driver).stamp),
            at(received.stamp.unwrap()),
            times[1].as_nanos() + slack,
        ];
        assert!(all.is_sorted(), "{all:?}");
    }

    /// The kernel begins to stamp arrivals a little after it is asked to: exchanges datagrams until it does.
    fn await_stamps() -> [UdpSocket; 2] {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        enable(&a).unwrap();
        enable(&b).unwrap();
        let stamped = (0..1_000_000).any(|_| {
            a.send(&[7; 32]).unwrap();
            let received = receive(&b, &mut [0; 64], Blocking::Yes).unwrap();
            departures(&a);
            received.stamp.is_some()
        });
        assert!(stamped);
        [a, b]
    }

    #[test]
    fn a_datagram_is_stamped_four_times_in_order() {
        let [a, b] = await_stamps();
        let conversion = Conversion::measure();
        let mut last = None;
        for _ in 0..3 {
            let before = MonoClock.now();
            a.send(&[7; 32]).unwrap();
            let received = receive(&b, &mut [0; 64], Blocking::Yes).unwrap();
            let times = [before, MonoClock.now()];
            assert_eq!(received.length, 32);
            let sent = departures(&a);
            let id = sent[0].id;
            assert!(last.is_none_or(|last| id == last + 1), "{sent:?}");
            assert!(sent.iter().all(|departure| departure.id == id), "{sent:?}");
            last = Some(id);
            check(conversion, times, &sent, received);
        }
    }

    #[test]
    fn a_stream_is_stamped_by_its_last_byte() {
        let _keeps_stamps_on = await_stamps();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (b, _) = listener.accept().unwrap();
        enable(&a).unwrap();
        enable(&b).unwrap();
        let conversion = Conversion::measure();
        let before = MonoClock.now();
        io::Write::write_all(&mut a, &[7; 100]).unwrap();
        let received = receive(&b, &mut [0; 200], Blocking::Yes).unwrap();
        let times = [before, MonoClock.now()];
        let sent = departures(&a);
        assert_eq!((received.length, sent[0].id), (100, 99));
        check(conversion, times, &sent, received);
    }

    #[test]
    fn nothing_sent_has_no_stamp_and_nothing_there_is_said_at_once() {
        let a = UdpSocket::bind("127.0.0.1:0").unwrap();
        enable(&a).unwrap();
        assert_eq!(departure(&a), Ok(None));
        let failure = receive(&a, &mut [0; 9], Blocking::No).unwrap_err();
        assert_eq!(failure, Failure::would_block(RECVMSG));
    }

    #[test]
    fn cut_control_messages_give_nothing() {
        let mut bytes = vec![0_u8; 64];
        bytes[..8].copy_from_slice(&64_usize.to_ne_bytes());
        bytes[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        bytes[12..16].copy_from_slice(&libc::SCM_TIMESTAMPING.to_ne_bytes());
        bytes[16..24].copy_from_slice(&3_u64.to_ne_bytes());
        bytes[24..32].copy_from_slice(&5_u64.to_ne_bytes());
        assert_eq!(parse(&bytes).stamp, Some(WallStamp(3_000_000_005)));
        for cut in 0..64 {
            assert_eq!(parse(&bytes[..cut]), Facts::default(), "{cut}");
        }
        assert_eq!(parse(&[0xff; 200]), Facts::default());
    }

    #[test]
    fn a_clock_that_was_not_set_is_steady() {
        let mut conversion = Conversion::measure();
        assert_eq!(conversion.check(), Wall::Steady);
        let year = Duration::from_hours(24 * 365);
        conversion.offset = conversion.offset.as_if_set_by(year);
        assert_eq!(conversion.check(), Wall::Set);
        assert_eq!(conversion.check(), Wall::Steady);
    }
}
