//! Whether a trial's rate followed its congestion window.

use super::{Evidence, range};
use crate::causes::words;
use crate::readings::whole_intervals;
use crate::thresholds::window::{FOLLOWS, SPREAD, STANDS};
use linerate_model::run::Trial;

/// What a trial's congestion window had to do with its rate.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) enum WindowEffect {
    Slope(Slope),
    /// It stood still in the second half, bytes, though nothing was sent again: congestion control lets a window grow
    /// while that is what limits (RFC 5681 §3.1, RFC 9438 §4.2; not one that is not used, RFC 7661).
    StoodStill(f64),
}

/// How the rate of a trial's intervals went with the window: the elasticity, d ln rate / d ln window, is 1 where the window
/// is what limits, and 0 where what the window lets go beyond a rate only waits in a queue.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Slope {
    elasticity: f64,
    /// Standard error of the elasticity.
    error: f64,
    /// Smallest and largest window, bytes.
    window: (f64, f64),
    /// Lowest and highest rate, bit/s.
    rate: (f64, f64),
}

/// Intervals from which on a slope, or a window that stands, says something.
const INTERVALS: usize = 6;

impl WindowEffect {
    /// Of the first trial that tells.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let subject = evidence.subject();
        subject.iter().find_map(|trial| {
            let still = stood_still(trial).map(Self::StoodStill);
            still.or_else(|| Slope::from_trial(trial).map(Self::Slope))
        })
    }

    /// Whether the window is not what limits.
    pub(in crate::causes) fn is_no_limit(self) -> bool {
        match self {
            Self::Slope(slope) => slope.rate_stands(),
            Self::StoodStill(_) => true,
        }
    }

    /// Whether the rate went with the window.
    pub(in crate::causes) fn is_limit(self) -> bool {
        match self {
            Self::Slope(slope) => slope.elasticity - 2.0 * slope.error > STANDS,
            Self::StoodStill(_) => false,
        }
    }

    /// For sentences.
    pub(in crate::causes) fn describe(self) -> String {
        match self {
            Self::Slope(slope) => slope.describe(),
            Self::StoodStill(window) => format!(
                "it stood at {:.0} KiB although nothing was sent again, and it would have grown had it been the limit",
                window / 1024.0
            ),
        }
    }
}

/// The window in the second half of a trial, if it was the same all the time and nothing was sent again.
fn stood_still(trial: &Trial) -> Option<f64> {
    let known = trial.intervals.iter();
    let known: Vec<_> = known
        .filter_map(|interval| Some((interval.cwnd_bytes?, interval.retransmitted_segments)))
        .collect();
    let late = known.get(known.len() / 2..)?;
    let (window, _) = *late.first()?;
    let still = late
        .iter()
        .all(|(now, again)| *now == window && *again == Some(0));
    (still && known.len() >= INTERVALS).then(|| window.as_f64())
}

impl Slope {
    fn from_trial(trial: &Trial) -> Option<Self> {
        let known: Vec<(f64, f64)> = whole_intervals(trial)
            .filter_map(|interval| {
                let rate = interval.received_rate.or(interval.offered_load)?;
                Some((interval.cwnd_bytes?.as_f64(), rate.as_f64()))
            })
            .filter(|(window, rate)| *window > 0.0 && *rate > 0.0)
            .collect();
        let window = range(known.iter().map(|pair| pair.0))?;
        let rate = range(known.iter().map(|pair| pair.1))?;
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
    fn rate_stands(self) -> bool {
        self.elasticity < STANDS && self.elasticity + 2.0 * self.error < FOLLOWS
    }

    fn describe(self) -> String {
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
