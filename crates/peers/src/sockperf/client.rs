//! Client. It negotiates nothing: it sends, and watches for answers.

use super::streams::Streams;
use super::wire::{HEADER_LEN, MAX_MESSAGE};
use crate::error::{Excerpt, ProtocolError};
use crate::moves::{obstacle, states, whole_time};
use crate::session::{
    Action, ClientConfig, Ending, Input, RefusalCode, StopCause, StreamEvent, StreamTarget, TestEnd,
};
use crate::steps::{Phase as _, Stepping, Steps};
use linerate_model::MonoInstant;
use linerate_model::spec::{Direction, Side, TestSpec, TestWork, Transport};
use std::time::Duration;

/// Additional time for the last answer.
const DRAIN: Duration = Duration::from_mins(1);

states! {
    /// Where a client is.
    pub(super) enum State {
        Idle = "idle",
        Connecting = "connecting",
        Running = "running",
        /// The requester has stopped.
        Ending = "ending",
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Connecting | Running | Ending;
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    steps: Steps<State>,
    /// A key was given, although the protocol has none.
    has_key: bool,
    transport: Transport,
    whole: Duration,
    /// Timeout for the first answer of a TCP server.
    first_answer: Duration,
    /// When a server without an answer counts as absent.
    patience: Option<MonoInstant>,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, _now: MonoInstant) -> Self {
        let mut steps = Steps::resting(State::Idle, config.timeout);
        steps.meet_server(1);
        Self {
            steps,
            has_key: config.credential.is_some(),
            transport: Transport::Udp,
            whole: Duration::ZERO,
            first_answer: config.first_answer,
            patience: None,
        }
    }

    fn begin(&mut self, now: MonoInstant, spec: &TestSpec) {
        let key = self
            .has_key
            .then_some("sockperf has no keys: leave out --key");
        let unsupported = || cannot(spec).map(str::to_owned);
        if let Some((code, message)) = obstacle(key, spec, unsupported) {
            return self.steps.refuse(code, message);
        }
        self.whole = whole_time(spec);
        self.transport = spec.transport();
        self.steps.open(StreamTarget::Ports(Vec::new()), Streams);
        self.steps.enter(now, State::Connecting, self.steps.timeout);
    }

    fn run(&mut self, now: MonoInstant) {
        self.steps.act(Action::Start(Side::Sender));
        let limit = self.whole.saturating_add(DRAIN);
        self.steps.enter(now, State::Running, limit);
        self.patience = Some(now.after(match self.transport {
            Transport::Tcp => self.first_answer,
            // Datagrams may be lost: leave time for several.
            Transport::Udp => self.steps.timeout,
        }));
    }

    /// No answer: no server, or one of another protocol.
    fn unanswered(&mut self, now: MonoInstant) {
        let server = match self.transport {
            Transport::Tcp => "`sockperf server --tcp`",
            Transport::Udp => "`sockperf server`",
        };
        let reason = format!(
            "no message was answered: see that {server} (2.7 or later) runs there and that no firewall drops its port"
        );
        self.steps
            .stop(now, StopCause::Peer, RefusalCode::Timeout, reason);
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        if self.steps.state == State::Running
            && self.patience.is_some_and(|patience| now >= patience)
        {
            self.unanswered(now);
            return Ok(());
        }
        let Some(limit) = self.steps.overdue(now) else {
            return Ok(());
        };
        if self.steps.state == State::Stopping {
            return Err(self.steps.hangs(limit));
        }
        self.steps
            .time_out(now, "the test did not come to its end in time");
        Ok(())
    }
}

/// What this test needs and sockperf does not support; `None` if nothing.
pub(super) fn cannot(spec: &TestSpec) -> Option<&'static str> {
    let lengths = HEADER_LEN as u64..=MAX_MESSAGE as u64;
    if !matches!(spec.work, TestWork::ClosedLoop(_)) {
        Some("sockperf's server only sends messages back: use `linerate latency`")
    } else if spec.direction != Direction::Forward {
        Some("sockperf's server only answers: leave out --reverse and --duplex")
    } else if !lengths.contains(&spec.payload().get()) {
        Some("sockperf's messages have 14 to 65507 bytes: choose --sizes among them")
    } else if spec.is_server_slow() {
        Some("sockperf cannot imitate a slow application")
    } else {
        None
    }
}

