//! A comparison for a terminal: one table for each metric, a row for each pair.

use super::{
    basis, by_metric, conclusion, effect, effect_interval, rule, side, tally, value, verdict,
};
use crate::figures::clean;
use crate::text::{Paper, Style};
use linerate_model::comparison::{
    Basis, ComparedSide, Comparison, Difference, MetricComparison, Pair, SameMachines,
};

/// Differences of the machines or settings that are shown; the JSON has all.
const MAX_DIFFERENCES: usize = 12;

/// Cells without partner that are shown.
const MAX_UNPAIRED: usize = 10;

/// What the terminal shows of a comparison.
pub fn comparison_text(comparison: &Comparison, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title(&conclusion(comparison));
    paper.row("", &tally(comparison));
    paper.row("A", &side(&comparison.a));
    paper.row("B", &side(&comparison.b));
    paper.row("counts as", &rule(comparison));
    if let Some(control) = &comparison.control {
        let times = control.repetitions;
        let seen = if control.false_alarms.is_empty() {
            "no difference".to_owned()
        } else {
            format!("a difference: {}", control.false_alarms.join("; "))
        };
        paper.row(
            "control",
            &format!("A against A, {times} times in random turns: {seen}"),
        );
    }
    for (index, note) in comparison.notes.iter().enumerate() {
        paper.row(if index == 0 { "note" } else { "" }, note);
    }
    machines(&mut paper, comparison);
    let settings: Vec<_> = comparison.settings.iter().map(difference).collect();
    list(&mut paper, "settings", &settings, MAX_DIFFERENCES);
    for (metric, rows) in by_metric(comparison) {
        paper.gap();
        table(&mut paper, metric, &rows);
    }
    assumed(&mut paper, comparison);
    let unpaired = comparison.unpaired.iter().map(|one| {
        let of = match one.side {
            ComparedSide::A => "A",
            ComparedSide::B => "B",
        };
        format!("{of}: {}: {}", one.cell.name, one.why)
    });
    list(
        &mut paper,
        "not compared",
        &unpaired.collect::<Vec<_>>(),
        MAX_UNPAIRED,
    );
    paper.finish()
}

fn machines(paper: &mut Paper, comparison: &Comparison) {
    let machines = &comparison.machines;
    let answer = match machines.same {
        SameMachines::Same => "the same",
        SameMachines::Different => "different",
        SameMachines::Unknown => "not known to be the same",
    };
    paper.row("machines", answer);
    let differ: Vec<_> = machines.differences.iter().map(difference).collect();
    list(paper, "", &differ, MAX_DIFFERENCES);
}

fn difference(difference: &Difference) -> String {
    let shown = |value: &Option<String>| clean(value.as_deref().unwrap_or("not told"));
    let role = difference
        .role
        .map_or_else(String::new, |role| format!("{} ", role.as_str()));
    let (a, b) = (shown(&difference.a), shown(&difference.b));
    format!("{role}{}: A {a}, B {b}", difference.what)
}

fn list(paper: &mut Paper, label: &str, items: &[String], most: usize) {
    for (index, item) in items.iter().take(most).enumerate() {
        paper.row(if index == 0 { label } else { "" }, item);
    }
    if items.len() > most {
        paper.row("", &format!("and {} more", items.len() - most));
    }
}

fn table(paper: &mut Paper, metric: &MetricComparison, rows: &[(&Pair, &MetricComparison)]) {
    let effect_name = if metric.ratio.is_some() {
        "B / A"
    } else {
        "B − A"
    };
    let mut cells = vec![vec![
        metric.words.clone(),
        "A".to_owned(),
        "B".to_owned(),
        effect_name.to_owned(),
        "95 % interval".to_owned(),
        "n".to_owned(),
        "B is".to_owned(),
    ]];
    for (pair, metric) in rows {
        cells.push(vec![
            pair.cell.name.clone(),
            value(&metric.metric, &metric.a),
            value(&metric.metric, &metric.b),
            effect(metric),
            effect_interval(metric),
            format!("{}, {}", metric.a.n, metric.b.n),
            verdict(metric).to_owned(),
        ]);
    }
    paper.wide_columns(&cells);
    let mut said: Vec<String> = Vec::new();
    for (_, metric) in rows {
        let covers = (metric.basis != Basis::BetweenTrials && metric.basis != Basis::None)
            .then(|| format!("intervals: {}", basis(metric.basis)));
        for text in covers.into_iter().chain(metric.why.clone()) {
            if !said.contains(&text) {
                said.push(text);
            }
        }
    }
    if !said.is_empty() {
        paper.wide(&format!("({})", said.join("; ")));
    }
}

/// What was taken to be the same, each once.
fn assumed(paper: &mut Paper, comparison: &Comparison) {
    let mut all: Vec<String> = Vec::new();
    for text in comparison.pairs.iter().flat_map(|pair| &pair.assumed) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    paper.gap();
    list(paper, "taken as equal", &all, MAX_UNPAIRED);
}
