//! Server. The drawing in [`super`] shows both ends.

use super::block::{Block, Size, kind};
use super::classic;
use super::order::{Order, errno, status_for};
use super::streams::Streams;
use super::test::Test;
use super::{DRAIN, PAD, omni, request};
use crate::error::{MAX_TEXT, ProtocolError, Result, clean};
use crate::moves::states;
use crate::session::{
    Action, Input, Refusal, RefusalCode, Sent, ServerConfig, StreamPorts, TestEnd,
};
use crate::steps::{Phase as _, Stepping, Steps, stepping_at};
use linerate_model::MonoInstant;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, Stop};
use std::sync::Arc;
use std::time::Duration;

/// Idle timeout between two tests.
const IDLE: Duration = Duration::from_mins(5);

states! {
    /// Where a server is.
    pub(super) enum State {
        /// Waits for the first request.
        Greeting = "greeting",
        /// Waits for a request.
        Idle = "idle",
        /// The driver prepares the test.
        Preparing = "preparing",
        /// The client opens its stream.
        Connecting = "connecting",
        Running = "running",
        /// Time is up without the end of the stream: drains what is still queued.
        Ending = "ending",
        /// The test ends early.
        Stopping = "stopping",
        Closed = "closed",
    }
    with a test: Preparing | Connecting | Running | Ending;
}

/// A server session.
#[derive(Debug)]
pub(super) struct Server {
    steps: Steps<State>,
    config: ServerConfig,
    order: Option<Box<Order>>,
    began: MonoInstant,
}

impl Server {
    pub(super) fn new(config: ServerConfig, now: MonoInstant) -> Self {
        Self {
            steps: Steps::waiting(State::Greeting, config.timeout, now),
            config,
            order: None,
            began: now,
        }
    }

    fn say(&mut self, block: &Block) {
        self.steps.act(Action::Send(block.write(Size::Long)));
    }

    /// Refuses a request; `kind` is the type of the answer.
    fn say_error(&mut self, kind: u32, status: u32) {
        self.say(&Block::new(kind, status, &[]));
    }

    const fn is_moving(&self) -> bool {
        matches!(self.steps.state, State::Running | State::Ending)
    }

    /// Type of the next block of the test: the response, then the results.
    fn answer_kind(&self) -> u32 {
        let asked = self.order.as_ref().map_or(0, |order| order.request.kind);
        match self.steps.state {
            State::Running | State::Ending | State::Stopping => asked + 2,
            _ => asked + 1,
        }
    }

    fn unexpected(&self, cause: String) -> ProtocolError {
        self.steps
            .unexpected("a request", self.steps.inbox.offset(), cause)
    }

    /// Handles one request.
    fn hear(&mut self, now: MonoInstant, request: &Block) {
        if let Some((code, _)) = &self.config.turn_away {
            let status = status_for(*code);
            self.say_error(request.kind + 1, status);
            return self.close();
        }
        if self.steps.state == State::Greeting {
            self.steps.meet_client(&self.config);
        }
        self.steps.enter(now, State::Idle, IDLE);
        match request.kind {
            kind::DEBUG_ON | kind::DEBUG_OFF => self.say(&Block::new(kind::DEBUG_OK, 0, &[])),
            // CPU use is not measured here: a rate of zero.
            kind::CPU_CALIBRATE => {
                let cores = self.cores();
                self.say(&Block::new(kind::CPU_CALIBRATE, 0, &[0, cores]));
            }
            kind::PASSPHRASE => {}
            _ => self.prepare(now, request),
        }
    }

    /// Number of cores of this host; 1 if unknown.
    fn cores(&self) -> u32 {
        self.config.facts.cores_online.unwrap_or(1)
    }

    fn prepare(&mut self, now: MonoInstant, request: &Block) {
        let response = request.kind + 1;
        let order = match request::read(request) {
            Ok(order) => order,
            Err(wrong) => {
                let code = RefusalCode::Unsupported;
                return self.refuse(now, response, wrong.status, code, &wrong.cause);
            }
        };
        if let Some(reason) = self.config.limits.exceeded_by(&order.spec) {
            let (status, code) = (errno::PERMISSION, RefusalCode::Limit);
            return self.refuse(now, response, status, code, &reason);
        }
        let mut spec = Box::new(order.spec.clone());
        if order.length.is_none() && matches!(spec.stop, Stop::After(_)) {
            spec.stop = Stop::After(self.config.limits.max_duration);
        }
        let format = Arc::new(Streams { least: order.least });
        self.order = Some(Box::new(order));
        self.steps.step(now, State::Preparing);
        self.steps.act(Action::Prepare { spec, format });
    }

    /// Refuses a test; the next one may follow.
    fn refuse(&mut self, now: MonoInstant, kind: u32, status: u32, code: RefusalCode, why: &str) {
        self.say_error(kind, status);
        self.steps.refuse(code, clean(why, MAX_TEXT));
        self.order = None;
        self.steps.enter(now, State::Idle, IDLE);
    }

