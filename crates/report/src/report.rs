//! The runs that a report is of, and why it could not be made.

use linerate_model::WallTime;
use linerate_model::run::Run;

/// The runs to report on, and what the report says of itself.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// Heading of the report.
    pub title: String,
    /// When the report was made, as a label.
    pub made: WallTime,
    /// The runs, in the order they are shown.
    pub runs: &'a [Run],
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A value could not be written as JSON.
    #[error("failed to write {what} as JSON")]
    Json {
        /// The part of the report.
        what: &'static str,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}
