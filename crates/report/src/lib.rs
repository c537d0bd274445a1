//! Pure: from runs to HTML, text, CSV and JSON.
//!
//! Draws conclusions from nothing: verdicts, bounds and notable points come with the run, this room
//! says them in words and draws them. What a run does not know is shown as "not recorded".
//! Does no I/O and reads no clock: [`Report::made`] is an argument.
//!
//! Invariant: every string of a run may come from a hostile peer or log. Markup is only made by
//! `maud`, which escapes; text for terminals passes [`figures::clean`].
#![forbid(unsafe_code)]

use linerate_model::WallTime;
use linerate_model::run::Run;

mod audit;
pub mod chart;
pub mod charts;
mod comparison;
mod csv;
mod curve;
pub mod export;
pub mod figures;
mod flame;
mod footprint;
mod headline;
mod html;
mod loops;
mod missed;
mod path;
pub mod renderers;
mod reproduction;
mod story;
mod study;
mod table;
mod text;
mod words;

pub use audit::{audit_html, audit_text};
pub use comparison::{comparison_csv, comparison_html, comparison_markdown, comparison_text};
pub use footprint::{FootprintView, footprint_csv, footprint_html, footprint_text};
pub use html::{PageParts, page_parts};
pub use missed::missed_goals;
pub use path::{PathPicture, PathStage, PathUnit, StageFigure, StageFlow, StageLoss, Unplaced};
pub use renderers::Renderer;
pub use reproduction::{reproduction_html, reproduction_text};
pub use story::title;
pub use table::{Cell, Table};
pub use text::{
    ListedEntry, ListedResult, ListedRun, LiveInterval, Style, Whereabouts, ceilings_text,
    details_text, examination_text, explanation_text, interval_heading, interval_line,
    listing_text, sparkline, summaries_text, summary_text, trial_heading, trial_line,
};
pub use words::{agent_event, progress, quantity_name};

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
