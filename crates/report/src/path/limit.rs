//! Where the verdict's limit is on the way.

use super::PathStage;
use crate::figures::clean;
use linerate_model::run::{Run, Trial};

/// The places to mark: those on the verdict's side where the ledger has the most losses; all of that side where it
/// has none there. Nothing where nothing limits, or it is not even known on which side.
pub(super) fn places(run: &Run, trial: &Trial) -> Vec<PathStage> {
    let Some(verdict) = &run.verdict else {
        return Vec::new();
    };
    let limit = &verdict.limit;
    let is_nowhere = limit.is_unknown() && verdict.side.is_none();
    if limit.is_none() || limit.is_round_trip() || is_nowhere {
        return Vec::new();
    }
    let on_side = |stage: &PathStage| stage.side() == verdict.side;
    let lost_at = |stage: PathStage| {
        let entries = trial.ledger().iter();
        let here = entries.filter(|entry| Some(entry.place) == stage.place());
        here.fold(0_u64, |sum, entry| sum.saturating_add(entry.packets.get()))
    };
    let all: Vec<PathStage> = PathStage::ALL.into_iter().filter(on_side).collect();
    let most = all.iter().copied().max_by_key(|stage| lost_at(*stage));
    match most {
        Some(stage) if lost_at(stage) > 0 => vec![stage],
        _ => all,
    }
}

/// What stands at the mark.
pub(super) fn words(run: &Run) -> Option<String> {
    let verdict = run.verdict.as_ref()?;
    let limit = &verdict.limit;
    if limit.is_none() || limit.is_round_trip() {
        return None;
    }
    if limit.is_unknown() {
        let side = match verdict.side {
            Some(side) => format!(", on the {}’s side", crate::words::side(Some(side))),
            None => String::new(),
        };
        return Some(format!("not identified{side}"));
    }
    Some(clean(limit.name()))
}
