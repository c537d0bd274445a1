//! A chart in the page: caption, drawing area, buttons, table.

use super::{Drawings, heading};
use crate::chart::Chart;
use crate::charts::{self, Drawn, Topic};
use crate::table::Table;
use linerate_model::run::Run;
use maud::{Markup, html};

/// Cells up to this long are not broken.
pub(super) const SHORT: usize = 24;
/// Tables longer than this are left out in print.
const LONG: usize = 30;

/// The charts of a run by what they are for.
pub(super) struct RunCharts {
    /// Those that answer what the run asks.
    pub(super) answer: Vec<Chart>,
    by_topic: Vec<(Topic, Chart)>,
    missing: Vec<(Topic, &'static str)>,
}

impl RunCharts {
    pub(super) fn from_run(run: &Run) -> Self {
        let mut all = Self {
            answer: Vec::new(),
            by_topic: Vec::new(),
            missing: Vec::new(),
        };
        for kind in charts::ALL {
            match kind.draw(run) {
                Drawn::Charts(charts) => {
                    let useful = charts.into_iter().filter(Chart::says_something);
                    let useful: Vec<Chart> = useful.map(Chart::cleaned).collect();
                    if kind.answers() && all.answer.is_empty() {
                        all.answer = useful;
                    } else {
                        all.by_topic
                            .extend(useful.into_iter().map(|chart| (kind.topic(), chart)));
                    }
                }
                Drawn::Missing(what) => all.missing.push((kind.topic(), what)),
                Drawn::NotApplicable => {}
            }
        }
        all
    }

    /// Takes the charts of one topic.
    pub(super) fn take(&mut self, topic: Topic) -> Vec<Chart> {
        let (of, rest) = std::mem::take(&mut self.by_topic)
            .into_iter()
            .partition(|(known, _)| *known == topic);
        self.by_topic = rest;
        let of: Vec<(Topic, Chart)> = of;
        of.into_iter().map(|(_, chart)| chart).collect()
    }

    /// What of a topic was not recorded, in a sentence.
    pub(super) fn missing(&self, topic: Topic) -> Option<String> {
        let of = self.missing.iter().filter(|(known, _)| *known == topic);
        let of: Vec<&str> = of.map(|(_, what)| *what).collect();
        (!of.is_empty())
            .then(|| format!("Not drawn, because it was not recorded: {}.", of.join("; ")))
    }
}

/// The figures of `charts`; nothing without any.
pub(crate) fn drawn_charts(
    charts: Vec<Chart>,
    anchor: &str,
    level: u8,
    drawings: &mut Drawings,
) -> Markup {
    let markup = html! {
        @if !charts.is_empty() {
            div.charts {
                @for chart in &charts { (figure(chart, &format!("{anchor}-{}", chart.id), level)) }
            }
        }
    };
    for chart in charts {
        drawings.insert(format!("{anchor}-{}", chart.id), chart);
    }
    markup
}

fn figure(chart: &Chart, id: &str, level: u8) -> Markup {
    let switch = chart.x.switchable || chart.y.switchable;
    let label = format!("{}. {}", chart.title, chart.caption);
    html! {
        figure.chart id=(id) data-chart=(id) {
            div.drawing {
                figcaption {
                    (heading(level, None, &chart.title))
                    p { (chart.caption) }
                }
                div.legend {}
                div.plot role="img" aria-label=(label) {}
            }
            div.tools {
                @if switch { (button("scale", "Log axes", &chart.title)) }
                (button("table", "Table", &chart.title))
                (button("png", "PNG", &chart.title))
                (button("svg", "SVG", &chart.title))
                (button("csv", "CSV", &chart.title))
            }
            div.table-view.scroll.long[chart.table.rows.len() > LONG] hidden tabindex="0" role="group"
                aria-label=(format!("Table: {}", chart.title)) {
                (table(&chart.table, &chart.title))
            }
            @if chart.table.rows.len() > LONG {
                p.print-only { "The table has " (chart.table.rows.len()) " rows; it is in the page and its CSV." }
            }
        }
    }
}

fn button(does: &str, text: &str, title: &str) -> Markup {
    let (pressed, label) = match does {
        "scale" => (Some("false"), format!("Log axes: {title}")),
        "table" => (None, format!("Show the table: {title}")),
        _ => (None, format!("Download {text}: {title}")),
    };
    let expanded = (does == "table").then_some("false");
    html! {
        button type="button" data-does=(does) aria-pressed=[pressed] aria-expanded=[expanded]
            aria-label=(label) { (text) }
    }
}

/// A table as data, as a table on the page.
pub(crate) fn table(table: &Table, title: &str) -> Markup {
    html! {
        table {
            caption.sr-only { (title) }
            thead { tr { @for column in &table.columns { th scope="col" { (column) } } } }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for cell in row {
                            td.number[cell.value.is_some()].short[cell.text.chars().count() <= SHORT] data-value=[cell.value] {
                                (cell.text)
                            }
                        }
                    }
                }
            }
        }
    }
}
