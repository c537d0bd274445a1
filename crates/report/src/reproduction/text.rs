//! A reproduction for a terminal.

use super::{columns, conclusion, expected, fact, held, reasons, rule, verdict};
use crate::audit::{audit_conclusion, audit_findings};
use crate::text::{Paper, Style};
use crate::words;
use linerate_model::reproduction::{CellOutcome, Reproduction};

/// Reasons that the terminal shows; the JSON has each cell's.
const MAX_REASONS: usize = 8;

/// What the terminal shows of a reproduction.
pub fn reproduction_text(of: &Reproduction, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title(&conclusion(of));
    let table = &of.audit.table;
    paper.row("table", table.title.as_deref().unwrap_or(&table.name));
    if let Some(source) = &table.source {
        paper.row("source", source);
    }
    paper.row("runs", &of.runs.join(", "));
    paper.row("counts as", &rule(of));
    paper.row("by chance", &expected(of));
    for (index, one) in of.setup.iter().enumerate() {
        paper.row(if index == 0 { "set-up" } else { "" }, &fact(one));
    }
    for claim in &of.claims {
        paper.gap();
        paper.row("claim", claim.words.as_deref().unwrap_or(&claim.claim));
        paper.row("published", &held(claim.published));
        paper.row("measured", &held(claim.measured));
        let both = claim.published.asked.min(claim.measured.asked);
        paper.row("both agree", &format!("in {} of {both}", claim.agree));
    }
    let shown = of
        .cells
        .iter()
        .filter(|cell| cell.verdict != CellOutcome::NotMeasured);
    let head = [
        "cell",
        "published",
        "measured",
        "n",
        "ratio",
        "90 % interval",
        "verdict",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(shown.map(|cell| {
        let mut row = vec![cell.cell.clone()];
        row.extend(columns(cell));
        row.push(verdict(cell));
        row
    }));
    if rows.len() > 1 {
        paper.gap();
        paper.wide_columns(&rows);
    }
    for (why, count) in reasons(of).into_iter().take(MAX_REASONS) {
        let cells = words::counted(count, "cell");
        paper.wide(&format!("({cells}: {why})"));
    }
    paper.gap();
    paper.row("audit", &audit_conclusion(&of.audit));
    audit_findings(&mut paper, &of.audit);
    paper.finish()
}
