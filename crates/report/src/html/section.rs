//! A run's section: verdict first, then charts, then hosts, then configuration.

use super::{Drawings, figure, heading, hosts, overview, profile, results, verdict};
use crate::words;
use linerate_model::run::{Run, RunStatus};
use maud::{Markup, html};

/// The section of a top-level run and, below it, of its parts.
pub(super) fn run(run: &Run, anchor: &str, drawings: &mut Drawings) -> Markup {
    html! {
        section.run aria-labelledby=(format!("{anchor}-title")) id=(anchor) {
            (heading(2, Some(&format!("{anchor}-title")), &words::title(run)))
            (about(run))
            @if run.parts().is_empty() {
                (leaf(run, anchor, 3, drawings))
            } @else {
                (whole(run, anchor, drawings))
            }
        }
    }
}

/// A run made of parts: the overview, its own verdict, each part, then what they share.
fn whole(run: &Run, anchor: &str, drawings: &mut Drawings) -> Markup {
    html! {
        (overview::table(run.parts(), anchor))
        @if run.verdict.is_some() { (verdict::card(run, 3)) }
        (figure::charts(run, anchor, 3, drawings))
        (results::notes(run))
        (results::means(run, 3))
        @for (index, part) in run.parts().iter().enumerate() {
            (part_of(run, part, &format!("{anchor}-{}", index + 1), drawings))
        }
        (hosts::facts(&run.hosts, 3))
        (hosts::configuration(run, 3))
    }
}

fn part_of(whole: &Run, part: &Run, anchor: &str, drawings: &mut Drawings) -> Markup {
    let shared = part.hosts.is_empty() || part.hosts == whole.hosts;
    html! {
        section.part aria-labelledby=(format!("{anchor}-title")) id=(anchor) {
            (heading(3, Some(&format!("{anchor}-title")), &words::title(part)))
            (about(part))
            (verdict::card(part, 4))
            (figure::charts(part, anchor, 4, drawings))
            (profile::all(part, anchor, 4))
            (results::all(part, 4))
            @if !shared { (hosts::facts(&part.hosts, 4)) }
            (hosts::configuration(part, 4))
            @for (index, inner) in part.parts().iter().enumerate() {
                (part_of(part, inner, &format!("{anchor}-{}", index + 1), drawings))
            }
        }
    }
}

fn leaf(run: &Run, anchor: &str, level: u8, drawings: &mut Drawings) -> Markup {
    html! {
        (verdict::card(run, level))
        (figure::charts(run, anchor, level, drawings))
        (profile::all(run, anchor, level))
        (results::all(run, level))
        (hosts::facts(&run.hosts, level))
        (hosts::configuration(run, level))
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
