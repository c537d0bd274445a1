//! Connection rate: TCP connections that are opened, carry a request and its answer, and are closed, many at once on few
//! threads, as fast as they go; or as many as can be held open.
//!
//! ```text
//!  client                         server
//!    │── SYN ───────────────────────►│ ┐ handshake: from before connect() to when the
//!    │◄────────────────── SYN, ACK ──│ ┘ socket takes the request, client's clock
//!    │── request ───────────────────►│ ┐ round trip
//!    │◄────────────────────── answer │ ┘
//!    │◄───────────────────────── FIN │   whoever closes first keeps the port in TIME_WAIT
//! ```
//! A transaction takes from before `connect()` to the last byte of the answer. Each connection of a client's thread begins
//! when the one before it in its place has ended (closed loop).
//!
//! The server takes connections from the admitted address alone, whose first bytes are those of the test's token as far as the
//! request has room for them. It has at most [`most_accepted`] of them open; further ones wait in the kernel's queue.
//!
//! # References
//! - TCP_CRR: netperf's manual, "Options common to TCP UDP and SCTP _RR tests"; neper's `tcp_crr`
//! - A SYN for a connection in TIME_WAIT: RFC 9293 §3.10.7.4, RFC 6191

mod client;
mod flows;
mod server;

use super::{Path, StreamSetup, Work, WorkloadKind};
use crate::datapaths::Calls;
use crate::error::{EngineError, Result};
use crate::plan::StreamPlan;
use crate::tally::{FailureCounts, StreamProgress, Tally};
use crate::workloads::Ends;
use linerate_model::sample::{StreamReport, StreamWork};
use linerate_model::spec::{
    ConnectionClose, DatapathChoice, Direction, FlowLoad, ShortConnections, Side, SizeDistribution,
    Stop, TestSpec, TestWork, WaitMode,
};
use linerate_model::{BitRate, ByteCount, Clock, MonoInstant};
use linerate_peers::StreamFormat;
use linerate_sys::epoll::Readiness;
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::tcp;
use linerate_sys::udp::Blocking;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Workloads that open connections.
pub(super) enum Opening {
    /// As fast as they go.
    Crr,
    /// At random times, for flows of given sizes.
    ShortFlows,
}

/// Maximum wait for readiness: bounds the delay of a stop.
const MAX_WAIT: Duration = Duration::from_millis(20);

/// What fills requests and answers.
const FILLING: u8 = 0x5a;

/// Connections that a server's thread has open at most for a client's thread that has `concurrent`: a client that ends them
/// opens the next before the server has seen the end of the last.
pub(crate) const fn most_accepted(concurrent: u64, close: ConnectionClose) -> u64 {
    let all = match close {
        ConnectionClose::Client | ConnectionClose::Reset => 2 * concurrent,
        ConnectionClose::Hold | ConnectionClose::Server => concurrent,
    };
    all + 64
}

