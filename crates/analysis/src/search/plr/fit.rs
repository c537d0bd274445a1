//! Fitting functions: the average loss rate of a device by the load that it is offered.
//!
//! Both are convex, go through zero, and grow in the end by one frame lost for each frame more that is offered. With the
//! two parameters of [`Curve`], `m` and `a`:
//!
//! ```text
//! loss rate(load) = a · (F((load − m) / a) − F(−m / a))
//!
//! stretch:  F(x) = ln(1 + eˣ)                               integral of the logistic function
//! erf:      F(x) = x · erfc(−x) / 2 + exp(−x²) / (2 √π)     double integral of exp(−x²) / √π
//! ```
//!
//! The draft's formulas ("Stretch Function", "Erf Function") are these times 1 + exp(−m/a) and 2 / erfc(−m/a), which is one
//! but where the spread is as large as the load; without them no load loses more than it is.
//!
//! All is done with logarithms, since a loss rate far below `m` is less than any double.

use statrs::function::erf::erfc;
use std::f64::consts::PI;

/// What kind of curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Erf,
    Stretch,
}

/// A fitting function with its parameters, frames per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Curve {
    shape: Shape,
    /// What is forwarded at most: `m`, which the draft calls mrr.
    most: f64,
    /// How far around it loss sets in: `a`.
    spread: f64,
    log_spread: f64,
    /// ln F(−m / a).
    log_none: f64,
}

/// ln(eᵃ + 1), without overflow.
pub(super) fn log_one_plus(a: f64) -> f64 {
    a.max(0.0) + (-a.abs()).exp().ln_1p()
}

/// Below this, ln(1 + eˣ) is eˣ to the last digit.
const TINY_EXPONENT: f64 = -37.0;

/// From here on the continued fraction is short; below it the difference of two terms is exact to 13 digits.
const CONTINUED_FROM: f64 = 4.0;

impl Shape {
    /// ln F(−y), for y ≥ 0.
    fn log_below(self, y: f64) -> f64 {
        match self {
            Self::Stretch if -y < TINY_EXPONENT => -y,
            Self::Stretch => log_one_plus(-y).ln(),
            Self::Erf if y >= CONTINUED_FROM => log_erf_below(y),
            Self::Erf => (((-y * y).exp() / PI.sqrt() - y * erfc(y)) / 2.0).ln(),
        }
    }

    /// ln F(x). Both functions have F(x) = x + F(−x).
    fn log_integral(self, x: f64) -> f64 {
        let below = self.log_below(x.abs());
        if x > 0.0 {
            (x + below.exp()).ln()
        } else {
            below
        }
    }
}

/// ln F(−y) of erf, for y ≥ [`CONTINUED_FROM`]: half the first repeated integral of erfc, as a continued fraction.
///
/// From the recurrence iⁿ⁻²erfc(y) = 2 n iⁿerfc(y) + 2 y iⁿ⁻¹erfc(y), i⁻¹erfc(y) = 2 exp(−y²) / √π (DLMF §7.18), backwards:
/// all terms are positive. With 16 of them the relative error is at most 2 · 10⁻¹², at the smallest y.
fn log_erf_below(y: f64) -> f64 {
    // Of iⁿ⁻¹erfc to iⁿ⁻²erfc.
    let earlier = |ratio: f64, n: u32| 1.0 / (2.0 * y + 2.0 * f64::from(n) * ratio);
    let first = (2..=16).rev().fold(0.0, earlier);
    (first * earlier(first, 1) / PI.sqrt()).ln() - y * y
}

impl Curve {
    pub(super) fn new(shape: Shape, most: f64, spread: f64) -> Self {
        Self {
            shape,
            most,
            spread,
            log_spread: spread.ln(),
            log_none: shape.log_integral(-most / spread),
        }
    }

    /// Natural logarithm of the frames that are lost per second at `load` frames per second.
    pub(super) fn log_loss_rate(self, load: f64) -> f64 {
        let log = self.shape.log_integral((load - self.most) / self.spread);
        self.log_spread + log + (-(self.log_none - log).exp_m1()).ln()
    }

