//! Server: one session for each data stream that arrives.

use super::closing::{Closing, FIRST as FIRST_ENDS, MAX_CLOSING_DATAGRAMS};
use super::header::{Amount, Back, DataDirection, Header};
use super::streams::{Opening, PeerRole, Streams};
use crate::error::{ProtocolError, Result};
use crate::moves::{client_sends, server_sends, states};
use crate::session::{
    Action, Input, Limits, PeerEvent, Progress, RefusalCode, ServerConfig, StreamEvent, TestEnd,
    UnprovedSending,
};
use crate::steps::{OVERTIME, Stepping, Steps, stepping_at};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{
    Direction, MAX_DURATION, MAX_TCP_PAYLOAD, MAX_UDP_PAYLOAD, Pace, Side, Stop, TestSpec,
    Transport, validate,
};
use linerate_model::{BitRate, ByteCount, MonoInstant};
use std::time::Duration;

/// How long the end of a stream is answered after it was last repeated: clients repeat it for 2 s or more, some at
/// intervals of 2 s.
const PARTING: Duration = Duration::from_millis(2500);

/// How long requests of an unproved client are collected before it is answered with no more than it sent: a client
/// repeats its request about every 10 ms for a second.
const COLLECTING: Duration = Duration::from_millis(500);

/// Datagrams of a test towards the client besides its traffic: the opening and the ends.
const CLOSING: u64 = 1 + MAX_CLOSING_DATAGRAMS as u64;

/// How much longer than announced a client may go on.
const GRACE: Duration = Duration::from_secs(10);

/// Test time where the client names none, as in iperf2.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Write size of a TCP sender where the client names none, as in iperf2.
const WRITE: u64 = 128 << 10;

