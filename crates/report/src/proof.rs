//! What a verdict rests on, in words: experiments and rules.

use crate::words::{came_true, observed};
use linerate_model::run::{Experiment, ExperimentRecord, Finding, RuleOutcome, Run};

/// What an experiment changes, what it expects, and what came of it: a label and its text in each row.
pub(crate) fn rows(experiment: &Experiment) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("change", experiment.change.clone()),
        ("expect", experiment.expect.clone()),
    ];
    let Some(outcome) = &experiment.outcome else {
        let result = match (&experiment.result, &experiment.not_run) {
            (Some(result), _) => result.clone(),
            (None, Some(why)) => format!("could not be run: {why}"),
            (None, None) => "not run yet".to_owned(),
        };
        rows.push(("result", result));
        return rows;
    };
    for seen in &outcome.observed {
        let answer = came_true(seen.came_true);
        rows.push(("predicted", seen.prediction.to_string()));
        rows.push(("observed", format!("{} – {answer}", observed(seen))));
    }
    let mut said = vec![format!(
        "{} over {} pairs",
        outcome.answer.as_str(),
        outcome.pairs
    )];
    said.extend(outcome.notes.iter().cloned());
    rows.push(("answer", said.join("; ")));
    rows
}

/// Experiments on findings that are not the verdict: those that were refuted before it.
pub(crate) fn others(run: &Run) -> impl Iterator<Item = &ExperimentRecord> {
    let own = run
        .verdict
        .as_ref()
        .map(|verdict| (&verdict.limit, verdict.side));
    let all = run.experiments.iter();
    all.filter(move |record| own != Some((&record.limit, record.side)))
}

/// What a rule found, and why.
pub(crate) fn outcome(finding: &Finding) -> (&'static str, &str) {
    match &finding.outcome {
        RuleOutcome::Found { verdict } => ("found", &verdict.claim),
        RuleOutcome::Clear { because } => ("clear", because),
        RuleOutcome::NotEvaluated { missing } => ("not evaluated", missing),
    }
}