impl Stepping for Client {
    type State = State;

    fn steps(&self) -> &Steps<State> {
        &self.steps
    }

    fn steps_mut(&mut self) -> &mut Steps<State> {
        &mut self.steps
    }

    fn next(&self) -> Option<MonoInstant> {
        let patience = self.patience.filter(|_| self.steps.state == State::Running);
        patience.into_iter().chain(self.steps.due()).min()
    }

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.steps.state, input) {
            (State::Idle, Input::Begin(spec)) => self.begin(now, &spec),
            (State::Connecting, Input::Connected) => self.run(now),
            (State::Running, Input::Stream(StreamEvent::FirstData { .. })) => self.patience = None,
            (State::Running, Input::Finished { sent }) => {
                if sent.iter().all(|sent| sent.get() == 0) {
                    self.unanswered(now);
                } else {
                    self.steps.enter(now, State::Ending, self.steps.timeout);
                }
            }
            (State::Ending, Input::Reports(_)) => {
                self.steps.report(Vec::new());
                self.steps.act(Action::TestOver(TestEnd::Complete));
                self.steps.rest(State::Idle);
            }
            (State::Running, Input::End(Ending::Traffic)) => self.steps.act(Action::StopSenders),
            (State::Connecting, Input::End(Ending::Traffic)) => {
                self.steps.interrupt(now);
            }
            (state, Input::End(Ending::Test { code, reason })) if state.has_test() => {
                self.steps.break_off(now, code, &reason);
            }
            (State::Stopping, Input::Stopped) => {
                self.steps.act(Action::TestOver(TestEnd::Aborted));
                self.steps.rest(State::Idle);
            }
            (_, Input::Timeout) => self.timeout(now)?,
            (_, Input::End(Ending::Session)) => self.close(),
            (_, Input::Eof) => {
                return Err(ProtocolError::Eof {
                    state: self.steps.state.name(),
                    offset: 0,
                    pending: Excerpt::default(),
                });
            }
            (
                _,
                Input::Bytes(_)
                | Input::End(Ending::Test { .. } | Ending::Traffic)
                | Input::Progress(_)
                | Input::Stream(StreamEvent::Datagram { .. } | StreamEvent::FirstData { .. }),
            ) => {}
            (_, other) => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{FIRST_ANSWER, RANDOM_BYTES, Session as _, TIMEOUT};
    use linerate_model::spec::{MAX_DURATION, Stop};
    use std::net::Ipv4Addr;

    const START: MonoInstant = MonoInstant::from_nanos(1_000_000_000);

    /// A client in the middle of a test of an hour.
    fn running(transport: Transport) -> Client {
        let config = ClientConfig::new(Ipv4Addr::LOCALHOST.into(), [7; RANDOM_BYTES]);
        let mut client = Client::new(&config, START);
        let spec = TestSpec {
            stop: Stop::After(MAX_DURATION),
            ..TestSpec::ping_pong(transport)
        };
        client.handle(START, Input::Begin(Box::new(spec))).unwrap();
        client.handle(START, Input::Connected).unwrap();
        while client.poll_action().is_some() {}
        client
    }

    #[test]
    fn a_server_that_answers_nothing_is_given_up_and_one_that_answers_is_not() {
        for (transport, patience) in [(Transport::Tcp, FIRST_ANSWER), (Transport::Udp, TIMEOUT)] {
            let mut client = running(transport);
            let due = START.after(patience);
            assert_eq!(client.deadline(), Some(due), "{transport}");
            client.handle(due, Input::Timeout).unwrap();
            let Some(Action::Stop { reason, code, .. }) = client.poll_action() else {
                panic!("{transport}: it goes on");
            };
            assert_eq!(code, RefusalCode::Timeout);
            assert!(reason.contains("no message was answered"), "{reason}");

            let mut client = running(transport);
            let first = Input::Stream(StreamEvent::FirstData { stream: 0 });
            client.handle(START, first).unwrap();
            assert!(client.deadline() > Some(START.after(MAX_DURATION)));
        }
    }
}