states! {
    /// Where a server is.
    pub(super) enum State {
        /// No stream yet.
        Waiting = "waiting",
        /// Counts what the client sends before it is answered: the answer is limited to as much.
        Collecting = "collecting",
        Preparing = "preparing",
        Running = "running",
        /// The traffic is over; end datagrams are sent and answered.
        Closing = "closing",
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Waiting | Collecting | Preparing | Running | Closing;
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    config: ServerConfig,
    steps: Steps<State>,
    spec: TestSpec,
    format: Streams,
    is_extended: bool,
    closing: Option<Closing>,
    /// Test that the client wants towards itself.
    back: Option<CallBack>,
    /// L4 payload received from the client, as far as known.
    received: ByteCount,
}

/// Test that a client wants towards itself (`-d`, `-r`).
#[derive(Debug)]
struct CallBack {
    when: Back,
    port: u16,
    spec: TestSpec,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            steps: Steps::waiting(State::Waiting, config.timeout, now),
            config,
            spec: TestSpec::tcp_bulk(),
            format: Streams::PLAIN,
            is_extended: false,
            closing: None,
            back: None,
            received: ByteCount::new(0),
        }
    }

    /// Whether the UDP volume to this client is limited by what it sent.
    fn is_unproved(&self) -> bool {
        self.spec.transport() == Transport::Udp
            && self.config.unproved == UnprovedSending::AtMostReceived
    }

    fn welcome(&mut self, now: MonoInstant, transport: Transport, bytes: &[u8]) -> Result<()> {
        if let Some((code, message)) = self.config.turn_away.clone() {
            self.steps.refuse(code, message);
            self.close();
            return Ok(());
        }
        let header = match transport {
            Transport::Tcp => Header::of_tcp(bytes),
            Transport::Udp => {
                Header::of_udp(bytes).ok_or("it is the end of a stream that never began here")
            }
        };
        let header = header.map_err(|cause| self.wrong(bytes, cause.to_owned()))?;
        let spec = spec(transport, &header, bytes.len() as u64, &self.config.limits);
        validate(&spec).map_err(|error| self.wrong(bytes, error.to_string()))?;
        if let Some(message) = self.config.limits.exceeded_by(&spec) {
            self.refuse(message);
            return Ok(());
        }
        self.steps.meet_client(&self.config);
        self.format = Streams {
            peer_role: PeerRole::Client,
            opening: Opening::NONE,
            skip: header.skip,
            width: header.width,
            counters: header.counters,
            first: header.first,
            sends_from: header.first,
        };
        if let DataDirection::Forward {
            back: Some((port, when)),
        } = header.way
        {
            let spec = spec_back(&spec, &header);
            if let Some(message) = self.config.limits.exceeded_by(&spec) {
                self.refuse(message);
                return Ok(());
            }
            self.back = Some(CallBack { when, port, spec });
        }
        self.is_extended = header.is_extended;
        self.spec = spec;
        self.received = ByteCount::new(bytes.len() as u64);
        match self.spec.direction {
            Direction::Reverse if self.is_unproved() => {
                self.steps.enter(now, State::Collecting, COLLECTING);
            }
            Direction::Duplex if self.is_unproved() => {
                self.spec.direction = Direction::Forward;
                self.curtail("it sends nothing back");
                self.prepare(now);
            }
            _ => self.prepare(now),
        }
        Ok(())
    }

    /// Refuses a test that exceeds a limit.
    fn refuse(&mut self, message: String) {
        self.steps.refuse(RefusalCode::Limit, message);
        self.close();
    }

    fn prepare(&mut self, now: MonoInstant) {
        let payload = self.spec.payload().as_usize();
        let is_udp = self.spec.transport() == Transport::Udp;
        self.closing = is_udp.then(|| Closing::new(self.format, payload));
        self.steps.step(now, State::Preparing);
        self.steps.prepare(self.spec.clone(), self.format);
    }

    /// Notes that the test was reduced: `what`.
    fn curtail(&mut self, what: &str) {
        let said = format!(
            "{what}: no more UDP goes to an address than came from it, since nothing proves that it asked; start the server with --allow-unproved and its network to make the whole test"
        );
        self.steps.act(Action::Peer(PeerEvent::Curtailed(said)));
    }

    /// Sends as much as the client sent unanswered, end datagrams included.
    fn send_what_came(&mut self, now: MonoInstant) {
        let left = unspent(self.received, self.spec.payload(), FIRST_ENDS.into());
        let Some(bytes) = left else {
            self.curtail("it sends nothing");
            return self.refuse("nothing proves that it asked for datagrams".to_owned());
        };
        if let Some(stop) = lesser(&self.spec, bytes) {
            self.spec.stop = stop;
            self.curtail(&format!("it sends {bytes}"));
        }
        self.prepare(now);
    }

    fn wrong(&self, bytes: &[u8], cause: String) -> ProtocolError {
        self.steps.unreadable("header", 0, bytes, cause)
    }

    fn run(&mut self, now: MonoInstant) {
        if client_sends(&self.spec) {
            self.steps.act(Action::Start(Side::Receiver));
        }
        if server_sends(&self.spec) {
            self.steps.act(Action::Start(Side::Sender));
        }
        self.call_back(Occasion::Begins);
        let most = self.config.limits.max_duration.saturating_add(OVERTIME);
        let limit = match self.spec.stop {
            Stop::After(time) if server_sends(&self.spec) => time.saturating_add(GRACE).min(most),
            // A sending client does not announce its duration.
            _ => most,
        };
        self.steps.enter(now, State::Running, limit);
    }

    /// Takes the reports at the end of this end's traffic.
    fn reported(&mut self, now: MonoInstant, reports: &[EndpointReport]) {
        let receiver = reports.iter().find(|report| report.side == Side::Receiver);
        let streams = receiver.map_or(&[][..], |report| &report.streams);
        let bytes = streams.iter().map(|stream| stream.bytes.get()).sum();
        self.received = ByteCount::new(bytes);
        self.call_back(Occasion::Ends);
        let Some(closing) = &mut self.closing else {
            return self.conclude();
        };
        closing.answer_with(reports, self.is_extended);
        closing.answer(&mut self.steps.actions);
        self.steps.enter(now, State::Closing, PARTING);
    }

    /// Starts the test towards the client, if it is due on this occasion and allowed.
    fn call_back(&mut self, occasion: Occasion) {
        let is_unproved = self.is_unproved();
        let received = self.received;
        let is_time = |back: &mut CallBack| match (back.when, occasion) {
            (Back::AtOnce, Occasion::Begins) => !is_unproved,
            // The end datagrams of such a test take a part of the allowance: the rest must be worth it.
            (Back::AtOnce, Occasion::Goes) => {
                is_unproved && unspent(received, back.spec.payload(), CLOSING * 2).is_some()
            }
            (_, Occasion::Ends) => true,
            (Back::Later, _) => false,
        };
        let Some(CallBack { port, mut spec, .. }) = self.back.take_if(is_time) else {
            return;
        };
        if is_unproved {
            let Some(bytes) = unspent(received, spec.payload(), CLOSING) else {
                return self.curtail("it makes no test back");
            };
            if let Some(stop) = lesser(&spec, bytes) {
                spec.stop = stop;
                self.curtail(&format!("it sends {bytes} back"));
            }
        }
        let spec = Box::new(spec);
        self.steps
            .act(Action::Peer(PeerEvent::CallBack { port, spec }));
    }

    /// Takes a datagram that arrived outside the traffic.
    fn hear(&mut self, now: MonoInstant, stream: u16, bytes: &[u8]) {
        if self.steps.state == State::Collecting {
            let bytes = self.received.get() + bytes.len() as u64;
            self.received = ByteCount::new(bytes);
        }
        if self.steps.state == State::Closing
            && let Some(closing) = &mut self.closing
            && closing.hear(now, stream, bytes, &mut self.steps.actions)
        {
            self.steps.enter(now, State::Closing, PARTING);
        }
    }

    fn conclude(&mut self) {
        self.steps.act(Action::TestOver(TestEnd::Complete));
        self.close();
    }
}

