//! Seeded random decisions that depend on the packet's number alone.
//!
//! The draw for packet `n` and one purpose is a hash of (seed, purpose, n), so switching one impairment on or off
//! changes no other packet's fate, and neither does traffic in between.

use linerate_model::Ratio;
use linerate_model::random::mix;

/// Purpose of a draw. The number makes the draws of one packet independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Duplicate = 1,
    Jitter = 2,
    LoseData = 3,
    LoseOther = 4,
    Reorder = 5,
}

/// Random decisions of one direction of one link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draws {
    seed: u64,
}

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// True for a share `ratio` of all numbers.
    pub(super) fn happens(self, purpose: Purpose, number: u64, ratio: Ratio) -> bool {
        ratio.get() > 0.0 && self.unit(purpose, number) < ratio.get()
    }

    /// Uniform in `0..=bound`.
    pub(super) fn up_to(self, purpose: Purpose, number: u64, bound: u64) -> u64 {
        let wide = u128::from(self.bits(purpose, number)) * (u128::from(bound) + 1);
        u64::try_from(wide >> 64).expect("invariant: a 64-bit draw times a bound, shifted by 64")
    }

    /// Uniform in `[0, 1)`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits fit into an f64 exactly"
    )]
    fn unit(self, purpose: Purpose, number: u64) -> f64 {
        (self.bits(purpose, number) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn bits(self, purpose: Purpose, number: u64) -> u64 {
        mix(mix(self.seed ^ mix(purpose as u64)).wrapping_add(number))
    }
}

/// Seeds for the two directions of a link, different from each other.
pub(super) fn split(seed: u64) -> [u64; 2] {
    [mix(seed), mix(!seed)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_numbers_is_hit() {
        let draws = Draws::new(7);
        let ratio = Ratio::new(0.1).unwrap();
        let hits = (0..100_000)
            .filter(|n| draws.happens(Purpose::LoseData, *n, ratio))
            .count();
        // The seed is fixed, so this cannot flake: 10 000 +- 5 standard deviations of 95.
        assert!((9_525..=10_475).contains(&hits), "{hits}");
    }

    #[test]
    fn zero_never_happens_and_one_always() {
        let draws = Draws::new(1);
        let always = Ratio::new(1.0).unwrap();
        assert!((0..1000).all(|n| draws.happens(Purpose::Reorder, n, always)));
        assert!((0..1000).all(|n| !draws.happens(Purpose::Reorder, n, Ratio::ZERO)));
    }

    #[test]
    fn purposes_and_directions_are_drawn_apart() {
        let draws = Draws::new(1);
        let one = draws.up_to(Purpose::Jitter, 1, u64::MAX);
        assert_ne!(one, draws.up_to(Purpose::Reorder, 1, u64::MAX));
        let [a, b] = split(1);
        assert_ne!(a, b);
    }

    #[test]
    fn bounds_are_reached_but_not_passed() {
        let draws = Draws::new(3);
        let values: Vec<u64> = (0..1000)
            .map(|n| draws.up_to(Purpose::Jitter, n, 9))
            .collect();
        assert_eq!(values.iter().min(), Some(&0));
        assert_eq!(values.iter().max(), Some(&9));
    }
}
