//! The kinds of charts a report can draw, in the order it shows them.

use crate::chart::Chart;
use linerate_model::run::Run;
use linerate_model::sample::StreamReport;

mod by_load;
mod delay_cdf;
mod delay_parts;
mod delay_percentiles;
mod delay_quantiles;
mod layer_cost;
mod load_cpu;
mod load_delay;
mod load_loss;
mod load_rate;
mod load_zoom;
mod loss_over_time;
mod mode_rank;
mod rate_over_time;
mod request_load;
mod size_axis;
mod size_delay;
mod stream_rate;
mod tcp_rtt;
mod tcp_story;
mod tcp_time;
mod tcp_window;
mod timeline;

pub(crate) use by_load::{bounds, bounds_in, goal_name, rate_in};
pub(crate) use delay_parts::finding as parts_finding;
pub(crate) use delay_quantiles::without_chart;
pub(crate) use load_delay::capital;
pub(crate) use load_rate::saturation;
pub(crate) use size_axis::SizeAxis;
pub(crate) use tcp_time::finding as tcp_finding;
pub(crate) use timeline::{trial_name, which};

/// Every kind of chart. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&ChartKind] = &[
    &load_zoom::KIND,
    &load_rate::KIND,
    &load_loss::KIND,
    &request_load::KIND,
    &mode_rank::KIND,
    &size_delay::KIND,
    &delay_quantiles::KIND,
    &delay_percentiles::KIND,
    &delay_cdf::KIND,
    &delay_parts::KIND,
    &tcp_story::KIND,
    &rate_over_time::KIND,
    &loss_over_time::KIND,
    &stream_rate::KIND,
    &tcp_time::KIND,
    &tcp_window::KIND,
    &tcp_rtt::KIND,
    &load_delay::KIND,
    &load_cpu::KIND,
    &layer_cost::KIND,
];

/// A kind of chart: which runs it can draw, and how.
#[derive(Debug)]
pub struct ChartKind {
    /// Kebab-case name, the first part of its charts' ids.
    pub id: &'static str,
    /// What it shows, one sentence.
    pub summary: &'static str,
    /// The part of a report that it belongs to.
    pub topic: Topic,
    /// Whether it answers what such a run asks, so that it stands before all others.
    pub answers: bool,
    /// Draws it for one run, its parts not included.
    pub draw: fn(&Run) -> Drawn,
}

linerate_model::named_enum! {
    /// A part of a report, in the order of the page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Topic {
        /// How much was carried.
        Rate = "rate",
        /// How long it took.
        Delay = "delay",
        /// What did not arrive.
        Loss = "loss",
        /// What it cost.
        Cpu = "cpu",
        /// What TCP did.
        Tcp = "tcp",
    }
}

impl Topic {
    /// As a heading.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "Rate",
            Self::Delay => "Delay",
            Self::Loss => "Loss",
            Self::Cpu => "CPU",
            Self::Tcp => "TCP",
        }
    }
}

/// What became of a kind of chart for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawn {
    /// At least one chart.
    Charts(Vec<Chart>),
    /// It would belong here, but this is not recorded.
    Missing(&'static str),
    /// It has nothing to do with such a run.
    NotApplicable,
}

impl Drawn {
    /// The charts, if there are any.
    fn any(charts: Vec<Chart>) -> Self {
        if charts.is_empty() {
            Self::NotApplicable
        } else {
            Self::Charts(charts)
        }
    }

    /// The charts, or what is missing if there are none.
    fn or_missing(charts: Vec<Chart>, missing: &'static str) -> Self {
        match Self::any(charts) {
            Self::NotApplicable => Self::Missing(missing),
            drawn => drawn,
        }
    }
}

/// What a report is of that is of one stream.
const STREAM: &str = "stream";

/// What a report is of: a stream, or a thread that carries several.
const fn carrier(report: &StreamReport) -> &'static str {
    match report.flows {
        Some(_) => "thread",
        None => STREAM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_kebab_case_and_summaries_are_sentences() {
        let mut ids: Vec<_> = ALL.iter().map(|kind| kind.id).collect();
        for kind in ALL {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(kind.id.chars().all(plain), "{}", kind.id);
            assert!(kind.summary.ends_with('.'), "{}", kind.id);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
    }
}
