//! Errors that end a session early.

use linerate_engine::EngineError;
use linerate_peers::{ProtocolError, RefusalCode};

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// An endpoint cannot be opened or run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A connection or socket failed, or this end has a bug.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
    /// The peer, or the driver, broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// Result of an operation of a session.
pub type Result<T, E = SessionError> = std::result::Result<T, E>;

impl SessionError {
    /// Refusal code: whether this end lacks something for the test, or the cause is another.
    pub(crate) const fn code(&self) -> RefusalCode {
        match self {
            Self::Engine(EngineError::Host { .. } | EngineError::Plan { .. }) => {
                RefusalCode::Unsupported
            }
            Self::Engine(EngineError::NoPeer { .. } | EngineError::NoDataPort { .. }) => {
                RefusalCode::Timeout
            }
            _ => RefusalCode::Internal,
        }
    }

    /// The error and its causes as one sentence.
    pub fn words(self) -> String {
        format!("{:#}", anyhow::Error::from(self))
    }
}
