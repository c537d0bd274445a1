//! The verdict of a run, stage by stage: [`STAGES`] is the whole way.

mod reach;
mod settle;

use crate::causes::{
    self, Cause, Evidence, device, open_connections, other_programs, outage, policer, tool,
};
use crate::diagnosis;
use crate::outage::{brief, share_of_time, without};
use linerate_model::Ratio;
use linerate_model::run::{Confidence, Experiment, Finding, RuleOutcome, Run, Verdict};
use linerate_model::spec::Direction;
use std::collections::BTreeSet;

/// What the verdict on one direction goes through, in order. Each stage takes in what those before it left.
///
/// Never is it more sure than [`Confidence::Supported`] unless one of the run's experiments agreed with it.
static STAGES: &[fn(&mut Draft<'_>)] = &[
    examine_causes,
    settle_experiments,
    take_what_explains_most,
    put_outage_first,
    weigh_signs_and_probes,
    mention_outage,
    refuse_contradictions,
    leave_short_outage_open,
    name_token_bucket,
    name_ceiling,
    name_other_programs,
    name_device,
    doubt_device_beside_other_programs,
    mention_other_programs,
    distrust_invalid_trials,
];

/// The verdict on one direction of a run, while it is drawn.
struct Draft<'a> {
    /// The run without its outages.
    run: &'a Run,
    /// The run as it was.
    whole: &'a Run,
    direction: Direction,
    findings: Vec<Finding>,
    verdict: Verdict,
    /// Causes that the evidence of `verdict` speaks against.
    refuted: Vec<&'static Cause>,
}

impl<'a> Draft<'a> {
    fn new(run: &'a Run, whole: &'a Run, direction: Direction) -> Self {
        Self {
            run,
            whole,
            direction,
            findings: Vec::new(),
            verdict: causes::undecided(String::new(), Vec::new()),
            refuted: Vec::new(),
        }
    }
}

/// Asks every cause that one trial can show.
fn examine_causes(draft: &mut Draft<'_>) {
    for cause in causes::ALL {
        let run = if *cause == &outage::CAUSE {
            draft.whole
        } else {
            draft.run
        };
        let evidence = Evidence::new(run, draft.direction, &draft.findings);
        if let Some(mut outcome) = cause.outcome(&evidence) {
            reach::fit(&mut outcome, &evidence);
            let rule = cause.id.to_owned();
            draft.findings.push(Finding { rule, outcome });
        }
    }
}

/// Confirms what an experiment agreed with; what one refuted is weak and no verdict.
fn settle_experiments(draft: &mut Draft<'_>) {
    settle::apply(&draft.run.experiments, &mut draft.findings);
}

/// A finding counts its share of the loss or time times a certainty: 1 when supported, ½ when weak;
/// a share that cannot be said counts as one half. The highest wins. Ties go to the earlier cause in
/// `ALL`, where causes come before the places they show in. `unknown` speaks only when no other does.
fn take_what_explains_most(draft: &mut Draft<'_>) {
    let evidence = Evidence::new(draft.run, draft.direction, &draft.findings);
    let mut best: Option<(&Verdict, f64)> = None;
    for finding in &draft.findings {
        let found = finding.found();
        let Some((cause, verdict)) = causes::with_id(&finding.rule)
            .zip(found.filter(|verdict| !settle::is_refuted(verdict)))
        else {
            continue;
        };
        let score = score(verdict) * cause.share_of_gap(&evidence);
        if best.is_none_or(|best| score > best.1) {
            best = Some((verdict, score));
        }
    }
    let best = best.map(|best| best.0.clone());
    let best = best.or_else(|| settle::nothing_left(&draft.findings));
    draft.verdict = best.unwrap_or_else(|| unexamined(&draft.findings));
}

/// Share of the loss, or of the time where nothing tells of loss, from which on an outage is what a run shows before all
/// else.
const OUTAGE_SHARE: f64 = 0.1;

/// The outage that was found, if any.
fn found_outage<'a>(draft: &'a Draft<'_>) -> Option<&'a Verdict> {
    let found = draft.findings.iter().filter_map(Finding::found);
    found
        .into_iter()
        .find(|verdict| outage::CAUSE.is_in(verdict))
}

