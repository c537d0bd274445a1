//! One direction of a datagram test: its peer, receiver and sender.

use crate::order::{Order, Pace, Stop, Work};
use crate::tally::Tally;
use core::net::SocketAddr;
use core::time::Duration;
use linerate_wire::header::{HEADER_LEN, Header, Kind, SENT, clock};
use linerate_wire::schedule::{Due, Schedule};
use linerate_wire::sequence::{Arrival, Fixed, Tracker, window};
use linerate_wire::{Jitter, MonoInstant, Stamp};

/// Silence of a client after the answer by which it has the answer: five of its hello intervals.
const SETTLED_AFTER: Duration = Duration::from_millis(250);

/// Silence after the client's last datagram for which reordered ones are awaited.
const IDLE_TIMEOUT: Duration = Duration::from_millis(150);

/// Idle timeout of a TCP stream whose end has not arrived.
const STREAM_END_TIMEOUT: Duration = Duration::from_millis(300);

/// What to do with a received buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    Nothing,
    /// Send it back, at the same length.
    SendBack,
}

/// Peer of one direction's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Awaited,
    /// Its hello was answered, last at that time.
    Answered {
        from: SocketAddr,
        last: MonoInstant,
    },
    /// It has the answer.
    Settled {
        from: SocketAddr,
    },
}

impl Peer {
    pub(crate) const fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Awaited => None,
            Self::Answered { from, .. } | Self::Settled { from } => Some(from),
        }
    }

    /// Whether the client has the answer by `now`.
    pub(crate) fn is_settled(self, now: MonoInstant) -> bool {
        match self {
            Self::Awaited => false,
            Self::Answered { last, .. } => now >= last.after(SETTLED_AFTER),
            Self::Settled { .. } => true,
        }
    }

    /// Takes a handshake datagram from the client's address; returns the reply.
    pub(crate) fn greet(
        &mut self,
        now: MonoInstant,
        from: SocketAddr,
        token: u32,
        datagram: &mut [u8],
    ) -> Reply {
        let own = Header::read(datagram).filter(|h| h.token == token && h.stream == 0);
        match own.map(|header| header.kind) {
            // The answer is never longer than the request.
            Some(Kind::Hello) if datagram.len() == HEADER_LEN => {
                *self = Self::Answered { from, last: now };
                let ack = Header {
                    token,
                    stream: 0,
                    kind: Kind::HelloAck,
                    sequence: 0,
                    sent: Stamp::from_bits(0),
                };
                ack.write(datagram);
                Reply::SendBack
            }
            Some(Kind::HelloDone) if self.address() == Some(from) => {
                *self = Self::Settled { from };
                Reply::Nothing
            }
            _ => Reply::Nothing,
        }
    }
}

/// Memory of received sequence numbers, 4.3 KiB.
type Numbers = Fixed<32, 512>;

/// Number of sequence numbers below the next expected one within which a late datagram is distinguished from a
/// duplicate: full frames in a queue of 1.5 MB. An older one counts as too old.
pub const SEQUENCE_WINDOW: u64 = window::<Numbers>();

/// Counts of a receiver.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) tally: Tally,
    pub(crate) tracker: Tracker<Numbers>,
    /// Datagrams of the client without this test's header.
    pub(crate) foreign: u64,
    /// Rounds of the device's loop with received datagrams.
    pub(crate) rounds: u64,
    has_read: bool,
    jitter: Jitter,
    /// Answers left in the warm-up.
    warming: u64,
    /// When the last datagram arrived, or traffic started.
    pub(crate) last: MonoInstant,
    counted_from: MonoInstant,
}

impl Sink {
    pub(crate) const fn new() -> Self {
        Self {
            tally: Tally::new(),
            tracker: Tracker::new(Numbers::EMPTY),
            foreign: 0,
            rounds: 0,
            has_read: false,
            jitter: Jitter::new(),
            warming: 0,
            last: MonoInstant::from_nanos(0),
            counted_from: MonoInstant::from_nanos(0),
        }
    }

    pub(crate) fn start(&mut self, now: MonoInstant, order: &Order) {
        self.tally.reset(order.interval);
        self.tracker.reset();
        self.foreign = 0;
        self.rounds = 0;
        self.has_read = false;
        self.jitter = Jitter::new();
        self.warming = match order.work {
            Work::DatagramAnswers { warm_up, .. } | Work::ByteAnswers { warm_up, .. } => warm_up,
            Work::Datagrams { .. } | Work::Bytes { .. } => 0,
        };
        self.last = now;
        self.counted_from = now.after(order.warm_up);
    }

