//! The responder: states of a session, and the interface to the device's stack.

use crate::config::{Config, Port};
use crate::link::{Broken, Link, Message, Outgoing, Progress, State};
use crate::order::Order;
use crate::refusal::Refusal;
use crate::report::Source;
use crate::signal::{Signal, Snapshot};
use crate::stream::Connection;
use crate::test::Test;
use crate::text::{Length, Window};
use crate::traffic::Reply;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use linerate_wire::MonoInstant;
use linerate_wire::frame::{FRAME_HEADER_LEN, Kind, MAGIC, VERSION};

/// Silence of the client after which it counts as gone, and the maximum time of a set-up step.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the data streams, the client's own.
const STREAMS_TIMEOUT: Duration = Duration::from_secs(5);
/// Silence of this end after which it sends a ping.
const PING_AFTER: Duration = Duration::from_secs(1);
/// Maximum delay with which a sleeping device may notice that something is due.
const LOOK: Duration = Duration::from_millis(10);

/// Serves one client at a time. Of fixed size, some 11 KiB; construct it in place.
#[derive(Debug)]
pub struct Responder {
    config: Config,
    link: Link,
    state: State,
    /// When the present state was entered.
    since: MonoInstant,
    /// The client's address.
    client: IpAddr,
    test: Test,
    counters: Snapshot,
    /// Counters at the last progress report.
    reported: Snapshot,
    reported_at: MonoInstant,
    session: u32,
}

impl Responder {
    /// A responder without client.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            link: Link::new(),
            state: State::Closed,
            since: MonoInstant::from_nanos(0),
            client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            test: Test::new(),
            counters: Snapshot::new(),
            reported: Snapshot::new(),
            reported_at: MonoInstant::from_nanos(0),
            session: 0,
        }
    }

    /// State of the session.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Records the reading of a counter. One that is never recorded is missing in reports.
    pub const fn count(&mut self, signal: Signal, value: u64) {
        self.counters.set(signal, value);
    }

    fn enter(&mut self, now: MonoInstant, state: State) {
        self.state = state;
        self.since = now;
    }

    /// Queues a message; if the queue is full the client does not read, and the session ends.
    fn send(&mut self, now: MonoInstant, message: Outgoing) {
        self.link.sent = now;
        if !self.link.push(message) {
            self.enter(now, State::Closing);
        }
    }
}

/// Timers.
impl Responder {
    /// Advances the time, after each round of receiving and sending. Record counters before.
    pub fn poll(&mut self, now: MonoInstant) {
        self.test.source.begin_round();
        if !matches!(self.state, State::Closed | State::Closing)
            && now >= self.link.heard.after(TIMEOUT)
        {
            self.test.drop_streams();
            return self.enter(now, State::Closing);
        }
        let since = self.since;
        let has_lasted = |time| now >= since.after(time);
        match self.state {
            State::Connecting if self.test.is_connected(now) => {
                self.enter(now, State::Connected);
                self.send(now, Outgoing::Connected(self.test.number));
            }
            State::Connecting if has_lasted(STREAMS_TIMEOUT) => {
                self.abort(now, Refusal::DataMissing);
            }
            State::Connected if has_lasted(TIMEOUT) => self.abort(now, Refusal::Overdue),
            State::Greeting | State::Stopping if has_lasted(TIMEOUT * 2) => {
                self.enter(now, State::Closing);
            }
            State::Running => self.run(now),
            State::Reporting if has_lasted(self.test.allowed()) => {
                self.abort(now, Refusal::Overdue);
            }
            _ => {}
        }
        if self.state.is_greeted() && now >= self.link.sent.after(PING_AFTER) {
            self.send(now, Outgoing::Ping);
        }
    }

    /// When to call [`poll`](Self::poll) at the latest, if nothing arrives before. A device may sleep until then.
    pub fn deadline(&mut self, now: MonoInstant) -> MonoInstant {
        let look = now.after(LOOK);
        if self.state != State::Running {
            return look;
        }
        if self.test.order.is_some_and(|order| order.spins) {
            return now;
        }
        self.test.source.due(now).map_or(look, |due| due.min(look))
    }

