//! A comparison as one HTML file that opens offline.

use super::{
    basis, by_metric, charts, conclusion, effect, effect_interval, rule, side, tally, unit, value,
    verdict,
};
use crate::ReportError;
use crate::chart::Chart;
use crate::figures::Unit;
use crate::html::{Drawings, figure, sheet};
use crate::table::{Cell, Table};
use linerate_model::comparison::{
    ComparedSide, Comparison, Difference, MetricComparison, Pair, SameMachines,
};
use linerate_model::run::HostRole;
use linerate_model::{Estimate, WallTime};
use maud::{Markup, html};

/// The whole page; `made` labels it.
pub fn comparison_html(comparison: &Comparison, made: &WallTime) -> Result<String, ReportError> {
    let mut drawings = Drawings::new();
    let body = body(comparison, made, &mut drawings);
    sheet("linerate: B against A", body, &drawings)
}

fn body(comparison: &Comparison, made: &WallTime, drawings: &mut Drawings) -> Markup {
    let drawn = charts::all(comparison).into_iter().map(Chart::cleaned);
    html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { "B against A" }
            p.muted { "Comparison made " time { (made) } " by linerate" }
        }
        main id="content" {
            section.run {
                h2 { (conclusion(comparison)) }
                p { (tally(comparison)) }
                dl {
                    dt { "A" } dd { (side(&comparison.a)) }
                    dt { "B" } dd { (side(&comparison.b)) }
                    dt { "Counts as" } dd { (rule(comparison)) }
                }
                @if !comparison.notes.is_empty() {
                    ul.notes { @for note in &comparison.notes { li { (note) } } }
                }
                (machines(comparison))
                h3 { "Charts" }
                (figure::drawn_charts(drawn.collect(), "compare", 4, drawings))
                h3 { "Every metric" }
                @for (metric, rows) in by_metric(comparison) { (metric_table(metric, &rows)) }
                (differences("What was set differently", &comparison.settings))
                (unpaired(comparison))
            }
        }
        footer.page {
            p.muted {
                "An interval covers the truth at 95 % alone; verdicts are corrected for all tests of this page. "
                "“No difference shown” does not mean that there is none. "
                "Charts are drawn by Apache ECharts 6.1.0 (Apache License 2.0), which is part of this file."
            }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    }
}

fn machines(comparison: &Comparison) -> Markup {
    let machines = &comparison.machines;
    let answer = match machines.same {
        SameMachines::Same => "Both were measured on the same machines.",
        SameMachines::Different => "They were measured on different machines.",
        SameMachines::Unknown => "It is not known whether they were measured on the same machines.",
    };
    html! {
        p { (answer) }
        (differences("What differs between the machines", &machines.differences))
    }
}

fn differences(title: &str, differences: &[Difference]) -> Markup {
    let mut table = Table::new(["End", "What", "A", "B"]);
    for difference in differences {
        let shown =
            |value: &Option<String>| value.as_deref().map_or_else(Cell::unknown, Cell::text);
        table.push(vec![
            Cell::text(difference.role.map_or("–", HostRole::as_str)),
            Cell::text(&difference.what),
            shown(&difference.a),
            shown(&difference.b),
        ]);
    }
    folded(title, &table, table.rows.len() <= 12)
}

/// A table behind its title; nothing without rows.
fn folded(title: &str, table: &Table, open: bool) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            details open[open] {
                summary { (title) " (" (table.rows.len()) ")" }
                div.scroll tabindex="0" role="group" aria-label=(title) { (figure::table(table, title)) }
            }
        }
    }
}

fn metric_table(metric: &MetricComparison, rows: &[(&Pair, &MetricComparison)]) -> Markup {
    let values = rows
        .iter()
        .map(|(_, metric)| metric.a.point.max(metric.b.point));
    let unit = unit(&metric.metric, crate::figures::middle(values));
    let symbol = unit.symbol();
    let mut table = Table::new([
        "Pair".to_owned(),
        format!("A ({symbol})"),
        "95 %".to_owned(),
        "n".to_owned(),
        format!("B ({symbol})"),
        "95 %".to_owned(),
        "n".to_owned(),
        "Effect".to_owned(),
        "95 %".to_owned(),
        "Covers".to_owned(),
        "p, corrected".to_owned(),
        "B is".to_owned(),
        "Why".to_owned(),
    ]);
    for (pair, metric) in rows {
        let mut row = vec![Cell::text(&pair.cell.name)];
        row.extend(estimate(&metric.a, unit));
        row.extend(estimate(&metric.b, unit));
        row.extend([
            Cell::text(effect(metric)),
            Cell::text(effect_interval(metric)),
            Cell::text(basis(metric.basis)),
            Cell::text(
                metric
                    .p_adjusted
                    .map_or_else(|| "–".to_owned(), crate::figures::digits),
            ),
            Cell::text(verdict(metric)),
            Cell::text(metric.why.as_deref().unwrap_or_default()),
        ]);
        table.push(row);
    }
    let first = rows.first().map(|(_, metric)| {
        format!(
            "{}: {} against {}",
            metric.words,
            value(&metric.metric, &metric.b),
            value(&metric.metric, &metric.a)
        )
    });
    let title = match (rows.len(), first) {
        (1, Some(first)) => first,
        _ => crate::charts::capital(&metric.words),
    };
    folded(&title, &table, true)
}

fn estimate(estimate: &Estimate, unit: Unit) -> [Cell; 3] {
    let interval = estimate
        .interval
        .map(|interval| crate::figures::range(interval, unit));
    [
        Cell::number(Some(estimate.point), unit),
        Cell::text(interval.as_deref().unwrap_or("–")),
        Cell::count(Some(estimate.n)),
    ]
}

fn unpaired(comparison: &Comparison) -> Markup {
    let mut table = Table::new(["Of", "Cell", "Why it is not compared"]);
    for one in &comparison.unpaired {
        let of = match one.side {
            ComparedSide::A => "A",
            ComparedSide::B => "B",
        };
        table.push(vec![
            Cell::text(of),
            Cell::text(&one.cell.name),
            Cell::text(&one.why),
        ]);
    }
    folded("What has no partner", &table, table.rows.len() <= 12)
}
