//! Which start of which build of the peer's program a run was measured with.
//!
//! Runs of one start share all that the start decided, such as where its memory lies and what it has cached; starts of
//! one build share what the build decided. A mean over runs of one start is that start's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The peer's program as it answered a run.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Instance {
    /// Which start of the program.
    pub start: StartId,
    /// Which build of it; absent where its file does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildId>,
}

/// Equal of two runs if one process answered both, on whatever host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StartId(String);

/// Equal of two programs if they were linked of the same parts: the note that the linker leaves in the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BuildId(String);

impl StartId {
    /// An id that says nothing but which start it is.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl BuildId {
    /// An id that says nothing but which build it is.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
