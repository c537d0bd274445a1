//! The first screen: one sentence, large figures, the path, and of several runs the charts that answer.

use super::figure::RunCharts;
use crate::page::{self, Drawings};
use crate::path::{self, PathPicture};
use crate::story::{self, Story};
use linerate_model::run::{Run, RunKind};
use maud::{Markup, html};

/// Charts that stand before those of the single runs.
const MAX_ANSWERS: usize = 3;

/// Runs up to which their charts stand before them.
const MAX_LEAVES: usize = 6;

/// The conclusion of the whole report.
pub(super) fn screen(runs: &[Run], drawings: &mut Drawings) -> Markup {
    let story = story::story(runs);
    let answers = answers(runs, &story, drawings);
    html! {
        section.first aria-label="Conclusion" {
            p.conclusion { (story.sentence) }
            @if !story.figures.is_empty() {
                dl.big {
                    @for figure in &story.figures {
                        div {
                            dt { (figure.about) }
                            dd {
                                strong { (figure.value) }
                                @if let Some(interval) = &figure.interval { span { (interval) } }
                            }
                        }
                    }
                }
            }
            @for (index, path) in story.paths.iter().enumerate() { (path_figure(path, &format!("path-{}", index + 1))) }
            @if !story.paths.is_empty() {
                p.reading { "Widths are packets; thin bands are at least 1.5 pixels. Hatched: lost at a place that no source tells. "
                    "Frame: what limits." }
            }
            (answers)
        }
    }
}

/// Of runs that are folded away, what answers: one chart for each of those that the sentence is about.
fn answers(runs: &[Run], story: &Story, drawings: &mut Drawings) -> Markup {
    let leaves = story::leaves(runs);
    // A single run and a study have theirs below; of many runs those of a few would be a choice of chance.
    let own = matches!(runs, [one] if one.parts().is_empty() || one.kind() == RunKind::Study);
    if own || leaves.len() > MAX_LEAVES {
        return html! {};
    }
    let with_result = story
        .with_result
        .iter()
        .filter_map(|place| leaves.get(*place));
    let charts = with_result.flat_map(|run| {
        let title = crate::words::title(run);
        RunCharts::from_run(run)
            .answer
            .into_iter()
            .take(1)
            .map(move |mut chart| {
                chart.title = crate::figures::clean(&format!("{title}: {}", chart.title));
                chart
            })
    });
    let charts = charts.take(MAX_ANSWERS).zip(1..).map(|(mut chart, n)| {
        chart.id = format!("{n}-{}", chart.id);
        chart
    });
    page::drawn_charts(charts.collect(), "answer", 2, drawings)
}

fn path_figure(picture: &PathPicture, id: &str) -> Markup {
    let title = format!("Where packets go, {}", picture.way);
    html! {
        figure.path-figure id=(id) {
            figcaption {
                h2 { (title) }
                p { (picture.account()) ". " (picture.about) "." }
            }
            (path::picture(picture, id))
            (page::folded(&path::table(picture), &format!("Table: {title}"), "The same numbers as a table", false))
        }
    }
}
