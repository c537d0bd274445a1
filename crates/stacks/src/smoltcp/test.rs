//! One test: the session of the protocol's server, and the traffic for it.
//!
//! Bytes in, bytes out, as in the session itself; the owner connects it to the stack's sockets. A stream's end is
//! processed on arrival: nothing on this link reorders.

use crate::protocol;
use linerate_model::sample::{DatagramReceiver, EndpointReport, SequenceCount, StreamReport};
use linerate_model::spec::{Side, Stop, TestSpec, Transport};
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use linerate_peers::{
    Action, Batch, DatagramFormat, Input, Part, RANDOM_BYTES, Reading, SendTime, ServerConfig,
    Session, StreamEvent, StreamFormat, StreamOrder,
};
use linerate_wire::Jitter;
use linerate_wire::schedule::{Due, Schedule};
use linerate_wire::sequence::{Fixed, Tracker};
use std::collections::VecDeque;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// A test under way.
pub(super) struct Test {
    session: Box<dyn Session>,
    spec: TestSpec,
    format: Option<Arc<dyn StreamFormat>>,
    /// The headers of its datagrams; a byte stream has none.
    headers: Option<Box<dyn DatagramFormat>>,
    receiver: Traffic,
    sender: Traffic,
    came: Came,
    schedule: Option<Schedule>,
    until: Option<MonoInstant>,
    /// Bytes that are still to be sent, and datagrams that were.
    left: u64,
    sent: u64,
    /// Datagrams of the session outside the traffic.
    said: VecDeque<Vec<u8>>,
    is_over: bool,
}

/// How far one side of the traffic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Traffic {
    Absent,
    Flows,
    Ended,
}

/// What a receiver of datagrams has counted.
struct Came {
    tracker: Tracker<Fixed<32, 512>>,
    jitter: Jitter,
    bytes: u64,
    first: MonoInstant,
    last: MonoInstant,
    /// Number of datagrams in the peer's end datagram.
    sent_there: Option<PacketCount>,
}

/// Bytes of one slot of a paced byte stream.
const STREAM_SLOT: usize = 1024;

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Test({})", self.session.state())
    }
}

impl Test {
    /// The test that a stream asks for which begins with these bytes, of at most `room` bytes per datagram; `None` if it
    /// asks for none that is made here.
    pub(super) fn open(
        now: MonoInstant,
        transport: Transport,
        bytes: &[u8],
        room: usize,
    ) -> Option<Self> {
        let config = ServerConfig::new(Ipv4Addr::LOCALHOST.into(), [0; RANDOM_BYTES]);
        let mut test = Self {
            session: protocol().server(config, now),
            spec: TestSpec::tcp_bulk(),
            format: None,
            headers: None,
            receiver: Traffic::Absent,
            sender: Traffic::Absent,
            came: Came {
                tracker: Tracker::new(Fixed::EMPTY),
                jitter: Jitter::new(),
                bytes: 0,
                first: now,
                last: now,
                sent_there: None,
            },
            schedule: None,
            until: None,
            left: 0,
            sent: 0,
            said: VecDeque::new(),
            is_over: false,
        };
        let opened = StreamEvent::Opened { transport, bytes };
        test.tell(now, Input::Stream(opened));
        let format = test.format.clone()?;
        let payload = test.spec.payload().as_usize().min(room);
        test.spec.work.set_payload(ByteCount::new(payload as u64));
        if transport == Transport::Udp {
            test.headers = format.datagrams(0, payload);
        }
        test.tell(now, Input::Prepared(Ok(Vec::new())));
        test.tell(now, Input::Connected);
        Some(test)
    }

    /// Tells the session, and does what it then wants.
    fn tell(&mut self, now: MonoInstant, input: Input<'_>) {
        // After an error the session closes by itself.
        let _ = self.session.handle(now, input);
        while let Some(action) = self.session.poll_action() {
            match action {
                Action::Prepare { spec, format } => {
                    self.spec = *spec;
                    self.format = Some(format);
                }
                Action::Start(Side::Receiver) => self.receiver = Traffic::Flows,
                Action::Start(Side::Sender) => self.start_sending(now),
                Action::Stream(StreamOrder::Datagram { bytes, .. }) => self.said.push_back(bytes),
                Action::Stop { .. } => {
                    (self.receiver, self.sender) = (Traffic::Ended, Traffic::Ended);
                    self.tell(now, Input::Stopped);
                }
                Action::Closed => self.is_over = true,
                _ => {}
            }
        }
    }

    /// Whether nothing more is to be received or sent.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether there is traffic of either side.
    pub(super) fn flows(&self) -> bool {
        [self.receiver, self.sender].contains(&Traffic::Flows)
    }

    /// Whether this end still sends.
    pub(super) fn sends(&self) -> bool {
        self.sender == Traffic::Flows
    }

    /// Bytes that a stream begins with and that are not data.
    pub(super) fn preamble_len(&self) -> usize {
        let format = self.format.as_ref();
        format.map_or(0, |format| format.tcp_preamble_len())
    }

    /// Does what is due by time alone.
    pub(super) fn pass(&mut self, now: MonoInstant) {
        if self.sends() && self.is_all_sent(now) {
            self.sender = Traffic::Ended;
            let sent = vec![PacketCount::new(self.sent)];
            self.tell(now, Input::Finished { sent });
            self.report(now);
        }
        if self.session.deadline().is_some_and(|due| now >= due) {
            self.tell(now, Input::Timeout);
        }
    }

    /// Next timer besides the traffic that is [`due`](Self::due).
    pub(super) fn deadline(&self) -> Option<MonoInstant> {
        let until = self.until.filter(|_| self.sends());
        until.into_iter().chain(self.session.deadline()).min()
    }

