//! A cache of flows that shows in what a frame costs by the number of flows.
//!
//! Of `f` flows, each drawn anew for each frame with the same probability, a cache of `c` entries has the frame's flow with
//! probability `min(1, c / f)` where the least recently used flow makes room (every set of `c` flows is as likely), and
//! `c / f · (1 − exp(−f / c))` where each flow has one place, the mean share of places that some flow has. Where a share `m`
//! of the frames misses, a frame costs `hit + (miss − hit) · (m + r · m · (1 − m))` on average: a hit after a miss, or a miss
//! after a hit, is a branch that was predicted wrongly, and code and data that the other has displaced. Without `r` caches
//! are found too small: by a tenth where a miss costs five times as much as a hit, by half where it costs 1.4 times as much.

use crate::statistics::{USUAL_CONFIDENCE, t_quantile};
use linerate_model::run::{CacheReplacement, FlowCache, FlowPoint};
use linerate_model::{Estimate, Interval};

/// False alarms of a search for a cache where there is none, with scatter that is normal.
const FALSE_ALARMS: f64 = 0.001;

/// Least share by which a miss is dearer than a hit that is worth a word: below it other things differ between numbers of flows.
const LEAST_RISE: f64 = 0.1;

/// Sizes tried for each doubling.
const STEPS: f64 = 16.0;

/// Values tried of `r`, from 0 to 1: a change costs at most half of what a miss costs more than a hit.
const CHANGES: u32 = 16;

/// What is estimated of a cache: its size, two costs, and that of changes between them.
const PARAMETERS: usize = 4;

/// The cache that costs by number of flows show; `None` where they show none, or are too few.
///
/// Least squares of relative errors, for each size and both kinds of replacement. The interval of the size is that of the
/// profile likelihood at 95 %, over both kinds.
pub fn flow_cache(points: &[FlowPoint]) -> Option<FlowCache> {
    let freedom = points.len().checked_sub(PARAMETERS)?;
    let freedom = f64::from(u32::try_from(freedom).ok()?);
    let most = points.iter().map(|point| point.flows).max()?;
    if freedom < 1.0 {
        return None;
    }
    let fits: Vec<Fit> = CacheReplacement::ALL
        .iter()
        .flat_map(|replacement| sizes(most).map(move |entries| (*replacement, entries)))
        .filter_map(|(replacement, entries)| Fit::best(points, entries, replacement))
        .collect();
    let best = fits.iter().min_by(|a, b| a.error.total_cmp(&b.error))?;
    // An upper bound of the F quantile of three more parameters, by the square of t for each.
    let t = t_quantile(1.0 - FALSE_ALARMS / 2.0, freedom);
    let without = constant_error(points);
    let is_clear = without - best.error > 3.0 * t * t * best.error / freedom;
    if !is_clear || best.miss < best.hit * (1.0 + LEAST_RISE) {
        return None;
    }
    let confidence = USUAL_CONFIDENCE;
    let t = t_quantile(1.0 - confidence.tail(), freedom);
    let bound = best.error * (1.0 + t * t / freedom);
    let same = fits
        .iter()
        .filter(|fit| fit.error <= bound)
        .map(|fit| fit.entries);
    let [low, high] = same.fold([best.entries; 2], |[low, high], entries| {
        [low.min(entries), high.max(entries)]
    });
    // As far as sizes between those that were tried.
    let step = (0.5 / STEPS).exp2();
    Some(FlowCache {
        entries: Estimate {
            interval: Some(Interval::new(low / step, high * step)),
            ..confidence.estimate(best.entries, None, points.len())
        },
        hit_ns: best.hit,
        miss_ns: best.miss,
        replacement: best.replacement,
    })
}

/// Sizes from one entry to as many as there were flows.
fn sizes(most: u32) -> impl Iterator<Item = f64> {
    let count = (f64::from(most).log2() * STEPS).floor();
    (0_u32..)
        .map(f64::from)
        .take_while(move |step| *step <= count)
        .map(|step| (step / STEPS).exp2())
}

