//! Frame loss rate (RFC 2544 §26.3): from the highest load downwards, until two in a row lose nothing.

use super::bench::{Bench, Outcome};
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_model::run::{LossCurve, LossPoint, MethodResult};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{BitRate, Ratio};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct FrameLossRate;

/// Length of a trial.
const TRIAL_TIME: Duration = Duration::from_secs(1);

/// Trials in a row without loss after which lower loads are left out (RFC 2544 §26.3).
const ENOUGH_WITHOUT_LOSS: u32 = 2;

impl Method for FrameLossRate {
    fn id(&self) -> &'static str {
        "loss-curve"
    }

    fn summary(&self) -> &'static str {
        "Loss from the highest load downwards (RFC 2544)"
    }

    fn needs_throughput(&self) -> bool {
        false
    }

    fn is_for_mesh(&self) -> bool {
        true
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        TRIAL_TIME * u32::try_from(shares(settings.loss_step).len()).unwrap_or(u32::MAX)
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let Some((full, full_of)) = bench.full_load()? else {
            bench.note("no loss curve: the sender's highest load is not known");
            return Ok(None);
        };
        let mut points = Vec::new();
        let mut lossless = 0;
        for share in shares(bench.settings.loss_step) {
            if bench.is_over() || lossless == ENOUGH_WITHOUT_LOSS {
                break;
            }
            let load = BitRate::from_f64(full.as_f64() * share.get()).max(bench.loads.lowest);
            let spec = TestSpec {
                stop: Stop::After(TRIAL_TIME),
                ..bench.spec.clone().with_pace(Pace::At(load))
            };
            let Some(seen) = bench.test(&spec, &format!("loss at {share}"))? else {
                bench.note(format_args!("nothing was counted at {share} of the load"));
                continue;
            };
            lossless = if seen.lost.get() == 0 {
                lossless + 1
            } else {
                0
            };
            points.push(point(bench, share, load, seen));
        }
        let full = bench.frames(full);
        Ok(
            (!points.is_empty()).then_some(MethodResult::LossCurve(LossCurve {
                full,
                full_of,
                points,
            })),
        )
    }
}

fn point(bench: &Bench<'_, '_>, share: Ratio, load: BitRate, seen: Outcome) -> LossPoint {
    LossPoint {
        load_ratio: share,
        intended: bench.frames(load),
        offered: seen.offered,
        received: seen.received,
        lost: seen.lost,
        loss_ratio: seen.loss_ratio(),
        ledger: seen.ledger,
    }
}

/// Shares of the highest load, from all of it down to the last step above nothing.
fn shares(step: Ratio) -> Vec<Ratio> {
    let step = step.get().max(LEAST_STEP);
    let share = |at: i32| Ratio::clamped(1.0 - f64::from(at) * step);
    let all = (0..).map(share);
    all.take_while(|share| share.get() > step / 2.0).collect()
}

/// Smallest step: 200 trials.
const LEAST_STEP: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_from_the_whole_load_to_the_last_above_nothing() {
        let of = |step| shares(Ratio::clamped(step));
        let tenths = of(0.1);
        assert_eq!((tenths.len(), tenths[0]), (10, Ratio::clamped(1.0)));
        assert!((tenths[9].get() - 0.1).abs() < 1e-9);
        assert_eq!(of(0.5), [1.0, 0.5].map(Ratio::clamped));
        assert_eq!(of(1.0), [Ratio::clamped(1.0)]);
        assert_eq!(of(0.0).len(), 200);
    }
}
