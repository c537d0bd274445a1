//! The verdict of a run: every rule is asked, the one that explains most speaks.

use super::evidence::{Gap, Regime};
use super::{ALL, Evidence, Rule, ceiling, settle};
use linerate_model::run::{Confidence, Finding, Limit, RuleOutcome, Run, Verdict};
use linerate_model::spec::Direction;

/// Draws the verdict of a run from what it holds, in place of the one that it has.
pub fn conclude(run: &mut Run) {
    let (verdict, findings) = diagnose(run);
    run.verdict = Some(verdict);
    run.findings = findings;
}

/// Asks every rule and picks the verdict; never more sure than [`Confidence::Supported`] unless one of
/// the run's experiments agreed with it. A finding that an experiment refuted is weak and no verdict.
///
/// Where linerate measured what it can measure again, signs and probes are weighed, and the rules lend the words for
/// what weighs most; elsewhere they decide:
///
/// A finding counts its share of the loss or time times a certainty: 1 when supported, ½ when weak;
/// a share that cannot be said counts as one half. The highest wins. Ties go to the earlier rule in
/// `ALL`, where causes come before the places they show in. `unknown` speaks only when no other
/// rule does.
///
/// A run with traffic both ways is diagnosed each way; the verdict is that of the direction that
/// was limited most surely, and its findings are the ones returned. A run made of other runs takes
/// the verdict of the part that was limited most surely.
pub fn diagnose(run: &Run) -> (Verdict, Vec<Finding>) {
    if run.trials.is_empty() && !run.parts().is_empty() {
        return of_parts(run);
    }
    let mut directions: Vec<Direction> = Vec::new();
    for trial in &run.trials {
        if !directions.contains(&trial.direction) {
            directions.push(trial.direction);
        }
    }
    let several = directions.len() > 1;
    let each = directions.into_iter().map(|direction| {
        let (mut verdict, findings) = one_way(run, direction);
        if several {
            let way = match direction {
                Direction::Forward => "Forward: ",
                Direction::Reverse => "Reverse: ",
                Direction::Duplex => "Both ways: ",
            };
            verdict.claim.insert_str(0, way);
        }
        (verdict, findings)
    });
    strongest(each).unwrap_or_else(|| one_way(run, Direction::Forward))
}

fn of_parts(run: &Run) -> (Verdict, Vec<Finding>) {
    let parts = run.parts().iter().map(|part| {
        let (mut verdict, findings) = diagnose(part);
        let name = part
            .title
            .as_deref()
            .unwrap_or_else(|| part.kind().as_str());
        verdict.claim = format!("{name}: {}", verdict.claim);
        (verdict, findings)
    });
    strongest(parts).unwrap_or_else(|| one_way(run, Direction::Forward))
}

type Diagnosis = (Verdict, Vec<Finding>);

/// The first of those that say most: a limit before none, then by score.
fn strongest(all: impl Iterator<Item = Diagnosis>) -> Option<Diagnosis> {
    all.reduce(|best, next| {
        let rank = |verdict: &Verdict| (limits(verdict), score(verdict));
        if rank(&next.0) > rank(&best.0) {
            next
        } else {
            best
        }
    })
}

fn limits(verdict: &Verdict) -> u8 {
    match &verdict.limit {
        limit if limit.is_unknown() => 0,
        limit if limit.is_none() => 1,
        _ => 2,
    }
}

fn score(verdict: &Verdict) -> f64 {
    if verdict.limit.is_unknown() {
        return 0.0;
    }
    let certainty = match verdict.confidence {
        Confidence::Weak => 0.5,
        Confidence::Supported | Confidence::Confirmed => 1.0,
    };
    certainty * verdict.share_ratio.map_or(0.5, linerate_model::Ratio::get)
}

/// Shares of datagrams' findings are of what was lost; what was never offered is another part of the
/// gap between intended and received load, which only a sender's own limits explain.
fn weight(rule: &dyn Rule, evidence: &Evidence<'_>) -> f64 {
    // Where the sender's own limit made the bound, a rule that still speaks explains the shortage.
    if rule.explains_shortage() || evidence.is_tcp() || evidence.regime() != Regime::Loss {
        return 1.0;
    }
    1.0 - Gap::around_best(evidence).short_share()
}

fn one_way(run: &Run, direction: Direction) -> Diagnosis {
    let mut findings: Vec<Finding> = Vec::with_capacity(ALL.len());
    for rule in ALL {
        let outcome = rule.examine(&Evidence::new(run, direction, &findings));
        findings.push(Finding {
            rule: rule.id().to_owned(),
            outcome,
        });
    }
    settle::apply(&run.experiments, &mut findings);
    let evidence = Evidence::new(run, direction, &findings);
    let mut best: Option<(&Verdict, f64)> = None;
    for (rule, finding) in ALL.iter().zip(&findings) {
        let Some(verdict) = finding.found() else {
            continue;
        };
        if settle::is_refuted(verdict) {
            continue;
        }
        let score = score(verdict) * weight(*rule, &evidence);
        if best.is_none_or(|best| score > best.1) {
            best = Some((verdict, score));
        }
    }
    let by_rules = best.map(|best| best.0.clone());
    let by_rules = by_rules
        .or_else(|| settle::nothing_left(&findings))
        .unwrap_or_else(|| undecided(&findings));
    let weighed = crate::diagnosis::conclude(run, &findings, &by_rules);
    let mut verdict = weighed.unwrap_or(by_rules);
    ceiling::apply(run, direction, &mut verdict);
    distrust(run, direction, &mut verdict);
    (verdict, findings)
}

/// A verdict from invalid trials alone is weak, and says so.
fn distrust(run: &Run, direction: Direction, verdict: &mut Verdict) {
    let here = || run.trials.iter().filter(|t| t.direction == direction);
    let Some(first) = here().next().filter(|_| here().all(|trial| !trial.valid)) else {
        return;
    };
    verdict.confidence = Confidence::Weak;
    let why = first
        .reasons
        .first()
        .map_or("no reason given", String::as_str);
    verdict.evidence.push(format!("No trial is valid: {why}."));
}

/// When not even `unknown` could be examined.
fn undecided(findings: &[Finding]) -> Verdict {
    let evidence: Vec<String> = findings
        .iter()
        .filter_map(|finding| match &finding.outcome {
            RuleOutcome::NotEvaluated { missing } => Some(format!("{}: {missing}", finding.rule)),
            _ => None,
        })
        .collect();
    Verdict {
        limit: Limit::unknown(),
        side: None,
        share_ratio: None,
        confidence: Confidence::Weak,
        claim: format!(
            "Nothing can be said of what limits: {} of {} rules lack what they need.",
            evidence.len(),
            ALL.len()
        ),
        evidence,
        experiment: None,
        weighed: None,
    }
}
