//! One direction of the link element as a pure state machine: what happens to each frame, and
//! when. Does no I/O, reads no clock and holds no bytes; frames are known by a handle.
//!
//! Invariant: frames leave in the order in which they were put on the line. Reordering is made
//! before the line, by holding a data packet until others have passed.
//!
//! # References
//! - Reordering and its extent: RFC 4737; duplication: RFC 5560

use super::counters::{add_bytes, count};
use super::draw::{Draws, Purpose, split};
use super::line::Line;
use super::{DirectionCounters, ETHERNET_HEADER, LinkConfig, Tally};
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use std::collections::VecDeque;
use std::time::Duration;

/// Whether a frame counts as data for lists and counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameClass {
    /// The filter matches.
    Data,
    /// It does not.
    Other,
}

/// A frame on its way through a [`Shaper`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The owner's handle for the bytes.
    pub handle: u32,
    /// Length in bytes without FCS.
    pub length: u32,
    /// Bytes of it that are a VLAN tag: a link carries them beyond its MTU.
    pub tag: u32,
    /// Whether it is data.
    pub class: FrameClass,
}

/// Decision about an arrived frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Dropped; the handle is free again.
    Dropped,
    /// Accepted: it will leave by [`Shaper::depart`].
    Taken,
}

/// A frame that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The owner's handle for the bytes.
    pub handle: u32,
    /// Whether the handle leaves once more.
    pub last: Copies,
    /// Intended departure time.
    pub at: MonoInstant,
}

/// Whether a copy of a departing frame follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// No copy follows: the handle is free after this departure.
    Last,
    /// A copy follows: keep the bytes.
    More,
}

/// One direction of a link. Calls must be ordered by their `now`.
#[derive(Debug)]
pub struct Shaper {
    config: LinkConfig,
    longest: u32,
    draws: Draws,
    line: Line,
    /// Data packets held for reordering, oldest first.
    held: VecDeque<Held>,
    held_bytes: u64,
    leaving: VecDeque<Leaving>,
    last_leave: MonoInstant,
    data_seen: u64,
    other_seen: u64,
    drawn: u64,
    counters: DirectionCounters,
    /// Number of resets; frames of an earlier epoch are not counted.
    epoch: u64,
}

/// A data packet that waits to be overtaken.
#[derive(Debug)]
struct Held {
    frame: Frame,
    number: u64,
    overtaken_by: u32,
    deadline: MonoInstant,
    epoch: u64,
}

/// A frame with a fixed departure time.
#[derive(Debug)]
struct Leaving {
    departure: Departure,
    length: u32,
    class: FrameClass,
    epoch: u64,
}

impl Shaper {
    /// Shaper with configuration `config` for frames of up to `longest` bytes without FCS.
    pub fn new(config: LinkConfig, longest: u32, seed: u64) -> Self {
        Self {
            config,
            longest,
            draws: Draws::new(seed),
            line: Line::default(),
            held: VecDeque::new(),
            held_bytes: 0,
            leaving: VecDeque::new(),
            last_leave: MonoInstant::default(),
            data_seen: 0,
            other_seen: 0,
            drawn: 0,
            counters: DirectionCounters::default(),
            epoch: 0,
        }
    }

    /// Delays that one direction (from A if `from_a`, else from B) of an element with this `seed` draws for its frames
    /// after a reset, in order, data and others alike: the reference for tests of jitter.
    pub fn drawn_delays(
        config: LinkConfig,
        seed: u64,
        from_a: bool,
    ) -> impl Iterator<Item = Duration> {
        let [a, b] = split(seed);
        let mut shaper = Self::new(config, u32::MAX, if from_a { a } else { b });
        std::iter::repeat_with(move || shaper.delay())
    }