    fn run(&mut self, now: MonoInstant) {
        if now >= self.since.after(self.test.allowed()) {
            return self.abort(now, Refusal::Overdue);
        }
        self.test.sink.end_round();
        let has_sent = self.test.is_source_over(now);
        let sends = self.test.order.is_some_and(|order| order.sends());
        if has_sent && sends && !self.test.has_finished {
            self.test.has_finished = true;
            let (test, sent) = (self.test.number, self.test.source.tally.packets());
            self.send(now, Outgoing::Finished { test, sent });
        }
        if has_sent && self.test.is_sink_over(now) {
            self.test.after = self.counters.taken_at(now);
            self.enter(now, State::Reporting);
            return self.send(now, Outgoing::Report);
        }
        self.tell(now);
    }

    /// Reports progress, once per interval.
    fn tell(&mut self, now: MonoInstant) {
        let interval = self.test.order.map_or(PING_AFTER, |order| order.interval);
        if now < self.reported_at.after(interval.max(PING_AFTER)) {
            return;
        }
        self.reported_at = now;
        let counters = self.counters.taken_at(now);
        let (tally, missing) = self.test.progress();
        let progress = Progress {
            test: self.test.number,
            elapsed: tally
                .start()
                .map_or(Duration::ZERO, |start| now.saturating_since(start)),
            bytes: tally.bytes(),
            packets: tally.packets(),
            missing,
            busy: counters.busy_thousandths(&self.reported),
        };
        self.reported = counters;
        self.send(now, Outgoing::Progress(progress));
    }

    /// Aborts the test for a local reason.
    fn abort(&mut self, now: MonoInstant, refusal: Refusal) {
        let test = self.test.number;
        self.send(now, Outgoing::Abort { test, refusal });
        self.stop(now);
    }

    /// Drops the test, and waits until the client has done the same.
    fn stop(&mut self, now: MonoInstant) {
        self.test.drop_streams();
        if self.state != State::Closing {
            self.enter(now, State::Stopping);
            self.send(now, Outgoing::Aborted(self.test.number));
        }
    }
}

/// The control connection.
impl Responder {
    /// A client has connected from this address. Refuse a second connection while there is one.
    pub fn control_opened(&mut self, now: MonoInstant, client: IpAddr) {
        self.link.reset(now);
        self.client = client.to_canonical();
        self.session = self.session.wrapping_add(1);
        self.test.number = 0;
        self.enter(now, State::Greeting);
    }

    /// Takes bytes of the client, in any pieces.
    pub fn control_received(&mut self, now: MonoInstant, bytes: &[u8]) {
        self.link.heard = now;
        let mut rest = bytes;
        loop {
            let before = rest.len();
            rest = self.link.fill(rest);
            loop {
                if matches!(self.state, State::Closed | State::Closing) {
                    return;
                }
                match self.link.next(self.config.max_datagram) {
                    Ok(Some(message)) => {
                        if let Err(refusal) = self.message(now, message) {
                            return self.part(now, refusal);
                        }
                    }
                    Ok(None) => break,
                    Err(Broken::Foreign) => return self.enter(now, State::Closing),
                    Err(Broken::Refused(refusal)) => return self.part(now, refusal),
                }
            }
            if rest.is_empty() || rest.len() == before {
                return;
            }
        }
    }

    /// Ends the session because of a message of the client.
    fn part(&mut self, now: MonoInstant, refusal: Refusal) {
        self.test.drop_streams();
        self.enter(now, State::Closing);
        self.send(now, Outgoing::Farewell(refusal));
    }

    /// The client has closed its connection, or this end has after [`control_wants_close`](Self::control_wants_close).
    pub fn control_closed(&mut self, now: MonoInstant) {
        self.test.drop_streams();
        self.link.reset(now);
        self.enter(now, State::Closed);
    }

    /// Whether everything is sent, and this end is to close the connection.
    pub const fn control_wants_close(&self) -> bool {
        matches!(self.state, State::Closing) && self.link.first().is_none()
    }

    /// Writes bytes for the client into `room`; returns how many. They count as sent.
    pub fn control_output(&mut self, room: &mut [u8]) -> usize {
        let mut filled = 0;
        while let Some(message) = self.link.first() {
            let room = room.get_mut(filled..).unwrap_or_default();
            let (wrote, is_whole) = self.write(message, room);
            filled += wrote;
            self.link.offset += wrote;
            if !is_whole {
                break;
            }
            self.link.pop();
        }
        filled
    }

