//! Back-to-back frames (RFC 9004): the longest burst without loss, again and again, and the buffer that it implies.

use super::bench::Bench;
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_analysis::bursts::BurstSearch;
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::run::{BackToBack, MethodResult};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{PacketCount, PacketRate};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct BackToBackFrames;

/// Longest burst that is tried (RFC 2544 §26.4 asks for trials of 2 s).
const LONGEST: Duration = Duration::from_secs(2);

/// Searches that may end at the longest burst before no more are made: no buffer shows.
const MOST_UNBOUNDED: usize = 3;

/// Bursts in a row of which nothing may be counted.
const MOST_LOST: u32 = 3;

impl Method for BackToBackFrames {
    fn id(&self) -> &'static str {
        "back-to-back"
    }

    fn summary(&self) -> &'static str {
        "Longest burst without loss, and the buffer it implies (RFC 9004)"
    }

    fn needs_throughput(&self) -> bool {
        true
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        // A search takes few bursts, each as long as the buffer of a device, which is some ten milliseconds; what is between
        // two trials takes longer.
        Duration::from_millis(300) * settings.bursts
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let pace = bench.loads.line.map_or(Pace::Unpaced, Pace::At);
        let Some(rate) = bench.warm_up(pace)?.and_then(|tried| tried.offered) else {
            bench.note("no burst could be sent");
            return Ok(None);
        };
        let most = rate.packets_in(LONGEST);
        let mut found = Vec::new();
        let mut search = BurstSearch::new(most.get());
        for test in 1..=bench.settings.bursts {
            let Some(longest) = searched(bench, pace, search, test)? else {
                break;
            };
            search = BurstSearch::beginning_at(longest.frames.get(), most.get());
            found.push(longest);
            let unbounded = found.iter().filter(|longest| longest.frames == most);
            if unbounded.count() >= MOST_UNBOUNDED {
                break;
            }
        }
        // The highest rate that a burst may have had: interference slows a long test down more than a burst.
        let ceiling = match pace {
            Pace::Unpaced => bench.loads.ceiling.map(|ceiling| bench.frames(ceiling)),
            Pace::At(_) => None,
        };
        let rates = [found_rate(&found), ceiling];
        let rate = rates.into_iter().flatten().fold(rate, faster);
        let bursts = found.iter().map(|longest| longest.frames).collect();
        let found = result(bursts, most, rate, bench.row.throughput());
        Ok(found.map(|found| MethodResult::BackToBack(Box::new(found))))
    }
}

fn faster(a: PacketRate, b: PacketRate) -> PacketRate {
    if a.pps() < b.pps() { b } else { a }
}

/// The longest burst of a search.
#[derive(Debug, Clone, Copy)]
struct Longest {
    frames: PacketCount,
    /// What it was sent at; `None` of no frame.
    rate: Option<PacketRate>,
}

/// Median of the rates at which the longest bursts were sent. A short one is sent faster than that: its time holds what the
/// sender needs to begin.
fn found_rate(found: &[Longest]) -> Option<PacketRate> {
    let mut rates: Vec<_> = found.iter().filter_map(|longest| longest.rate).collect();
    rates.sort_by(|a, b| a.pps().total_cmp(&b.pps()));
    rates.get(rates.len() / 2).copied()
}

/// The longest burst of one search; `None` if the user ends it, or nothing was counted.
fn searched(
    bench: &mut Bench<'_, '_>,
    pace: Pace,
    mut search: BurstSearch,
    test: u32,
) -> Result<Option<Longest>> {
    let mut uncounted = 0;
    let mut rate = None;
    while let Some(frames) = search.next() {
        if bench.is_over() {
            return Ok(None);
        }
        let spec = TestSpec {
            stop: Stop::Transactions(frames),
            // What is sent before would be in the queue that is measured.
            warm_up: Duration::ZERO,
            ..bench.spec.clone().with_pace(pace)
        };
        let what = format!("burst test {test}: {frames} frames");
        match bench.test(&spec, &what)? {
            Some(seen) => {
                uncounted = 0;
                let is_lossless = seen.lost.get() == 0;
                if is_lossless && frames >= search.longest() {
                    rate = seen.offered;
                }
                search.record(frames, is_lossless);
            }
            None if uncounted < MOST_LOST => uncounted += 1,
            None => {
                bench.note("bursts were sent, and nothing was counted of them");
                return Ok(None);
            }
        }
    }
    Ok(Some(Longest {
        frames: PacketCount::new(search.longest()),
        rate,
    }))
}

/// What the bursts say together; `None` of none.
fn result(
    bursts: Vec<PacketCount>,
    longest_tried: PacketCount,
    burst_rate: PacketRate,
    throughput: Option<PacketRate>,
) -> Option<BackToBack> {
    let lengths: Vec<_> = bursts.iter().map(|burst| burst.as_f64()).collect();
    let mean_frames = mean(&lengths, USUAL_CONFIDENCE).ok()?;
    let implied_buffer = Duration::try_from_secs_f64(mean_frames.point / burst_rate.pps()).ok()?;
    // A device that forwards faster than bursts come holds nothing.
    let held = throughput.map(|rate| (1.0 - rate.pps() / burst_rate.pps()).max(0.0));
    Some(BackToBack {
        bursts,
        mean_frames,
        longest_tried,
        burst_rate,
        throughput,
        implied_buffer,
        corrected_buffer: held.map(|held| implied_buffer.mul_f64(held)),
        corrected_frames: held.map(|held| mean_frames.point * held),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9004 §6: corrected = implied × (1 − throughput / maximum).
    #[test]
    fn the_buffer_is_corrected_by_what_was_forwarded_meanwhile() {
        let count = PacketCount::new;
        let rate = PacketRate::from_pps;
        let bursts = vec![count(99), count(101)];
        let found = result(bursts, count(2000), rate(1000.0), Some(rate(400.0))).unwrap();
        assert_eq!(found.mean_frames.n, 2);
        assert_eq!(found.implied_buffer, Duration::from_millis(100));
        assert_eq!(found.corrected_buffer, Some(Duration::from_millis(60)));
        assert!((found.corrected_frames.unwrap() - 60.0).abs() < 1e-9);
        assert!(!found.is_unbounded());
        let fast = result(vec![count(7)], count(7), rate(1000.0), Some(rate(1200.0))).unwrap();
        assert_eq!(fast.corrected_buffer, Some(Duration::ZERO));
        assert!(fast.is_unbounded());
        let unknown = result(vec![count(7)], count(9), rate(1000.0), None).unwrap();
        assert_eq!(unknown.corrected_frames, None);
        assert_eq!(result(Vec::new(), count(9), rate(1000.0), None), None);
    }
}