/// Costs of hit and miss for one size of a cache.
#[derive(Debug, Clone, Copy)]
struct Fit {
    entries: f64,
    replacement: CacheReplacement,
    hit: f64,
    miss: f64,
    /// Sum of the squares of relative errors.
    error: f64,
}

impl Fit {
    /// With the cost of changes that fits best.
    fn best(points: &[FlowPoint], entries: f64, replacement: CacheReplacement) -> Option<Self> {
        let misses = points.iter().map(|point| {
            let miss = miss_ratio(point.flows, entries, replacement);
            (point.frame_ns(), miss)
        });
        let misses: Vec<_> = misses.collect();
        (0..=CHANGES)
            .map(|change| f64::from(change) / f64::from(CHANGES))
            .filter_map(|change| {
                let (hit, miss, error) = costs(&misses, change)?;
                Some(Self {
                    entries,
                    replacement,
                    hit,
                    miss,
                    error,
                })
            })
            .min_by(|a, b| a.error.total_cmp(&b.error))
    }
}

/// Costs of hit and miss by times of a frame and shares of misses, and the sum of the squares of relative errors.
fn costs(times: &[(f64, f64)], change: f64) -> Option<(f64, f64, f64)> {
    // Relative errors: time and both factors are divided by the time.
    let rows = times.iter().map(|(time, miss)| {
        let miss = dearer_ratio(*miss, change);
        [(1.0 - miss) / time, miss / time]
    });
    let [mut aa, mut ab, mut bb, mut a, mut b] = [0.0; 5];
    for [of_hit, of_miss] in rows.clone() {
        aa += of_hit * of_hit;
        ab += of_hit * of_miss;
        bb += of_miss * of_miss;
        a += of_hit;
        b += of_miss;
    }
    let determinant = aa * bb - ab * ab;
    if determinant <= f64::EPSILON * aa * bb {
        return None;
    }
    let (hit, miss) = (
        (a * bb - b * ab) / determinant,
        (b * aa - a * ab) / determinant,
    );
    let error = rows.map(|[a, b]| (hit * a + miss * b - 1.0).powi(2)).sum();
    Some((hit, miss, error))
}

/// Share of frames whose flow a cache does not have.
fn miss_ratio(flows: u32, entries: f64, replacement: CacheReplacement) -> f64 {
    let share = entries / f64::from(flows);
    let hits = match replacement {
        CacheReplacement::LeastRecentlyUsed => share.min(1.0),
        CacheReplacement::DirectMapped => share * -(-1.0 / share).exp_m1(),
    };
    1.0 - hits
}

/// How much of what a miss costs more than a hit a frame costs on average, where such a share of the frames misses.
fn dearer_ratio(miss: f64, change: f64) -> f64 {
    miss + change * miss * (1.0 - miss)
}