    /// Ends a round of the device's loop: its receive queue is empty.
    pub(crate) fn end_round(&mut self) {
        self.rounds += u64::from(self.has_read);
        self.has_read = false;
    }

    /// Counts a datagram of a one-way stream.
    pub(crate) fn take(&mut self, now: MonoInstant, token: u32, datagram: &[u8]) {
        self.has_read = true;
        self.last = now;
        let own = Header::read(datagram).filter(|h| h.token == token && h.stream == 0);
        let Some(header) = own else {
            self.foreign += 1;
            return;
        };
        if header.kind != Kind::Counted {
            return;
        }
        self.tally.begin(now);
        self.jitter.record(header.sent.transit_to(now));
        if self.tracker.record(header.sequence) == Arrival::Distinct {
            self.tally.count(now, datagram.len() as u64, 1);
        }
        self.tally.expect(self.tracker.next_expected());
    }

    /// Answers a datagram of this size, if it is a message of the test.
    pub(crate) fn answer(
        &mut self,
        now: MonoInstant,
        token: u32,
        size: u16,
        datagram: &mut [u8],
    ) -> Reply {
        self.has_read = true;
        if datagram.len() != usize::from(size) {
            return Reply::Nothing;
        }
        if datagram.len() >= HEADER_LEN {
            let is_own = |h: &Header| h.token == token && h.stream == 0 && h.kind == Kind::Counted;
            if !Header::read(datagram).is_some_and(|header| is_own(&header)) {
                return Reply::Nothing;
            }
            if let Some(sent) = datagram.get_mut(SENT) {
                sent.copy_from_slice(&clock(now));
            }
        }
        self.answered(now, size.into());
        Reply::SendBack
    }

    /// Counts an answer. Those of the warm-up, by time and by number, do not count.
    pub(crate) fn answered(&mut self, now: MonoInstant, bytes: u64) {
        self.last = now;
        if self.warming > 0 {
            self.warming -= 1;
            return;
        }
        if now >= self.counted_from {
            self.tally.begin(now);
            self.tally.count(now, bytes, 1);
        }
    }

    /// Counts bytes of a one-way TCP stream.
    pub(crate) fn take_bytes(&mut self, now: MonoInstant, bytes: u64) {
        self.last = now;
        if now >= self.counted_from {
            self.tally.begin(now);
            self.tally.count(now, bytes, 0);
        }
    }

    /// Whether all of `sent` has arrived, or nothing has for too long since `said`.
    pub(crate) fn is_over(
        &self,
        work: Work,
        sent: u64,
        said: MonoInstant,
        now: MonoInstant,
    ) -> bool {
        let last = self.last.max(said);
        let is_idle = now >= last.after(IDLE_TIMEOUT);
        match work {
            Work::Datagrams { .. } => self.tracker.received() >= sent || is_idle,
            Work::DatagramAnswers { .. } => self.tally.packets() >= sent || is_idle,
            // A stream signals its own end, unless that is lost.
            Work::Bytes { .. } | Work::ByteAnswers { .. } => now >= last.after(STREAM_END_TIMEOUT),
        }
    }

    pub(crate) const fn jitter(&self) -> Option<u64> {
        self.jitter.finish()
    }
}

/// Maximum datagrams, or pieces of a TCP stream, that are given in one round of the device's loop: at a rate above that
/// of the link, or without one, the next is always due, and the device must get to its other work.
pub(crate) const MAX_PER_ROUND: u8 = 64;

/// A sender with its counts.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) tally: Tally,
    pub(crate) phase: Phase,
    schedule: Option<Schedule>,
    stop: Stop,
    payload: u16,
    /// Number of the next datagram.
    sequence: u64,
    /// Unused slots of the schedule.
    pub(crate) unsent: u64,
    pub(crate) duration: Duration,
    /// What may still be given in this round.
    left_in_round: u8,
}

/// Phase of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Done,
    Counted { since: MonoInstant },
    WarmUp { until: MonoInstant },
}

impl Source {
    pub(crate) const fn new() -> Self {
        Self {
            tally: Tally::new(),
            phase: Phase::Done,
            schedule: None,
            stop: Stop::Transactions(0),
            payload: 0,
            sequence: 0,
            unsent: 0,
            duration: Duration::ZERO,
            left_in_round: MAX_PER_ROUND,
        }
    }

    /// Begins a round of the device's loop.
    pub(crate) const fn begin_round(&mut self) {
        self.left_in_round = MAX_PER_ROUND;
    }

