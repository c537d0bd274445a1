//! What an error of a session, or a refusal, means for a client.

use linerate_model::exit::ExitCode;
use linerate_peers::{ProtocolError, RefusalCode};
use linerate_session::{SessionError, SessionEvent};

/// Whether the peer says that the test was interrupted.
pub(crate) const fn is_interruption(event: &Result<Option<SessionEvent>, SessionError>) -> bool {
    matches!(
        event,
        Ok(Some(SessionEvent::TestEnded {
            code: RefusalCode::Interrupted,
            ..
        }))
    )
}

/// Whether the peer was silent for the protocol's timeout.
pub(crate) const fn is_silence(error: &SessionError) -> bool {
    matches!(error, SessionError::Protocol(ProtocolError::Silent { .. }))
}

/// Exit code of a refused test.
pub(crate) const fn exit_code(code: RefusalCode) -> ExitCode {
    match code {
        RefusalCode::Unsupported => ExitCode::HostLacks,
        RefusalCode::Invalid | RefusalCode::Limit => ExitCode::Usage,
        _ => ExitCode::Peer,
    }
}

/// Whether a peer closed the connection as one that closes its port for a moment.
pub(crate) const fn is_closing(error: &SessionError) -> bool {
    matches!(error, SessionError::Protocol(ProtocolError::Eof { .. }))
}
