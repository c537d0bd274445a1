//! The end that asks for a test: its data streams do it themselves. The drawing in [`super`] shows both ends.

use super::closing::Closing;
use super::header::{self, Amount, DataDirection, Request};
use super::streams::{Counters, Opening, PeerRole, Streams, Width};
use super::{AFTER, Iperf2, settle};
use crate::error::Result;
use crate::moves::{client_sends, server_sends, states};
use crate::session::{
    Action, ClientConfig, Input, PeerHello, RefusalCode, Sent, StreamEvent, StreamOrder,
    StreamTarget, TestEnd,
};
use crate::steps::{Stepping, Steps, stepping_at};
use linerate_model::sample::{DatagramReceiver, EndpointReport, PeerStream, StreamReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount};
use std::time::Duration;

/// Interval between requests to a server that is to send datagrams and has sent none.
const ASK: Duration = Duration::from_millis(20);

/// Allowance for the delay of this end's last datagram at a busy peer.
const LATE: Duration = Duration::from_millis(50);

/// How much longer than the test the peer's sender may go on: a slow start, a full queue.
const GRACE: Duration = Duration::from_secs(3);

/// From the end of a datagram test to the next: iperf2 answers and closes for 250 ms and more, and one that
/// gets a new stream meanwhile may hang or crash (2.1.8, also with its own client).
const REST: Duration = Duration::from_millis(500);

/// From the opening of a datagram stream to the next test: 2.2.1 waits up to 1 s for a signal that may have been
/// given before, and listens for no other stream meanwhile.
const DEAF: Duration = Duration::from_millis(1100);

/// How long the end of this end's streams waits for that of the peer's, where both send: the answer to it comes on
/// the socket that a receiver still reads, and only the first answer is one. From 2.1 on iperf2 reads what follows
/// into the memory of its answer, and sends that again.
const LINGER: Duration = Duration::from_millis(300);

/// Highest sequence number of a plain test.
const MAX_NUMBERED: u128 = (1 << 31) - 2;

/// Number of the datagram that opens a stream. Traffic follows with the next one.
const FIRST: u8 = 1;

/// Minimum datagram length of a duplex test: each carries the header.
const MIN_DUPLEX_BYTES: u64 = 80;

/// Length of the datagrams that request a server to send: iperf2 expects room for its longest header.
const REQUEST: usize = 160;