    /// Sends the response with this end's data port.
    fn respond(&mut self, now: MonoInstant, ports: &StreamPorts) -> Result<()> {
        let port = ports.iter().find_map(|(_, ports)| ports.first()).copied();
        let (Some(order), Some(port)) = (&self.order, port) else {
            return Err(self.steps.out_of_turn("Prepared", ", with no port"));
        };
        let response = match order.request.kind {
            kind::OMNI => omni::response(order, port),
            _ => classic::response(order.test, &order.request, port),
        };
        self.say(&response);
        self.steps.step(now, State::Connecting);
        Ok(())
    }

    fn start(&mut self, now: MonoInstant) {
        let Some(order) = &self.order else { return };
        let side = order.test.server_side();
        let limit = match order.length {
            Some(time) if side == Side::Sender => time.saturating_add(DRAIN),
            Some(time) => time.saturating_add(PAD),
            None => self.config.limits.max_duration,
        };
        self.steps.act(match side {
            Side::Receiver => Action::Start(Side::Receiver),
            Side::Sender => Action::Start(Side::Sender),
        });
        self.began = now;
        self.steps.enter(now, State::Running, limit);
    }

    /// Sends the results at the end of the stream.
    fn report(&mut self, now: MonoInstant, reports: &[EndpointReport]) {
        let Some(order) = self.order.take() else {
            return;
        };
        let mut elapsed = now.saturating_since(self.began);
        if self.steps.state == State::Ending {
            elapsed = elapsed.min(order.length.unwrap_or(elapsed));
        }
        let empty = EndpointReport::of_streams(order.test.server_side(), Vec::new());
        let own = reports.first().unwrap_or(&empty);
        let results = match order.request.kind {
            kind::OMNI => omni::results(&order, own, elapsed, self.cores()),
            _ => classic::results(order.test, own, elapsed),
        };
        self.say(&results);
        self.steps.act(Action::TestOver(TestEnd::Complete));
        self.steps.enter(now, State::Idle, IDLE);
    }

    fn abort(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.say_error(self.answer_kind(), status_for(code));
        self.steps.break_off(now, code, reason);
    }

    fn receives(&self) -> bool {
        let order = self.order.as_ref();
        order.is_some_and(|order| order.test != Test::TcpMaerts)
    }
}

impl Stepping for Server {
    stepping_at!(steps);

    fn advance(&mut self, now: MonoInstant) -> Result<()> {
        loop {
            match self.steps.state {
                State::Greeting | State::Idle => {}
                State::Stopping | State::Closed => {
                    self.steps.inbox.clear();
                    return Ok(());
                }
                _ if self.steps.inbox.pending().is_empty() => return Ok(()),
                _ => {
                    let cause = "a client says nothing while a test is under way";
                    return Err(self.unexpected(cause.to_owned()));
                }
            }
            if let Some(kind) = Block::beginning(self.steps.inbox.pending()) {
                let cause = format!("type {kind} is not one of netperf's");
                return Err(self.unexpected(cause));
            }
            let Some(request) = self.steps.inbox.take_block(Size::Long) else {
                return Ok(());
            };
            self.hear(now, &request);
        }
    }

    fn eof(&mut self, now: MonoInstant) -> Result<()> {
        let is_cut = !self.steps.inbox.pending().is_empty();
        match self.steps.state {
            State::Greeting | State::Idle if !is_cut => {
                self.close();
                Ok(())
            }
            _ => self.cut_off(now),
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<()> {
        let seconds = limit.as_secs_f64();
        match self.steps.state {
            State::Greeting | State::Idle
                if self.steps.inbox.pending().len() == Size::Short.bytes() =>
            {
                let cause = "a block of 256 bytes is one of netperf up to 2.5: use netperf 2.6 or later as the client";
                Err(self.unexpected(cause.to_owned()))
            }
            State::Greeting | State::Idle => Err(self.steps.silent(limit)),
            State::Running if self.receives() => {
                self.steps.act(Action::PeerFinished { sent: Sent::Untold });
                self.steps.enter(now, State::Ending, DRAIN);
                Ok(())
            }
            State::Connecting => {
                let reason = format!("the data stream did not come within {seconds} s");
                self.abort(now, RefusalCode::Timeout, &reason);
                Ok(())
            }
            _ => {
                let reason = format!("the test did not come to its end within {seconds} s");
                self.abort(now, RefusalCode::Timeout, &reason);
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: MonoInstant, input: Input<'_>) -> Result<()> {
        match input {
            Input::Prepared(Ok(ports)) if self.steps.state == State::Preparing => {
                return self.respond(now, &ports);
            }
            Input::Prepared(Err(Refusal { code, message }))
                if self.steps.state == State::Preparing =>
            {
                let kind = self.answer_kind();
                self.refuse(now, kind, status_for(code), code, &message);
            }
            Input::Connected if self.steps.state == State::Connecting => self.start(now),
            Input::Finished { .. } if self.is_moving() => {}
            Input::Reports(reports) if self.is_moving() => {
                self.report(now, &reports);
                return self.advance(now);
            }
            other => return Err(self.steps.out_of_turn(other.name(), "")),
        }
        Ok(())
    }

    fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.abort(now, code, reason);
    }

    fn part(&mut self, _now: MonoInstant) {
        if self.steps.state.has_test() {
            self.say_error(self.answer_kind(), errno::INTERRUPTED);
        }
    }
}