    /// The peer has sent all.
    pub(super) fn end(&mut self, now: MonoInstant) {
        if self.receiver == Traffic::Flows {
            self.receiver = Traffic::Ended;
            self.report(now);
        }
    }

    /// Takes a datagram; its number, from 0, if it is of the traffic.
    pub(super) fn take(&mut self, now: MonoInstant, datagram: &[u8]) -> Option<u64> {
        let headers = self
            .headers
            .as_ref()
            .filter(|_| self.receiver == Traffic::Flows);
        let Some(headers) = headers else {
            let (stream, bytes) = (0, datagram);
            self.tell(now, Input::Stream(StreamEvent::Datagram { stream, bytes }));
            return None;
        };
        let came = &mut self.came;
        match headers.read_one(datagram, came.tracker.next_expected()) {
            Reading::Numbered { sequence, sent } => {
                came.tracker.record(sequence);
                came.jitter.record(sent.transit_to(now));
                came.bytes += datagram.len() as u64;
                came.last = now;
                Some(sequence)
            }
            Reading::End { sent } => {
                came.sent_there = sent.map(PacketCount::new);
                self.end(now);
                None
            }
            Reading::Foreign | Reading::Other(_) | Reading::Unnumbered => None,
        }
    }

    /// Says what came, once both sides are over.
    fn report(&mut self, now: MonoInstant) {
        if self.flows() {
            return;
        }
        let mut reports = Vec::new();
        if self.headers.is_some() && self.receiver == Traffic::Ended {
            let stream = self.came.report();
            reports.push(EndpointReport::of_streams(Side::Receiver, vec![stream]));
        }
        self.tell(now, Input::Reports(reports));
    }

    /// The next datagram that the session says beside the traffic, with the time of now; until it is
    /// [`said`](Self::said).
    pub(super) fn unsaid(&mut self, now: MonoInstant) -> Option<&[u8]> {
        let (first, format) = (self.said.front_mut()?, self.format.as_ref()?);
        format.stamp(first, sent_at(now));
        Some(first)
    }

    /// Marks that datagram as sent.
    pub(super) fn said(&mut self) {
        self.said.pop_front();
    }
}

/// Sending.
impl Test {
    /// Bytes of a datagram, or of one slot of a paced byte stream.
    fn slot(&self) -> usize {
        match self.headers {
            Some(_) => self.spec.payload().as_usize(),
            None => STREAM_SLOT,
        }
    }

    fn start_sending(&mut self, now: MonoInstant) {
        let slot = self.slot();
        let rate = self.spec.pace().intended_load();
        self.sender = Traffic::Flows;
        self.schedule =
            rate.and_then(|rate| Schedule::new(now, rate.bps(), slot, Duration::ZERO, 1));
        (self.until, self.left) = match self.spec.stop {
            Stop::After(time) => (Some(now.after(time)), u64::MAX),
            Stop::Bytes(bytes) => (None, bytes.get()),
            Stop::Transactions(count) => (None, count.saturating_mul(slot as u64)),
        };
    }

    fn is_all_sent(&self, now: MonoInstant) -> bool {
        self.left == 0 || self.until.is_some_and(|until| now >= until)
    }

    /// How many bytes are to go now: of a datagram, or the most of a byte stream; else when, if ever.
    pub(super) fn due(&mut self, now: MonoInstant) -> Result<usize, Option<MonoInstant>> {
        if !self.sends() {
            return Err(None);
        }
        if self.is_all_sent(now) {
            return Err(Some(now));
        }
        let most = match self.schedule.as_mut().map(|schedule| schedule.due(now)) {
            Some(Due::Wait(next)) => return Err(Some(next)),
            None if self.headers.is_none() => usize::MAX,
            None | Some(Due::Now { .. }) => self.slot(),
        };
        Ok(usize::try_from(self.left).map_or(most, |left| left.min(most)))
    }

    /// Writes the next datagram.
    pub(super) fn write(&self, now: MonoInstant, slot: &mut [u8]) {
        if let Some(headers) = &self.headers {
            let batch = Batch {
                part: Part::Counted,
                first: self.sent,
                sent: sent_at(now),
            };
            headers.write(slot, slot.len(), batch);
        }
    }

    /// So many bytes, of one datagram or of a byte stream, were given to the stack.
    pub(super) fn sent(&mut self, now: MonoInstant, bytes: usize) {
        if let Some(schedule) = &mut self.schedule {
            schedule.served(now, 1);
        }
        self.sent += u64::from(self.headers.is_some());
        self.left = self.left.saturating_sub(bytes as u64);
    }
}

impl Came {
    fn report(&self) -> StreamReport {
        let counts = self.tracker.counts();
        let work = DatagramReceiver {
            sequence: SequenceCount {
                received: PacketCount::new(counts.received),
                reordered: PacketCount::new(counts.reordered),
                next_expected: counts.next_expected,
                ..SequenceCount::default()
            },
            rtp_jitter_ns: self.jitter.finish(),
            sent_there: self.sent_there,
            ..DatagramReceiver::default()
        };
        let (bytes, packets) = (
            ByteCount::new(self.bytes),
            PacketCount::new(counts.received),
        );
        StreamReport {
            duration: self.last.saturating_since(self.first),
            ..StreamReport::new(0, work).with_counts(bytes, packets)
        }
    }
}

/// Peers look at differences of times only.
const fn sent_at(now: MonoInstant) -> SendTime {
    SendTime {
        monotonic: now,
        wall_ns: now.as_nanos(),
    }
}