states! {
    /// Where a client is.
    pub(super) enum State {
        Idle = "idle",
        /// Waits until the server of the last datagram test has closed.
        Resting = "resting",
        /// This end opens its streams.
        Connecting = "connecting",
        /// The server gets ready for them.
        Settling = "settling",
        Running = "running",
        /// The traffic is over; datagram streams have to be answered.
        Closing = "closing",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Resting | Connecting | Settling | Running | Closing;
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    steps: Steps<State>,
    spec: TestSpec,
    closing: Option<Closing>,
    /// Per stream, whether the peer has sent nothing on it yet.
    silent: Vec<bool>,
    /// Number of opened streams, time of the first opening, and start of the traffic.
    opened: u16,
    opened_at: Vec<MonoInstant>,
    began: MonoInstant,
    /// When this end's senders stopped, and how much later the peer was notified.
    finished: MonoInstant,
    lingered: Duration,
    /// When to send the request on the next stream, or again, and when to give up.
    ask: Option<MonoInstant>,
    patience: Option<MonoInstant>,
    /// Timeout for the first datagram of the peer's sender.
    first_answer: Duration,
    own: Option<Vec<EndpointReport>>,
    /// Whether a peer has answered.
    was_answered: bool,
    /// When the next datagram test may begin.
    rests_until: MonoInstant,
}

impl Client {
    pub(super) fn new(config: &ClientConfig) -> Self {
        let mut steps = Steps::resting(State::Idle, config.timeout);
        steps.has_key = config.credential.is_some();
        steps.meet(PeerHello::default());
        Self {
            steps,
            spec: TestSpec::tcp_bulk(),
            closing: None,
            silent: Vec::new(),
            opened: 0,
            opened_at: Vec::new(),
            began: MonoInstant::default(),
            finished: MonoInstant::default(),
            lingered: Duration::ZERO,
            ask: None,
            patience: None,
            first_answer: config.first_answer,
            own: None,
            was_answered: false,
            rests_until: MonoInstant::default(),
        }
    }

    fn is_udp(&self) -> bool {
        self.spec.transport() == Transport::Udp
    }

    /// Returns to the state in which the next test may begin.
    fn rest(&mut self, state: State) {
        self.steps.rest(state);
        self.closing = None;
        self.own = None;
        (self.ask, self.patience) = (None, None);
    }

    fn begin(&mut self, now: MonoInstant, spec: TestSpec) {
        if self.steps.refuses(&Iperf2, &spec) {
            return;
        }
        self.spec = spec;
        if self.is_udp() && now < self.rests_until {
            let rest = self.rests_until.saturating_since(now);
            self.steps.enter(now, State::Resting, rest);
        } else {
            self.open(now);
        }
    }

    fn open(&mut self, now: MonoInstant) {
        let format = format(&self.spec);
        let payload = self.spec.payload().as_usize();
        self.closing = self.is_udp().then(|| Closing::new(format, payload));
        self.steps.step(now, State::Connecting);
        self.steps.open(StreamTarget::Ports(Vec::new()), format);
    }

    /// The streams are open. Datagrams begin with one that makes the server ready for them.
    fn run(&mut self, now: MonoInstant) {
        self.steps.rest(State::Running);
        self.silent = vec![server_sends(&self.spec); usize::from(self.spec.streams)];
        if server_sends(&self.spec) {
            self.steps.act(Action::Start(Side::Receiver));
            self.patience = Some(now.after(self.first_answer));
        }
        self.opened = 0;
        self.opened_at.clear();
        if self.is_udp() && client_sends(&self.spec) {
            self.steps.state = State::Settling;
            self.open_next(now);
        } else {
            self.start(now);
            if self.is_udp() {
                self.open_next(now);
            }
        }
    }

    /// Traffic flows.
    fn start(&mut self, now: MonoInstant) {
        self.steps.rest(State::Running);
        self.began = now;
        if server_sends(&self.spec) {
            let time = match self.spec.stop {
                Stop::After(time) => time,
                Stop::Bytes(_) | Stop::Transactions(_) => Duration::ZERO,
            };
            let whole = time.saturating_add(self.spec.warm_up);
            let limit = whole.saturating_add(GRACE);
            self.steps.enter(now, State::Running, limit);
        }
        if client_sends(&self.spec) {
            self.steps.act(Action::Start(Side::Sender));
        }
    }

    /// Opens one more stream, and repeats the request on streams whose sender has not begun. One after the other, since
    /// iperf2 attributes datagrams of streams that begin together to the wrong stream.
    fn open_next(&mut self, now: MonoInstant) {
        let format = format(&self.spec);
        let mut bytes = vec![0; Width::Wide.bytes()];
        bytes[3] = FIRST;
        bytes.extend(format.opening.as_bytes());
        let payload = self.spec.payload().as_usize();
        // A sender's opening is as long as its traffic; a request needs room for the longest header.
        bytes.resize(
            if client_sends(&self.spec) {
                payload
            } else {
                payload.max(REQUEST)
            },
            0,
        );
        for (stream, silent) in (0..=self.opened).zip(self.silent.clone()) {
            if stream == self.opened || (silent && !client_sends(&self.spec)) {
                let bytes = bytes.clone();
                self.steps
                    .act(Action::Stream(StreamOrder::Datagram { stream, bytes }));
            }
        }
        if self.opened < self.spec.streams {
            self.opened += 1;
            self.opened_at.push(now);
        }
        let more = self.opened < self.spec.streams;
        let settle = settle(&self.spec);
        let gap = if client_sends(&self.spec) {
            settle / 2
        } else {
            ASK
        };
        self.ask = (more || !client_sends(&self.spec)).then(|| now.after(gap));
        if self.steps.state == State::Settling && !more {
            self.steps.enter(now, State::Settling, settle);
        }
    }

    fn heard(&mut self, now: MonoInstant, stream: u16) {
        if let Some(silent) = self.silent.get_mut(usize::from(stream)) {
            *silent = false;
        }
        // A peer's sender has begun: the other streams get the full timeout.
        self.patience = Some(now.after(self.steps.timeout));
        if !self.silent.contains(&true) {
            self.patience = None;
            if self.steps.state == State::Running {
                self.ask = None;
            }
        }
    }

    /// All of this end's streams are over.
    fn reported(&mut self, now: MonoInstant, reports: Vec<EndpointReport>) {
        (self.ask, self.patience) = (None, None);
        self.steps.step(now, State::Closing);
        self.lingered = now.saturating_since(self.finished).min(LINGER);
        if let Some(closing) = &mut self.closing {
            closing.answer_with(&reports, true);
            closing.hasten(now);
            closing.repeat(now, &mut self.steps.actions);
        }
        self.own = Some(reports);
        self.conclude(now);
    }

    /// Ends the test once there is nothing more to hear.
    fn conclude(&mut self, now: MonoInstant) {
        let waits = self
            .closing
            .as_ref()
            .is_some_and(|closing| client_sends(&self.spec) && !closing.is_over());
        if self.steps.state != State::Closing || waits {
            return;
        }
        let peer_streams = self.peer_streams();
        if self.is_udp()
            && client_sends(&self.spec)
            && peer_streams.is_empty()
            && !self.was_answered
        {
            let reason = "it answered no end of a datagram stream: see that `iperf -s -u` runs there, and that no firewall drops its answers";
            return self.break_off(now, RefusalCode::Timeout, reason);
        }
        self.was_answered |= !peer_streams.is_empty();
        if client_sends(&self.spec)
            && let Some(closing) = &self.closing
        {
            closing.answer(&mut self.steps.actions);
        }
        let reports = self.peer_reports(peer_streams);
        self.steps.report(reports);
        let deaf_until = self.opened_at.last().map(|opened| opened.after(DEAF));
        self.rests_until = now.after(REST).max(deaf_until.unwrap_or_default());
        self.rest(State::Idle);
        self.steps.act(Action::TestOver(TestEnd::Complete));
    }

    /// What the peer's datagram receivers reported. Their time spans from the opening to the end; the part outside the
    /// traffic is left out.
    fn peer_streams(&self) -> Vec<StreamReport> {
        let peer_streams = self.closing.as_ref().map(Closing::peer_streams);
        let mut peer_streams = peer_streams.unwrap_or_default();
        for stream in &mut peer_streams {
            let opened = self.opened_at.get(usize::from(stream.index));
            let before = opened.map_or(Duration::ZERO, |at| self.began.saturating_since(*at));
            let beside = before + AFTER + self.lingered;
            stream.duration = stream.duration.saturating_sub(beside);
        }
        peer_streams
    }

    /// Reports of the peer. About a TCP stream it reports nothing: a report without streams.
    fn peer_reports(&self, peer_streams: Vec<StreamReport>) -> Vec<EndpointReport> {
        let report = |side, streams| EndpointReport::of_streams(side, streams);
        let mut reports = Vec::new();
        if client_sends(&self.spec) && (!self.is_udp() || !peer_streams.is_empty()) {
            reports.push(report(Side::Receiver, peer_streams));
        }
        let streams = self.peer_senders();
        if server_sends(&self.spec) && (!self.is_udp() || !streams.is_empty()) {
            reports.push(report(Side::Sender, streams));
        }
        reports
    }

    /// Streams of the peer's datagram senders, counted by their end datagrams or else by the sequence numbers received.
    fn peer_senders(&self) -> Vec<StreamReport> {
        let payload = self.spec.payload().get();
        let is_receiver = |report: &&EndpointReport| report.side == Side::Receiver;
        let own = self.own.iter().flatten().filter(is_receiver);
        let stream = |stream: &StreamReport| {
            let receiver = stream.work.get::<DatagramReceiver>()?;
            let packets = receiver.sent_there.or_else(|| self.sent_unsaid(receiver))?;
            let bytes = ByteCount::new(packets.get().saturating_mul(payload));
            let known = StreamReport::new(stream.index, PeerStream::default());
            Some(StreamReport {
                duration: receiver.sent_in.unwrap_or_default(),
                ..known.with_counts(bytes, packets)
            })
        };
        own.flat_map(|report| &report.streams)
            .filter_map(stream)
            .collect()
    }

    /// Datagrams sent by a peer whose end datagram was lost (iperf2 sends it once, to a socket that may be full): the
    /// count by sequence numbers, if the silence after the last one hides at most a hundredth of the loss.
    fn sent_unsaid(&self, receiver: &DatagramReceiver) -> Option<PacketCount> {
        let (Stop::After(asked), Some(took)) = (self.spec.stop, receiver.sent_in) else {
            return None;
        };
        let numbered = receiver.sequence.next_expected;
        let left = asked.saturating_sub(took).as_nanos();
        let unseen = (left * u128::from(numbered)).checked_div(took.as_nanos())? + 1;
        let lost = numbered.saturating_sub(receiver.sequence.received.get());
        (unseen * 100 <= u128::from(lost)).then_some(PacketCount::new(numbered))
    }

    fn no_sender(&self, waited: Duration) -> String {
        let (option, server) = match (self.spec.direction, self.spec.transport()) {
            (Direction::Reverse, Transport::Tcp) => ("--reverse", "iperf -s"),
            (Direction::Reverse, Transport::Udp) => ("--reverse", "iperf -s -u"),
            (_, Transport::Tcp) => ("--full-duplex", "iperf -s"),
            (_, Transport::Udp) => ("--full-duplex", "iperf -s -u"),
        };
        format!(
            "nothing came from it within {} s: only iperf2 from 2.1 on knows {option}; see that its `{server}` runs there, or measure towards it",
            waited.as_secs_f64()
        )
    }
}

/// What this test needs and iperf2 does not support; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec) -> Option<&'static str> {
    let is_udp = spec.transport() == Transport::Udp;
    let is_forward = spec.direction == Direction::Forward;
    let is_duplex = spec.direction == Direction::Duplex;
    if spec.work.has_round_trips() {
        Some(
            "iperf2 has no request and response that linerate speaks: start `linerate serve` there, or measure tcp or udp",
        )
    } else if !is_forward && !matches!(spec.stop, Stop::After(_)) {
        Some(
            "with iperf2 only a test that the client alone sends can end by bytes or packets: give a time with -t",
        )
    } else if is_udp && !spec.warm_up.is_zero() {
        Some(
            "iperf2 counts datagrams of the warm-up with the others, so their loss cannot be told apart: leave out --warm-up for UDP",
        )
    } else if is_udp && is_duplex && spec.payload().get() < MIN_DUPLEX_BYTES {
        Some(
            "with iperf2 datagrams that go both ways take 80 bytes at least: give a larger --payload",
        )
    } else if spec.is_server_slow() {
        Some("iperf2 cannot imitate a slow application")
    } else if is_udp && is_forward && numbers(spec) > MAX_NUMBERED {
        Some(
            "iperf2 numbers datagrams with 31 bits, and this test would send more: shorten it, or use more streams",
        )
    } else {
        None
    }
}

