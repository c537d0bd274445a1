//! What the runs of a study are like: what they share, where their scatter is, which are far from the others, how they begin.

use super::cell;
use super::change::digits;
use crate::figures::Unit;
use crate::words;
use linerate_model::run::{
    Outlier, Repetition, RepetitionLevel, Scatter, StudyFindings, Transient,
};

/// Runs and cells that are named one by one.
const MAX_NAMED: usize = 3;

/// Sentences on scatter, outliers and transients.
pub(super) fn sentences(findings: &StudyFindings) -> Vec<String> {
    let mut said: Vec<String> = findings.repetition.iter().filter_map(repetition).collect();
    said.extend(scatter(&findings.scatter));
    said.extend(outliers(&findings.outliers));
    said.extend(transients(&findings.transients));
    said
}

/// What n counts, where it is not the runs, and what no interval holds.
fn repetition(of: &Repetition) -> Option<String> {
    let Repetition {
        builds,
        starts,
        runs,
        level,
    } = *of;
    let (unit, counted) = match (level, builds) {
        (RepetitionLevel::Build, Some(builds)) => ("build", format!("{builds} builds")),
        (RepetitionLevel::Start, _) if starts < runs => ("start", format!("{starts} starts")),
        (RepetitionLevel::Start, _) => return None,
        _ if runs < 2 => return None,
        _ => {
            return Some(
                "Each cell was measured in one start of its peer's program: what another start would change is in no \
                 interval (`restart` in a plan)."
                    .to_owned(),
            );
        }
    };
    Some(format!(
        "Intervals are over {counted} of the peer's program, not over {runs} runs: what a {unit} decides, its runs share."
    ))
}

/// `Runs of a cell scatter by 2.1 % in received, intervals within a run by 5 %: more runs narrow it, longer ones hardly.`
fn scatter(all: &[Scatter]) -> Vec<String> {
    let quantities = all.chunk_by(|one, next| one.quantity == next.quantity);
    quantities.filter_map(of_quantity).collect()
}

/// The levels of one quantity, from the outside to the inside.
fn of_quantity(levels: &[Scatter]) -> Option<String> {
    let (outer, inner) = levels.split_first()?;
    if outer.level > RepetitionLevel::Run {
        return None;
    }
    let quantity = outer.quantity.name();
    let own = digits(outer.deviation_ratio * 100.0);
    let has_runs = inner.iter().any(|one| one.level == RepetitionLevel::Run);
    let (units, longer) = match outer.level {
        RepetitionLevel::Build => ("builds", "more starts and runs"),
        RepetitionLevel::Start if has_runs => ("starts", "more runs of each"),
        // A start with one run is a run.
        _ => ("runs", "longer ones"),
    };
    if inner.is_empty() {
        return Some(format!(
            "{} of a cell scatter by {own} % in {quantity}.",
            crate::charts::capital(units)
        ));
    }
    let each = inner.iter().map(|one| {
        let name = match one.level {
            RepetitionLevel::Build | RepetitionLevel::Start => "starts of a build",
            RepetitionLevel::Run => "runs of a start",
            RepetitionLevel::Trial => "trials within a run",
            RepetitionLevel::Interval => "intervals within a trial",
        };
        format!("{name} by {} %", digits(one.deviation_ratio * 100.0))
    });
    // What is left of the inner scatter in the mean of an outer unit.
    let mut count = 1.0;
    let mut left = 0.0;
    for one in inner {
        count *= one.repetitions.max(1.0);
        left += one.deviation_ratio.powi(2) / count;
    }
    let Some(own) = (outer.deviation_ratio > 0.0).then_some(own) else {
        return Some(format!(
            "{} of a cell scatter in {quantity} by no more than what varies within them lets expect ({}): longer runs narrow the \
             intervals as more {units} do.",
            crate::charts::capital(units),
            each.collect::<Vec<_>>().join(", ")
        ));
    };
    let head = format!(
        "{} of a cell scatter by {own} %",
        crate::charts::capital(units)
    );
    let advice = if left > outer.deviation_ratio.powi(2) {
        let longer = if longer == "longer ones" {
            "longer runs"
        } else {
            longer
        };
        format!("{longer} narrow the intervals as more {units} do")
    } else {
        format!("more {units} narrow the intervals, {longer} hardly")
    };
    Some(format!(
        "{head} of their own in {quantity}, {}: {advice}.",
        each.collect::<Vec<_>>().join(", ")
    ))
}

fn outliers(all: &[Outlier]) -> Option<String> {
    let named: Vec<String> = all
        .iter()
        .take(MAX_NAMED)
        .map(|one| {
            let unit = Unit::for_quantity(one.quantity, one.median);
            format!(
                "{}, repetition {}: {} {}, median {}",
                cell(&one.place.cell),
                one.place.repetition,
                one.quantity.name(),
                unit.show(one.value),
                unit.show(one.median)
            )
        })
        .collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| {
        format!(
            "Outliers, which are in every mean ({}): {}{more}.",
            all.len(),
            named.join("; ")
        )
    })
}

fn transients(all: &[Transient]) -> Option<String> {
    let named: Vec<String> = all
        .iter()
        .take(MAX_NAMED)
        .map(|one| {
            let way = words::direction(one.direction);
            let (unsteady, runs) = (one.unsteady, one.runs);
            let head = format!("{}, {way}: {unsteady} of {runs} runs", cell(&one.cell));
            if one.never_steady * 2 > one.unsteady {
                return format!("{head} are not steady by the middle of the test: make it longer");
            }
            format!(
                "{head} are steady from {} s on, at {} % of the whole run's rate",
                crate::figures::digits(one.steady_from.as_secs_f64()),
                digits(one.steady_ratio * 100.0)
            )
        })
        .collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 {
        format!("; and {more} more cells")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| {
        format!(
            "Runs that begin unlike they go on, which `warm-up` would leave out: {}{more}.",
            named.join("; ")
        )
    })
}
