//! What the runs of a study are like: where their scatter is, which are far from the others, how they begin.

use super::cell;
use super::change::digits;
use crate::words;
use linerate_model::run::{Outlier, RepetitionLevel, Scatter, StudyFindings, Transient};

/// Runs and cells that are named one by one.
const MAX_NAMED: usize = 3;

/// Sentences on scatter, outliers and transients.
pub(super) fn sentences(findings: &StudyFindings) -> Vec<String> {
    let mut said = scatter(&findings.scatter);
    said.extend(outliers(&findings.outliers));
    said.extend(transients(&findings.transients));
    said
}

/// `Runs of a cell scatter by 2.1 % in received, intervals within a run by 5 %: more runs narrow it, longer ones hardly.`
fn scatter(all: &[Scatter]) -> Vec<String> {
    let mut said = Vec::new();
    let of_runs = all.iter().filter(|one| one.level == RepetitionLevel::Run);
    for run in of_runs {
        let inner: Vec<&Scatter> = all
            .iter()
            .filter(|one| one.quantity == run.quantity && one.level != RepetitionLevel::Run)
            .collect();
        let quantity = words::quantity_name(&run.quantity);
        let own = digits(run.deviation_ratio * 100.0);
        if inner.is_empty() {
            said.push(format!("Runs of a cell scatter by {own} % in {quantity}."));
            continue;
        }
        let each = inner.iter().map(|one| {
            let name = match one.level {
                RepetitionLevel::Interval => "intervals within a trial",
                RepetitionLevel::Run | RepetitionLevel::Trial => "trials within a run",
            };
            format!("{name} by {} %", digits(one.deviation_ratio * 100.0))
        });
        // What is left of the inner scatter in the mean of a run.
        let mut count = 1.0;
        let mut left = 0.0;
        for one in &inner {
            count *= one.repetitions.max(1.0);
            left += one.deviation_ratio.powi(2) / count;
        }
        let advice = if left > run.deviation_ratio.powi(2) {
            "longer runs narrow the intervals as more runs do"
        } else {
            "more runs narrow the intervals, longer ones hardly"
        };
        said.push(format!(
            "Runs of a cell scatter by {own} % of their own in {quantity}, {}: {advice}.",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    said
}

fn outliers(all: &[Outlier]) -> Option<String> {
    let named: Vec<String> = all
        .iter()
        .take(MAX_NAMED)
        .map(|one| {
            let (unit, quantity) = words::unit_and_name(&one.quantity, one.median);
            format!(
                "{}, repetition {}: {quantity} {}, median {}",
                cell(&one.place.cell),
                one.place.repetition,
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
