//! The end that asks. It has nobody to agree with: it sends, and sees whether answers come.

use super::MAX_TEXT;
use super::wire::{HEADER_LEN, MAX_MESSAGE};
use crate::error::{Excerpt, ProtocolError, clean};
use crate::framing::Framing;
use crate::session::{
    Action, ClientConfig, Input, Limits, PeerHello, RefusalCode, Session, StopCause,
};
use linerate_model::MonoInstant;
use linerate_model::spec::{Direction, MAX_DURATION, Stop, TestSpec, Transport, validate};
use std::collections::VecDeque;
use std::time::Duration;

/// How much longer than its time a test may take: the last answer is waited for.
const DRAIN: Duration = Duration::from_mins(1);

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Running,
    /// The requester has stopped.
    Ending,
    Stopping,
    Closed,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Running => "running",
            Self::Ending => "ending",
            Self::Stopping => "stopping",
            Self::Closed => "closed",
        }
    }

    const fn has_test(self) -> bool {
        matches!(self, Self::Connecting | Self::Running | Self::Ending)
    }
}

/// A client session.
#[derive(Debug)]
pub(super) struct Client {
    state: State,
    actions: VecDeque<Action>,
    timeout: Duration,
    /// A key was given, which this protocol does not have.
    has_key: bool,
    due: Option<MonoInstant>,
    transport: Transport,
    whole: Duration,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, _now: MonoInstant) -> Self {
        let hello = PeerHello {
            limits: Limits {
                max_streams: 1,
                ..Limits::default()
            },
            ..PeerHello::default()
        };
        Self {
            state: State::Idle,
            actions: VecDeque::from([Action::PeerHello(Box::new(hello))]),
            timeout: config.timeout,
            has_key: config.credential.is_some(),
            due: None,
            transport: Transport::Udp,
            whole: Duration::ZERO,
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    fn enter(&mut self, now: MonoInstant, state: State, limit: Duration) {
        self.state = state;
        self.due = Some(now.after(limit));
    }

    fn rest(&mut self) {
        self.state = State::Idle;
        self.due = None;
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.due = None;
        self.act(Action::Closed);
    }

    fn take(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        match (self.state, input) {
            (State::Idle, Input::Begin(spec)) => self.begin(now, &spec),
            (State::Connecting, Input::Connected) => {
                self.act(Action::StartSenders);
                let limit = self.whole.saturating_add(DRAIN);
                self.enter(now, State::Running, limit);
            }
            (State::Running, Input::Finished { sent }) => {
                if sent.iter().all(|sent| sent.get() == 0) {
                    self.unanswered(now);
                } else {
                    self.enter(now, State::Ending, self.timeout);
                }
            }
            (State::Ending, Input::Reports(_)) => {
                self.act(Action::PeerReport(Vec::new()));
                self.act(Action::TestOver);
                self.rest();
            }
            (State::Running, Input::EndTraffic) => self.act(Action::StopSenders),
            (State::Connecting, Input::EndTraffic) => {
                let reason = "stopped by its user".to_owned();
                self.stop(now, StopCause::Local, RefusalCode::Interrupted, reason);
            }
            (state, Input::Abort { code, reason }) if state.has_test() => {
                self.stop(now, StopCause::Local, code, clean(&reason, MAX_TEXT));
            }
            (State::Stopping, Input::Stopped) => {
                self.act(Action::TestAborted);
                self.rest();
            }
            (_, Input::Timeout) => self.timeout(now)?,
            (_, Input::Bye) => self.close(),
            (_, Input::Eof) => {
                return Err(ProtocolError::Eof {
                    state: self.state.name(),
                    offset: 0,
                    pending: Excerpt::default(),
                });
            }
            (
                _,
                Input::Abort { .. }
                | Input::Bytes(_)
                | Input::Datagram { .. }
                | Input::EndTraffic
                | Input::Heard { .. }
                | Input::Progress(_),
            )
            // The driver may not have seen yet that the test is over.
            | (State::Stopping, Input::Connected | Input::Finished { .. } | Input::Reports(_)) => {}
            (state, other) => {
                return Err(ProtocolError::OutOfTurn {
                    state: state.name(),
                    input: other.name(),
                    detail: String::new(),
                });
            }
        }
        Ok(())
    }

    fn begin(&mut self, now: MonoInstant, spec: &TestSpec) {
        let wrong = validate(spec).err().map(|error| error.to_string());
        let key = self
            .has_key
            .then(|| "sockperf has no keys: leave out --key".to_owned());
        let refused = key.or(wrong).map(|why| (RefusalCode::Invalid, why));
        let refused =
            refused.or_else(|| Some((RefusalCode::Unsupported, cannot(spec)?.to_owned())));
        if let Some((code, message)) = refused {
            return self.act(Action::Refused { code, message });
        }
        let time = match spec.stop {
            Stop::After(time) => time,
            Stop::Bytes(_) | Stop::Transactions(_) => MAX_DURATION,
        };
        self.whole = time.saturating_add(spec.warm_up);
        self.transport = spec.transport;
        self.act(Action::OpenStreams {
            ports: Vec::new(),
            framing: Framing::Sockperf,
        });
        self.enter(now, State::Connecting, self.timeout);
    }

    /// Nobody is there, or nobody who speaks this.
    fn unanswered(&mut self, now: MonoInstant) {
        let server = match self.transport {
            Transport::Tcp => "`sockperf server --tcp`",
            Transport::Udp => "`sockperf server`",
        };
        let reason = format!(
            "no message was answered: see that {server} (2.7 or later) runs there and that no firewall drops its port"
        );
        self.stop(now, StopCause::Peer, RefusalCode::Timeout, reason);
    }

    fn stop(&mut self, now: MonoInstant, cause: StopCause, code: RefusalCode, reason: String) {
        self.act(Action::Stop {
            cause,
            code,
            reason,
        });
        self.enter(now, State::Stopping, self.timeout * 2);
    }

    fn timeout(&mut self, now: MonoInstant) -> Result<(), ProtocolError> {
        if self.due.is_none_or(|due| now < due) {
            return Ok(());
        }
        if self.state == State::Stopping {
            return Err(ProtocolError::Overdue {
                state: self.state.name(),
                limit: self.timeout * 2,
                hint: "a traffic thread here hangs",
            });
        }
        let reason = "the test did not come to its end in time".to_owned();
        self.stop(now, StopCause::Local, RefusalCode::Timeout, reason);
        Ok(())
    }
}

/// What this test needs and sockperf does not have.
pub(super) fn cannot(spec: &TestSpec) -> Option<&'static str> {
    let lengths = HEADER_LEN as u64..=MAX_MESSAGE as u64;
    if spec.workload != "ping-pong" {
        Some("sockperf's server only sends messages back: use `linerate latency`")
    } else if spec.direction != Direction::Forward {
        Some("sockperf's server only answers: leave out --reverse and --duplex")
    } else if !lengths.contains(&spec.payload_bytes.get()) {
        Some("sockperf's messages have 14 to 65507 bytes: choose --sizes among them")
    } else {
        None
    }
}

impl Session for Client {
    fn handle(&mut self, now: MonoInstant, input: Input<'_>) -> Result<(), ProtocolError> {
        if self.state == State::Closed {
            return Ok(());
        }
        let outcome = self.take(now, input);
        if outcome.is_err() {
            self.close();
        }
        outcome
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn deadline(&self) -> Option<MonoInstant> {
        self.due
    }

    fn state(&self) -> &'static str {
        self.state.name()
    }
}
