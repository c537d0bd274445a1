//! A run's section: verdict, the chart that answers, then the rest folded by topic.

use super::figure::RunCharts;
use super::topics::{self, Folded};
use super::{hosts, overview, results, study, verdict};
use crate::page::{self, Drawings, heading};
use crate::words;
use crate::{document, forwarding};
use linerate_model::run::{Run, RunKind, RunStatus};
use maud::{Markup, html};

/// How a section stands on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The only run: the first screen has its figures.
    Alone,
    /// One of several, folded.
    Among,
}

/// The section of a top-level run and, below it, of its parts.
pub(super) fn run(run: &Run, anchor: &str, standing: Standing, drawings: &mut Drawings) -> Markup {
    let title = format!("{anchor}-title");
    let series = crate::study::series(run);
    let inner = match series.as_slice() {
        [_, ..] if run.kind() == RunKind::Study => study::section(run, &series, anchor, drawings),
        // A device may have been measured without a search.
        _ if run.parts().is_empty() && run.kind() != RunKind::Switch => {
            leaf(run, anchor, 3, drawings)
        }
        _ => whole(run, anchor, drawings),
    };
    match standing {
        Standing::Alone => html! {
            section.run aria-labelledby=(title) id=(anchor) {
                (heading(2, Some(&title), "What was measured"))
                (about(run))
                (inner)
            }
        },
        Standing::Among => folded(run, anchor, 2, &inner),
    }
}

/// A run behind its title.
fn folded(run: &Run, anchor: &str, level: u8, inner: &Markup) -> Markup {
    let title = format!("{anchor}-title");
    html! {
        details.run {
            summary { (heading(level, Some(&title), &words::title(run))) }
            div id=(anchor) {
                (about(run))
                (inner)
            }
        }
    }
}

/// A run made of parts: the overview, its own verdict, each part, then what they share.
fn whole(run: &Run, anchor: &str, drawings: &mut Drawings) -> Markup {
    let mut charts = RunCharts::from_run(run);
    let answer = std::mem::take(&mut charts.answer);
    html! {
        (document::write_html(&forwarding::blocks(run), drawings))
        @if !run.parts().is_empty() { (overview::table(run.parts(), anchor)) }
        @if run.verdict.is_some() { (verdict::card(run, 3)) }
        (page::drawn_charts(answer, anchor, 3, drawings))
        (results::notes(run))
        @for (index, part) in run.parts().iter().enumerate() {
            (part_of(run, part, &format!("{anchor}-{}", index + 1), drawings))
        }
        @if !run.trials.is_empty() {
            (topics::all(run, anchor, 3, Folded::WithoutHosts, drawings))
        }
        @if !run.hosts.is_empty() { (hosts::facts(&run.hosts, 3)) }
        (hosts::configuration(run, 3))
    }
}

fn part_of(whole: &Run, part: &Run, anchor: &str, drawings: &mut Drawings) -> Markup {
    let shared = part.hosts.is_empty() || part.hosts == whole.hosts;
    let shown = if shared {
        Folded::WithoutHosts
    } else {
        Folded::Everything
    };
    let inner = html! {
        (verdict::card(part, 4))
        (results::notes(part))
        (topics::all(part, anchor, 4, shown, drawings))
        @for (index, inner) in part.parts().iter().enumerate() {
            (part_of(part, inner, &format!("{anchor}-{}", index + 1), drawings))
        }
    };
    folded(part, anchor, 3, &inner)
}

fn leaf(run: &Run, anchor: &str, level: u8, drawings: &mut Drawings) -> Markup {
    html! {
        (verdict::card(run, level))
        (results::notes(run))
        (topics::all(run, anchor, level, Folded::Everything, drawings))
    }
}

/// What the run is, when, by what tool, and whether it came to its end.
fn about(run: &Run) -> Markup {
    let started = run.started.as_ref().map_or_else(
        || format!("start {}", crate::figures::UNKNOWN),
        |started| format!("started {started}"),
    );
    let version = run
        .tool
        .version
        .as_deref()
        .unwrap_or("version not recorded");
    html! {
        p.muted {
            @if let Some(title) = &run.title { (title) " · " }
            (words::kind(run.kind())) " · " (started) " · " (run.tool.name) " " (version)
            @if let Some(source) = &run.source {
                " · read from " (files(&source.files)) " (" (source.format) ")"
            }
            " · run " code { (run.id) }
        }
        @if run.status != RunStatus::Complete {
            p.alarm role="note" { "This run is " (words::status(run.status)) "." }
        }
    }
}

/// One file by name, several by number: the configuration lists them.
fn files(files: &[String]) -> String {
    match files {
        [one] => one.clone(),
        many => format!("{} files", many.len()),
    }
}
