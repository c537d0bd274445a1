//! The client: opens the connections, each in a place of its own.

use super::{Common, FILLING, MAX_WAIT, Transfer, TransferProgress};
use crate::control::StreamControl;
use crate::plan::Limit;
use crate::workloads::{Step, Work};
use linerate_model::sample::{ConnectionCounts, ConnectionOpener, StreamReport};
use linerate_model::spec::ConnectionClose;
use linerate_model::{Histogram, MonoInstant, PacketCount};
use linerate_sys::epoll::Interest;
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::tcp;
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Handshakes under way at once while the places open their first connections: few enough that no queue of pending
/// connections overflows.
const FIRST_AT_ONCE: usize = 64;

/// Pause of a place whose connection failed, so that failures are no busy loop.
const BACK_OFF: Duration = Duration::from_millis(1);

/// Where a connection stands.
enum Stage {
    /// None is open.
    Idle,
    /// The handshake is under way; the request is sent when it is over.
    Opening,
    /// The request is being sent.
    Requesting(Transfer),
    /// The answer is awaited.
    Answering(Transfer),
    /// The peer's end is awaited.
    Closing,
    /// It stays open.
    Held,
}

/// What became of a connection.
#[derive(Clone, Copy)]
enum Outcome {
    Answered,
    Broken(Failure),
    Ended,
    Late,
    LostOpen,
    NotClosed,
}

/// A place for one connection at a time.
struct Place {
    socket: Option<TcpStream>,
    stage: Stage,
    /// Number of its connection: a deadline may be of an earlier one.
    number: u32,
    began: MonoInstant,
    opened: MonoInstant,
    /// Whether its connection counts.
    counts: bool,
}

impl Place {
    const fn new() -> Self {
        Self {
            socket: None,
            stage: Stage::Idle,
            number: 0,
            began: MonoInstant::from_nanos(0),
            opened: MonoInstant::from_nanos(0),
            counts: false,
        }
    }

    const fn is_open(&self) -> bool {
        !matches!(self.stage, Stage::Idle | Stage::Opening)
    }
}

pub(super) struct Client {
    common: Common,
    remote: SocketAddr,
    limit: Limit,
    places: Vec<Place>,
    /// The first place that has not opened a connection yet.
    fresh: usize,
    /// Places that are to open the next connection now.
    idle: Vec<usize>,
    /// Places that pause, and until when, in order.
    pausing: VecDeque<(MonoInstant, usize)>,
    /// When which connection of a place is late, in order.
    deadlines: VecDeque<(MonoInstant, usize, u32)>,
    /// Connections under way: neither idle nor held.
    busy: usize,
    /// Handshakes of places' first connections under way.
    first: usize,
    open: u64,
    counts: ConnectionCounts,
    handshake: Histogram,
    rtt: Histogram,
    transaction: Histogram,
    filling: Vec<u8>,
    ended: Option<MonoInstant>,
}

impl Client {
    pub(super) fn new(common: Common, remote: SocketAddr) -> Self {
        let places = usize::try_from(common.plan.connections).unwrap_or(usize::MAX);
        Self {
            limit: Limit::new(common.plan.stop, 1, MonoInstant::default()),
            places: (0..places).map(|_| Place::new()).collect(),
            fresh: 0,
            idle: Vec::new(),
            pausing: VecDeque::new(),
            deadlines: VecDeque::new(),
            busy: 0,
            first: 0,
            open: 0,
            counts: ConnectionCounts::default(),
            handshake: Histogram::new(),
            rtt: Histogram::new(),
            transaction: Histogram::new(),
            filling: vec![FILLING; common.room.len()],
            ended: None,
            common,
            remote,
        }
    }

    /// Whether no further connection is to begin.
    fn is_over(&self, now: MonoInstant) -> bool {
        self.limit.is_over(now)
    }

    /// Opens the connection of place `index`.
    fn open(&mut self, index: usize) {
        let now = self.common.clock.now();
        if self.is_over(now) {
            return;
        }
        let counts = now >= self.common.tally.start();
        let opened = tcp::begin_connect(self.remote, &self.common.plan.socket);
        let failure = match opened {
            Ok(socket) => {
                self.begin(index, socket, now, counts);
                return;
            }
            Err(error) => Failure::from_io("connect", &error),
        };
        self.common.fail(failure, now);
        self.pausing.push_back((now.after(BACK_OFF), index));
        if failure.is_without_address() {
            self.counts.without_port.grow(u64::from(counts));
            return;
        }
        self.limit.spend(u64::from(counts));
        self.attempt(counts);
        outcome_of(&mut self.counts, failure, false).grow(u64::from(counts));
    }

    fn attempt(&mut self, counts: bool) {
        self.counts.attempted.grow(u64::from(counts));
        self.counts.warm_up.grow(u64::from(!counts));
    }

