//! A reproduction as one HTML file that opens offline.

use super::{columns, conclusion, expected, fact, held, rule, verdict};
use crate::ReportError;
use crate::audit::audit_section;
use crate::html::{Drawings, figure, measured, sheet};
use crate::table::{Cell, Table};
use linerate_model::WallTime;
use linerate_model::reproduction::Reproduction;
use linerate_model::run::Run;
use maud::{Markup, html};

/// The whole page: the verdicts, the studies that they are drawn from as in their own reports, the audit. `made` labels it.
pub fn reproduction_html(
    of: &Reproduction,
    studies: &[Run],
    made: &WallTime,
) -> Result<String, ReportError> {
    let mut drawings = Drawings::new();
    let title = of
        .audit
        .table
        .title
        .as_deref()
        .unwrap_or(&of.audit.table.name);
    let body = html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { "Does it hold? " (title) }
            p.muted { "Reproduction made " time { (made) } " by linerate" }
        }
        main id="content" {
            section.run { (results(of)) }
            (measured(studies, &mut drawings))
            section.run { (audit_section(&of.audit)) }
        }
        footer.page {
            p.muted { "“Compatible” does not mean equal. A finding of the audit is arithmetic and says nothing of causes." }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    };
    sheet("linerate: reproduction", body, &drawings)
}

fn results(of: &Reproduction) -> Markup {
    let mut claims = Table::new(["Claim", "Published", "Measured", "Both agree in"]);
    for claim in &of.claims {
        claims.push(vec![
            Cell::text(claim.words.as_deref().unwrap_or(&claim.claim)),
            Cell::text(held(claim.published)),
            Cell::text(held(claim.measured)),
            Cell::count(Some(u64::from(claim.agree))),
        ]);
    }
    let head = [
        "Cell",
        "Published",
        "Measured",
        "n",
        "Ratio",
        "90 %",
        "Verdict",
        "Why",
    ];
    let mut cells = Table::new(head);
    for cell in &of.cells {
        let mut row = vec![Cell::text(&cell.cell)];
        row.extend(columns(cell).map(Cell::text));
        row.push(Cell::text(verdict(cell)));
        row.push(Cell::text(cell.why.as_deref().unwrap_or_default()));
        cells.push(row);
    }
    html! {
        h2 { (conclusion(of)) }
        dl {
            dt { "Counts as" } dd { (rule(of)) }
            dt { "By chance" } dd { (expected(of)) }
            dt { "Runs" } dd { (of.runs.join(", ")) }
            @if let Some(command) = &of.command { dt { "Command" } dd { code { (command) } } }
        }
        @if !of.setup.is_empty() {
            h3 { "Set-up" }
            ul.notes { @for one in &of.setup { li { (fact(one)) } } }
        }
        @if !claims.rows.is_empty() { (shown("Claims", &claims)) }
        (shown("Cells", &cells))
    }
}

fn shown(title: &str, table: &Table) -> Markup {
    html! {
        h3 { (title) }
        div.scroll tabindex="0" role="group" aria-label=(title) { (figure::table(table, title)) }
    }
}