/// Datagrams that a stream of this test sends, if known in advance.
fn numbers(spec: &TestSpec) -> u128 {
    let all = match (spec.stop, spec.pace()) {
        (Stop::After(time), Pace::At(rate)) => {
            u128::from(rate.bps()) * time.as_millis()
                / 8000
                / u128::from(spec.payload().get().max(1))
        }
        (Stop::After(_), Pace::Unpaced) => 0,
        (Stop::Bytes(bytes), _) => u128::from(bytes.get() / spec.payload().get().max(1)),
        (Stop::Transactions(count), _) => count.into(),
    };
    all / u128::from(spec.streams.max(1))
}

/// How much longer than this end the peer sends. After its end datagram, an iperf2 takes the next datagram of that
/// socket for the answer: if that is one of our traffic, its receiver counts one lost too many.
fn beyond_ours(spec: &TestSpec) -> Duration {
    if spec.direction == Direction::Duplex && spec.transport() == Transport::Udp {
        settle(spec) + LATE
    } else {
        Duration::ZERO
    }
}

/// Format of the data streams of a test.
fn format(spec: &TestSpec) -> Streams {
    let streams = u64::from(spec.streams.max(1));
    let per_stream = |rate: BitRate| BitRate::from_bps(rate.bps() / streams);
    let is_forward = spec.direction == Direction::Forward;
    let request = Request {
        transport: spec.transport(),
        way: match spec.direction {
            Direction::Forward => DataDirection::Forward { back: None },
            Direction::Reverse => DataDirection::Reverse,
            Direction::Duplex => DataDirection::FullDuplex,
        },
        streams: if is_forward { spec.streams } else { 1 },
        buffer: u32::try_from(spec.payload().get()).unwrap_or(0),
        rate: spec.pace().intended_load().map(per_stream),
        amount: match spec.stop {
            Stop::After(time) => Amount::Time(
                time.saturating_add(spec.warm_up)
                    .saturating_add(beyond_ours(spec)),
            ),
            Stop::Bytes(bytes) => {
                Amount::Bytes(u32::try_from(bytes.get() / streams).unwrap_or(u32::MAX))
            }
            Stop::Transactions(_) => Amount::Untold,
        },
    };
    Streams {
        peer_role: PeerRole::Server,
        opening: Opening::from_bytes(&header::write(&request)),
        skip: 0,
        width: Width::Wide,
        counters: if is_forward {
            Counters::Bits32
        } else {
            Counters::Bits64
        },
        first: FIRST,
        sends_from: FIRST + 1,
    }
}

