//! What the trials say of the critical load: Bayesian inference by importance sampling.
//!
//! **Prior.** Uniform over −1…1 for both coordinates (x, y) of a curve, with `m = highest · (1 / (1 + x) − ½) + 1` (a Lomax
//! distribution) and `a = m^((1 + y) / 2)` (a reciprocal one), frames per second; the draft's "Prior Distributions".
//!
//! **Likelihood.** A trial that loses `k` frames where a curve expects `μ` has the likelihood `μᵏ / (1 + μ)ᵏ⁺¹`, of the
//! geometric distribution, as FD.io CSIT computes it. It is the widest of a count with a given mean: losses that come in bursts,
//! and loads far above the critical one, where no curve fits, weigh little.
//!
//! **Integration.** Points are drawn from a Gaussian and weighted by likelihood / density. Rounds of few points move and
//! shape it, from where it was with the trials before: their weights are raised to the power, at most one, with which they are worth [`LEAST_WORTH`] of the points, so
//! that a single point never takes all (the draft averages weights to that end). Once the power is one, a round of many
//! points, from a Gaussian with [`WIDER`] times the covariance, gives the result.

use super::PlrTrial;
use super::fit::{Curve, Shape, log_one_plus};
use crate::statistics::count;
use linerate_model::random::Random;

/// A trial as the likelihood needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    load: f64,
    log_time: f64,
    lost: f64,
}

impl From<&PlrTrial> for Seen {
    fn from(trial: &PlrTrial) -> Self {
        let load = trial.load.pps();
        Self {
            load,
            log_time: (trial.sent.as_f64() / load).ln(),
            lost: trial.lost.as_f64(),
        }
    }
}

impl Seen {
    /// Logarithm of the likelihood of this trial, if the device were `curve`.
    fn log_likelihood(&self, curve: Curve) -> f64 {
        let expected = curve.log_loss_rate(self.load) + self.log_time;
        let not_lost = -log_one_plus(expected);
        if self.lost > 0.0 {
            not_lost - self.lost * log_one_plus(-expected)
        } else {
            not_lost
        }
    }
}

/// What is inferred from.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) trials: Vec<Seen>,
    /// Lowest and highest load, frames per second.
    pub(super) range: [f64; 2],
    pub(super) log_target: f64,
}

/// The logarithm of the critical load, by one fitting function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Inferred {
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// How probable it is that the critical load is not within the range, but at its lower or upper end or beyond.
    pub(super) outside: [f64; 2],
}

/// Points of each round that moves the Gaussian.
const FEW: usize = 400;
/// Points of the last round.
const MANY: usize = 1000;
/// Part of the points of a round that its weights are worth at least: (Σ w)² / Σ w².
const LEAST_WORTH: f64 = 0.1;
/// Rounds after which the last one is made in any case; each can shrink the Gaussian to a tenth or widen it to twice.
const MOST_ROUNDS: u32 = 60;
/// The covariance that rounds draw with, in times of what they found.
const WIDE: f64 = 2.0;
const WIDER: f64 = 5.0;
/// Least standard deviation of a coordinate: a double has 16 digits.
const LEAST_DEVIATION: f64 = 1e-10;

/// A Gaussian of the two coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaussian {
    mean: [f64; 2],
    /// Lower triangle of the Cholesky decomposition of the covariance: xx, yx, yy.
    root: [f64; 3],
}

/// A point that was drawn.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    at: [f64; 2],
    /// Logarithm of its likelihood over the density that it was drawn with.
    log_weight: f64,
}

impl Evidence {
    fn curve(&self, shape: Shape, [x, y]: [f64; 2]) -> Curve {
        let most = self.range[1] * (1.0 / (1.0 + x) - 0.5) + 1.0;
        let spread = most.powf(f64::midpoint(1.0, y));
        Curve::new(shape, most, spread)
    }

    /// What the trials say, if the device is of this shape; `focus` is where it was found to be with the trials before, and is
    /// where it is found now.
    pub(super) fn infer(
        &self,
        shape: Shape,
        focus: &mut Gaussian,
        random: &mut Random,
    ) -> Inferred {
        for _ in 0..MOST_ROUNDS {
            let drawn = self.draw(shape, focus.widened(WIDE), FEW, random);
            let power = power(&drawn);
            *focus = Gaussian::of(&drawn, &weights(&drawn, power));
            if power >= 1.0 {
                break;
            }
        }
        let drawn = self.draw(shape, focus.widened(WIDER), MANY, random);
        self.summed(shape, &drawn)
    }