    /// The configuration in force.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Decides on a frame that arrives at `now`.
    pub fn arrive(&mut self, now: MonoInstant, frame: Frame) -> Verdict {
        self.release_overdue(now);
        let number = self.number(frame.class);
        if let Some(counter) = self.cause_of_drop(now, frame, number) {
            count(counter);
            return Verdict::Dropped;
        }
        self.counters.in_flight = PacketCount::new(self.counters.in_flight.get() + 1);
        if frame.class == FrameClass::Data && self.is_moved_back(number) {
            self.hold(now, frame, number);
        } else {
            self.pass(now, frame, number, self.epoch);
            if frame.class == FrameClass::Data {
                self.release_overtaken(now);
            }
        }
        Verdict::Taken
    }

    /// The next frame that is due at `now`.
    pub fn depart(&mut self, now: MonoInstant) -> Option<Departure> {
        self.release_overdue(now);
        let leaving = self.leaving.pop_front_if(|next| next.departure.at <= now)?;
        if leaving.epoch == self.epoch {
            self.counters.in_flight = PacketCount::new(self.counters.in_flight.get() - 1);
            let tally = self.tally(leaving.class);
            count(&mut tally.forwarded);
            add_bytes(&mut tally.forwarded_bytes, leaving.length);
        }
        Some(leaving.departure)
    }

    /// Time of the next departure, if no frame arrives before.
    pub fn next_departure(&self) -> Option<MonoInstant> {
        let held = self.held.front().map(|held| held.deadline);
        let leaving = self.leaving.front().map(|next| next.departure.at);
        held.into_iter().chain(leaving).min()
    }

    /// Counters since the last reset.
    pub fn counters(&self) -> DirectionCounters {
        self.counters
    }

    /// Resets the counters and numbers packets from 1 again. Frames in flight stay.
    pub fn reset(&mut self) {
        self.counters = DirectionCounters::default();
        (self.data_seen, self.other_seen, self.drawn) = (0, 0, 0);
        self.epoch += 1;
    }

    /// Applies `config` to frames that arrive from now on.
    pub fn reconfigure(&mut self, config: LinkConfig) {
        self.config = config;
        self.line.change_rate();
    }

    /// Counts an arrival; returns its number in its class, from 1.
    fn number(&mut self, class: FrameClass) -> u64 {
        count(&mut self.tally(class).arrived);
        let seen = match class {
            FrameClass::Data => &mut self.data_seen,
            FrameClass::Other => &mut self.other_seen,
        };
        *seen += 1;
        *seen
    }

    /// Counter of the first reason to drop the frame.
    fn cause_of_drop(
        &mut self,
        now: MonoInstant,
        frame: Frame,
        number: u64,
    ) -> Option<&mut PacketCount> {
        let is_data = frame.class == FrameClass::Data;
        let untagged = frame.length - frame.tag;
        if untagged > self.longest {
            return Some(&mut self.tally(frame.class).oversize);
        }
        if self.is_cut(untagged) {
            return Some(&mut self.tally(frame.class).dropped_by_mtu_cut);
        }
        if self.config.outage.is_some_and(|outage| outage.is_at(now)) {
            return Some(&mut self.tally(frame.class).dropped_by_outage);
        }
        if is_data && self.config.drop.contains(number) {
            return Some(&mut self.tally(frame.class).dropped_by_list);
        }
        let purpose = if is_data {
            Purpose::LoseData
        } else {
            Purpose::LoseOther
        };
        if self.draws.happens(purpose, number, self.config.loss) {
            return Some(&mut self.tally(frame.class).dropped_by_loss);
        }
        if !self.has_room(now, frame.length) {
            return Some(&mut self.tally(frame.class).dropped_by_queue);
        }
        None
    }

    fn is_cut(&self, length: u32) -> bool {
        let packet = u64::from(length).saturating_sub(ETHERNET_HEADER);
        self.config
            .mtu_cut_bytes
            .is_some_and(|most| packet > u64::from(most))
    }

    fn has_room(&mut self, now: MonoInstant, length: u32) -> bool {
        let queued = self.line.backlog(now).get() + self.held_bytes;
        self.config.rate.is_none() || queued + u64::from(length) <= self.config.queue_bytes.get()
    }

    fn is_moved_back(&self, number: u64) -> bool {
        self.config.reorder_list.contains(number)
            || self
                .draws
                .happens(Purpose::Reorder, number, self.config.reorder)
    }

