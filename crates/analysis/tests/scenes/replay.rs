//! A verdict as the command would have come to it, from a run that holds every probe that could be made.

use linerate_analysis::{conclude, next_probe};
use linerate_model::run::{Change, Run, Verdict};
use linerate_model::spec::{Side, Stop};
use std::time::Duration;

/// What the commands spend on probes.
const BUDGET: Duration = Duration::from_secs(10);

/// The verdict on `run` after the probes that the command makes of those recorded, and the time that these sent.
pub(crate) fn replayed(run: &Run) -> (Verdict, Duration) {
    let mut run = run.clone();
    let mut recorded = std::mem::take(&mut run.probes);
    conclude(&mut run);
    let (mut spent, mut refused) = (Duration::ZERO, Vec::<Change>::new());
    while let Some(next) = next_probe(&run, BUDGET.saturating_sub(spent), &refused) {
        let is_next = |made: &linerate_model::run::Probe| made.change == next.change;
        let Some(at) = recorded.iter().position(is_next) else {
            refused.push(next.change);
            continue;
        };
        spent += next.test.warm_up;
        if let Stop::After(time) = next.test.stop {
            spent += time;
        }
        run.probes.push(recorded.remove(at));
    }
    conclude(&mut run);
    (run.verdict.unwrap(), spent)
}

/// The limit that `verdict` names, by its id in the table of counts: a link that is the sender's own queueing discipline
/// is not the path's.
pub(crate) fn named(verdict: &Verdict) -> &str {
    match verdict.limit.id() {
        "link" if verdict.side.is_some() => "own-shaper",
        // Scenes whose CPU is short have busy loops beside a thread, or a quota: either is counted as its CPU.
        "other-programs" if verdict.side == Some(Side::Sender) => "sender-cpu",
        "other-programs" => "receiver-cpu",
        id => id,
    }
}

/// Between limits each of which is right.
pub(crate) const OR: &str = " or ";

/// Whether a verdict that names `found` is what was expected: a limit, or several joined by [`OR`].
pub(crate) fn is_right(expected: &str, found: &str) -> bool {
    expected.split(OR).any(|limit| limit == found)
}
