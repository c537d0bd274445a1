//! A chart in the page: caption, drawing area, buttons, table.

use super::{Drawings, heading};
use crate::chart::Chart;
use crate::table::Table;
use maud::{Markup, html};

/// Cells up to this long are not broken.
const SHORT: usize = 24;
/// Charts with longer tables print without them.
const LONG: usize = 30;
/// Longer tables scroll within the page.
const TALL: usize = 25;

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

/// A table that scrolls where it is too wide or too long for the page.
pub(crate) fn scrolled(data: &Table, title: &str) -> Markup {
    html! {
        div.scroll.tall[data.rows.len() > TALL] tabindex="0" role="group" aria-label=(title) { (table(data, title)) }
    }
}

/// A table under its title; nothing without rows.
pub(crate) fn titled(data: &Table, title: &str, level: u8) -> Markup {
    html! {
        @if !data.rows.is_empty() {
            (heading(level, None, title))
            (scrolled(data, title))
        }
    }
}

/// A table behind a click on `summary`.
pub(crate) fn folded(data: &Table, title: &str, summary: &str, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { (summary) }
            (scrolled(data, title))
        }
    }
}

/// A table as data, as a table on the page.
fn table(table: &Table, title: &str) -> Markup {
    html! {
        table {
            caption.sr-only { (title) }
            thead { tr { @for column in &table.columns { th scope="col" { (column) } } } }
            tbody {
                @for (place, row) in table.rows.iter().enumerate() {
                    tr class=[table.invalid.contains(&place).then_some("invalid")] {
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