/// Sum of the squares of relative errors where a frame costs the same whatever the flows.
fn constant_error(points: &[FlowPoint]) -> f64 {
    let weights = points.iter().map(|point| 1.0 / point.frame_ns());
    let (sum, squares) = weights.clone().fold((0.0, 0.0), |(sum, squares), weight| {
        (sum + weight, squares + weight * weight)
    });
    let cost = sum / squares;
    weights.map(|weight| (cost * weight - 1.0).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::PacketRate;
    use linerate_model::random::Random;

    /// Numbers of flows as the method has them.
    const FLOWS: [u32; 12] = [
        2, 6, 20, 63, 200, 632, 2000, 6325, 20_000, 63_246, 200_000, 632_456,
    ];

    /// What a cache would show, with a relative error that is uniform in ± `scatter`.
    fn points(random: &mut Random, scatter: f64, cost: impl Fn(u32) -> f64) -> Vec<FlowPoint> {
        let point = |flows: u32| {
            let error = 1.0 + scatter * (2.0 * random.unit() - 1.0);
            FlowPoint {
                flows,
                received: PacketRate::from_pps(1e9 / (cost(flows) * error)),
                turns: 5,
            }
        };
        FLOWS.map(point).to_vec()
    }

    /// Frames of flows drawn at random through a cache that is simulated, and the misses of them.
    fn simulated(random: &mut Random, flows: u32, entries: usize, lru: bool) -> f64 {
        let flows = usize::try_from(flows).unwrap();
        let hashed: Vec<_> = (0..flows).map(|_| random.below(entries)).collect();
        let (mut order, mut places) = (Vec::new(), vec![usize::MAX; entries]);
        let mut misses = 0_u32;
        let frames = 20 * entries.max(1000);
        for frame in 0..frames * 2 {
            let flow = random.below(flows);
            let is_hit = if lru {
                let known = order.iter().position(|other| *other == flow);
                if let Some(at) = known {
                    order.remove(at);
                } else if order.len() == entries {
                    order.remove(0);
                }
                order.push(flow);
                known.is_some()
            } else {
                std::mem::replace(&mut places[hashed[flow]], flow) == flow
            };
            misses += u32::from(!is_hit && frame >= frames);
        }
        f64::from(misses) / f64::from(u32::try_from(frames).unwrap())
    }

    #[test]
    fn misses_are_those_of_a_simulated_cache() {
        let mut random = Random::new(11);
        let entries = 400;
        for flows in [200, 400, 1200, 20_000] {
            for (lru, replacement) in [
                (true, CacheReplacement::LeastRecentlyUsed),
                (false, CacheReplacement::DirectMapped),
            ] {
                let seen = simulated(&mut random, flows, entries, lru);
                let said = miss_ratio(flows, 400.0, replacement);
                assert!(
                    (seen - said).abs() < 0.06,
                    "{flows} {replacement:?}: {seen} {said}"
                );
            }
        }
    }

    #[test]
    fn size_and_costs_of_a_cache_are_found() {
        let mut random = Random::new(5);
        let (mut held, mut right) = (0, 0);
        let scenes = 200;
        for _ in 0..scenes {
            let entries = 30.0 * 1000_f64.powf(random.unit());
            let hit = 100.0 + 400.0 * random.unit();
            let miss = hit * (1.5 + 5.0 * random.unit());
            let replacement = CacheReplacement::ALL[random.below(2)];
            let change = 0.5 * random.unit();
            let cost = |flows| {
                let dearer = dearer_ratio(miss_ratio(flows, entries, replacement), change);
                hit + (miss - hit) * dearer
            };
            let seen = flow_cache(&points(&mut random, 0.03, cost)).unwrap();
            let interval = seen.entries.interval.unwrap();
            held += u32::from((interval.low..=interval.high).contains(&entries));
            right += u32::from(seen.replacement == replacement);
            assert!(
                (seen.entries.point / entries).ln().abs() < 1.0,
                "{entries}: {seen:?}"
            );
            assert!((seen.hit_ns / hit - 1.0).abs() < 0.1, "{hit}: {seen:?}");
            assert!((seen.miss_ns / miss - 1.0).abs() < 0.1, "{miss}: {seen:?}");
        }
        // 95 % are meant; the kind of replacement is a choice of two that differ little where changes cost something.
        assert!(held >= scenes * 90 / 100, "{held}");
        assert!(right >= scenes * 90 / 100, "{right}");
    }

    #[test]
    fn a_cost_that_does_not_depend_on_flows_shows_no_cache() {
        let mut random = Random::new(6);
        let found = (0..1000).filter(|_| {
            let flat = points(&mut random, 0.05, |_| 700.0);
            flow_cache(&flat).is_some()
        });
        assert!(found.count() <= 5);
        let few: Vec<_> = points(&mut random, 0.0, f64::from)
            .into_iter()
            .take(3)
            .collect();
        assert_eq!(flow_cache(&few), None);
    }
}
