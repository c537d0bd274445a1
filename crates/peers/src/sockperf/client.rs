//! Client. It negotiates nothing: it sends, and watches for answers.

use super::Sockperf;
use super::streams::Streams;
use super::wire::{HEADER_LEN, MAX_MESSAGE};
use crate::error::Result;
use crate::moves::{states, whole_time};
use crate::session::{
    Action, ClientConfig, Input, RefusalCode, StopCause, StreamEvent, StreamTarget, TestEnd,
};
use crate::steps::{Stepping, Steps, drain, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::spec::{Direction, Side, TestSpec, TestWork, Transport};
use std::time::Duration;

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
        steps.has_key = config.credential.is_some();
        steps.meet_server(1, Facts::default());
        Self {
            steps,
            transport: Transport::Udp,
            whole: Duration::ZERO,
            first_answer: config.first_answer,
            patience: None,
        }
    }

    fn begin(&mut self, now: MonoInstant, spec: &TestSpec) {
        if self.steps.refuses(&Sockperf, spec) {
            return;
        }
        self.whole = whole_time(spec);
        self.transport = spec.transport();
        self.steps.open(StreamTarget::Ports(Vec::new()), Streams);
        self.steps.enter(now, State::Connecting, self.steps.timeout);
    }

    fn run(&mut self, now: MonoInstant) {
        self.steps.act(Action::Start(Side::Sender));
        let limit = self.whole.saturating_add(drain(self.whole));
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
}

/// What this test needs and sockperf does not support; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec) -> Option<&'static str> {
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
    stepping_at!(steps);

    fn next(&self) -> Option<MonoInstant> {
        let patience = self.patience.filter(|_| self.steps.state == State::Running);
        patience.into_iter().chain(self.steps.due()).min()
    }

    fn timed(&mut self, now: MonoInstant) -> bool {
        let is_over = self.patience.is_some_and(|patience| now >= patience);
        let gives_up = is_over && self.steps.state == State::Running;
        if gives_up {
            self.unanswered(now);
        }
        gives_up
    }

    fn overdue(&mut self, now: MonoInstant, _limit: Duration) -> Result<()> {
        self.steps
            .time_out(now, "the test did not come to its end in time");
        Ok(())
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
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
            (_, Input::Stream(StreamEvent::Datagram { .. } | StreamEvent::FirstData { .. })) => {}
            (_, other) => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn end_traffic(&mut self, now: MonoInstant) {
        match self.steps.state {
            State::Running => self.steps.act(Action::StopSenders),
            State::Connecting => self.steps.interrupt(now),
            _ => {}
        }
    }

    fn aborted(&mut self, _now: MonoInstant) -> Result<()> {
        self.steps.act(Action::TestOver(TestEnd::Aborted));
        self.steps.rest(State::Idle);
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
