//! The HTML report of runs.

mod figure;
mod first;
mod hosts;
mod one_way;
mod overview;
mod profile;
mod results;
mod section;
mod several;
mod stack;
mod study;
mod tcp;
mod topics;
mod trials;
mod verdict;

use crate::page::{self, Drawings, Frame};
use crate::report::{Report, ReportError};
use linerate_model::run::Run;
use maud::{Markup, html};
use section::Standing;

/// How figures of runs are to be read.
const READING: &str = "Rates are L4 payload unless a column says otherwise. A mean carries its 95 % confidence interval and \
    the number of trials n; a value read from a rounded log carries the interval of its rounding. “Not recorded” means that \
    the source does not tell: it is not zero.";

/// The whole page.
pub(crate) fn page(report: &Report<'_>) -> Result<String, ReportError> {
    let mut drawings = Drawings::new();
    let hosts = crate::story::hosts(&crate::story::leaves(report.runs));
    let hosts = hosts.map_or_else(String::new, |hosts| format!("{hosts} · "));
    let frame = Frame {
        heading: &report.title,
        made_what: format!("{hosts}report"),
        made: &report.made,
        reading: READING,
    };
    let content = content(report.runs, &mut drawings);
    page::page(&frame, &content, &drawings)
}

fn content(runs: &[Run], drawings: &mut Drawings) -> Markup {
    html! {
        @if !runs.is_empty() { (first::screen(runs, drawings)) }
        @match runs {
            [] => p { "There are no runs in this report." },
            [one] => (section::run(one, "run-1", Standing::Alone, drawings)),
            runs => (several::sections(runs, drawings)),
        }
    }
}

/// The sections of runs that stand on a page of another kind.
pub(crate) fn measured(runs: &[Run], drawings: &mut Drawings) -> Markup {
    let standing = match runs {
        [_] => Standing::Alone,
        _ => Standing::Among,
    };
    html! {
        @for (index, one) in runs.iter().enumerate() {
            (section::run(one, &format!("run-{}", index + 1), standing, drawings))
        }
    }
}