    fn begin(&mut self, index: usize, socket: TcpStream, now: MonoInstant, counts: bool) {
        self.attempt(counts);
        self.limit.spend(u64::from(counts));
        let place = &mut self.places[index];
        place.number = place.number.wrapping_add(1);
        let number = place.number;
        (place.socket, place.stage) = (Some(socket), Stage::Opening);
        (place.began, place.counts) = (now, counts);
        let late = now.after(self.common.work.timeout);
        self.deadlines.push_back((late, index, number));
        self.busy += 1;
        self.first += usize::from(number == 1);
        // Over a local network the handshake is over by now, and there is only the answer to wait for.
        self.go_on(index);
        self.watch(index);
    }

    /// Watches the socket of place `index`, if its connection is under way.
    fn watch(&mut self, index: usize) {
        let place = &self.places[index];
        let interest = match place.stage {
            Stage::Opening | Stage::Requesting(_) => Interest::Changes,
            _ => Interest::Read,
        };
        let Some(socket) = &place.socket else {
            return;
        };
        if let Err(error) = self.common.readiness.add(socket, index, interest) {
            let failure = Failure::from_io("epoll_ctl", &error);
            self.end(index, Outcome::Broken(failure));
        }
    }

    /// Moves the connection of place `index` as far as it goes.
    fn go_on(&mut self, index: usize) {
        loop {
            let now = self.common.clock.now();
            let place = &mut self.places[index];
            let Some(socket) = &place.socket else {
                return;
            };
            let request = self.common.work.request.as_usize();
            let moved = match &mut place.stage {
                Stage::Idle => return,
                Stage::Opening => {
                    let mut transfer = Transfer::new(request);
                    let moved = transfer.send(socket, &self.common.opening, &self.filling);
                    if transfer.done > 0 {
                        place.stage = Stage::Requesting(transfer);
                        place.opened = now;
                        self.note_opened(index);
                    }
                    moved
                }
                Stage::Requesting(transfer) => {
                    transfer.send(socket, &self.common.opening, &self.filling)
                }
                Stage::Answering(transfer) => {
                    transfer.receive(socket, &mut self.common.room, |_, _| {})
                }
                Stage::Closing | Stage::Held => {
                    Transfer::new(1).receive(socket, &mut self.common.room, |_, _| {})
                }
            };
            let outcome = match (moved, &self.places[index].stage) {
                (TransferProgress::Blocked, _) => return,
                (TransferProgress::Whole, Stage::Requesting(_)) => {
                    // It takes a round trip at least: the socket will tell.
                    let answer = Transfer::new(self.common.work.response.as_usize());
                    self.places[index].stage = Stage::Answering(answer);
                    return;
                }
                (TransferProgress::Whole, Stage::Answering(_)) => {
                    self.note_answered(index);
                    match self.common.work.close {
                        ConnectionClose::Client | ConnectionClose::Reset => Outcome::Answered,
                        ConnectionClose::Server => {
                            self.places[index].stage = Stage::Closing;
                            continue;
                        }
                        ConnectionClose::Hold => {
                            self.places[index].stage = Stage::Held;
                            self.busy -= 1;
                            continue;
                        }
                    }
                }
                // An end by reset is one too: the answer has come.
                (_, Stage::Closing) => Outcome::Answered,
                (_, Stage::Held) => Outcome::LostOpen,
                (TransferProgress::Failed(failure), _) => Outcome::Broken(failure),
                (TransferProgress::Ended | TransferProgress::Whole, _) => Outcome::Ended,
            };
            self.end(index, outcome);
            return;
        }
    }

    fn note_opened(&mut self, index: usize) {
        self.open += 1;
        let most = self.counts.most_open.get().max(self.open);
        self.counts.most_open = PacketCount::new(most);
        let place = &self.places[index];
        self.first -= usize::from(place.number == 1);
        if place.counts {
            self.counts.opened.grow(1);
            let took = place.opened.saturating_since(place.began);
            self.handshake.record_duration(took);
        }
    }

    fn note_answered(&mut self, index: usize) {
        let now = self.common.clock.now();
        let place = &self.places[index];
        if !place.counts {
            return;
        }
        self.counts.answered.grow(1);
        self.rtt.record_duration(now.saturating_since(place.opened));
        let took = now.saturating_since(place.began);
        self.transaction.record_duration(took);
        // The rate is that of the counted time; what is answered after it counts among the outcomes.
        if self.limit.end().is_none_or(|end| now <= end) {
            let request = self.common.work.request.get();
            self.common.count(now, request);
        }
    }

    /// Ends the connection of place `index`.
    fn end(&mut self, index: usize, outcome: Outcome) {
        let now = self.common.clock.now();
        let place = &mut self.places[index];
        let (was_open, counts) = (place.is_open(), place.counts);
        let is_first = place.number == 1;
        let stage = std::mem::replace(&mut place.stage, Stage::Idle);
        if let Some(socket) = place.socket.take()
            && self.common.work.close == ConnectionClose::Reset
            && let Err(error) = tcp::reset(socket)
        {
            self.common
                .fail(Failure::from_io("setsockopt", &error), now);
        }
        self.open -= u64::from(was_open);
        self.first -= usize::from(!was_open && is_first);
        self.busy -= usize::from(!matches!(stage, Stage::Held));
        let one = u64::from(counts);
        let is_answered = match outcome {
            Outcome::Answered => true,
            Outcome::NotClosed => {
                self.counts.not_closed.grow(one);
                true
            }
            Outcome::LostOpen => {
                self.counts.lost_open.grow(one);
                true
            }
            Outcome::Ended => {
                self.counts.reset.grow(one);
                false
            }
            Outcome::Late => {
                if was_open {
                    self.counts.unanswered.grow(one);
                } else {
                    self.counts.timed_out.grow(one);
                }
                false
            }
            Outcome::Broken(failure) => {
                self.common.fail(failure, now);
                outcome_of(&mut self.counts, failure, was_open).grow(one);
                false
            }
        };
        if is_answered && !matches!(stage, Stage::Held) {
            self.idle.push(index);
        } else {
            self.pausing.push_back((now.after(BACK_OFF), index));
        }
    }