impl WorkloadKind for Opening {
    fn id(&self) -> &'static str {
        match self {
            Self::Crr => "tcp-crr",
            Self::ShortFlows => "short-flows",
        }
    }

    fn summary(&self) -> &'static str {
        match self {
            Self::Crr => {
                "TCP connections opened, used for a request and its answer, and closed, as fast as they go: connections per second (TCP_CRR)."
            }
            Self::ShortFlows => {
                "TCP flows of given sizes, each on a connection of its own, that begin at random times at an intended load: completion times and slowdown."
            }
        }
    }

    fn example(&self) -> TestSpec {
        if matches!(self, Self::ShortFlows) {
            let rate = BitRate::from_bps(8_000_000);
            return TestSpec {
                stop: Stop::After(Duration::from_millis(300)),
                ..TestSpec::short_flows(FlowLoad {
                    sizes: SizeDistribution::fixed(ByteCount::new(10_000)),
                    load: rate,
                    ideal: rate,
                })
            };
        }
        TestSpec {
            stop: Stop::Transactions(20),
            streams: 2,
            work: TestWork::Connections(ShortConnections {
                concurrent: 5,
                ..example_work()
            }),
            ..TestSpec::tcp_crr()
        }
    }

    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
        let refuse = |key, value: &str, why: &str| Err(EngineError::plan(key, &value, why));
        let Some(work) = spec.work.connections() else {
            return refuse(
                "workload",
                self.id(),
                "it opens connections: give `--connections`",
            );
        };
        if work.flows.is_some() != matches!(self, Self::ShortFlows) {
            let why =
                "flows of given sizes are the workload short-flows, and no other connections are";
            return refuse("workload", self.id(), why);
        }
        if !format.identifies_test() {
            let why = "connections are counted with `linerate serve` at the peer only";
            return refuse("workload", self.id(), why);
        }
        if spec.direction != Direction::Forward {
            let why = "the client opens the connections: test from the other host";
            return refuse("direction", "reverse or duplex", why);
        }
        if spec.datapath != DatapathChoice::default() {
            let why = "connections are opened on the datapath sockets only, without parameters";
            return refuse("datapath", &spec.datapath.id, why);
        }
        if spec.wait == WaitMode::BusyPoll {
            let why = "connections are opened with the wait modes block and spin only";
            return refuse("wait", "busy-poll", why);
        }
        if spec.imitation.is_some() {
            let why = "short connections have no slow application to imitate";
            return refuse("workload", self.id(), why);
        }
        let payload = ByteCount::new(1)..=ByteCount::new(1 << 20);
        if !payload.contains(&work.response) {
            let value = work.response.to_string();
            return refuse("response", &value, "it takes 1 B to 1 MiB");
        }
        if matches!(spec.stop, Stop::Bytes(_)) {
            let why = "connections end by time or by number";
            return refuse("stop", "bytes", why);
        }
        Ok(())
    }

    fn calls(&self, _side: Side, _plan: &StreamPlan) -> Calls {
        Calls::Single
    }

    fn connects(&self) -> bool {
        true
    }

    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
        let Path::Connections(ends) = setup.path else {
            return Err(EngineError::wrong_path("connections"));
        };
        let common = Common::new(setup.plan, setup.progress, setup.clock)?;
        Ok(match (side, ends) {
            (Side::Sender, Ends::To(remote)) => match common.work.flows.clone() {
                Some(flows) => Box::new(flows::FlowClient::new(common, remote, flows)),
                None => Box::new(client::Client::new(common, remote)),
            },
            (_, Ends::Listening(listener, from)) => {
                Box::new(server::Server::new(common, listener, from)?)
            }
            (Side::Receiver, Ends::To(_)) => {
                return Err(EngineError::wrong_path("a listening port"));
            }
        })
    }
}

fn example_work() -> ShortConnections {
    TestSpec::tcp_crr()
        .work
        .connections()
        .cloned()
        .unwrap_or_default()
}

/// What both sides have.
struct Common {
    plan: StreamPlan,
    work: ShortConnections,
    progress: Arc<StreamProgress>,
    clock: &'static dyn Clock,
    tally: Tally,
    failures: FailureCounts,
    readiness: Readiness,
    /// Sockets that were ready at the last wait.
    ready: Vec<usize>,
    /// What every request begins with, as far as it has room.
    opening: Vec<u8>,
    /// Where what comes is put.
    room: Vec<u8>,
}

/// Bytes read or written in one call.
const CHUNK: usize = 64 * 1024;

