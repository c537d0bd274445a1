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
    /// Refusal code: whether the test cannot be, this end lacks something for it, or the cause is another.
    pub(crate) const fn code(&self) -> RefusalCode {
        match self {
            Self::Engine(EngineError::Plan { .. }) => RefusalCode::Invalid,
            Self::Engine(EngineError::Host { .. }) => RefusalCode::Unsupported,
            Self::Engine(EngineError::NoPeer { .. } | EngineError::NoDataPort { .. }) => {
                RefusalCode::Timeout
            }
            _ => RefusalCode::Internal,
        }
    }

    /// Refusal code where sockets were to be opened, and whatever has no code of its own is what this end lacks.
    pub(crate) const fn code_of_opening(&self) -> RefusalCode {
        match self.code() {
            RefusalCode::Invalid => RefusalCode::Invalid,
            _ => RefusalCode::Unsupported,
        }
    }

    /// The error and its causes as one sentence.
    pub fn words(self) -> String {
        format!("{:#}", anyhow::Error::from(self))
    }
}