    /// Ends what is late by `now`.
    fn expire(&mut self, now: MonoInstant) {
        while let Some((late, index, number)) = self.deadlines.front().copied() {
            let place = &self.places[index];
            let is_waited_for =
                place.number == number && !matches!(place.stage, Stage::Idle | Stage::Held);
            if is_waited_for && now < late {
                return;
            }
            self.deadlines.pop_front();
            match place.stage {
                _ if !is_waited_for => {}
                Stage::Closing => self.end(index, Outcome::NotClosed),
                _ => self.end(index, Outcome::Late),
            }
        }
    }

    /// Opens the connections that are due by `now`.
    fn open_due(&mut self, now: MonoInstant) {
        while self.pausing.front().is_some_and(|(until, _)| now >= *until) {
            let due = self.pausing.pop_front();
            self.idle.extend(due.map(|(_, index)| index));
        }
        while self.fresh < self.places.len() && self.first < FIRST_AT_ONCE {
            self.open(self.fresh);
            self.fresh += 1;
        }
        // Those that end at once are opened again in the next turn.
        for index in std::mem::take(&mut self.idle) {
            self.open(index);
        }
    }

    /// Ends what is held, or broken off.
    fn close_rest(&mut self) {
        for place in &mut self.places {
            let is_under_way = !matches!(place.stage, Stage::Idle | Stage::Held | Stage::Closing);
            self.counts
                .unfinished
                .grow(u64::from(is_under_way && place.counts));
            *place = Place::new();
        }
    }
}

/// Where a connection belongs that ended by `failure`.
pub(super) fn outcome_of(
    counts: &mut ConnectionCounts,
    failure: Failure,
    was_open: bool,
) -> &mut PacketCount {
    if failure.is_refusal() {
        &mut counts.refused
    } else if failure.is_timeout() && was_open {
        &mut counts.unanswered
    } else if failure.is_timeout() {
        &mut counts.timed_out
    } else if failure.class() == FailureClass::PeerGone {
        &mut counts.reset
    } else {
        &mut counts.failed
    }
}

/// The report of a client by its counts, with what its host tells of its ports.
pub(super) fn opener(counts: ConnectionCounts) -> ConnectionOpener {
    let [timed_out, unanswered] = [counts.timed_out, counts.unanswered].map(PacketCount::get);
    ConnectionOpener {
        timeouts: PacketCount::new(timed_out.saturating_add(unanswered)),
        counts: Some(ConnectionCounts {
            local_ports: tcp::local_ports().map(PacketCount::new),
            time_wait: tcp::time_wait_sockets().map(PacketCount::new),
            ..counts
        }),
        ..ConnectionOpener::default()
    }
}

impl Work for Client {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start);
        let counted = self.common.tally.start();
        self.limit = Limit::new(self.common.plan.stop, 1, counted);
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        self.expire(now);
        let is_over = self.is_over(now);
        if is_over && self.busy == 0 {
            self.ended = Some(now);
            return Step::Done;
        }
        if !is_over {
            self.open_due(now);
        }
        let now = self.common.clock.now();
        let next = [
            self.deadlines.front().map(|(late, ..)| *late),
            self.pausing.front().map(|(until, _)| *until),
            self.limit.end().filter(|_| !is_over),
        ];
        let next = next.into_iter().flatten().min();
        let has_idle = !self.idle.is_empty() && !is_over;
        let limit = match next {
            _ if has_idle => Duration::ZERO,
            Some(next) => next.saturating_since(now),
            None => MAX_WAIT,
        };
        let ready = self.common.wait(limit, now);
        for index in &ready {
            if control.is_stopped() {
                break;
            }
            self.go_on(*index);
        }
        self.common.ready = ready;
        let now = self.common.clock.now();
        let is_counted = self.limit.end().is_none_or(|end| now < end);
        if now >= self.common.tally.start() && is_counted {
            self.common.tally.roll(now);
        }
        Step::Again
    }

    fn finish(mut self: Box<Self>, now: MonoInstant) -> StreamReport {
        self.close_rest();
        let end = self.ended.unwrap_or(now);
        let end = self.limit.end().map_or(end, |limit| limit.min(end));
        let duration = end.saturating_since(self.common.tally.start());
        let work = ConnectionOpener {
            rtt: self.rtt,
            handshake: self.handshake,
            transaction: Some(self.transaction),
            ..opener(self.counts)
        };
        self.common.report(duration, work)
    }
}
