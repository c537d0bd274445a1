//! Soak: one long trial below the throughput, whose loss is read interval by interval.

use super::bench::Bench;
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_model::run::{MethodResult, Soak, SoakInterval, Trial, TrialInterval};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{BitRate, PacketCount, Ratio};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct SoakTest;

impl Method for SoakTest {
    fn id(&self) -> &'static str {
        "soak"
    }

    fn summary(&self) -> &'static str {
        "One long trial below the throughput: loss and delay over time"
    }

    fn needs_throughput(&self) -> bool {
        true
    }

    fn is_for_mesh(&self) -> bool {
        true
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        settings.soak
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let Some(throughput) = bench.row.highest_throughput() else {
            bench.note_no_throughput("soak");
            return Ok(None);
        };
        let (share, time) = (bench.settings.soak_load, bench.settings.soak);
        let load = bench.payload_rate(throughput).as_f64() * share.get();
        let load = BitRate::from_f64(load).max(bench.loads.lowest);
        let mut spec = TestSpec {
            stop: Stop::After(time),
            ..bench.spec.clone().with_pace(Pace::At(load))
        };
        spec.fit_interval();
        let Some(seen) = bench.test(&spec, &format!("soak at {share} of the throughput"))? else {
            bench.note("nothing was counted of the soak");
            return Ok(None);
        };
        let (trial, loss_ratio) = (&seen.trials[0], seen.loss_ratio());
        let delay = trial.best_delay();
        Ok(Some(MethodResult::Soak(Box::new(Soak {
            load_ratio: share,
            intended: bench.frames(load),
            offered: seen.offered,
            time: trial.duration.unwrap_or(time),
            sent: seen.sent,
            lost: seen.lost,
            loss_ratio,
            p50_ns: delay.and_then(|delay| delay.p50_ns),
            p99_ns: delay.and_then(|delay| delay.p99_ns),
            max_ns: delay.and_then(|delay| delay.max_ns),
            intervals: intervals(trial),
        }))))
    }
}

/// Loss of each interval whose frames the receiver counted.
fn intervals(trial: &Trial) -> Vec<SoakInterval> {
    let one = |interval: &TrialInterval| {
        let total = interval.total_packets?;
        let lost = interval.lost_packets.unwrap_or(PacketCount::new(0));
        Some(SoakInterval {
            start: interval.start,
            end: interval.end,
            frames: total,
            lost,
            loss_ratio: match total.get() {
                0 => Ratio::ZERO,
                _ => Ratio::clamped(lost.as_f64() / total.as_f64()),
            },
        })
    };
    trial.intervals.iter().filter_map(one).collect()
}
