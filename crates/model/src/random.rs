//! Seeded random numbers: the same seed gives the same numbers on every machine, for ever.

/// `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
/// Good enough to dither and to resample; not for secrets.
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The step of the generator's state.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of a generator in this state: a hash of the state of which every bit depends on every bit.
pub const fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(GAMMA);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Random {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let mixed = mix(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        mixed
    }

    /// Uniform in `0.0..1.0`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..bound`; zero if `bound` is zero. The bias is below 2⁻³² for bounds below 2³².
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.bits()) * bound as u128;
        usize::try_from(wide >> 64).expect("invariant: the product's high half is below bound")
    }

    /// Exponential with this mean, by inversion.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Puts `items` into random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_number_is_the_published_one() {
        assert_eq!(Random::new(0).bits(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn unit_stays_below_one_and_below_stays_below() {
        let mut random = Random::new(7);
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&random.unit())));
        assert!((0..10_000).all(|_| random.below(3) < 3));
    }
}