impl Common {
    fn new(
        plan: StreamPlan,
        progress: Arc<StreamProgress>,
        clock: &'static dyn Clock,
    ) -> Result<Self> {
        let failed = |error| EngineError::io("wait for", &"connections", error);
        let work = plan.work.connections().cloned().unwrap_or_default();
        let longest = match &work.flows {
            Some(_) => CHUNK,
            None => work.request.as_usize().max(work.response.as_usize()),
        };
        Ok(Self {
            tally: Tally::new(MonoInstant::default(), plan.interval, Arc::clone(&progress)),
            opening: plan.format.tcp_opening(plan.index.into()),
            room: vec![FILLING; longest.min(CHUNK)],
            failures: FailureCounts::default(),
            readiness: Readiness::new().map_err(failed)?,
            ready: Vec::new(),
            work,
            progress,
            clock,
            plan,
        })
    }

    fn begin(&mut self, start: MonoInstant) {
        let counted = start.after(self.plan.warm_up);
        let progress = Arc::clone(&self.progress);
        self.tally = Tally::new(counted, self.plan.interval, progress);
    }

    /// Counts a transaction of `bytes` that ended at `now`, if it is of the counted time.
    fn count(&mut self, now: MonoInstant, bytes: u64) {
        if now >= self.tally.start() {
            self.tally.count(now, bytes, 1);
        }
    }

    /// Waits until sockets are ready, at most `limit`, and returns their numbers.
    fn wait(&mut self, limit: Duration, now: MonoInstant) -> Vec<usize> {
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        let most = match self.plan.wait {
            WaitMode::Spin => Duration::ZERO,
            WaitMode::Block | WaitMode::BusyPoll => MAX_WAIT,
        };
        if let Err(error) = self.readiness.wait(limit.min(most), &mut ready) {
            self.fail(Failure::from_io("epoll_wait", &error), now);
        }
        ready
    }

    /// Counts a failed call. Whatever fails is of one connection: the test goes on.
    fn fail(&mut self, failure: Failure, now: MonoInstant) {
        let _ = self.failures.count(failure, now);
    }

    fn report(self, duration: Duration, work: impl Into<StreamWork>) -> StreamReport {
        StreamReport {
            errors: self.failures.into_counts(),
            ..self.tally.report(self.plan.index, duration, work)
        }
    }
}

/// Bytes of a message that went one way on a connection.
struct Transfer {
    done: usize,
    length: usize,
}

/// How far a message got.
enum TransferProgress {
    /// All of it.
    Whole,
    /// The socket would block.
    Blocked,
    /// The peer closed its direction.
    Ended,
    Failed(Failure),
}

impl Transfer {
    const fn new(length: usize) -> Self {
        Self { done: 0, length }
    }

    const fn is_whole(&self) -> bool {
        self.done >= self.length
    }

    /// Sends what is left; the message begins with `opening`.
    fn send(&mut self, socket: &TcpStream, opening: &[u8], filling: &[u8]) -> TransferProgress {
        while !self.is_whole() {
            let left = self.length - self.done;
            let bytes = match opening.get(self.done..) {
                Some(rest) if !rest.is_empty() => rest,
                _ => filling,
            };
            match tcp::send(socket, &bytes[..bytes.len().min(left)], Blocking::No) {
                Ok(sent) => self.done += sent,
                Err(failure) => return TransferProgress::from_failure(failure),
            }
        }
        TransferProgress::Whole
    }

    /// Reads what is left into `room`; `see` gets what came and where in the message it stands.
    fn receive(
        &mut self,
        socket: &TcpStream,
        room: &mut [u8],
        mut see: impl FnMut(usize, &[u8]),
    ) -> TransferProgress {
        while !self.is_whole() {
            let most = room.len().min(self.length - self.done);
            match tcp::receive(socket, &mut room[..most], Blocking::No) {
                Ok(0) => return TransferProgress::Ended,
                Ok(came) => {
                    see(self.done, &room[..came]);
                    self.done += came;
                }
                Err(failure) => return TransferProgress::from_failure(failure),
            }
        }
        TransferProgress::Whole
    }
}

impl TransferProgress {
    fn from_failure(failure: Failure) -> Self {
        match failure.class() {
            FailureClass::WouldBlock => Self::Blocked,
            _ => Self::Failed(failure),
        }
    }
}
