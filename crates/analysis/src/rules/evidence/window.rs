//! Whether a trial's rate followed its congestion window.

use super::Evidence;
use crate::rules::words;
use linerate_model::run::Trial;

/// How the rate of a trial's intervals went with the window: the elasticity, d ln rate / d ln window, is 1 where the window
/// is what limits, and 0 where what the window lets go beyond a rate only waits in a queue.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct WindowEffect {
    elasticity: f64,
    /// Standard error of the elasticity.
    error: f64,
    /// Smallest and largest window, bytes.
    window: (f64, f64),
    /// Lowest and highest rate, bit/s.
    rate: (f64, f64),
}

/// Intervals from which on a slope says something.
const INTERVALS: usize = 6;
/// Windows that differ by less show nothing: more than a few steps of congestion avoidance.
const SPREAD: f64 = 1.2;
/// Below this the rate hardly follows, and it is below [`FOLLOWS`] whatever chance did.
const STANDS: f64 = 0.25;
const FOLLOWS: f64 = 0.75;

impl WindowEffect {
    /// Of the first trial that tells.
    pub(in crate::rules) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let subject = evidence.subject();
        subject.iter().find_map(|trial| Self::from_trial(trial))
    }

    fn from_trial(trial: &Trial) -> Option<Self> {
        let known: Vec<(f64, f64)> = trial
            .intervals
            .iter()
            .filter_map(|interval| {
                let rate = interval.received_rate.or(interval.offered_load)?;
                Some((interval.cwnd_bytes?.as_f64(), rate.as_f64()))
            })
            .filter(|(window, rate)| *window > 0.0 && *rate > 0.0)
            .collect();
        let range = |part: fn(&(f64, f64)) -> f64| {
            let values = || known.iter().map(part);
            let low = values().min_by(f64::total_cmp)?;
            Some((low, values().max_by(f64::total_cmp)?))
        };
        let (window, rate) = (range(|pair| pair.0)?, range(|pair| pair.1)?);
        if known.len() < INTERVALS || window.1 < window.0 * SPREAD {
            return None;
        }
        let (elasticity, error) = slope(&known)?;
        Some(Self {
            elasticity,
            error,
            window,
            rate,
        })
    }

    /// Whether the rate stood while the window changed.
    pub(in crate::rules) fn rate_stands(self) -> bool {
        self.elasticity < STANDS && self.elasticity + 2.0 * self.error < FOLLOWS
    }

    /// Both, for sentences.
    pub(in crate::rules) fn describe(self) -> String {
        format!(
            "it was between {:.0} and {:.0} KiB, and the rate between {} and {} whatever it was",
            self.window.0 / 1024.0,
            self.window.1 / 1024.0,
            words::rate(self.rate.0),
            words::rate(self.rate.1)
        )
    }
}

/// Least-squares slope of ln y on ln x, and its standard error.
fn slope(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let logs: Vec<(f64, f64)> = pairs.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |part: fn(&(f64, f64)) -> f64| crate::readings::mean(logs.iter().map(part));
    let (x, y) = (mean(|pair| pair.0)?, mean(|pair| pair.1)?);
    let sum = |term: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(term).sum::<f64>();
    let spread = sum(&|pair| (pair.0 - x).powi(2));
    let slope = sum(&|pair| (pair.0 - x) * (pair.1 - y)) / spread;
    let left = sum(&|pair| (pair.1 - y - slope * (pair.0 - x)).powi(2));
    let freedom = f64::from(u32::try_from(logs.len().checked_sub(2)?).ok()?);
    let error = (left / freedom / spread).sqrt();
    error.is_finite().then_some((slope, error))
}
