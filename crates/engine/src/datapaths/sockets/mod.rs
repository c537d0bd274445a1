//! The kernel's sockets: `sendmmsg` / `recvmmsg` for datagrams, `send` / `recv` for streams.
//!
//! With `gso`, runs of datagrams are given to the kernel as one and cut up below the stack; with
//! `gro`, the kernel may hand over runs that arrived together as one. Both are off unless asked
//! for, because they change what is measured: the stack is then passed once per run. With
//! `zerocopy`, the kernel sends a bulk stream from the sender's own pages.

mod single;
mod turns;
mod waiting;
mod zero_copy;

use super::{
    Arrivals, Availability, Buffers, CALL_LIMIT, Calls, DatagramPath, DatapathKind, ModeDef, Nagle,
    ParamDef, PathDiagnostics, PathSetup, Run, Span, StreamPath, param_defs, refuse_unknown,
};
use crate::error::{EngineError, Result};
use crate::stamped::{StampedDatagrams, StampedStream};
use linerate_model::ByteCount;
use linerate_model::spec::{DatapathChoice, TestSpec, WaitMode};
use linerate_sys::failure::Failure;
use linerate_sys::udp::{Blocking, RecvBatch, SendBatch};
use linerate_sys::{sockopt, tcp};
use single::SingleSocket;
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
pub(crate) use turns::{TurnSockets, TurnsPath, TurnsSetup};
use waiting::Waiting;
use zero_copy::Sending;

/// The kernel's sockets.
pub(super) struct Sockets;

/// Default datagrams per call. Above some 16 the cost of the call itself is below 3 % of the cost of the datagrams; 64
/// bounds the burst.
const DEFAULT_BATCH: usize = 64;

/// Maximum segments that the kernel cuts from one message (`UDP_MAX_SEGMENTS`, Linux 4.18).
const MAX_SEGMENTS: usize = 64;

/// Maximum payload of one message: 65 535 − 8 (UDP) − 20 (IPv4).
const MAX_MESSAGE: usize = 65_507;

/// Parsed parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Params {
    gso: Option<usize>,
    gro: bool,
    batch: usize,
    epoll: bool,
    zero_copy: bool,
}

impl Params {
    fn parse(params: &BTreeMap<String, String>) -> Result<Self> {
        let text = |key: &str| params.get(key).map(String::as_str);
        let is_on = |key: &'static str| match text(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(EngineError::plan(key, &other, "it takes true or false")),
        };
        Ok(Self {
            gso: match text(DatapathChoice::GSO) {
                None | Some("false") => None,
                Some("true") => Some(MAX_SEGMENTS),
                Some(other) => Some(number(DatapathChoice::GSO, other, MAX_SEGMENTS)?),
            },
            gro: is_on(DatapathChoice::GRO)?,
            epoll: is_on("epoll")?,
            zero_copy: is_on(ZERO_COPY)?,
            batch: match text("batch") {
                None => DEFAULT_BATCH,
                Some(other) => number("batch", other, 1024)?,
            },
        })
    }

    /// Datagrams per message (GSO).
    fn group(&self, payload: usize) -> usize {
        let fit = MAX_MESSAGE / payload.max(1);
        self.gso.map_or(1, |segments| segments.min(fit).max(1))
    }
}

fn number(key: &'static str, text: &str, most: usize) -> Result<usize> {
    let value = text.parse().ok().filter(|n| (1..=most).contains(n));
    value
        .ok_or_else(|| EngineError::plan(key, &text, format!("it takes a number from 1 to {most}")))
}

