//! What is wrong with text.

/// What reading text gives.
pub(crate) type Result<T, E = HeaderError> = std::result::Result<T, E>;

/// Why text is no stack of headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HeaderError(pub(crate) String);