/// An outage comes before what limits the rest of a run, which is then said beside it: it alone is in every figure of
/// the whole.
fn put_outage_first(draft: &mut Draft<'_>) {
    let Some(found) = found_outage(draft).cloned() else {
        return;
    };
    let share = found.share_ratio.map(Ratio::get);
    let is_large =
        share.unwrap_or_else(|| share_of_time(draft.whole, draft.direction)) >= OUTAGE_SHARE;
    if !is_large && limits(&draft.verdict) == 2 {
        return;
    }
    let rest = std::mem::replace(&mut draft.verdict, found);
    let is_told = limits(&rest) == 2 && rest.confidence != Confidence::Weak;
    if is_told && !outage::CAUSE.is_in(&rest) {
        let sentence = format!("In the rest of the time: {}", rest.claim);
        draft.verdict.evidence.push(sentence);
    }
}

/// An outage is said in every verdict.
fn mention_outage(draft: &mut Draft<'_>) {
    if outage::CAUSE.is_in(&draft.verdict) {
        return;
    }
    if let Some(claim) = found_outage(draft).map(|found| found.claim.clone()) {
        draft.verdict.evidence.push(claim);
    }
}

/// Where linerate measured what it can measure again, signs and probes are weighed, and the causes lend the words for
/// what weighs most; elsewhere what explains most stands.
fn weigh_signs_and_probes(draft: &mut Draft<'_>) {
    if let Some(weighed) = diagnosis::conclude(draft.run, &draft.findings, &draft.verdict) {
        (draft.verdict, draft.refuted) = (weighed.verdict, weighed.refuted);
    }
}

/// No verdict stands against which its own evidence speaks.
fn refuse_contradictions(draft: &mut Draft<'_>) {
    if draft
        .refuted
        .iter()
        .any(|cause| cause.is_in(&draft.verdict))
    {
        let evidence = std::mem::take(&mut draft.verdict.evidence);
        let name = draft.verdict.limit.name();
        let claim = format!(
            "Bottleneck not identified: most likely {name}, but what was seen speaks against it."
        );
        draft.verdict = causes::undecided(claim, evidence);
    }
}

/// A loss that an outage shorter than the reporting intervals may have been is put down to nothing else, unless an experiment
/// agreed with that.
fn leave_short_outage_open(draft: &mut Draft<'_>) {
    let is_sure =
        draft.verdict.confidence == Confidence::Confirmed || found_outage(draft).is_some();
    let Some(loss) = brief::of_run(draft.run, draft.direction).filter(|_| !is_sure) else {
        return;
    };
    if draft.verdict.limit.is_none() {
        let sentence = format!("All loss was {loss}.");
        draft.verdict.evidence.push(sentence);
        return;
    }
    let claim = format!("All loss was {loss}; what lost these packets is not known.");
    let evidence = std::mem::take(&mut draft.verdict.evidence);
    draft.verdict = Verdict {
        experiment: Some(Box::new(Experiment::in_words(
            "repeat the test with intervals of 0.1 s (`-i 0.1` at the receiver)",
            "an outage leaves whole intervals in which nothing arrives; other losses leave none",
        ))),
        ..causes::undecided(claim, evidence)
    };
}

/// A rate that fell once a token bucket was empty is that bucket's, not the mean of before and after.
fn name_token_bucket(draft: &mut Draft<'_>) {
    policer::apply(draft.run, draft.direction, &mut draft.verdict);
}

/// A result that is as high as linerate goes on this host is the tool's, whatever else was found.
fn name_ceiling(draft: &mut Draft<'_>) {
    tool::apply_ceiling(draft.run, draft.direction, &mut draft.verdict);
}

/// What other programs take of a host is theirs, not its CPU's.
fn name_other_programs(draft: &mut Draft<'_>) {
    other_programs::apply(draft.run, draft.direction, &mut draft.verdict);
    if draft.verdict.limit == other_programs::CAUSE.limit() {
        diagnosis::withdraw_next_limit(&mut draft.verdict);
    }
}