impl DatapathKind for Sockets {
    fn id(&self) -> &'static str {
        DatapathChoice::SOCKETS
    }

    fn has_socket_calls(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        "The kernel's TCP and UDP sockets, datagrams in batches, segmentation offload on request."
    }

    fn params(&self) -> &'static [ParamDef] {
        param_defs! {
            "gso" => "true|false|N",
                "Give runs of up to N (64) datagrams to the kernel as one (UDP_SEGMENT).";
            "gro" => "true|false", "Take runs of datagrams that arrived together as one (UDP_GRO).";
            "batch" => "N", "Most datagrams per system call (64).";
            "epoll" => "true|false",
                "With wait mode busy-poll: poll the device by epoll (Linux 6.9), which takes no privileges.";
            ZERO_COPY => "true|false",
                "Send a bulk TCP stream from the sender's own pages (MSG_ZEROCOPY, Linux 4.14).";
        }
    }

    fn modes(&self) -> Vec<ModeDef> {
        let mode = |name, wait, summary| ModeDef {
            name,
            wait,
            params: &[],
            summary,
        };
        let by_epoll = mode(
            "epoll-busy-poll",
            WaitMode::BusyPoll,
            "Let epoll poll the device (Linux 6.9).",
        );
        vec![
            mode("block", WaitMode::Block, "Sleep in the kernel."),
            mode(
                "spin",
                WaitMode::Spin,
                "Poll in user space; costs a whole core at each end.",
            ),
            mode(
                "busy-poll",
                WaitMode::BusyPoll,
                "Let the kernel poll the device.",
            ),
            ModeDef {
                params: &[("epoll", "true")],
                ..by_epoll
            },
        ]
    }

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn check(&self, spec: &TestSpec) -> Result<()> {
        refuse_unknown(self, spec)?;
        let params = Params::parse(&spec.datapath.params)?;
        if params.epoll && spec.wait != WaitMode::BusyPoll {
            let why = "it is a way of wait mode busy-poll";
            return Err(EngineError::plan("epoll", &"true", why));
        }
        // Bytes that change while the kernel still reads them would arrive changed.
        if params.zero_copy && spec.workload.as_str() != "bulk" {
            let why = "it takes a bulk TCP stream, whose bytes never change";
            return Err(EngineError::plan(ZERO_COPY, &"true", why));
        }
        Ok(())
    }

    fn datagrams(&self, socket: UdpSocket, setup: &PathSetup<'_>) -> Result<Box<dyn DatagramPath>> {
        let params = Params::parse(setup.params)?;
        let group = params.group(setup.payload).min(setup.calls.most());
        // Only whole groups: a short one costs as much as a full one.
        let batch = (params.batch.min(setup.calls.most()) / group).max(1) * group;
        let waiting = Waiting::of(&socket, setup.wait, params.epoll)?;
        if setup.calls == Calls::Single && setup.stamps {
            let path = StampedDatagrams::new(socket, setup.payload, waiting.blocking());
            return Ok(Box::new(path.map_err(host("SO_TIMESTAMPING", NO_STAMPS))?));
        }
        if setup.calls == Calls::Single {
            return Ok(Box::new(SingleSocket::new(socket, setup.payload, waiting)));
        }
        if params.gso.is_some() {
            let segment = u16::try_from(setup.payload).unwrap_or(u16::MAX);
            let remedy = "leave gso out, or use Linux 4.18 or later";
            sockopt::set_udp_segment(&socket, segment).map_err(host("UDP_SEGMENT", remedy))?;
        }
        if params.gro {
            let remedy = "leave gro out, or use Linux 5.0 or later";
            sockopt::set_udp_gro(&socket).map_err(host("UDP_GRO", remedy))?;
        }
        // Drops are optional: a system without the counter refuses the option.
        drop(sockopt::set_overflow_count(&socket));
        let (messages, slot) = if params.gro {
            (batch.min(MAX_GRO_MESSAGES), usize::from(u16::MAX))
        } else {
            (batch, room_for(setup.payload))
        };
        let per_message = if params.gro { MAX_SEGMENTS } else { 1 };
        Ok(Box::new(DatagramSocket {
            outgoing: Outgoing {
                batch: None,
                capacity: batch,
                payload: setup.payload,
                group,
            },
            incoming: Incoming::new(messages, slot),
            spans: Vec::with_capacity(messages * per_message),
            socket,
            batch,
            waiting,
            runs: params.gro.then(|| Vec::with_capacity(messages)),
            notes: Vec::new(),
        }))
    }

    fn stream(&self, socket: TcpStream, setup: &PathSetup<'_>) -> Result<Box<dyn StreamPath>> {
        let params = Params::parse(setup.params)?;
        let waiting = Waiting::of(&socket, setup.wait, params.epoll)?;
        match setup.nagle {
            Nagle::Off => sockopt::set_no_delay(&socket)
                .map_err(|e| EngineError::io("set TCP_NODELAY on", &"a data socket", e))?,
            Nagle::On if setup.own_receive_buffer => {}
            Nagle::On => sockopt::set_receive_low_water(&socket, LOW_WATER)
                .map_err(|e| EngineError::io("set SO_RCVLOWAT on", &"a data socket", e))?,
        }
        if setup.stamps {
            let path = StampedStream::new(socket, waiting.blocking());
            return Ok(Box::new(path.map_err(host("SO_TIMESTAMPING", NO_STAMPS))?));
        }
        let sending = if params.zero_copy {
            Sending::zero_copy(&socket)?
        } else {
            Sending::Copy
        };
        Ok(Box::new(StreamSocket {
            socket,
            waiting,
            sending,
        }))
    }
}

/// Parameter of a stream that is sent without copying.
const ZERO_COPY: &str = "zerocopy";

