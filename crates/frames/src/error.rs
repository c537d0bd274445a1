//! What is wrong with text.

/// Why text is no stack of headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HeaderError(pub(crate) String);