/// What the device under test dropped by its own counters, or what its work costs on this host, is the device's.
fn name_device(draft: &mut Draft<'_>) {
    let before = draft.verdict.clone();
    device::apply(draft.run, draft.direction, &mut draft.verdict);
    if !device::CAUSE.is_in(&draft.verdict) {
        return;
    }
    settle::apply_to(&draft.run.experiments, &mut draft.verdict);
    if settle::is_refuted(&draft.verdict) {
        let refutation = draft.verdict.evidence.pop();
        draft.verdict = before;
        draft.verdict.evidence.extend(refutation);
    }
}

/// A device that other programs leave no CPU time may be slow for that alone.
fn doubt_device_beside_other_programs(draft: &mut Draft<'_>) {
    other_programs::doubt_device(draft.run, draft.direction, &mut draft.verdict);
}

/// What other programs used of a host is said of every verdict.
fn mention_other_programs(draft: &mut Draft<'_>) {
    other_programs::mention(draft.run, draft.direction, &mut draft.verdict);
}

/// A verdict from invalid trials alone is weak, and says so.
fn distrust_invalid_trials(draft: &mut Draft<'_>) {
    let trials = draft.run.trials.iter();
    let mut here = trials.filter(|trial| trial.direction == draft.direction);
    let Some(first) = here.next() else {
        return;
    };
    if first.valid || here.any(|trial| trial.valid) {
        return;
    }
    let why = first.reasons.first();
    let why = why.map_or("no reason given", String::as_str);
    draft.verdict.confidence = Confidence::Weak;
    let sentence = format!("No trial is valid: {why}.");
    draft.verdict.evidence.push(sentence);
}

/// Draws the verdict of a run from what it holds, in place of the one that it has.
pub fn conclude(run: &mut Run) {
    let (verdict, findings) = diagnose(run);
    run.verdict = Some(verdict);
    run.findings = findings;
}

/// The verdict of a run, with what was found of each cause.
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
            verdict.name_direction(direction);
        }
        (verdict, findings)
    });
    let each: Vec<Diagnosis> = each.collect();
    let verdicts: Vec<Verdict> = each.iter().map(|(verdict, _)| verdict.clone()).collect();
    let Some((mut verdict, findings)) = strongest(each.into_iter()) else {
        return one_way(run, Direction::Forward);
    };
    let limited = verdicts.iter().filter(|one| one.limit == verdict.limit);
    verdict.directions = limited.flat_map(|one| one.directions.clone()).collect();
    let others = verdicts.into_iter().map(|one| one.claim);
    let others: Vec<String> = others.filter(|claim| *claim != verdict.claim).collect();
    verdict.evidence.splice(0..0, others);
    (verdict, findings)
}

type Diagnosis = (Verdict, Vec<Finding>);

fn one_way(run: &Run, direction: Direction) -> Diagnosis {
    // Of connections nothing is a share of a rate in bits: they are judged by themselves.
    if let Some(mut verdict) = open_connections::verdict(run, direction) {
        other_programs::apply(run, direction, &mut verdict);
        other_programs::mention(run, direction, &mut verdict);
        return (verdict, Vec::new());
    }
    let rest = without(run, direction);
    let mut draft = Draft::new(rest.as_ref().unwrap_or(run), run, direction);
    for stage in STAGES {
        stage(&mut draft);
    }
    (draft.verdict, draft.findings)
}