/// Moment of a test at which the test towards the client may start.
#[derive(Debug, Clone, Copy)]
enum Occasion {
    Begins,
    Goes,
    Ends,
}

/// What may be sent of `received` bytes in datagrams of `payload` bytes, less `beside` datagrams outside the traffic.
fn unspent(received: ByteCount, payload: ByteCount, beside: u64) -> Option<ByteCount> {
    let payload = payload.get().max(1);
    let datagrams = (received.get() / payload).checked_sub(beside)?;
    (datagrams > 0).then(|| ByteCount::new(datagrams * payload))
}

/// Stop condition by which `spec` sends at most `most` bytes; `None` if its own stops sooner.
fn lesser(spec: &TestSpec, most: ByteCount) -> Option<Stop> {
    let asked = match (spec.stop, spec.pace()) {
        (Stop::Bytes(bytes), _) => Some(bytes),
        (Stop::After(time), Pace::At(rate)) => Some(rate.bytes_in(time)),
        _ => None,
    };
    asked
        .is_none_or(|asked| asked > most)
        .then_some(Stop::Bytes(most))
}

/// The test that a stream's header asks for.
fn spec(transport: Transport, header: &Header, length: u64, limits: &Limits) -> TestSpec {
    let direction = match header.way {
        DataDirection::Forward { .. } => Direction::Forward,
        DataDirection::FullDuplex => Direction::Duplex,
        DataDirection::Reverse => Direction::Reverse,
    };
    let pace = header
        .rate
        .map_or(Pace::Unpaced, |rate| Pace::At(fit(rate)));
    let stop = match header.amount {
        // A receiver does not end a stream.
        _ if direction == Direction::Forward => Stop::After(limits.max_duration),
        Amount::Bytes(bytes) => Stop::Bytes(ByteCount::new(bytes.into())),
        Amount::Time(time) => Stop::After(time),
        Amount::Untold => Stop::After(DEFAULT_TIME),
    };
    let asked = header.buffer.map(u64::from);
    let (base, payload) = match transport {
        Transport::Tcp => {
            let payload = asked.unwrap_or(WRITE).min(MAX_TCP_PAYLOAD.get());
            (TestSpec::tcp_bulk(), payload)
        }
        Transport::Udp => {
            let asked = asked.filter(|_| direction == Direction::Reverse);
            let payload = asked.unwrap_or(length).min(MAX_UDP_PAYLOAD.get());
            (TestSpec::udp_datagrams(pace), payload)
        }
    };
    TestSpec {
        direction,
        stop,
        ..base.with_pace(pace).with_payload(ByteCount::new(payload))
    }
}