    fn is_doubled(&self, number: u64) -> bool {
        self.config.duplicate_list.contains(number)
            || self
                .draws
                .happens(Purpose::Duplicate, number, self.config.duplicate)
    }

    /// Holds a data packet for reordering; its space in the queue is reserved.
    fn hold(&mut self, now: MonoInstant, frame: Frame, number: u64) {
        self.held_bytes += u64::from(frame.length);
        self.held.push_back(Held {
            frame,
            number,
            overtaken_by: 0,
            deadline: now.after(self.config.reorder_wait),
            epoch: self.epoch,
        });
    }

    /// A data packet has overtaken those held: releases the ones that enough have overtaken.
    fn release_overtaken(&mut self, now: MonoInstant) {
        for held in &mut self.held {
            held.overtaken_by += 1;
        }
        let enough = self.config.displacement;
        while let Some(held) = self.held.pop_front_if(|held| held.overtaken_by >= enough) {
            self.release(now, &held);
        }
    }

    /// Releases the packets that have been held too long.
    fn release_overdue(&mut self, now: MonoInstant) {
        while let Some(held) = self.held.pop_front_if(|held| held.deadline <= now) {
            self.release(held.deadline, &held);
        }
    }

    fn release(&mut self, now: MonoInstant, held: &Held) {
        self.held_bytes -= u64::from(held.frame.length);
        if held.overtaken_by > 0 && held.epoch == self.epoch {
            count(&mut self.tally(held.frame.class).reordered);
        }
        self.pass(now, held.frame, held.number, held.epoch);
    }

    /// Puts the frame, and its duplicate if it is to have one, on the line.
    fn pass(&mut self, now: MonoInstant, frame: Frame, number: u64, epoch: u64) {
        let first = self.schedule(now, frame);
        let doubled = frame.class == FrameClass::Data && self.is_doubled(number);
        let copy = (doubled && self.has_room(now, frame.length)).then(|| self.schedule(now, frame));
        let last = if copy.is_some() {
            Copies::More
        } else {
            Copies::Last
        };
        self.leave(first, frame, last, epoch);
        if let Some(copy) = copy {
            if epoch == self.epoch {
                count(&mut self.counters.data.duplicated);
                self.counters.in_flight = PacketCount::new(self.counters.in_flight.get() + 1);
            }
            self.leave(copy, frame, Copies::Last, epoch);
        }
    }

    /// Arrival of the frame at the peer, never before the frame ahead of it.
    fn schedule(&mut self, now: MonoInstant, frame: Frame) -> MonoInstant {
        let (rate, overhead) = (self.config.rate, self.config.overhead_bytes);
        let out = self.line.put(now, rate, frame.length, overhead);
        let queue = self.line.backlog(now).get() + self.held_bytes;
        self.counters.max_queue = self.counters.max_queue.max(ByteCount::new(queue));
        let out = if self.config.police { now } else { out };
        self.last_leave = out.after(self.delay()).max(self.last_leave);
        self.last_leave
    }

    fn delay(&mut self) -> Duration {
        if self.config.jitter.is_zero() {
            return self.config.delay;
        }
        self.drawn += 1;
        let width = u64::try_from(self.config.jitter.as_nanos() * 2)
            .expect("invariant: jitter is at most a minute");
        let late = self.draws.up_to(Purpose::Jitter, self.drawn, width);
        (self.config.delay + Duration::from_nanos(late)).saturating_sub(self.config.jitter)
    }

    fn leave(&mut self, at: MonoInstant, frame: Frame, last: Copies, epoch: u64) {
        self.leaving.push_back(Leaving {
            departure: Departure {
                handle: frame.handle,
                last,
                at,
            },
            length: frame.length,
            class: frame.class,
            epoch,
        });
    }

    fn tally(&mut self, class: FrameClass) -> &mut Tally {
        match class {
            FrameClass::Data => &mut self.counters.data,
            FrameClass::Other => &mut self.counters.other,
        }
    }
}

#[cfg(test)]
mod tests;
