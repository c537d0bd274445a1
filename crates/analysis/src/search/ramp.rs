//! The ramp: short trials at quickly rising loads until no goal is met any more.
//!
//! In the manner of RFC 9097: from the lowest load, fast steps up while the path shows no
//! congestion. One step is a factor of four, so that five decades take nine short trials.

use super::SearchConfig;
use crate::random::Random;
use linerate_model::BitRate;

/// Each load is this multiple of the one before.
const STEP: f64 = 4.0;
/// The loads between the first and the last are moved by up to this share, by the seed.
const DITHER: f64 = 0.05;

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
