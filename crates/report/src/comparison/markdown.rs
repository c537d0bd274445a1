//! A comparison as Markdown: what a pull request shows, its conclusion first.

use super::{conclusion, effect, effect_interval, rule, side, tally, value, verdict};
use crate::figures::clean;
use linerate_model::comparison::{CompareAnswer, Comparison, MetricComparison, Pair};

/// Rows that a pull request shows; the rest folds away.
const OPEN_ROWS: usize = 12;

/// The comparison as Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mark = match comparison.answer {
        CompareAnswer::NoRegression => "✅",
        CompareAnswer::Regression => "❌",
        CompareAnswer::CannotTell => "❔",
    };
    let mut lines = vec![
        format!("### {mark} {}", text(&conclusion(comparison))),
        String::new(),
        text(&tally(comparison)),
        String::new(),
        format!("- A: {}", text(&side(&comparison.a))),
        format!("- B: {}", text(&side(&comparison.b))),
        format!("- counts as: {}", text(&rule(comparison))),
    ];
    if let Some(control) = &comparison.control {
        let seen = if control.false_alarms.is_empty() {
            "no difference".to_owned()
        } else {
            format!("a difference ({})", control.false_alarms.join("; "))
        };
        let times = control.repetitions;
        lines.push(text(&format!(
            "- control: A against A, {times} times in random turns, shows {seen}"
        )));
    }
    lines.push(String::new());
    let rows = rows(comparison);
    let (open, folded) = rows.split_at(rows.len().min(OPEN_ROWS));
    lines.extend(table(open));
    if !folded.is_empty() {
        lines.push(format!(
            "<details><summary>{} more</summary>\n",
            folded.len()
        ));
        lines.extend(table(folded));
        lines.push("</details>\n".to_owned());
    }
    lines.extend(
        comparison
            .notes
            .iter()
            .map(|note| format!("> {}\n", text(note))),
    );
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Every metric: what is worse first, then what decides.
fn rows(comparison: &Comparison) -> Vec<(&Pair, &MetricComparison)> {
    let pairs = comparison.pairs.iter();
    let mut rows: Vec<_> = pairs
        .flat_map(|pair| pair.metrics.iter().map(move |metric| (pair, metric)))
        .collect();
    rows.sort_by_key(|(_, metric)| (metric.answer != CompareAnswer::Regression, !metric.decides));
    rows
}

fn table(rows: &[(&Pair, &MetricComparison)]) -> Vec<String> {
    let mut lines = vec![
        "| | A | B | B against A | 95 % interval | n | B is |".to_owned(),
        "|---|---:|---:|---:|---:|---:|---|".to_owned(),
    ];
    lines.extend(rows.iter().map(|(pair, metric)| {
        let cells = [
            format!("{}: {}", pair.cell.name, metric.words),
            value(&metric.metric, &metric.a),
            value(&metric.metric, &metric.b),
            effect(metric),
            effect_interval(metric),
            format!("{}, {}", metric.a.n, metric.b.n),
            verdict(metric).to_owned(),
        ];
        format!("| {} |", cells.map(|cell| text(&cell)).join(" | "))
    }));
    lines.push(String::new());
    lines
}

/// Text that no Markdown is read in: names come from logs.
fn text(raw: &str) -> String {
    let mut safe = String::new();
    for letter in clean(raw).chars() {
        match letter {
            '\n' | '\r' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '!' | '~' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            other => safe.push(other),
        }
    }
    safe
}
