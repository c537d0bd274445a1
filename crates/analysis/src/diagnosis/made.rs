//! Probes that were made, each beside the trial that it is compared with.

use super::{Compared, Probe, probes, reference};
use linerate_model::run::{Probe as Made, Run, Trial};

/// Every probe of `run` that is known, with what it compares.
pub(super) fn compared<'a>(
    run: &'a Run,
    limited: &'a Trial,
) -> impl Iterator<Item = (&'static dyn Probe, Compared<'a>)> {
    run.probes.iter().filter_map(move |Made { change, trial }| {
        let mut known = probes(limited.transport).iter();
        let probe = known.find(|probe| probe.change() == *change)?;
        Some((
            *probe,
            Compared {
                baseline: reference(run, limited, *change)?,
                changed: trial,
            },
        ))
    })
}

/// Whether a probe said something.
pub(super) fn spoke(run: &Run, limited: &Trial, probe: &dyn Probe) -> bool {
    compared(run, limited)
        .any(|(made, compared)| made.change() == probe.change() && !made.read(&compared).is_empty())
}