    /// Writes the unsent part of a message; returns how many bytes, and whether it is complete.
    fn write(&self, message: Outgoing, room: &mut [u8]) -> (usize, bool) {
        let source = Source {
            config: &self.config,
            test: &self.test,
            session: self.session,
        };
        let offset = self.link.offset;
        let mut window = Window::new(offset, room);
        let Some(kind) = message.kind() else {
            window.put(MAGIC);
            window.put(&VERSION.to_be_bytes());
            let filled = window.filled();
            return (filled, offset + filled == MAGIC.len() + 2);
        };
        let mut body = Length::default();
        // Neither writer fails.
        let _ = source.body(message, &mut body);
        let length = u32::try_from(body.0 + 1).unwrap_or(u32::MAX);
        window.put(&length.to_be_bytes());
        window.put(&[kind as u8]);
        let _ = source.body(message, &mut window);
        let filled = window.filled();
        (filled, offset + filled == FRAME_HEADER_LEN + body.0)
    }

    fn message(&mut self, now: MonoInstant, message: Message) -> Result<(), Refusal> {
        match message {
            Message::Ping if self.state.is_greeted() => {}
            Message::Bye | Message::Farewell => {
                self.test.drop_streams();
                self.enter(now, State::Closing);
            }
            Message::Hello if self.state == State::Greeting => {
                self.enter(now, State::Idle);
                self.send(now, Outgoing::Welcome);
            }
            Message::Prepare { .. } if self.link.is_sending_of_test() => {
                return Err(Refusal::ControlFlood);
            }
            Message::Prepare { test, order } if self.state == State::Idle => {
                self.prepare(now, test, order);
            }
            // It aborted before it received the refusal, or the end of the test.
            Message::Abort(test) if self.state == State::Idle && test == self.test.number => {
                self.send(now, Outgoing::Aborted(test));
            }
            Message::Aborted(test) if self.state == State::Idle && test == self.test.number => {}
            other => return self.test_message(now, other),
        }
        Ok(())
    }

    fn test_message(&mut self, now: MonoInstant, message: Message) -> Result<(), Refusal> {
        let (kind, test) = match message {
            Message::Start(test) => (Kind::Start, test),
            Message::Finished { test, .. } => (Kind::Finished, test),
            Message::Acknowledge(test) => (Kind::Acknowledge, test),
            Message::Abort(test) => (Kind::Abort, test),
            Message::Aborted(test) => (Kind::Aborted, test),
            Message::EndTraffic(test) => (Kind::EndTraffic, test),
            Message::Prepare { .. } => (Kind::Prepare, 0),
            Message::Hello => (Kind::Hello, 0),
            Message::Bye | Message::Farewell | Message::Ping => (Kind::Ping, 0),
        };
        let unexpected = Refusal::Unexpected { kind: kind as u8 };
        if !self.state.has_test() || test != self.test.number {
            return Err(unexpected);
        }
        match (message, self.state) {
            (Message::Aborted(_), State::Stopping) => self.enter(now, State::Idle),
            // Sent before the client knew that the test was aborted, or that this end's sender had stopped.
            (_, State::Stopping) | (Message::EndTraffic(_), State::Reporting) => {}
            (Message::Abort(_), _) => self.stop(now),
            (Message::Start(_), State::Connected) => self.start(now),
            (Message::Finished { sent, .. }, State::Running | State::Reporting) => {
                self.test.tell(now, sent);
            }
            (Message::EndTraffic(_), State::Running) => self.test.source.end(now),
            (Message::Acknowledge(_), State::Reporting) => {
                self.test.drop_streams();
                self.enter(now, State::Idle);
            }
            _ => return Err(unexpected),
        }
        Ok(())
    }

    fn prepare(&mut self, now: MonoInstant, number: u32, order: Result<Order, Refusal>) {
        match order {
            Ok(order) => {
                let token = self.token(now, number);
                self.test.prepare(number, token, order);
                self.enter(now, State::Connecting);
                self.send(now, Outgoing::Ready);
            }
            Err(refusal) => {
                self.test.number = number;
                let test = number;
                self.send(now, Outgoing::Refused { test, refusal });
            }
        }
    }

