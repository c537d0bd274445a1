//! Probes that were made, each beside the trials that it is compared with.

use super::{Probe, ProbeComparison, half_load, last_of, probes, reference};
use linerate_model::run::{Change, Probe as Made, Run, Trial};

/// Every probe of `run` that is known, with what it compares; of one that was made again the last.
pub(super) fn compared<'a>(
    run: &'a Run,
    limited: &'a Trial,
) -> impl Iterator<Item = (&'static dyn Probe, ProbeComparison<'a>)> {
    let is_last = |at: usize, change| {
        run.probes[at + 1..]
            .iter()
            .all(|later| later.change != change)
    };
    let made = run.probes.iter().enumerate();
    made.filter(move |(at, made)| is_last(*at, made.change))
        .filter_map(move |(_, Made { change, trial })| {
            let mut known = probes(limited.transport).iter();
            let probe = known.find(|probe| probe.change() == *change)?;
            Some((
                *probe,
                ProbeComparison {
                    run,
                    limited,
                    baseline: reference(run, limited, *change)?,
                    changed: trial,
                    half: last_of(run, half_load::CHANGE),
                },
            ))
        })
}

/// Whether a probe with this change said something.
pub(super) fn spoke(run: &Run, limited: &Trial, change: Change) -> bool {
    compared(run, limited)
        .any(|(made, compared)| made.change() == change && !made.read(&compared).is_empty())
}
