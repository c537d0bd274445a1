//! An audit as one HTML file that opens offline.

use super::{audit_conclusion, cells, expectation, outcome};
use crate::ReportError;
use crate::html::{Drawings, figure, sheet};
use crate::table::{Cell, Table};
use linerate_model::WallTime;
use linerate_model::audit::Audit;
use maud::{Markup, html};

/// The whole page; `made` labels it.
pub fn audit_html(audit: &Audit, made: &WallTime) -> Result<String, ReportError> {
    let title = audit.table.title.as_deref().unwrap_or(&audit.table.name);
    let body = html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { (title) }
            p.muted { "Audit of a published table, made " time { (made) } " by linerate" }
        }
        main id="content" { section.run { (section(audit)) } }
        footer.page {
            p.muted { "A finding is arithmetic: figures that cannot all be as printed, or that chance hardly makes. It does not say why." }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    };
    sheet("linerate: audit", body, &Drawings::new())
}

/// The audit as a part of a page.
pub(crate) fn section(audit: &Audit) -> Markup {
    let mut findings = Table::new(["Check", "Cells", "Rule", "Calculation"]);
    for finding in &audit.findings {
        let columns = [
            &finding.check,
            &cells(finding),
            &finding.rule,
            &finding.arithmetic,
        ];
        findings.push(columns.into_iter().map(Cell::text).collect());
    }
    let mut checks = Table::new(["Check", "Asks", "Outcome", "Rule from"]);
    for check in &audit.checks {
        let columns = [&check.check, &check.asks, &outcome(check), &check.source];
        checks.push(columns.into_iter().map(Cell::text).collect());
    }
    html! {
        h2 { (audit_conclusion(audit)) }
        @if let Some(source) = &audit.table.source { p { "Source: " (source) } }
        p { (expectation(audit)) "." }
        @if !findings.rows.is_empty() { (shown("What the figures contradict", &findings)) }
        (shown("Every check", &checks))
    }
}

fn shown(title: &str, table: &Table) -> Markup {
    html! {
        h3 { (title) }
        div.scroll tabindex="0" role="group" aria-label=(title) { (figure::table(table, title)) }
    }
}
