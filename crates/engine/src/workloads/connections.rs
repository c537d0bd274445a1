//! Short connections: a new TCP connection, one request and its answer on it, again and again.
//!
//! The sender's side opens and asks; the time of the handshake and that of the round trip after it are two
//! histograms. The receiver's side takes connections from the admitted address alone, and answers what
//! begins with the test's token. Each attempt ends before the next begins, so a slow path makes fewer of them
//! (closed loop).
//!
//! # References
//! - Foreign probes: draft-ietf-ippm-responsiveness, without TLS and HTTP

use super::{Path, Step, StreamSetup, Work, WorkloadKind};
use crate::control::{Received, StreamControl};
use crate::datapaths::{self, Calls, Nagle};
use crate::error::{EngineError, Result};
use crate::plan::{Limit, StreamPlan};
use crate::tally::{AfterFailure, FailureCounts, StreamProgress, Tally};
use linerate_model::sample::{ConnectionOpener, Responder, StreamReport, StreamWork};
use linerate_model::spec::{
    Direction, ShortConnections, Side, SocketChoice, Stop, TestSpec, TestWork,
};
use linerate_model::{Clock, Histogram, MonoInstant, PacketCount};
use linerate_peers::{MessageFormat, StreamFormat};
use linerate_sys::failure::Failure;
use linerate_sys::{sockopt, tcp};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

/// Workload of short connections.
pub(super) struct Connections;

/// Addresses of such a test, in place of one open path.
pub enum Ends {
    /// Accepts connections from this address.
    Listening(TcpListener, IpAddr),
    /// Opens connections to this address.
    To(SocketAddr),
}

/// Interval between the beginnings of attempts: ten per second, the minimum of the draft's probes.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(100);

/// Timeout of a handshake or an answer: slower ones are not responsive.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum wait for the next connection in one turn: bounds the delay of a stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Timeout for the request on a connection, so that it does not block the next one.
const ASKED_WITHIN: Duration = Duration::from_millis(500);

