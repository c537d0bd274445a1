//! Transport of an exchange's messages: datagrams, or a byte stream, which does not keep message boundaries.

use super::Path;
use crate::datapaths::{Buffers, DatagramPath, StreamPath};
use crate::error::{EngineError, Result};
use linerate_model::sample::{PathReport, TcpSample};
use linerate_sys::failure::Failure;
use std::time::Duration;

/// The open path; for a byte stream with the user's partial messages.
pub(crate) enum Carrier<Pieces> {
    Datagrams(Box<dyn DatagramPath>),
    Stream(Box<dyn StreamPath>, Pieces),
}

impl<Pieces> Carrier<Pieces> {
    pub(crate) fn new(path: Path, pieces: impl FnOnce() -> Pieces) -> Result<Self> {
        match path {
            Path::Connections(_) | Path::Streams(_) => {
                Err(EngineError::wrong_path("datagrams or a byte stream"))
            }
            Path::Datagrams(path) => Ok(Self::Datagrams(path)),
            Path::Stream(path) => Ok(Self::Stream(path, pieces())),
        }
    }

    /// Whether a message can be lost, so that an error of one call does not affect the next.
    pub(crate) const fn is_lossy(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Waits until something has arrived, at most `limit`; a path that cannot wait returns at once.
    pub(crate) fn await_arrival(&mut self, limit: Duration) {
        match self {
            Self::Datagrams(path) => path.await_arrival(limit),
            Self::Stream(path, _) => path.await_arrival(limit),
        }
    }

    /// Ends the outgoing direction.
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

    /// Datagrams dropped by this end's system for lack of buffer space.
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

    /// The path's part of a report.
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