const NO_STAMPS: &str = "leave --decompose out, or use Linux 4.0 or later";

/// Bytes a bulk receiver waits for, as many as it reads at once. Waking it for each segment costs the
/// sending core a third of its time (a wake-up across cores is an interrupt); a slow stream is read
/// every [`CALL_LIMIT`] all the same. Not with a receive buffer of the user's choice: the kernel lets
/// the reader wait for half of it, which would halve the window that the user asked for.
const LOW_WATER: i32 = 128 << 10;

/// Initial receive buffer of a stream, bytes: an idle or slow one never fills it.
const FIRST_ROOM: usize = 4 << 10;

/// Messages per receiving call with GRO: 64 KiB each, so 1 MiB, which stays in a level-2 cache.
const MAX_GRO_MESSAGES: usize = 16;

/// Alignment of receive slots: a cache line, for the kernel's copy; also the minimum for shorter datagrams.
const SLOT_ALIGN: usize = 64;

/// Receive slot for a datagram of `payload` bytes: one byte longer, to detect longer datagrams.
fn room_for(payload: usize) -> usize {
    (payload + 1).next_multiple_of(SLOT_ALIGN)
}

fn host(what: &'static str, remedy: &'static str) -> impl FnOnce(io::Error) -> EngineError {
    move |error| EngineError::Host {
        what: what.to_owned(),
        why: error.to_string(),
        remedy,
    }
}

/// Sleeps until `socket` is readable, at most `limit`. An error shows in the next call.
fn await_socket<S: AsFd>(socket: &S, limit: Duration) {
    drop(tcp::wait_readable(&[socket.as_fd()], limit));
}

/// Send buffers of one call; allocated with the first datagram, since most streams go one way.
struct Outgoing {
    batch: Option<SendBatch>,
    capacity: usize,
    payload: usize,
    /// Datagrams per message (GSO).
    group: usize,
}

impl Outgoing {
    fn batch(&mut self) -> &mut SendBatch {
        self.batch
            .get_or_insert_with(|| SendBatch::new(self.capacity, self.payload, self.group))
    }
}

/// Receive buffers of one call: small at first, and full size once they were full, so that a server's idle streams cost
/// little memory.
struct Incoming {
    batch: RecvBatch,
    /// Current and full capacity in messages.
    room: usize,
    messages: usize,
    /// Slot size, bytes.
    slot: usize,
    was_full: bool,
}

impl Incoming {
    fn new(messages: usize, slot: usize) -> Self {
        let room = (FIRST_ROOM / slot).clamp(1, messages);
        Self {
            batch: RecvBatch::new(room, slot),
            room,
            messages,
            slot,
            was_full: false,
        }
    }

    fn receive(&mut self, socket: &UdpSocket, blocking: Blocking) -> Result<usize, Failure> {
        if self.was_full && self.room < self.messages {
            self.batch = RecvBatch::new(self.messages, self.slot);
            self.room = self.messages;
        }
        let count = self.batch.receive(socket, blocking)?;
        self.was_full = count == self.room;
        Ok(count)
    }
}

struct DatagramSocket {
    socket: UdpSocket,
    outgoing: Outgoing,
    incoming: Incoming,
    spans: Vec<Span>,
    batch: usize,
    waiting: Waiting,
    /// With GRO, the runs in which the spans arrived.
    runs: Option<Vec<Run>>,
    /// What the system refused.
    notes: Vec<String>,
}

impl DatagramSocket {
    /// Messages dropped at the socket; with GRO a run of datagrams is one.
    fn drops(&self) -> Option<u32> {
        let now = sockopt::socket_drops(&self.socket).ok();
        now.or_else(|| self.incoming.batch.overflow())
    }
}

impl DatagramSocket {
    /// What to make of a `failure` to send. The kernel does not cut a message into datagrams that are longer than the
    /// path's MTU (`EMSGSIZE`, before Linux 6.13 `EINVAL`): each goes on its own then.
    fn without_segments(&mut self, failure: Failure) -> Failure {
        let is_segmenting = self.outgoing.group > 1;
        let payload = ByteCount::new(self.outgoing.payload as u64);
        let is_too_long = || {
            let path = Buffers::of_datagrams(&self.socket).path_mtu;
            path.is_some_and(|path| path.payload_bytes < payload)
        };
        if !is_segmenting || !is_too_long() || sockopt::unset_udp_segment(&self.socket).is_err() {
            return failure;
        }
        self.outgoing.group = 1;
        self.outgoing.batch = None;
        self.notes.push(NO_SEGMENTS.to_owned());
        Failure::too_long(failure.operation())
    }
}

/// Note of a path whose MTU is smaller than its segments.
const NO_SEGMENTS: &str = "without gso from the path's MTU on: the kernel cuts no message into datagrams that need IP fragments";

