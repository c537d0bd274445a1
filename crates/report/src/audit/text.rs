//! An audit for a terminal.

use super::{audit_conclusion, cells, expectation, outcome};
use crate::text::{Paper, Style};
use linerate_model::audit::Audit;

/// What the terminal shows of an audit.
pub fn audit_text(audit: &Audit, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title(&audit_conclusion(audit));
    let title = audit.table.title.as_deref();
    paper.row("table", title.unwrap_or(&audit.table.name));
    if let Some(source) = &audit.table.source {
        paper.row("source", source);
    }
    paper.row("by chance", &expectation(audit));
    findings(&mut paper, audit);
    paper.gap();
    for check in &audit.checks {
        paper.row(&check.check, &format!("{} {}", check.asks, outcome(check)));
    }
    paper.finish()
}

/// Every finding: the cells, the rule, the calculation, and the rule's source.
pub(crate) fn findings(paper: &mut Paper, audit: &Audit) {
    for finding in &audit.findings {
        paper.gap();
        paper.row(&finding.check, &cells(finding));
        paper.row("rule", &finding.rule);
        paper.row("calculation", &finding.arithmetic);
        let check = audit
            .checks
            .iter()
            .find(|check| check.check == finding.check);
        if let Some(check) = check {
            paper.row("rule from", &check.source);
        }
    }
}
