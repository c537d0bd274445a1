//! Critical load: the load at which a given share of the frames is lost on average (PLRsearch).

use super::super::ceiling::is_disturbed;
use super::bench::Bench;
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_analysis::search::plr::{CriticalLoadEstimate, PlrConfig, PlrSearch, PlrTrial};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{CriticalLoad, CriticalLoadTrial, MethodResult};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{LossRatio, PacketRate};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct CriticalLoadSearch;

impl Method for CriticalLoadSearch {
    fn id(&self) -> &'static str {
        "critical-load"
    }

    fn summary(&self) -> &'static str {
        "Load that loses a given share on average (PLRsearch)"
    }

    fn needs_throughput(&self) -> bool {
        false
    }

    fn is_for_mesh(&self) -> bool {
        true
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        settings.soak
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let Some((full, _)) = bench.full_load()? else {
            bench.note("no critical load: the sender's highest load is not known");
            return Ok(None);
        };
        let config = PlrConfig {
            lowest: bench.frames(bench.loads.lowest),
            highest: bench.frames(full),
            target: bench.settings.target_loss,
            budget: bench.settings.soak,
            seed: bench.spec.seed,
        };
        let search = PlrSearch::new(config);
        let mut search = search.map_err(|why| {
            let text = format!("critical-load: {why}; see --min-frame-rate and --line-rate");
            Failure::new(ExitCode::Usage, text)
        })?;
        let (mut trials, mut set_aside) = (Vec::new(), 0_u32);
        let mut quiet = Quiet::default();
        while let Some((load, time)) = search.next_trial().filter(|_| !bench.is_over()) {
            let seen = trial(bench, load, time, trials.len(), &mut quiet)?;
            search.record(time, seen);
            match (seen, search.estimate()) {
                (Some(seen), Some(now)) => trials.push(after(seen, now)),
                _ => set_aside += 1,
            }
        }
        if set_aside > 0 {
            bench.note(format_args!(
                "{set_aside} trials of the search for the critical load do not count: they were invalid, or other programs kept the sender from its core"
            ));
        }
        let target = config.target;
        let found = search.estimate().map(|found| result(target, found, trials));
        Ok(found.map(|found| MethodResult::CriticalLoad(Box::new(found))))
    }
}

/// Whether trials have the host to themselves. On one that never is quiet all count: an estimate that is too low is more than
/// none.
#[derive(Debug, Default)]
struct Quiet {
    made: u32,
    disturbed: u32,
}

impl Quiet {
    /// Whether a trial counts, whatever it lost.
    fn counts(&mut self, is_disturbed: bool) -> bool {
        self.made += 1;
        self.disturbed += u32::from(is_disturbed);
        !is_disturbed || self.disturbed * 2 > self.made
    }
}

/// Makes a trial; `None` if it was invalid, does not count, or counted nothing.
fn trial(
    bench: &mut Bench<'_, '_>,
    load: PacketRate,
    time: Duration,
    made: usize,
    quiet: &mut Quiet,
) -> Result<Option<PlrTrial>> {
    let spec = TestSpec {
        stop: Stop::After(time),
        ..bench
            .spec
            .clone()
            .with_pace(Pace::At(bench.payload_rate(load)))
    };
    let seen = bench.test(&spec, &format!("critical load {}", made + 1))?;
    let seen = seen.filter(|seen| {
        let is_valid = seen.trials.iter().all(|trial| trial.valid);
        quiet.counts(seen.trials.iter().any(is_disturbed)) && is_valid
    });
    Ok(seen.and_then(|seen| {
        Some(PlrTrial {
            load: seen.offered?,
            sent: seen.sent,
            lost: seen.lost,
        })
    }))
}

fn after(seen: PlrTrial, now: CriticalLoadEstimate) -> CriticalLoadTrial {
    CriticalLoadTrial {
        offered: seen.load,
        sent: seen.sent,
        lost: seen.lost,
        mean: now.mean,
        deviation: now.deviation,
    }
}

fn result(
    target: LossRatio,
    found: CriticalLoadEstimate,
    trials: Vec<CriticalLoadTrial>,
) -> CriticalLoad {
    CriticalLoad {
        target,
        mean: found.mean,
        deviation: found.deviation,
        stretch: found.stretch,
        erf: found.erf,
        place: found.place,
        trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_trials_count_only_where_most_are() {
        let mut quiet = Quiet::default();
        let counted = [false, true, false, true, true, true, false].map(|one| quiet.counts(one));
        assert_eq!(counted, [true, false, true, false, true, true, true]);
    }
}
