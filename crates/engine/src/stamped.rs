//! The kernel's sockets with kernel timestamps of each message, to split a round trip into stages. One message per
//! call; timestamps make every call more expensive, so nothing else uses them.

use crate::datapaths::{Arrivals, Buffers, DatagramPath, Departed, KernelStamps, Span, StreamPath};
use linerate_model::MonoInstant;
use linerate_sys::failure::Failure;
use linerate_sys::timestamps::{self, Conversion, Departure, Passed, Wall, WallStamp};
use linerate_sys::udp::Blocking;
use linerate_sys::{sockopt, tcp};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Timestamps of the last sent and the last received message.
struct Stamps {
    conversion: Conversion,
    arrived: Option<WallStamp>,
    /// Id of the newest message with a timestamp, and its timestamps.
    newest: Option<u32>,
    scheduled: Option<WallStamp>,
    driver: Option<WallStamp>,
}

impl Stamps {
    fn new() -> Self {
        Self {
            conversion: Conversion::measure(),
            arrived: None,
            newest: None,
            scheduled: None,
            driver: None,
        }
    }

    /// Discards timestamps of an earlier message.
    const fn forget_sent(&mut self) {
        (self.scheduled, self.driver) = (None, None);
    }

    /// Records a timestamp. Only the first of a retransmitted message counts, and none of older messages.
    fn note(&mut self, departure: Departure) {
        let is_older = |newest: u32| departure.id.wrapping_sub(newest) > u32::MAX / 2;
        if self.newest.is_some_and(is_older) {
            return;
        }
        if self.newest != Some(departure.id) {
            self.newest = Some(departure.id);
            self.forget_sent();
        }
        let place = match departure.passed {
            Passed::Scheduler => &mut self.scheduled,
            Passed::Driver => &mut self.driver,
        };
        place.get_or_insert(departure.stamp);
    }

    fn departed(&mut self, socket: BorrowedFd<'_>) -> Departed {
        while let Ok(Some(departure)) = timestamps::departure(socket) {
            self.note(departure);
        }
        let at = |stamp: Option<WallStamp>| stamp.map(|stamp| self.conversion.monotonic(stamp));
        Departed {
            scheduled: at(self.scheduled),
            driver: at(self.driver),
        }
    }

    fn arrived(&self) -> Option<MonoInstant> {
        self.arrived.map(|stamp| self.conversion.monotonic(stamp))
    }
}

/// A connected socket with kernel timestamps.
struct Stamped<S> {
    socket: S,
    blocking: Blocking,
    stamps: Stamps,
}

impl<S: AsFd> Stamped<S> {
    fn new(socket: S, blocking: Blocking) -> io::Result<Self> {
        timestamps::enable(&socket)?;
        Ok(Self {
            socket,
            blocking,
            stamps: Stamps::new(),
        })
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        self.stamps.forget_sent();
        tcp::send(&self.socket, bytes, self.blocking)
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        let got = timestamps::receive(&self.socket, room, self.blocking)?;
        self.stamps.arrived = got.stamp;
        Ok(got.length)
    }
}

impl<S: AsFd> KernelStamps for Stamped<S> {
    fn arrived(&self) -> Option<MonoInstant> {
        self.stamps.arrived()
    }

    fn departed(&mut self) -> Departed {
        self.stamps.departed(self.socket.as_fd())
    }

    fn check(&mut self) -> Wall {
        self.stamps.conversion.check()
    }

    fn error(&self) -> Duration {
        self.stamps.conversion.error()
    }
}

/// Datagrams with kernel timestamps, one per call.
pub(crate) struct StampedDatagrams {
    socket: Stamped<UdpSocket>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    span: Span,
}

impl StampedDatagrams {
    /// Enables timestamps on `socket`.
    pub(crate) fn new(socket: UdpSocket, payload: usize, blocking: Blocking) -> io::Result<Self> {
        Ok(Self {
            socket: Stamped::new(socket, blocking)?,
            outgoing: vec![0; payload],
            // One byte longer, to detect longer datagrams.
            incoming: vec![0; payload + 1],
            span: Span::default(),
        })
    }
}

impl DatagramPath for StampedDatagrams {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.outgoing
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        self.outgoing.resize(payload, 0);
        self.incoming.resize(payload + 1, 0);
        true
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.socket.send(&self.outgoing).map(|_| count)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        tcp::send(&self.socket.socket, &[], self.socket.blocking).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let length = self.socket.receive(&mut self.incoming)?;
        self.span.length = u32::try_from(length).unwrap_or(u32::MAX);
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: std::slice::from_ref(&self.span),
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        let drops = sockopt::socket_drops(&self.socket.socket);
        drops.ok().map(u64::from)
    }

    fn buffers(&self) -> Buffers {
        Buffers::of_datagrams(&self.socket.socket)
    }

    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        Some(&mut self.socket)
    }
}

/// A byte stream with kernel timestamps.
pub(crate) struct StampedStream(Stamped<TcpStream>);

impl StampedStream {
    /// Enables timestamps on `socket`.
    pub(crate) fn new(socket: TcpStream, blocking: Blocking) -> io::Result<Self> {
        Stamped::new(socket, blocking).map(Self)
    }
}

impl StreamPath for StampedStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        self.0.send(bytes)
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        self.0.receive(room)
    }

    fn connection(&self) -> Option<&TcpStream> {
        Some(&self.0.socket)
    }

    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        Some(&mut self.0)
    }
}
