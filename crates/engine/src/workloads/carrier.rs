//! What the messages of an exchange go over: datagrams, or a byte stream that does not keep their borders.

use super::Path;
use crate::datapaths::{Buffers, DatagramPath, StreamPath};
use crate::error::EngineError;
use linerate_model::sample::{PathReport, TcpSample};
use linerate_sys::failure::Failure;
use std::time::Duration;

/// The open path, with what its user keeps of a byte stream: messages in pieces.
pub(crate) enum Carrier<Pieces> {
    Datagrams(Box<dyn DatagramPath>),
    Stream(Box<dyn StreamPath>, Pieces),
}

impl<Pieces> Carrier<Pieces> {
    pub(crate) fn new(path: Path, pieces: impl FnOnce() -> Pieces) -> Result<Self, EngineError> {
        match path {
            Path::Connections(_) => Err(EngineError::wrong_path("datagrams or a byte stream")),
            Path::Datagrams(path) => Ok(Self::Datagrams(path)),
            Path::Stream(path) => Ok(Self::Stream(path, pieces())),
        }
    }

    /// Whether a message can be lost, so that an error of one call says nothing of the next.
    pub(crate) const fn is_lossy(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Waits until something has come, at most `limit`, or not at all where the path cannot wait.
    pub(crate) fn await_arrival(&mut self, limit: Duration) {
        match self {
            Self::Datagrams(path) => path.await_arrival(limit),
            Self::Stream(path, _) => path.await_arrival(limit),
        }
    }

    /// Says that no more will be sent.
    pub(crate) fn shutdown(&mut self) -> Result<(), Failure> {
        match self {
            Self::Datagrams(_) => Ok(()),
            Self::Stream(path, _) => path.shutdown(),
        }
    }

    pub(crate) fn info(&mut self, at_ns: u64) -> Option<TcpSample> {
        match self {
            Self::Datagrams(_) => None,
            Self::Stream(path, _) => path.info(at_ns),
        }
    }

    /// Datagrams that this end's system dropped because they were not taken in time.
    pub(crate) fn overflows(&mut self) -> Option<u64> {
        match self {
            Self::Datagrams(path) => path.overflows(),
            Self::Stream(..) => None,
        }
    }

    pub(crate) fn buffers(&self) -> Buffers {
        match self {
            Self::Datagrams(path) => path.buffers(),
            Self::Stream(path, _) => path.buffers(),
        }
    }

    /// What a report says of the path.
    pub(crate) fn report(&mut self) -> PathReport {
        let (xdp, diagnostics) = match self {
            Self::Datagrams(path) => (path.xdp(), path.diagnostics()),
            Self::Stream(path, _) => (None, path.diagnostics()),
        };
        PathReport {
            xdp,
            helper_cpu: diagnostics.helper_cpu,
            notes: diagnostics.notes,
            ..self.buffers().into()
        }
    }
}
