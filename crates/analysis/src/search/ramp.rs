//! The ramp: short trials at quickly rising loads until no goal is met any more.
//!
//! In the manner of RFC 9097: from the lowest load, fast steps up while the path shows no
//! congestion. One step is a factor of four, so that five decades take nine short trials.

use super::SearchConfig;
use super::outcome::{Resolution, TrialOutcome};
use linerate_model::BitRate;
use linerate_model::random::Random;

/// Each load is this multiple of the one before.
const STEP: f64 = 4.0;
/// The loads between the first and the last are moved by up to this share, by the seed.
const DITHER: f64 = 0.05;

/// A path that forwards less than this share of what was offered is saturated. A step of four
/// overshoots by less than the rest in one case of thirteen, and then costs one more short trial.
const SATURATED_SHARE: f64 = 0.9;
/// A sender that offers less than this share of the intended load is limited. One that offers more may have been interrupted:
/// ten milliseconds are a twentieth of a short trial. The next load of the ramp tells.
const LIMITED_SHARE: f64 = 0.5;
/// Fewer missing packets are chance: a short trial at a low load has only some ten.
const MISSING_LEAST: f64 = 3.0;

/// Whether the ramp can end with this trial: clearly less was forwarded than intended, be it lost,
/// queued or never sent.
pub(super) fn is_saturated(outcome: &TrialOutcome, resolution: Resolution) -> bool {
    let intended = outcome.intended_load.as_f64();
    let offered = outcome.offered_load.as_f64();
    let forwarded = outcome.forwarding_rate(resolution);
    let packets = outcome.sent.as_f64() * intended / offered;
    let missing = packets * (1.0 - forwarded / intended);
    let clearly = forwarded < offered * SATURATED_SHARE || offered < intended * LIMITED_SHARE;
    offered <= 0.0 || clearly && missing >= MISSING_LEAST
}

/// The loads of the ramp, ascending, first the lowest and last the highest load allowed.
pub(super) fn loads(config: &SearchConfig) -> Vec<BitRate> {
    let mut random = Random::new(config.seed);
    let max = config.max_load.as_f64();
    let mut loads = vec![config.min_load];
    let mut load = config.min_load.as_f64() * STEP;
    while load < max / STEP.sqrt() {
        let moved = load * (1.0 + DITHER * (2.0 * random.unit() - 1.0));
        loads.push(BitRate::from_f64(moved));
        load *= STEP;
    }
    loads.push(config.max_load);
    loads
}
