//! Errors by which a peer fails a session, in words for the user.

use linerate_model::RefusalCode;
use std::fmt;
use std::time::Duration;

/// What a step of a session gives.
pub(crate) type Result<T, E = ProtocolError> = std::result::Result<T, E>;

/// Why a session is over. Every variant is fatal to its session, none to the process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A record of the sealed control channel that does not open.
    #[error(
        "the control connection was changed on its way (state {state}, offset {offset}): record {record} {cause}; something between the ends changes, drops, repeats or reorders what they say: test over another path"
    )]
    Altered {
        /// State of this end.
        state: &'static str,
        /// Number of the record in this direction, from 1.
        record: u64,
        /// Offset of the record in what the peer has sent.
        offset: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// A message's body is not what its kind says.
    #[error(
        "the peer sent a message {message} that cannot be read (state {state}, offset {offset}, body {bytes}): {cause}"
    )]
    Body {
        /// State of this end.
        state: &'static str,
        /// The kind of message.
        message: &'static str,
        /// Offset of the message in what the peer has sent.
        offset: u64,
        /// The body's first bytes.
        bytes: Excerpt,
        /// What is wrong with it.
        cause: String,
    },
    /// The connection ended where it should not.
    #[error("the peer closed the control connection in state {state} after {offset} bytes{}: it was stopped, it crashed, or it gave up waiting for what the path lost; see its own messages", unfinished(.pending))]
    Eof {
        /// This end's state.
        state: &'static str,
        /// Bytes the peer has sent.
        offset: u64,
        /// The beginning of a message that was cut off; empty if none was.
        pending: Excerpt,
    },
    /// The peer speaks something else.
    #[error(
        "the peer speaks {protocol}, not linerate's protocol (it began with {bytes}, state {state}): {remedy}"
    )]
    Foreign {
        /// What it seems to be.
        protocol: &'static str,
        /// This end's state.
        state: &'static str,
        /// What it began with.
        bytes: Excerpt,
        /// What to do about it.
        remedy: &'static str,
    },
    /// One end has a key that the other has not.
    #[error("both ends need the same key (state {state}): {message}")]
    Key {
        /// This end's state.
        state: &'static str,
        /// What is wrong and what to do.
        message: &'static str,
    },
    /// A message's length is none, or more than its kind may have.
    #[error(
        "the peer announced {length} bytes for message {message} (state {state}, offset {offset}, bytes {bytes}): 1 to {most} are valid"
    )]
    Length {
        /// This end's state.
        state: &'static str,
        /// The kind of message, if it has arrived.
        message: &'static str,
        /// The length announced.
        length: u32,
        /// The most that is valid here.
        most: u32,
        /// Offset of the message in what the peer has sent.
        offset: u64,
        /// The announcement.
        bytes: Excerpt,
    },
    /// An input of this end's own driver that is invalid in this state: a bug in linerate.
    #[error("bug in linerate: its driver said {input} in state {state}{detail}")]
    OutOfTurn {
        /// This end's state.
        state: &'static str,
        /// The input.
        input: &'static str,
        /// More about it, if there is more.
        detail: String,
    },
    /// A step that the peer owes an answer to took too long although it is alive.
    #[error("the peer is alive but did not get out of state {state} within {} s: {hint}", .limit.as_secs_f64())]
    Overdue {
        /// This end's state.
        state: &'static str,
        /// The time it had.
        limit: Duration,
        /// What may be the reason.
        hint: &'static str,
    },
    /// The shell of a device does not execute a command.
    #[error("{message}")]
    Shell {
        /// Whether the device lacks something, the user has to say more, or neither.
        code: RefusalCode,
        /// What is wrong and what to do.
        message: String,
    },
    /// The peer was silent for too long.
    #[error("nothing was heard from the peer for {} s in state {state}: it is gone, its host or the path hangs, or it does not speak this protocol", (.silence.as_secs_f64() * 10.0).round() / 10.0)]
    Silent {
        /// This end's state.
        state: &'static str,
        /// The time without a byte.
        silence: Duration,
    },
    /// The peer ended the session with a reason.
    #[error("the peer ended the session ({code}, state {state}): {message}")]
    TurnedAway {
        /// This end's state.
        state: &'static str,
        /// The kind of reason.
        code: RefusalCode,
        /// The peer's words.
        message: String,
    },
    /// A message that has no place in this state, or whose values contradict the test.
    #[error("the peer sent {message} in state {state} (offset {offset}): {cause}")]
    Unexpected {
        /// This end's state.
        state: &'static str,
        /// The kind of message.
        message: &'static str,
        /// Offset of the message in what the peer has sent.
        offset: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// The peer is a linerate of another protocol version.
    #[error(
        "the peer speaks linerate protocol version {theirs}; this linerate speaks {ours}: use the same version on both ends"
    )]
    Version {
        /// The peer's.
        theirs: u16,
        /// This end's.
        ours: u16,
    },
}

/// The first bytes of something hostile, safe to print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    head: Vec<u8>,
    total: usize,
}

impl Excerpt {
    /// Bytes kept: enough to recognise a protocol.
    const KEPT: usize = 24;

    /// Excerpt of the beginning of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            head: bytes.iter().take(Self::KEPT).copied().collect(),
            total: bytes.len(),
        }
    }

    /// Whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.total > self.head.len() {
            "…"
        } else {
            ""
        };
        write!(f, "\"{}\"{more}", self.head.escape_ascii())
    }
}

/// The end of a sentence about a cut message.
fn unfinished(pending: &Excerpt) -> String {
    if pending.is_empty() {
        return String::new();
    }
    format!(", in the middle of a message that began {pending}")
}

/// Maximum length of text that is passed on from the peer or from this end's driver.
pub(crate) const MAX_TEXT: usize = 1000;

/// Text of the peer made safe to print: bounded, and without control characters.
pub(crate) fn clean(text: &str, most: usize) -> String {
    text.chars()
        .take(most)
        .map(|c| if c.is_control() { '·' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_beginning_and_that_there_is_more() {
        assert_eq!(
            Excerpt::from_bytes(b"HTTP/1.1\r\n").to_string(),
            r#""HTTP/1.1\r\n""#
        );
        let long = Excerpt::from_bytes(&[0xff; 1000]);
        assert!(long.to_string().ends_with("\\xff\"…"), "{long}");
        assert!(long.to_string().len() < 120);
    }

    #[test]
    fn text_of_the_peer_cannot_command_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\n", 99), "a·[31mb·");
        assert_eq!(clean("abcdef", 3), "abc");
    }

    #[test]
    fn a_version_mismatch_says_what_to_do() {
        assert_eq!(
            ProtocolError::Version { theirs: 2, ours: 1 }.to_string(),
            "the peer speaks linerate protocol version 2; this linerate speaks 1: use the same version on both ends"
        );
    }
}