    fn draw(&self, shape: Shape, from: Gaussian, count: usize, random: &mut Random) -> Vec<Drawn> {
        let one = |_| {
            let (at, log_density) = from.draw(random);
            let curve = self.curve(shape, at);
            let likelihoods = self.trials.iter().map(|seen| seen.log_likelihood(curve));
            Drawn {
                at,
                log_weight: likelihoods.sum::<f64>() - log_density,
            }
        };
        (0..count).map(one).collect()
    }

    fn summed(&self, shape: Shape, drawn: &[Drawn]) -> Inferred {
        let [lowest, highest] = self.range;
        let weights = weights(drawn, 1.0);
        let loads: Vec<f64> = drawn
            .iter()
            .map(|drawn| {
                self.curve(shape, drawn.at)
                    .critical_load(self.log_target, self.range)
            })
            .collect();
        let all: f64 = weights.iter().sum();
        let sum = |of: &dyn Fn(f64) -> f64| {
            let parts = loads
                .iter()
                .zip(&weights)
                .map(|(load, weight)| of(*load) * weight);
            parts.sum::<f64>() / all
        };
        let mean = sum(&f64::ln);
        Inferred {
            mean,
            variance: sum(&|load| (load.ln() - mean).powi(2)),
            outside: [
                sum(&|load| f64::from(load <= lowest)),
                sum(&|load| f64::from(load >= highest)),
            ],
        }
    }
}

/// Weights to this power, the largest being one.
fn weights(drawn: &[Drawn], power: f64) -> Vec<f64> {
    let logs = drawn.iter().map(|drawn| drawn.log_weight);
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    logs.map(|log| ((log - most) * power).exp()).collect()
}

/// The largest power, at most one, with which the weights are worth enough of the points.
fn power(drawn: &[Drawn]) -> f64 {
    let is_enough = |power: f64| {
        let weights = weights(drawn, power);
        let sum: f64 = weights.iter().sum();
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        sum * sum >= LEAST_WORTH * count(weights.len()) * squares
    };
    if is_enough(1.0) {
        return 1.0;
    }
    // Powers of all sizes: a log likelihood has as many as there are frames.
    let (mut low, mut high) = (-70.0_f64, 0.0_f64);
    for _ in 0..30 {
        let middle = low.midpoint(high);
        if is_enough(middle.exp()) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp()
}

impl Gaussian {
    pub(super) const WIDE_AS_ALL: Self = Self {
        mean: [0.0; 2],
        root: [1.0, 0.0, 1.0],
    };

    fn widened(self, by: f64) -> Self {
        Self {
            root: self.root.map(|part| part * by.sqrt()),
            ..self
        }
    }

    /// The Gaussian with the moments of these points.
    fn of(drawn: &[Drawn], weights: &[f64]) -> Self {
        let all: f64 = weights.iter().sum();
        let sum = |of: &dyn Fn([f64; 2]) -> f64| {
            let parts = drawn
                .iter()
                .zip(weights)
                .map(|(drawn, weight)| of(drawn.at) * weight);
            parts.sum::<f64>() / all
        };
        let mean = [sum(&|at| at[0]), sum(&|at| at[1])];
        let moment =
            |a: usize, b: usize| sum(&|at: [f64; 2]| (at[a] - mean[a]) * (at[b] - mean[b]));
        let xx = moment(0, 0).sqrt().max(LEAST_DEVIATION);
        let yx = moment(0, 1) / xx;
        let yy = (moment(1, 1) - yx * yx).max(0.0).sqrt();
        Self {
            mean,
            root: [xx, yx, yy.max(LEAST_DEVIATION)],
        }
    }

    /// A point within the prior's square, and the logarithm of the density there, but for a constant. The mean is within it,
    /// so at least about a quarter of all points are.
    fn draw(self, random: &mut Random) -> ([f64; 2], f64) {
        loop {
            let (u, v) = (random.normal(), random.normal());
            let [xx, yx, yy] = self.root;
            let at = [self.mean[0] + xx * u, self.mean[1] + yx * u + yy * v];
            if at.iter().all(|part| part.abs() < 1.0) {
                return (at, -0.5 * (u * u + v * v));
            }
        }
    }
}