fn of_parts(run: &Run) -> Diagnosis {
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

/// The first of those that say most: a limit before none, then by score.
fn strongest(all: impl Iterator<Item = Diagnosis>) -> Option<Diagnosis> {
    let rank = |verdict: &Verdict| (limits(verdict), score(verdict));
    all.reduce(|best, next| {
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
    certainty * verdict.share_ratio.map_or(0.5, Ratio::get)
}

/// When not even `unknown` could be examined.
fn unexamined(findings: &[Finding]) -> Verdict {
    let mut missing: Vec<&str> = Vec::new();
    for finding in findings {
        if let RuleOutcome::NotEvaluated { missing: said } = &finding.outcome {
            let said = said.strip_prefix("Not recorded: ").unwrap_or(said);
            // Keys of the document are for those who read it.
            let names = said.split("; ").filter_map(|what| what.split(" (").next());
            missing.extend(names);
        }
    }
    let mut seen = BTreeSet::new();
    missing.retain(|what| seen.insert(*what));
    let missing = match missing.as_slice() {
        [] => Vec::new(),
        all => vec![format!("Not recorded: {}.", all.join("; "))],
    };
    let claim = "Bottleneck not identified: the run records neither rates nor losses that would tell. Measure with linerate at both ends, which records counters and CPU time too.".to_owned();
    causes::undecided(claim, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::{own_shaper, sender_cpu};
    use serde_json::json;

    /// A verdict on `cause`, whose evidence speaks against the sender's CPU.
    fn refused(cause: &'static Cause) -> Verdict {
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "udp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {}, "trials": []
        }))
        .unwrap();
        let mut draft = Draft::new(&run, &run, Direction::Forward);
        draft.verdict.limit = cause.limit();
        draft.verdict.side = cause.side;
        draft.verdict.evidence = vec!["Its own shaper held the rest back.".to_owned()];
        draft.refuted = vec![&sender_cpu::CAUSE];
        refuse_contradictions(&mut draft);
        draft.verdict
    }

    #[test]
    fn no_verdict_stands_against_which_its_own_evidence_speaks() {
        let verdict = refused(&sender_cpu::CAUSE);
        assert!(verdict.limit.is_unknown(), "{verdict:?}");
        assert_eq!(verdict.evidence.len(), 1);
        let verdict = refused(&own_shaper::CAUSE);
        assert_eq!(verdict.limit, own_shaper::CAUSE.limit());
    }

    /// A log of TCP at these rates in Mbit/s, second by second, whose window grows; below 100 segments are lost.
    fn log(rates: &[u64]) -> Run {
        let each = (0_u64..).zip(rates);
        let intervals = each.map(|(at, rate)| {
            json!({
                "start_s": at, "end_s": at + 1, "offered_bps": rate * 1_000_000,
                "cwnd_bytes": 394_240 + at * 1024, "retransmitted_segments": if *rate < 100 { 3 } else { 0 }
            })
        });
        let seconds = rates.len() as u64;
        let mean = rates.iter().sum::<u64>() * 1_000_000 / seconds;
        serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "iperf3"}, "config": {}, "trials": [{
                "index": 0, "origin": "imported", "work": "byte-stream", "transport": "tcp", "direction": "forward",
                "valid": true, "duration_s": seconds, "offered_bps": mean, "received_bps": mean,
                "sent_bytes": mean * seconds / 8, "received_bytes": mean * seconds / 8,
                "tcp": {"cwnd_mean_bytes": 398_848, "retransmitted_segments": 0}, "rounding": {},
                "intervals": intervals.collect::<Vec<_>>()
            }]
        }))
        .unwrap()
    }

    #[test]
    fn an_emptied_bucket_has_a_name_of_its_own_and_no_window_beside_it() {
        let (verdict, _) = diagnose(&log(&[500, 500, 500, 500, 60, 60, 60, 60, 60, 60]));
        assert_eq!(verdict.limit.name(), "a token bucket's rate");
        assert!(verdict.claim.contains("limits to 60 Mbit/s"), "{verdict:?}");
        let said = verdict.evidence.join(" ");
        assert!(!said.contains("congestion window"), "{said}");
        let (steady, _) = diagnose(&log(&[100; 10]));
        assert!(steady.claim.contains("congestion window"), "{steady:?}");
    }

    #[test]
    fn what_was_not_recorded_is_listed_once_without_names_of_rules() {
        let missing = |rule: &str, missing: &str| Finding {
            rule: rule.to_owned(),
            outcome: RuleOutcome::NotEvaluated {
                missing: missing.to_owned(),
            },
        };
        let findings = [
            missing(
                "link",
                "Not recorded: the received rate (trials.received_bps); the link speed",
            ),
            missing(
                "unknown",
                "Not recorded: the received rate (trials.received_bps)",
            ),
        ];
        assert_eq!(
            unexamined(&findings).evidence,
            ["Not recorded: the received rate; the link speed."]
        );
    }
}