impl DatagramPath for DatagramSocket {
    fn batch(&self) -> usize {
        self.batch
    }

    fn slots(&mut self) -> &mut [u8] {
        self.outgoing.batch().bytes_mut()
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let blocking = self.waiting.blocking();
        let sent = self.outgoing.batch().send(&self.socket, count, blocking);
        sent.map_err(|failure| self.without_segments(failure))
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        tcp::send(&self.socket, &[], self.waiting.blocking()).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let (incoming, socket) = (&mut self.incoming, &self.socket);
        let count = self
            .waiting
            .receive(|blocking| incoming.receive(socket, blocking))?;
        self.spans.clear();
        self.runs.iter_mut().for_each(Vec::clear);
        let mut overflows = None;
        for index in 0..count {
            let message = self.incoming.batch.message(index);
            let before = self.spans.len();
            split(
                message.offset,
                message.length,
                message.segment,
                &mut self.spans,
            );
            if let Some(runs) = &mut self.runs {
                runs.push(Run {
                    datagrams: self.spans.len() - before,
                    dropped_before: message.overflow.unwrap_or(0),
                });
            } else {
                overflows = overflows.or(message.overflow);
            }
        }
        Ok(Arrivals {
            bytes: self.incoming.batch.bytes(),
            spans: &self.spans,
            overflows,
            runs: self.runs.as_deref().unwrap_or_default(),
            came: None,
        })
    }

    fn await_arrival(&mut self, limit: Duration) {
        await_socket(&self.socket, limit);
    }

    fn overflows(&mut self) -> Option<u64> {
        self.drops().filter(|_| self.runs.is_none()).map(u64::from)
    }

    fn dropped_runs(&mut self) -> Option<u32> {
        self.drops().filter(|_| self.runs.is_some())
    }

    fn buffers(&self) -> Buffers {
        Buffers::of_datagrams(&self.socket)
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        let mut found = self.waiting.diagnostics(&self.socket);
        found.notes.append(&mut self.notes);
        found
    }
}

/// Appends the datagrams of one message: a single one, or equal ones with a shorter last one.
fn split(offset: usize, length: usize, segment: Option<usize>, spans: &mut Vec<Span>) {
    let step = segment.filter(|s| *s > 0).unwrap_or(length).max(1);
    let mut at = 0;
    loop {
        let part = step.min(length - at);
        spans.push(Span {
            offset: u32::try_from(offset + at).expect("invariant: a batch is below 4 GiB"),
            length: u32::try_from(part).expect("invariant: a datagram is below 64 KiB"),
        });
        at += part;
        if at >= length {
            break;
        }
    }
}

struct StreamSocket {
    socket: TcpStream,
    waiting: Waiting,
    sending: Sending,
}

impl StreamPath for StreamSocket {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let blocking = self.waiting.blocking();
        self.sending.send(&self.socket, bytes, blocking)
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        self.waiting.take(&self.socket, room)
    }

    fn spin(&mut self, looks: u32) -> bool {
        self.waiting.spin(looks)
    }

    fn await_arrival(&mut self, limit: Duration) {
        await_socket(&self.socket, limit);
    }

    fn connection(&self) -> Option<&TcpStream> {
        Some(&self.socket)
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        let mut found = self.waiting.diagnostics(&self.socket);
        found.notes.extend(self.sending.note(&self.socket));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &[(&str, &str)]) -> Result<Params> {
        let owned = text.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Params::parse(&owned.collect())
    }

    #[test]
    fn parameters_are_read_and_nonsense_is_refused() {
        let gso = params(&[("gso", "8"), ("gro", "true"), ("batch", "32")]).unwrap();
        assert_eq!((gso.gso, gso.gro, gso.batch), (Some(8), true, 32));
        assert_eq!(params(&[("gso", "true")]).unwrap().group(1448), 45);
        assert_eq!(params(&[]).unwrap().group(1448), 1);
        assert!(params(&[("zerocopy", "true")]).unwrap().zero_copy);
        for bad in [
            ("gso", "65"),
            ("gro", "yes"),
            ("batch", "0"),
            ("zerocopy", "1"),
        ] {
            assert!(params(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_joined_message_is_split_with_a_short_tail() {
        let mut spans = Vec::new();
        split(100, 250, Some(100), &mut spans);
        let lengths: Vec<_> = spans.iter().map(|s| (s.offset, s.length)).collect();
        assert_eq!(lengths, [(100, 100), (200, 100), (300, 50)]);
        spans.clear();
        split(0, 0, None, &mut spans);
        assert_eq!(spans, [Span::default()]);
    }
}