    /// The load at which the logarithm of the loss ratio is `log_target`: within `range`, or its nearer end.
    pub(super) fn critical_load(self, log_target: f64, range: [f64; 2]) -> f64 {
        let [mut low, mut high] = range;
        let is_above = |load: f64| self.log_loss_rate(load) - load.ln() > log_target;
        if !is_above(high) {
            return high;
        }
        if is_above(low) {
            return low;
        }
        // A convex function that goes through zero grows faster than the load: there is one such load.
        while high - low > high * PRECISION {
            let middle = low.midpoint(high);
            if is_above(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        low.midpoint(high)
    }
}

/// To which share of it a critical load is computed.
const PRECISION: f64 = 1e-10;

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 2] = [Shape::Stretch, Shape::Erf];

    /// Part of each further frame that is lost: the function whose integral the loss rate is.
    fn slope(curve: Curve, load: f64) -> f64 {
        let x = (load - curve.most) / curve.spread;
        match curve.shape {
            Shape::Erf => erfc(-x) / 2.0,
            Shape::Stretch => 1.0 / (1.0 + (-x).exp()),
        }
    }

    #[test]
    fn loss_rates_are_integrals_of_the_slope() {
        const STEPS: u32 = 20_000;
        for shape in SHAPES {
            for (most, spread) in [(100.0, 20.0), (100.0, 100.0), (100.0, 11.0), (7.0, 1.0)] {
                let curve = Curve::new(shape, most, spread);
                for load in [most * 0.2, most * 0.5, most * 0.99, most * 1.3, most * 10.0] {
                    let step = load / f64::from(STEPS);
                    let middles = (0..STEPS).map(|at| (f64::from(at) + 0.5) * step);
                    let integral: f64 = middles.map(|at| slope(curve, at) * step).sum();
                    let error = curve.log_loss_rate(load) - integral.ln();
                    assert!(error.abs() < 1e-4, "{curve:?} at {load}: {error}");
                }
            }
        }
    }

    /// The continued fraction and the difference meet, and far out the asymptotic series holds (DLMF 7.12.1).
    #[test]
    fn the_tail_of_erf_is_exact() {
        let at = |y: f64| Shape::Erf.log_below(y);
        let step = at(CONTINUED_FROM - 1e-9) - at(CONTINUED_FROM);
        assert!(step.abs() < 2e-8, "{step}");
        for y in [20.0_f64, 1e3, 1e8] {
            let z = (y * y).recip();
            let series = 1.0 - 1.5 * z + 3.75 * z * z;
            let log = (series * z / (4.0 * PI.sqrt())).ln() - y * y;
            assert!((at(y) / log - 1.0).abs() < 1e-9, "{y}");
        }
    }

    #[test]
    fn no_load_loses_more_than_it_is_nor_less_than_a_lower_one() {
        for shape in SHAPES {
            for most in [1.5, 1e3, 1e6, 1e8] {
                for power in [0.0, 0.1, 0.5, 0.9, 1.0_f64] {
                    let curve = Curve::new(shape, most, most.powf(power));
                    let loads = (0..161).map(|at| 10_f64.powf(f64::from(at) / 20.0));
                    let logs: Vec<_> = loads
                        .map(|load| {
                            let log = curve.log_loss_rate(load);
                            assert!(log <= load.ln() + 1e-12, "{curve:?} at {load}: {log}");
                            log
                        })
                        .collect();
                    assert!(logs.is_sorted(), "{curve:?}: {logs:?}");
                }
            }
        }
    }

    #[test]
    fn the_critical_load_loses_the_target_and_stays_in_the_range() {
        let range = [1.0, 1e8];
        for shape in SHAPES {
            for (most, spread) in [(1e3, 1.0), (1e5, 3e3), (3e7, 1e6), (1e7, 1.0)] {
                let curve = Curve::new(shape, most, spread);
                for target in [1e-9_f64, 1e-7, 1e-3, 0.4] {
                    let load = curve.critical_load(target.ln(), range);
                    let is_inside = range[0] < load && load < range[1];
                    assert!(is_inside, "{curve:?}, {target}: {load}");
                    let of = |load: f64| (curve.log_loss_rate(load) - load.ln()).exp();
                    let around = [of(load * (1.0 - 2e-9)), of(load * (1.0 + 2e-9))];
                    assert!(around[0] <= target && target <= around[1], "{around:?}");
                    let within = |range| curve.critical_load(target.ln(), range);
                    let ends = [[1.0, load / 2.0], [load * 2.0, 1e9]];
                    assert_eq!(
                        ends.map(within).map(f64::to_bits),
                        [load / 2.0, load * 2.0].map(f64::to_bits)
                    );
                }
            }
        }
    }
}
