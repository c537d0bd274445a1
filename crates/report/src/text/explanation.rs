//! Why a run is limited as it is: the verdict, its evidence, and what every rule said.

use crate::figures;
use crate::paper::{length, wrap};
use crate::words;
use linerate_model::run::{Experiment, RuleOutcome, Run, Verdict};

/// The verdict, its evidence, and what every rule said; lines wrap at `width`.
pub fn explanation_text(run: &Run, width: usize) -> String {
    let mut lines = Vec::new();
    explain_into(run, &mut lines);
    let wrapped = lines
        .iter()
        .flat_map(|line| hanging(&figures::clean(line), width));
    wrapped.collect::<Vec<_>>().join("\n")
}

/// Columns that hanging text needs; with less it is wrapped over the whole width.
const MIN_ROOM: usize = 24;

/// A line, wrapped under where its last column begins.
fn hanging(line: &str, width: usize) -> Vec<String> {
    if length(line) <= width {
        return vec![line.to_owned()];
    }
    let column = line.rfind("  ").map_or(0, |at| at + 2);
    let (head, text) = line.split_at(column);
    let indent = length(head);
    if indent + MIN_ROOM > width {
        return wrap(line, width);
    }
    let parts = wrap(text, width - indent).into_iter().enumerate();
    let parts = parts.map(|(index, part)| match index {
        0 => format!("{head}{part}"),
        _ => format!("{:indent$}{part}", ""),
    });
    parts.collect()
}

fn explain_into(run: &Run, lines: &mut Vec<String>) {
    lines.push(
        format!("{}  {}", run.id, run.title.as_deref().unwrap_or_default())
            .trim_end()
            .to_owned(),
    );
    if let Some(verdict) = &run.verdict {
        explain_verdict(verdict, lines);
    }
    explain_others(run, lines);
    for finding in &run.findings {
        let (mark, text) = match &finding.outcome {
            RuleOutcome::Found { verdict } => ("found", verdict.claim.as_str()),
            RuleOutcome::Clear { because } => ("clear", because.as_str()),
            RuleOutcome::NotEvaluated { missing } => ("not evaluated", missing.as_str()),
        };
        lines.push(format!("  {:<18} {mark:<14} {text}", finding.rule));
    }
    for part in run.parts() {
        lines.push(String::new());
        explain_into(part, lines);
    }
}

fn explain_verdict(verdict: &Verdict, lines: &mut Vec<String>) {
    let confidence = format!("{:?}", verdict.confidence).to_lowercase();
    lines.push(format!("  limit: {} ({confidence})", verdict.limit.id()));
    lines.push(format!("  {}", verdict.claim));
    lines.extend(verdict.evidence.iter().map(|text| format!("  - {text}")));
    if let Some(experiment) = &verdict.experiment {
        explain_experiment(experiment, lines);
    }
    lines.push(String::new());
}

/// What to change and expect, and what came of it.
fn explain_experiment(experiment: &Experiment, lines: &mut Vec<String>) {
    let Some(outcome) = &experiment.outcome else {
        lines.push(format!(
            "  to confirm: {}; expect: {}",
            experiment.change, experiment.expect
        ));
        let why = experiment.not_run.as_ref();
        lines.extend(why.map(|why| format!("  not run: {why}")));
        return;
    };
    lines.push(format!("  experiment: {}", experiment.change));
    for seen in &outcome.observed {
        lines.push(format!("  - predicted: {}", seen.prediction));
        let answer = match seen.came_true {
            Some(true) => "true",
            Some(false) => "false",
            None => "not shown",
        };
        lines.push(format!("    observed: {}: {answer}", words::observed(seen)));
    }
    lines.extend(outcome.notes.iter().map(|note| format!("  - {note}")));
    lines.push(format!(
        "  answer: {} over {} pairs",
        outcome.answer.as_str(),
        outcome.pairs
    ));
}

/// The experiments that were run, when there were more than the verdict's own.
fn explain_others(run: &Run, lines: &mut Vec<String>) {
    let own = run
        .verdict
        .as_ref()
        .map(|verdict| (&verdict.limit, verdict.side));
    let others = run
        .experiments
        .iter()
        .filter(|record| own != Some((&record.limit, record.side)));
    for record in others {
        lines.push(format!("  tried before: {}", record.limit.id()));
        explain_experiment(&record.experiment, lines);
        lines.push(String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_under_its_last_column() {
        let line = "  link               found          the link carries 94 Mbit/s and no more";
        assert_eq!(hanging(line, 200), [line]);
        assert_eq!(
            hanging(line, 70),
            [
                "  link               found          the link carries 94 Mbit/s and no",
                "                                    more",
            ]
        );
        assert!(hanging(line, 40).iter().all(|part| length(part) <= 40));
    }
}
