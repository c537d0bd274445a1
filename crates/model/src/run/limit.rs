//! What can limit a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What limits a run: a value, since each rule of `analysis` brings its own. In the document two keys of what it is
/// part of.
#[derive(Debug, Clone, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Limit {
    /// What limits: the kebab-case id of the rule that finds it.
    #[serde(rename = "limit")]
    id: Cow<'static, str>,
    /// Its name for people ("the link's rate"); absent in documents of earlier builds.
    #[serde(rename = "limit_name", default, skip_serializing_if = "str::is_empty")]
    name: Cow<'static, str>,
}

impl Limit {
    /// What the rule `id` finds; `name` is a noun with its article.
    pub const fn new(id: &'static str, name: &'static str) -> Self {
        Self {
            id: Cow::Borrowed(id),
            name: Cow::Borrowed(name),
        }
    }

    /// Nothing saturated: what was asked for was carried.
    pub const fn none() -> Self {
        Self::new(
            "intended-load",
            "none: the path carried the whole intended load",
        )
    }

    /// Something limits, and it is not known what.
    pub const fn unknown() -> Self {
        Self::new("unknown", "not identified")
    }

    /// No limit was looked for: what was asked is how long round trips take.
    pub const fn round_trip() -> Self {
        Self::new("round-trip", "none looked for: round trips were timed")
    }

    /// The kebab-case id, as in the document.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it is called in a sentence; the id where the document has no name.
    pub fn name(&self) -> &str {
        if self.name.is_empty() {
            &self.id
        } else {
            &self.name
        }
    }

    /// Whether nothing saturated.
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// Whether the verdict answers how long round trips take.
    pub fn is_round_trip(&self) -> bool {
        *self == Self::round_trip()
    }

    /// Whether it is not known what limits.
    pub fn is_unknown(&self) -> bool {
        *self == Self::unknown()
    }
}

/// By id: a name may be missing, or have other words in another build.
impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_its_id_whatever_its_name() {
        let text = serde_json::to_string(&Limit::new("link", "the link's rate")).unwrap();
        assert_eq!(text, r#"{"limit":"link","limit_name":"the link's rate"}"#);
        let earlier: Limit = serde_json::from_str(r#"{"limit":"link"}"#).unwrap();
        assert_eq!(earlier, serde_json::from_str(&text).unwrap());
        assert_eq!(earlier.name(), "link");
    }
}
