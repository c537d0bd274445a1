//! Registry of the workloads, in the order in which help and reports list them.

mod bulk;
mod byte_counts;
mod carrier;
mod connections;
mod crr;
mod datagrams;
mod marked_bulk;
mod multiplexed;
mod ping_pong;
mod request_response;

use crate::control::StreamControl;
use crate::datapaths::{Calls, DatagramPath, Nagle, Probe, StreamPath};
use crate::error::{EngineError, Result};
use crate::plan::StreamPlan;
use crate::tally::{AfterFailure, FailureCounts, StreamProgress};
use linerate_model::sample::StreamReport;
use linerate_model::spec::{Side, TestSpec, WaitMode, WorkloadId};
use linerate_model::{Clock, MonoInstant};
use linerate_peers::StreamFormat;
use linerate_sys::failure::{Failure, FailureClass};
use std::fmt::Write as _;
use std::net::TcpStream;
use std::sync::Arc;

/// Every workload. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn WorkloadKind] = &[
    &bulk::Bulk,
    &datagrams::Datagrams,
    &ping_pong::PingPong,
    &request_response::RequestResponse,
    &marked_bulk::MarkedBulk,
    &connections::Connections,
    &crr::Opening::Crr,
    &crr::Opening::ShortFlows,
];

pub use connections::Ends;
pub(crate) use crr::most_accepted;

/// The page `docs/guide/workloads.md`: a row for each workload.
pub fn page() -> String {
    let mut page = "# Workloads\n\n\
        Written by `make docs`. A workload is what two ends exchange. `linerate tcp` runs those that need TCP streams, \
        `linerate udp` those that need UDP datagrams, by `--workload ID`; [latency](latency.md) chooses its own.\n\n\
        | workload | what is exchanged |\n|---|---|\n"
        .to_owned();
    for kind in ALL {
        let _ = writeln!(page, "| `{}` | {} |", kind.id(), kind.summary());
    }
    page
}

/// The workload with this id.
pub fn find(id: &WorkloadId) -> Result<&'static dyn WorkloadKind> {
    let known = ALL.iter().copied().find(|kind| kind.id() == id.as_str());
    known.ok_or_else(|| {
        let ids: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
        EngineError::plan("workload", id, format!("known are {}", ids.join(", ")))
    })
}

/// What is exchanged between two ends.
pub trait WorkloadKind: Sync {
    /// The name in plans, on the command line, in the store and in reports.
    fn id(&self) -> &'static str;
    /// One sentence for the reference page.
    fn summary(&self) -> &'static str;
    /// A short test of it that any host can carry over loopback: what the conformance tests run.
    fn example(&self) -> TestSpec;
    /// Refuses an invalid test for this workload, before anything is opened.
    fn check(&self, spec: &TestSpec, format: &dyn StreamFormat) -> Result<()>;
    /// Datagrams per call at this side.
    fn calls(&self, side: Side, plan: &StreamPlan) -> Calls;
    /// Wait mode of its path's calls.
    fn waiting(&self, _side: Side, plan: &StreamPlan) -> WaitMode {
        plan.wait
    }
    /// What its datagrams are known by, where something else than this process may make and count them.
    fn probe(&self, _side: Side, _plan: &StreamPlan) -> Option<Probe> {
        None
    }
    /// Whether its TCP streams delay small writes.
    fn nagle(&self) -> Nagle {
        Nagle::On
    }
    /// Whether it opens and accepts connections itself, at the addresses of the one that was opened for it.
    fn connects(&self) -> bool {
        false
    }
    /// One side of one stream; an error if path or protocol are not those that [`check`](Self::check) accepts.
    fn work(&self, side: Side, setup: StreamSetup) -> Result<Box<dyn Work>>;
}

/// The open path of one stream.
pub enum Path {
    /// The workload's own connections, in place of an open one.
    Connections(Ends),
    /// Datagrams.
    Datagrams(Box<dyn DatagramPath>),
    /// A byte stream.
    Stream(Box<dyn StreamPath>),
    /// Connected sockets of many byte streams that one thread carries.
    Streams(Vec<TcpStream>),
}

/// Everything for running one side of one stream.
pub struct StreamSetup {
    pub(crate) path: Path,
    pub(crate) plan: StreamPlan,
    pub(crate) progress: Arc<StreamProgress>,
    pub(crate) clock: &'static dyn Clock,
}

impl Path {
    /// The datagram path; an error if it is another.
    pub(crate) fn datagrams(self) -> Result<Box<dyn DatagramPath>> {
        match self {
            Self::Datagrams(path) => Ok(path),
            Self::Connections(_) | Self::Stream(_) | Self::Streams(_) => {
                Err(EngineError::wrong_path("datagrams"))
            }
        }
    }

    /// The byte-stream path; an error if it is another.
    pub(crate) fn stream(self) -> Result<Box<dyn StreamPath>> {
        match self {
            Self::Stream(path) => Ok(path),
            Self::Connections(_) | Self::Datagrams(_) | Self::Streams(_) => {
                Err(EngineError::wrong_path("a byte stream"))
            }
        }
    }
}

/// How the loop goes on after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another turn at once.
    Again,
    /// The stream has ended.
    Done,
    /// Another turn at this time, by a schedule or a pause.
    Until(MonoInstant),
    /// Another turn at this time, to poll what cannot wake the thread: whether the peer has acknowledged all.
    Poll(MonoInstant),
}

impl FailureCounts {
    /// Counts `failure` at `now` and returns how the turn ends.
    pub(crate) fn step(&mut self, failure: Failure, now: MonoInstant) -> Step {
        match self.count(failure, now) {
            AfterFailure::Retry => Step::Again,
            AfterFailure::RetryAt(at) => Step::Until(at),
            AfterFailure::GiveUp => Step::Done,
        }
    }

    /// Counts `failure` of a connection at `now` and returns how the turn ends; a reset connection ends the stream.
    pub(crate) fn step_of_connection(&mut self, failure: Failure, now: MonoInstant) -> Step {
        let step = self.step(failure, now);
        match failure.class() {
            FailureClass::PeerGone => Step::Done,
            _ => step,
        }
    }
}

/// One running side of one stream. One turn moves one batch.
pub trait Work: Send {
    /// Traffic starts at `start`.
    fn begin(&mut self, start: MonoInstant);
    /// Moves what is due at `now`. Returns within some 20 ms, or soon after `control` says stop.
    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step;
    /// Ends the stream at `now` and returns its report.
    fn finish(self: Box<Self>, now: MonoInstant) -> StreamReport;
}

#[cfg(test)]
mod tests;
