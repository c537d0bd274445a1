//! The test under way: what was asked for, and what both directions have seen.

use crate::order::{Order, Work};
use crate::signal::Snapshot;
use crate::stream::{Connection, Messages};
use crate::tally::Tally;
use crate::traffic::{Peer, Reply, Sink, Source};
use core::net::SocketAddr;
use core::time::Duration;
use linerate_wire::MonoInstant;

/// Time that traffic may take beyond what was asked: send buffers drain slowly on slow links.
const DRAIN: Duration = Duration::from_mins(1);

/// Bytes of one slot of a paced TCP stream.
const STREAM_SLOT: u16 = 1024;

/// One test. A device has a single value, which is reused.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) number: u32,
    pub(crate) token: u32,
    pub(crate) order: Option<Order>,
    /// Peer that sends to this device, and peer to which it sends.
    pub(crate) inbound: Peer,
    pub(crate) outbound: Peer,
    pub(crate) connection: Connection,
    messages: Messages,
    pub(crate) sink: Sink,
    pub(crate) source: Source,
    pub(crate) before: Snapshot,
    pub(crate) after: Snapshot,
    /// Amount sent according to the client's message, and its time.
    announced: Option<(u64, MonoInstant)>,
    /// Whether this end has reported that it has sent all.
    pub(crate) has_finished: bool,
}

impl Test {
    pub(crate) const fn new() -> Self {
        Self {
            number: 0,
            token: 0,
            order: None,
            inbound: Peer::Awaited,
            outbound: Peer::Awaited,
            connection: Connection::Absent,
            messages: Messages {
                position: 0,
                clock: [0; 6],
            },
            sink: Sink::new(),
            source: Source::new(),
            before: Snapshot::new(),
            after: Snapshot::new(),
            announced: None,
            has_finished: false,
        }
    }

    /// Makes ready for another one.
    pub(crate) fn prepare(&mut self, number: u32, token: u32, order: Order) {
        self.number = number;
        self.token = token;
        self.order = Some(order);
        self.inbound = Peer::Awaited;
        self.outbound = Peer::Awaited;
        self.connection = Connection::Absent;
        self.messages = Messages::default();
        self.announced = None;
        self.has_finished = false;
    }

    /// Ends its traffic. What was asked for stays: a message that is made of it may be half sent.
    pub(crate) fn drop_streams(&mut self) {
        self.source.end(MonoInstant::default());
        if self.connection != Connection::Absent {
            self.connection = Connection::Unwanted;
        }
    }

    /// Starts its traffic.
    pub(crate) fn start(&mut self, now: MonoInstant, counters: &Snapshot) -> Option<()> {
        let order = self.order?;
        self.before = counters.taken_at(now);
        if order.receives() {
            self.sink.start(now, &order);
        }
        if order.sends() {
            let (payload, pace) = match order.work {
                Work::Datagrams { payload, pace } => (payload, pace),
                Work::Bytes { pace } => (STREAM_SLOT, pace),
                Work::DatagramAnswers { .. } | Work::ByteAnswers { .. } => return None,
            };
            self.source.start(now, &order, payload, pace);
        }
        Some(())
    }

    /// Longest that its traffic may take.
    pub(crate) fn allowed(&self) -> Duration {
        let longest = self.order.map_or(Duration::ZERO, |order| order.longest());
        longest + DRAIN
    }

    /// Whether every data stream is there.
    pub(crate) fn is_connected(&self, now: MonoInstant) -> bool {
        let Some(order) = self.order else {
            return false;
        };
        if order.work.is_stream() {
            return self.connection == Connection::Open;
        }
        (!order.receives() || self.inbound.is_settled(now))
            && (!order.sends() || self.outbound.is_settled(now))
    }

    /// The client has sent so many datagrams.
    pub(crate) fn tell(&mut self, now: MonoInstant, sent: u64) {
        self.announced.get_or_insert((sent, now));
    }

    /// Whether what comes in is over.
    pub(crate) fn is_sink_over(&self, now: MonoInstant) -> bool {
        let Some(order) = self.order.filter(Order::receives) else {
            return true;
        };
        self.announced.is_some_and(|(sent, said)| {
            let has_ended = order.work.is_stream() && self.connection == Connection::Ended;
            has_ended || self.sink.is_over(order.work, sent, said, now)
        })
    }

    /// Whether this device's sender is over; it ends when it is time.
    pub(crate) fn is_source_over(&mut self, now: MonoInstant) -> bool {
        self.source.turn(now);
        !self.order.is_some_and(|order| order.sends()) || self.source.is_done()
    }

    /// Takes a datagram that came to the receiving port while traffic flows.
    pub(crate) fn take(
        &mut self,
        now: MonoInstant,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Reply {
        if self.inbound.address() != Some(from) {
            return Reply::Nothing;
        }
        match self.order.map(|order| order.work) {
            Some(Work::Datagrams { .. }) => {
                self.sink.take(now, self.token, datagram);
                Reply::Nothing
            }
            Some(Work::DatagramAnswers { size, .. }) => {
                self.sink.answer(now, self.token, size, datagram)
            }
            _ => Reply::Nothing,
        }
    }

    /// Takes bytes of the data connection while traffic flows; whether they are to be sent back.
    pub(crate) fn take_bytes(&mut self, now: MonoInstant, bytes: &mut [u8]) -> Reply {
        match self.order.map(|order| order.work) {
            Some(Work::Bytes { .. }) => {
                self.sink.take_bytes(now, bytes.len() as u64);
                Reply::Nothing
            }
            Some(Work::ByteAnswers { size, .. }) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                self.messages.answer(now, size, bytes, &mut self.sink);
                Reply::SendBack
            }
            _ => Reply::Nothing,
        }
    }

    /// Tally for the progress: of the receiver, if there is one.
    pub(crate) fn progress(&self) -> (&Tally, Option<u64>) {
        match self.order {
            Some(order) if order.receives() => {
                let is_numbered = matches!(order.work, Work::Datagrams { .. });
                let tracker = &self.sink.tracker;
                let missing = tracker.next_expected().saturating_sub(tracker.received());
                (&self.sink.tally, is_numbered.then_some(missing))
            }
            _ => (&self.source.tally, None),
        }
    }
}