impl Stepping for Client {
    stepping_at!(steps);

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Begin(spec) if self.steps.state == State::Idle => self.begin(now, *spec),
            Input::Connected if self.steps.state == State::Connecting => self.run(now),
            Input::Stream(StreamEvent::FirstData { stream }) => self.heard(now, stream),
            Input::Finished { sent }
                if self.steps.state == State::Running && client_sends(&self.spec) =>
            {
                self.finished = now;
                let first_end = if server_sends(&self.spec) {
                    now.after(LINGER)
                } else {
                    now
                };
                if let Some(closing) = &mut self.closing {
                    closing.finish(first_end, sent);
                    closing.repeat(now, &mut self.steps.actions);
                }
            }
            Input::Reports(reports) if self.steps.state == State::Running => {
                self.reported(now, reports);
            }
            // An answer may come before this end's own reports.
            Input::Stream(StreamEvent::Datagram { stream, bytes })
                if self.steps.state == State::Closing
                    || (self.steps.state == State::Running && !server_sends(&self.spec)) =>
            {
                if let Some(closing) = &mut self.closing {
                    closing.hear(now, stream, bytes, &mut self.steps.actions);
                }
                self.conclude(now);
            }
            // The driver may not have seen yet that the test is over.
            Input::Stream(StreamEvent::Datagram { .. }) => {}
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.rest(State::Stopping);
        self.steps.break_off(now, code, reason);
    }

    fn timed(&mut self, now: MonoInstant) -> bool {
        let passed = |at: Option<MonoInstant>| at.is_some_and(|at| now >= at);
        if let Some(closing) = &mut self.closing {
            closing.repeat(now, &mut self.steps.actions);
            if closing.is_over() {
                self.conclude(now);
            }
        }
        if passed(self.patience) {
            let waited = if self.silent.contains(&false) {
                self.steps.timeout
            } else {
                self.first_answer
            };
            self.break_off(now, RefusalCode::Timeout, &self.no_sender(waited));
            return true;
        }
        if passed(self.ask) {
            self.open_next(now);
        }
        false
    }

    fn overdue(&mut self, now: MonoInstant, _limit: Duration) -> Result<()> {
        self.steps.rest(self.steps.state);
        match self.steps.state {
            State::Resting => self.open(now),
            State::Settling => self.start(now),
            State::Running => self.steps.act(Action::PeerFinished { sent: Sent::Untold }),
            State::Connecting => {
                self.break_off(
                    now,
                    RefusalCode::Timeout,
                    "the data streams were not opened in time",
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn aborted(&mut self, _now: MonoInstant) -> Result<()> {
        self.rest(State::Idle);
        self.steps.act(Action::TestOver(TestEnd::Aborted));
        Ok(())
    }

    fn eof(&mut self, _now: MonoInstant) -> Result<()> {
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        self.rest(State::Closed);
        self.steps.close();
    }

    fn next(&self) -> Option<MonoInstant> {
        let ends = self.closing.as_ref().and_then(Closing::deadline);
        [ends, self.ask, self.patience, self.steps.due()]
            .into_iter()
            .flatten()
            .min()
    }

    fn end_traffic(&mut self, now: MonoInstant) {
        match self.steps.state {
            State::Running if !server_sends(&self.spec) => self.steps.act(Action::StopSenders),
            // Only the end of its streams stops the peer's sender early.
            State::Resting | State::Connecting | State::Settling | State::Running => {
                self.break_off(now, RefusalCode::Interrupted, "ended by the user");
            }
            _ => {}
        }
    }
}