    pub(crate) fn start(&mut self, now: MonoInstant, order: &Order, payload: u16, pace: Pace) {
        let until = now.after(order.warm_up);
        self.phase = Phase::WarmUp { until };
        self.tally.reset(order.interval);
        self.tally.begin(until);
        self.schedule = match pace {
            Pace::Unpaced => None,
            Pace::At(rate) => Schedule::new(now, rate, payload.into(), Duration::ZERO, 1),
        };
        self.stop = order.stop;
        self.payload = payload;
        self.sequence = 0;
        self.unsent = 0;
        self.duration = Duration::ZERO;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// When the next datagram or the end of the stream is due; `None` once it has ended.
    pub(crate) fn due(&mut self, now: MonoInstant) -> Option<MonoInstant> {
        self.turn(now);
        if self.is_done() {
            return None;
        }
        let Some(schedule) = &mut self.schedule else {
            return Some(now);
        };
        Some(match schedule.due(now) {
            Due::Now { .. } => now,
            Due::Wait(until) => until,
        })
    }

    /// Moves from warm-up to counting, and from that to the end, when it is due.
    pub(crate) fn turn(&mut self, now: MonoInstant) {
        if let Phase::WarmUp { until } = self.phase
            && now >= until
        {
            self.phase = Phase::Counted { since: until };
            self.sequence = 0;
            self.schedule = self.schedule.map(|schedule| schedule.restarted(until));
        }
        let Phase::Counted { since } = self.phase else {
            return;
        };
        let (counted, bytes) = (self.tally.packets(), self.tally.bytes());
        let is_over = match self.stop {
            Stop::After(time) => now >= since.after(time),
            Stop::Bytes(most) => bytes >= most,
            Stop::Transactions(most) => counted >= most,
        };
        if is_over {
            self.end(now);
        }
    }

    /// Ends the stream at `now`.
    pub(crate) fn end(&mut self, now: MonoInstant) {
        if let Phase::Counted { since } = self.phase {
            let limit = match self.stop {
                Stop::After(time) => now.min(since.after(time)),
                Stop::Bytes(_) | Stop::Transactions(_) => now,
            };
            self.duration = limit.saturating_since(since);
            if let Some(schedule) = &mut self.schedule {
                if matches!(self.stop, Stop::After(_)) {
                    schedule.give_up_before(limit);
                }
                // Each datagram takes its whole slot.
                self.duration = self
                    .duration
                    .max(schedule.next_due().saturating_since(since));
                self.unsent = schedule.skipped();
            }
            self.tally.close(self.duration);
        }
        self.phase = Phase::Done;
    }

    /// Writes the next datagram into `room` if one is due and it fits; returns its length.
    pub(crate) fn write(&mut self, now: MonoInstant, token: u32, room: &mut [u8]) -> Option<usize> {
        if self.left_in_round == 0 || self.due(now).is_none_or(|due| due > now) {
            return None;
        }
        let datagram = room.get_mut(..usize::from(self.payload))?;
        let is_counted = matches!(self.phase, Phase::Counted { .. });
        let header = Header {
            token,
            stream: 0,
            kind: if is_counted {
                Kind::Counted
            } else {
                Kind::WarmUp
            },
            sequence: self.sequence,
            sent: Stamp::from_instant(now),
        };
        header.write(datagram);
        self.sequence += 1;
        self.served(now, self.payload.into(), 1);
        Some(datagram.len())
    }

    /// Bytes of a TCP stream that may be sent now.
    pub(crate) fn bytes_due(&mut self, now: MonoInstant, room: usize) -> usize {
        if self.left_in_round == 0 || self.due(now).is_none_or(|due| due > now) {
            return 0;
        }
        let left = match self.stop {
            Stop::Bytes(most) => most.saturating_sub(self.tally.bytes()),
            Stop::After(_) | Stop::Transactions(_) => u64::MAX,
        };
        let slot = usize::from(self.payload);
        let most = match self.schedule {
            // Slots are sent as a whole.
            Some(_) if room < slot => 0,
            Some(_) => slot,
            None => room,
        };
        usize::try_from(left).map_or(most, |left| most.min(left))
    }

    /// Records what was given to the stack.
    pub(crate) fn served(&mut self, now: MonoInstant, bytes: u64, packets: u32) {
        self.left_in_round = self.left_in_round.saturating_sub(1);
        if let Some(schedule) = &mut self.schedule {
            schedule.served(now, 1);
        }
        if matches!(self.phase, Phase::Counted { .. }) {
            self.tally.count(now, bytes, packets);
        }
    }
}

#[cfg(test)]
mod tests;