/// The test that the client wants made towards it.
fn spec_back(forward: &TestSpec, header: &Header) -> TestSpec {
    let stop = match header.amount {
        Amount::Bytes(bytes) => Stop::Bytes(ByteCount::new(bytes.into())),
        Amount::Time(time) => Stop::After(time.min(MAX_DURATION)),
        Amount::Untold => Stop::After(DEFAULT_TIME),
    };
    TestSpec {
        stop,
        ..forward.clone()
    }
}

/// Clamps a rate to the valid range: peers that mean "as fast as you can" name a very high one.
fn fit(rate: BitRate) -> BitRate {
    rate.min(linerate_model::spec::MAX_RATE)
}

impl Stepping for Server {
    stepping_at!(steps);

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Stream(StreamEvent::Opened { transport, bytes })
                if self.steps.state == State::Waiting =>
            {
                self.welcome(now, transport, bytes)?;
            }
            Input::Prepared(Ok(_)) if self.steps.state == State::Preparing => {}
            Input::Prepared(Err(refusal)) if self.steps.state == State::Preparing => {
                return self.unprepared(&refusal, TestEnd::Refused);
            }
            Input::Connected if self.steps.state == State::Preparing => self.run(now),
            Input::Finished { sent }
                if self.steps.state == State::Running && server_sends(&self.spec) =>
            {
                if let Some(closing) = &mut self.closing {
                    closing.finish(now, sent);
                    closing.repeat(now, &mut self.steps.actions);
                }
            }
            Input::Reports(reports) if self.steps.state == State::Running => {
                self.reported(now, &reports);
            }
            Input::Stream(StreamEvent::Datagram { stream, bytes }) => self.hear(now, stream, bytes),
            Input::Stream(StreamEvent::FirstData { .. }) => {}
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn timed(&mut self, now: MonoInstant) -> bool {
        let is_reverse = !client_sends(&self.spec);
        if let Some(closing) = &mut self.closing {
            closing.repeat(now, &mut self.steps.actions);
            if is_reverse {
                closing.hurry();
            }
            if is_reverse && closing.is_over() && self.steps.state == State::Closing {
                self.conclude();
                return true;
            }
        }
        false
    }

    fn overdue(&mut self, now: MonoInstant, _limit: Duration) -> Result<()> {
        match self.steps.state {
            State::Closing => self.conclude(),
            State::Collecting => self.send_what_came(now),
            State::Running => {
                let reason = "it did not end within its time";
                self.break_off(now, RefusalCode::Limit, reason);
            }
            _ => self.close(),
        }
        Ok(())
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.closing = None;
        self.steps.break_off(now, code, reason);
    }

    fn progress(&mut self, _now: MonoInstant, progress: Progress) {
        if self.steps.state == State::Running {
            self.received = progress.bytes;
            self.call_back(Occasion::Goes);
        }
    }

    fn eof(&mut self, _now: MonoInstant) -> Result<()> {
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        self.closing = None;
        self.steps.close();
    }

    fn next(&self) -> Option<MonoInstant> {
        let ends = self.closing.as_ref().and_then(Closing::deadline);
        ends.into_iter().chain(self.steps.due()).min()
    }
}
