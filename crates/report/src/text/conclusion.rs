//! The conclusion of a run as one sentence.

use crate::charts::{bounds, goal_name};
use crate::figures::{float, nanos, rate};
use crate::headline::{Headline, headlines, is_by_load, outage_beside, spoilt};
use crate::loops::rounds_per_minute;
use crate::words::{self, lower};
use linerate_model::Ratio;
use linerate_model::run::{GoalResult, Run, RunKind, RunStatus, RunWork};

/// What was measured, what came of it, and what limits.
pub(super) fn sentence(run: &Run) -> String {
    format!(
        "{}: {}.",
        words::title(run),
        outcome(run).trim_end_matches('.')
    )
}

/// What came of a run, and what limits.
pub(super) fn outcome(run: &Run) -> String {
    let found = match &run.work {
        RunWork::Study {
            estimates,
            findings,
            parts,
        } => {
            let cells = words::counted(super::study::cells(estimates).count(), "cell");
            let runs = words::counted(parts.len(), "run");
            let mut found = vec![format!("{cells} in {runs}")];
            found.extend(super::study::headline(run, estimates, findings.as_deref()));
            found
        }
        RunWork::Switch { .. } => crate::forwarding::outcome(run),
        _ if !run.parts().is_empty() => of_parts(run.parts()),
        _ => of_one(run),
    };
    let mut said = match run.status {
        RunStatus::Complete => Vec::new(),
        status => vec![words::status(status).to_owned()],
    };
    said.extend(found);
    said.join("; ")
}

fn of_one(run: &Run) -> Vec<String> {
    let verdict = run.verdict.as_ref();
    if let Some(answer) = verdict.filter(|verdict| verdict.limit.is_round_trip()) {
        return vec![answer.claim.clone()];
    }
    if let Some(why) = spoilt(run) {
        return vec![why.to_owned()];
    }
    let under_load = rounds_per_minute(run);
    if !under_load.is_empty() {
        return vec![under_load];
    }
    let figures = if run.goals().is_empty() {
        of_headlines(&headlines(run), is_by_load(run))
    } else {
        of_goals(run.goals())
    };
    let mut said = vec![figures];
    said.extend(outage_beside(run));
    said.extend(verdict.map(|verdict| {
        let limited = words::limited(&verdict.limit);
        if verdict.limit.is_none() || verdict.limit.is_unknown() {
            lower(&limited)
        } else {
            format!("{} ({})", lower(&limited), verdict.confidence)
        }
    }));
    said
}

/// Every direction's first figure, or that of every load, with what it is up to the first comma.
fn of_headlines(all: &[Headline], of_loads: bool) -> String {
    let way = |line: &Headline| {
        let last = line.rest.rsplit(", ").next();
        // What stands in brackets names a trial.
        let last = last.filter(|way| way.contains('→') && !way.contains('('));
        last.map(str::to_owned)
    };
    let brief = |line: &Headline| {
        let way = way(line).map_or_else(String::new, |way| format!(" {way}"));
        format!("{} {}{way}", line.figure, line.what)
    };
    let named: Vec<_> = all.iter().filter(|line| way(line).is_some()).collect();
    match (all, named.as_slice()) {
        ([], _) => "no result".to_owned(),
        (_, [first, .., last]) => format!("{} and {}", brief(first), brief(last)),
        _ if of_loads => all.iter().map(brief).collect::<Vec<_>>().join(" and "),
        ([first, ..], _) => brief(first),
    }
}

/// The strictest goal of each direction; where no load met it, the strictest that one met, first.
fn of_goals(goals: &[GoalResult]) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut ways = Vec::new();
    for goal in goals {
        if ways.contains(&goal.direction) {
            continue;
        }
        ways.push(goal.direction);
        let found = |goal| format!("{} with {}", bounds(goal), goal_name(goal));
        let mut of_way = goals.iter().filter(|one| one.direction == goal.direction);
        let answer = match of_way.find(|one| one.lower_bound.is_some()) {
            Some(met) if met == goal => found(met),
            Some(met) => format!(
                "{}, no load that was tried with {}",
                found(met),
                goal_name(goal)
            ),
            None => format!("no load that was tried had {}", goal_name(goal)),
        };
        said.push(if goal.reached {
            answer
        } else {
            format!("{answer} (search not finished)")
        });
    }
    said.join(" and ")
}

/// What the parts of a demonstration say together.
fn of_parts(parts: &[Run]) -> Vec<String> {
    let of = |kind: RunKind| parts.iter().filter(move |part| part.kind() == kind);
    let tcp = of(RunKind::Tcp).filter_map(|part| {
        let rates = part.trials.iter().filter(|trial| trial.valid);
        rates
            .filter_map(|trial| trial.received_rate)
            .max()
            .map(rate)
    });
    let udp = of(RunKind::Saturate).filter_map(|part| {
        let goal = part.goals().first()?;
        let figure = rate(goal.lower_bound?);
        // A search that nothing stopped says no more than what it reached.
        let is_bounded = goal.refused_load().is_some();
        Some(if is_bounded {
            figure
        } else {
            format!("at least {figure}")
        })
    });
    let loss_free = of(RunKind::Saturate)
        .filter_map(|part| part.goals().first())
        .all(|goal| goal.loss_goal == Ratio::ZERO);
    let condition = if loss_free { " without loss" } else { "" };
    let said = [
        carried("TCP", &tcp.collect::<Vec<_>>(), ""),
        carried("UDP", &udp.collect::<Vec<_>>(), condition),
        round_trip(parts),
    ];
    let said: Vec<_> = said.into_iter().flatten().collect();
    if said.is_empty() {
        return vec![format!("{} parts", parts.len())];
    }
    said
}

/// `TCP carries 94.04 Mbit/s there and 93.69 Mbit/s back`.
fn carried(transport: &str, rates: &[String], condition: &str) -> Option<String> {
    let figures = match rates {
        [] => return None,
        [there, back] => format!("{there} there and {back} back"),
        all => all.join(", "),
    };
    Some(format!("{transport} carries {figures}{condition}"))
}

/// The median round trip of the first condition and of the slowest.
fn round_trip(parts: &[Run]) -> Option<String> {
    let part = parts.iter().find(|part| part.kind() == RunKind::Latency)?;
    let valid = part.trials.iter().filter(|trial| trial.valid);
    let medians: Vec<u64> = valid.filter_map(|trial| trial.delay()?.p50_ns).collect();
    let (first, most) = (*medians.first()?, *medians.iter().max()?);
    let time = |ns: u64| nanos(float(ns));
    Some(if most > first {
        format!("the median round trip is {} to {}", time(first), time(most))
    } else {
        format!("the median round trip is {}", time(first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missed::tests::goal;
    use linerate_model::BitRate;

    #[test]
    fn a_goal_that_no_load_met_does_not_hide_the_one_that_was_met() {
        let strict = goal(0.0, Some("the trial time is used up"));
        let alone = of_goals(std::slice::from_ref(&strict));
        assert_eq!(
            alone,
            "no load that was tried had loss ≤ 0 % (search not finished)"
        );
        let loose = GoalResult {
            lower_bound: BitRate::from_bps(631_000_000).into(),
            upper_bound: BitRate::from_bps(633_000_000).into(),
            ..goal(0.001, None)
        };
        assert_eq!(
            of_goals(&[strict, loose]),
            "631–633 Mbit/s with loss ≤ 0.1 %, no load that was tried with loss ≤ 0 % (search not finished)"
        );
    }
}