impl WorkloadKind for Connections {
    fn id(&self) -> &'static str {
        "connections"
    }

    fn summary(&self) -> &'static str {
        "New TCP connections one after the other, one request and its answer on each: times of handshakes and answers."
    }

    fn example(&self) -> TestSpec {
        TestSpec {
            stop: Stop::Transactions(3),
            ..TestSpec::connections()
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        if !format.identifies_test() {
            let why = "short connections need `linerate serve` at the peer";
            return Err(EngineError::plan("workload", &self.id(), why));
        }
        let is_plain = spec.streams == 1 && spec.direction == Direction::Forward;
        let is_probe = spec.work == TestWork::Connections(ShortConnections::default());
        if !is_probe || !is_plain {
            let why = "short connections need TCP, one stream, and a client that opens them";
            return Err(EngineError::plan("workload", &self.id(), why));
        }
        if !datapaths::find(&spec.datapath.id)?.has_socket_calls() {
            let why = "short connections need the kernel's sockets";
            return Err(EngineError::plan("datapath", &spec.datapath.id, why));
        }
        Ok(())
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    fn nagle(&self) -> Nagle {
        Nagle::Off
    }

    fn connects(&self) -> bool {
        true
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        let Path::Connections(ends) = setup.path else {
            return Err(EngineError::wrong_path("connections"));
        };
        let common = Common {
            format: setup.plan.messages()?,
            tally: Tally::new(
                MonoInstant::default(),
                setup.plan.interval,
                Arc::clone(&setup.progress),
            ),
            plan: setup.plan,
            progress: setup.progress,
            clock: setup.clock,
            failures: FailureCounts::default(),
        };
        match (side, ends) {
            (Side::Sender, Ends::To(remote)) => Ok(Box::new(Opener::new(common, remote))),
            (_, Ends::Listening(listener, from)) => Ok(Box::new(Answerer {
                common,
                listener,
                from,
                last: MonoInstant::default(),
            })),
            (Side::Receiver, Ends::To(_)) => Err(EngineError::wrong_path("a listening port")),
        }
    }
}

/// State of both sides.
struct Common {
    format: Box<dyn MessageFormat>,
    plan: StreamPlan,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Tally,
    failures: FailureCounts,
}

impl Common {
    fn begin(&mut self, counted: MonoInstant) {
        self.tally = Tally::new(counted, self.plan.interval, Arc::clone(&self.progress));
    }

    fn count(&mut self, now: MonoInstant) {
        self.failures.success();
        if now >= self.tally.start() {
            let bytes = self.format.header_len() as u64;
            self.tally.count(now, bytes, 1);
        }
    }

    fn report(self, duration: Duration, work: impl Into<StreamWork>) -> StreamReport {
        StreamReport {
            errors: self.failures.into_counts(),
            ..self.tally.report(self.plan.index, duration, work)
        }
    }
}

struct Opener {
    common: Common,
    remote: SocketAddr,
    limit: Limit,
    next: MonoInstant,
    number: u64,
    handshake: Histogram,
    rtt: Histogram,
    timeouts: u64,
}

impl Opener {
    fn new(common: Common, remote: SocketAddr) -> Self {
        let start = MonoInstant::default();
        Self {
            limit: Limit::new(common.plan.stop, common.format.header_len(), start),
            common,
            remote,
            next: start,
            number: 0,
            handshake: Histogram::new(),
            rtt: Histogram::new(),
            timeouts: 0,
        }
    }

    /// One connection: its handshake, and one request and answer.
    fn attempt(&mut self) -> io::Result<(Duration, Duration)> {
        let clock = self.common.clock;
        let format = &self.common.format;
        let mut bytes = vec![0; format.header_len()];
        format.write(&mut bytes, self.number, clock.now());
        let choice = SocketChoice {
            no_delay: true,
            ..SocketChoice::default()
        };
        let began = clock.now();
        let mut connection = tcp::connect(self.remote, &choice, ATTEMPT_TIMEOUT)?;
        let connected = clock.now();
        sockopt::set_receive_timeout(&connection, ATTEMPT_TIMEOUT)?;
        let asked = clock.now();
        connection.write_all(&bytes)?;
        let mut answer = vec![0; bytes.len()];
        connection.read_exact(&mut answer)?;
        let answered = clock.now();
        if answer != bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let handshake = connected.saturating_since(began);
        Ok((handshake, answered.saturating_since(asked)))
    }
}

impl Work for Opener {
    fn begin(&mut self, start: MonoInstant) {
        let counted = start.after(self.common.plan.warm_up);
        self.common.begin(counted);
        let request = self.common.format.header_len();
        self.limit = Limit::new(self.common.plan.stop, request, counted);
        self.next = start;
    }

    fn turn(&mut self, now: MonoInstant, _control: &StreamControl) -> Step {
        if self.limit.is_over(now) {
            return Step::Done;
        }
        if now < self.next {
            let end = self.limit.end().unwrap_or(self.next);
            return Step::Until(self.next.min(end));
        }
        self.next = now.after(ATTEMPT_INTERVAL);
        let attempt = self.attempt();
        self.number += 1;
        let done = self.common.clock.now();
        let counts = now >= self.common.tally.start();
        match attempt {
            Ok((handshake, rtt)) => {
                self.common.count(done);
                if counts {
                    self.handshake.record_duration(handshake);
                    self.rtt.record_duration(rtt);
                    self.limit.spend(1);
                }
                Step::Again
            }
            Err(error) => {
                self.timeouts += u64::from(counts);
                let failure = Failure::from_io("connect", &error);
                match self.common.failures.count(failure, done) {
                    AfterFailure::GiveUp => Step::Done,
                    AfterFailure::Retry | AfterFailure::RetryAt(_) => Step::Again,
                }
            }
        }
    }

    fn finish(self: Box<Self>, now: MonoInstant) -> StreamReport {
        let duration = now.saturating_since(self.common.tally.start());
        let work = ConnectionOpener {
            rtt: self.rtt,
            handshake: self.handshake,
            timeouts: PacketCount::new(self.timeouts),
            ..ConnectionOpener::default()
        };
        self.common.report(duration, work)
    }
}

struct Answerer {
    common: Common,
    listener: TcpListener,
    from: IpAddr,
    last: MonoInstant,
}

impl Answerer {
    /// Answers one connection, if it belongs to this test.
    fn answer(&self, mut connection: &TcpStream, from: IpAddr) -> io::Result<bool> {
        if from.to_canonical() != self.from {
            return Ok(false);
        }
        connection.set_nonblocking(false)?;
        connection.set_nodelay(true)?;
        sockopt::set_receive_timeout(connection, ASKED_WITHIN)?;
        sockopt::set_send_timeout(connection, ASKED_WITHIN)?;
        let format = &self.common.format;
        let mut bytes = vec![0; format.header_len()];
        connection.read_exact(&mut bytes)?;
        let ours = format.read(&bytes).is_some();
        if ours {
            connection.write_all(&bytes)?;
        }
        Ok(ours)
    }
}

impl Work for Answerer {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start.after(self.common.plan.warm_up));
        self.last = start;
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        let index = usize::from(self.common.plan.index);
        if control.is_over(index, Received::Unknown, self.last, now) {
            return Step::Done;
        }
        let waiting = tcp::wait_readable(&[self.listener.as_fd()], POLL_INTERVAL);
        if !waiting.is_ok_and(|ready| ready.first() == Some(&true)) {
            return Step::Again;
        }
        let Ok((connection, address)) = self.listener.accept() else {
            return Step::Again;
        };
        self.last = self.common.clock.now();
        // The side that opened a failed connection counts it.
        if let Ok(true) = self.answer(&connection, address.ip()) {
            self.common.count(self.common.clock.now());
        }
        Step::Again
    }

    fn finish(self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let duration = self.common.tally.active();
        self.common.report(duration, Responder::default())
    }
}
