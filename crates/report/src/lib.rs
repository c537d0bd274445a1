//! Pure: from runs to HTML, text, CSV and JSON.
//!
//! Draws conclusions from nothing: verdicts, bounds and notable points come with the run, this room
//! says them in words and draws them. What a run does not know is shown as "not recorded".
//! Does no I/O and reads no clock: [`Report::made`] is an argument.
//!
//! Invariant: every string of a run may come from a hostile peer or log. Markup is only made by
//! `maud`, which escapes; text for terminals passes [`figures::clean`].
#![forbid(unsafe_code)]

mod audit;
mod calibration;
pub mod chart;
pub mod charts;
mod comparison;
mod connections;
mod csv;
mod curve;
mod doctor;
pub mod document;
pub mod export;
pub mod figures;
mod flame;
mod footprint;
mod forwarding;
mod headline;
mod html;
mod junit;
mod loops;
mod mesh;
mod missed;
mod openmetrics;
mod page;
mod paper;
mod path;
mod proof;
pub mod renderers;
mod report;
mod reproduction;
mod story;
mod study;
mod table;
mod text;
mod trend;
mod words;

pub use footprint::{FootprintPage, FootprintView};
pub use junit::{Suite, junit};
pub use missed::missed_goals;
pub use openmetrics::{agent_metrics, run_metrics};
pub use page::{PageParts, page_parts};
pub use paper::Style;
pub use path::{PathPicture, PathStage, PathUnit, StageFigure, StageFlow, StageLoss, Unplaced};
pub use renderers::Renderer;
pub use report::{Report, ReportError};
pub use reproduction::{Answer, JudgedReproduction};
pub use story::title;
pub use table::{Cell, Table};
pub use text::{
    LiveInterval, Whereabouts, details_text, explanation_text, interval_heading, interval_line,
    listed_figure, listing_text, sparkline, summaries_text, summary_text, to_the_minute,
    trial_heading, trial_line,
};
pub use trend::{Trend, TrendChange, TrendFigure, TrendPoint, TrendSeries};
pub use words::{agent_event, progress};
