//! Why a run is limited as it is: the verdict, its evidence, and what every rule said.

use crate::paper::{Paper, Style};
use crate::{proof, words};
use linerate_model::run::{Experiment, Run};

/// The verdict, its evidence, and what every rule said; lines wrap at `width`.
pub fn explanation_text(run: &Run, width: usize) -> String {
    let mut paper = Paper::new(width, Style::Plain);
    explain(&mut paper, run);
    paper.finish().trim_end().to_owned()
}

fn explain(paper: &mut Paper, run: &Run) {
    let title = run.title.as_deref().unwrap_or_default();
    paper.title(format!("{}  {title}", run.id).trim_end());
    if let Some(verdict) = &run.verdict {
        super::limit(paper, verdict);
        paper.row("", &verdict.claim);
        super::evidence(paper, verdict);
        if let Some(own) = &verdict.experiment {
            experiment(paper, own);
        }
        paper.gap();
    }
    for record in proof::others(run) {
        paper.row("tried before", &words::limited(&record.limit));
        experiment(paper, &record.experiment);
        paper.gap();
    }
    for finding in &run.findings {
        let (outcome, why) = proof::outcome(finding);
        paper.item(&format!("{} ({outcome})", finding.rule), why);
    }
    for part in run.parts() {
        paper.gap();
        explain(paper, part);
    }
}

fn experiment(paper: &mut Paper, experiment: &Experiment) {
    for (label, text) in proof::rows(experiment) {
        paper.row(label, &text);
    }
}