    /// Token of a test's data streams: `SplitMix64` over unpredictable bits and values that do not repeat.
    const fn token(&self, now: MonoInstant, number: u32) -> u32 {
        let place = (self.session as u64) << 32 | number as u64;
        let mut mixed = self.config.random ^ now.as_nanos().rotate_left(32);
        mixed = mixed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let [a, b, c, d, ..] = (mixed ^ mixed >> 31).to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    fn start(&mut self, now: MonoInstant) {
        if self.test.start(now, &self.counters).is_none() {
            return self.abort(now, Refusal::Specification);
        }
        self.reported = self.counters.taken_at(now);
        self.reported_at = now;
        self.enter(now, State::Running);
        self.send(now, Outgoing::Started(self.test.number));
    }
}

/// Datagrams.
impl Responder {
    /// Takes a datagram. A reply is the modified datagram itself, from the port of its arrival to its source.
    pub fn datagram_received(
        &mut self,
        now: MonoInstant,
        port: Port,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Reply {
        if from.ip().to_canonical() != self.client {
            return Reply::Nothing;
        }
        let token = self.test.token;
        match (self.state, port) {
            (State::Connecting | State::Connected, Port::Receive) => {
                self.test.inbound.greet(now, from, token, datagram)
            }
            (State::Connecting | State::Connected, Port::Send) => {
                self.test.outbound.greet(now, from, token, datagram)
            }
            (State::Running, Port::Receive) => self.test.take(now, from, datagram),
            _ => Reply::Nothing,
        }
    }

    /// Writes the next datagram into `room`, if one is due; returns its length and destination. Its source port is
    /// [`Config::send_port`]. Call it when the stack can send a datagram, until there is none: that is so after at most 64 of
    /// them between two calls of [`poll`](Self::poll), whatever the rate.
    pub fn datagram_output(
        &mut self,
        now: MonoInstant,
        room: &mut [u8],
    ) -> Option<(usize, SocketAddr)> {
        if self.state != State::Running {
            return None;
        }
        let to = self.test.outbound.address()?;
        let length = self.test.source.write(now, self.test.token, room)?;
        Some((length, to))
    }
}

/// The data connection of a TCP test, on either port.
impl Responder {
    /// A connection arrived from this address; returns whether to accept it.
    pub fn stream_opened(&mut self, from: IpAddr) -> bool {
        let is_awaited = self.state == State::Connecting
            && from.to_canonical() == self.client
            && self.test.order.is_some_and(|order| order.work.is_stream())
            && self.test.connection == Connection::Absent;
        if is_awaited {
            self.test.connection = Connection::Opening { got: 0 };
        }
        is_awaited
    }

    /// Takes bytes. If they are to be sent back, they are modified in place; offer no more than the stack can send.
    pub fn stream_received(&mut self, now: MonoInstant, bytes: &mut [u8]) -> Reply {
        let data = self.test.connection.open(self.test.token, bytes);
        if data.is_empty() || self.state != State::Running {
            return Reply::Nothing;
        }
        self.test.take_bytes(now, data)
    }

    /// The client has ended its direction.
    pub fn stream_ended(&mut self) {
        self.test.connection = match self.test.connection {
            Connection::Open | Connection::Ended => Connection::Ended,
            _ => Connection::Absent,
        };
    }

    /// How many bytes, with arbitrary content, to send now if the stack has room for `room`. They count as sent.
    /// None after at most 64 pieces between two calls of [`poll`](Self::poll).
    pub fn stream_output(&mut self, now: MonoInstant, room: usize) -> usize {
        let order = self.test.order;
        let sends = order.is_some_and(|order| order.sends() && order.work.is_stream());
        if self.state != State::Running || !sends {
            return 0;
        }
        let count = self.test.source.bytes_due(now, room);
        if count > 0 {
            self.test.source.served(now, count as u64, 0);
        }
        count
    }

    /// Whether this end is to close the present connection: it is finished, or belongs to no test.
    pub const fn stream_wants_close(&self) -> bool {
        match self.test.connection {
            Connection::Absent | Connection::Unwanted => true,
            Connection::Ended => !matches!(self.state, State::Running),
            Connection::Opening { .. } | Connection::Open => self.test.has_finished,
        }
    }

    /// The connection is closed.
    pub const fn stream_closed(&mut self) {
        self.test.connection = Connection::Absent;
    }
}

#[cfg(test)]
mod tests;
