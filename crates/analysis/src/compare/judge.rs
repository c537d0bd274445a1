//! What the values of both sides show: a test of each metric, the correction for all, the verdict.
//!
//! Ratios are compared as logarithms, so that B/A and A/B say the same with opposite signs: a
//! difference matters from `1 + threshold` on, and from its inverse on.

use super::Options;
use super::metrics::{Both, Metric, Observation, Scale};
use crate::statistics::{AgainstMargin, USUAL_CONFIDENCE, against_margin, exponential, holm, mean};
use linerate_model::comparison::{Basis, BetterWhen, CompareVerdict, MetricComparison};
use linerate_model::{Estimate, Interval};

/// The margins of a comparison.
pub(super) struct Rules {
    log_margin: f64,
    threshold: f64,
    loss_margin: f64,
}

/// A metric before the correction.
pub(super) struct Untested {
    metric: Metric,
    a: Estimate,
    b: Estimate,
    ratio: Option<Estimate>,
    difference: Option<Estimate>,
    basis: Basis,
    tested: Option<AgainstMargin>,
    why: Option<String>,
}

/// On which scale two sets are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Differences,
    Logarithms,
}

impl Rules {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            log_margin: options.threshold.get().ln_1p(),
            threshold: options.threshold.get(),
            loss_margin: options.loss_threshold.get(),
        }
    }

    /// Estimates, ratio and test of one metric; `None` if a value is no number.
    pub(super) fn test(&self, both: Both) -> Option<Untested> {
        let (first, second) = (values(&both.a), values(&both.b));
        let all = || first.iter().chain(&second);
        if !all().all(|value| value.is_finite()) {
            return None;
        }
        let on = match both.metric.scale {
            Scale::Ratio if all().all(|value| *value > 0.0) => On::Logarithms,
            _ => On::Differences,
        };
        if first.len() > 1 && second.len() > 1 {
            self.between(both, on)
        } else {
            single(both, on)
        }
    }

    /// Several trials on both sides.
    fn between(&self, both: Both, on: On) -> Option<Untested> {
        let scaled = |seen: &[Observation]| -> Vec<f64> {
            let scale = |value: f64| {
                if on == On::Logarithms {
                    value.ln()
                } else {
                    value
                }
            };
            seen.iter().map(|one| scale(one.value)).collect()
        };
        let (first, second) = (scaled(&both.a), scaled(&both.b));
        let rounding = rounding(&both.a, on) + rounding(&both.b, on);
        let margin = self.margin(&both, on);
        let tested = against_margin(&first, &second, margin, rounding, USUAL_CONFIDENCE).ok()?;
        let estimate = |values: &[f64]| {
            let estimate = mean(values, USUAL_CONFIDENCE).ok()?;
            Some(match on {
                On::Logarithms => exponential(estimate),
                On::Differences => bounded(estimate),
            })
        };
        let (ratio, difference) = match on {
            On::Logarithms => (Some(exponential(tested.difference)), None),
            On::Differences => (None, Some(tested.difference)),
        };
        Some(Untested {
            a: estimate(&first)?,
            b: estimate(&second)?,
            ratio,
            difference,
            basis: if both.of_turns {
                Basis::BetweenTurns
            } else {
                Basis::BetweenTrials
            },
            tested: Some(tested),
            why: None,
            metric: both.metric,
        })
    }

    fn margin(&self, both: &Both, on: On) -> f64 {
        match (both.metric.scale, on) {
            (Scale::Loss, _) => self.loss_margin,
            (Scale::Ratio, On::Logarithms) => self.log_margin,
            (Scale::Ratio, On::Differences) => {
                let larger = |seen: &[Observation]| average(seen).abs();
                self.threshold * larger(&both.a).max(larger(&both.b))
            }
        }
    }
}

/// The p of every test of the comparison, corrected together; in the order of the pairs.
pub(super) fn correct(pairs: &[Vec<Untested>]) -> Vec<Vec<Option<f64>>> {
    let metrics = || pairs.iter().flatten();
    let raw: Vec<f64> = metrics()
        .filter_map(|metric| Some(metric.tested?.p))
        .collect();
    let mut corrected = holm(&raw).into_iter();
    let mut next = |metric: &Untested| metric.tested.and_then(|_| corrected.next());
    let each = pairs
        .iter()
        .map(|pair| pair.iter().map(&mut next).collect());
    each.collect()
}

/// The verdict, by the corrected p.
pub(super) fn conclude(untested: Untested, p_adjusted: Option<f64>) -> MetricComparison {
    let Untested {
        metric,
        a,
        b,
        ratio,
        difference,
        basis,
        tested,
        mut why,
    } = untested;
    let alpha = 1.0 - USUAL_CONFIDENCE.get();
    let shown = p_adjusted.is_some_and(|p| p < alpha);
    let rises = tested.is_some_and(|tested| tested.difference.point > 0.0);
    let verdict = match (shown, rises == (metric.better == BetterWhen::Higher)) {
        (false, _) => CompareVerdict::NoDifferenceShown,
        (true, true) => CompareVerdict::Faster,
        (true, false) => CompareVerdict::Slower,
    };
    let within_threshold = tested.is_some_and(|tested| tested.is_within);
    if let Some(tested) = tested.filter(|_| !shown) {
        why = why.or_else(|| not_shown(tested, within_threshold, alpha));
    }
    MetricComparison {
        metric: metric.id,
        words: metric.words,
        better: metric.better,
        a,
        b,
        ratio,
        difference,
        basis,
        p: tested.map(|tested| tested.p),
        p_adjusted,
        verdict,
        within_threshold,
        why,
    }
}

/// Why a test shows no difference, where its interval alone does not say so.
fn not_shown(tested: AgainstMargin, within: bool, alpha: f64) -> Option<String> {
    let interval = tested.difference.interval?;
    if within {
        return Some("the difference is shown to be smaller than the threshold".to_owned());
    }
    if tested.p < alpha {
        return Some(
            "its interval alone would show it, corrected for all tests it does not".to_owned(),
        );
    }
    (!interval.contains(0.0))
        .then(|| "a difference is shown, but not one beyond the threshold".to_owned())
}

/// One trial on a side: values and what their own precision says, no test.
fn single(both: Both, on: On) -> Option<Untested> {
    let (a, b) = (own(&both.a, on)?, own(&both.b, on)?);
    let within = |seen: &[Observation]| match seen {
        [one] => one.within,
        _ => None,
    };
    let (first, second) = (within(&both.a), within(&both.b));
    let basis = match (first, second) {
        (Some(first), Some(second)) if first.basis == second.basis => first.basis,
        (Some(_), Some(_)) => Basis::WithinTrial,
        _ => Basis::None,
    };
    let n = a.n + b.n;
    let wide = first
        .zip(second)
        .map(|(first, second)| (first.wide, second.wide));
    let (ratio, difference) = match on {
        On::Logarithms => {
            let interval = wide.and_then(|(first, second)| quotient(first, second));
            (Some(estimate(b.point / a.point, interval, n)), None)
        }
        On::Differences => {
            let interval = wide.map(|(first, second)| Interval {
                low: second.low - first.high,
                high: second.high - first.low,
            });
            (None, Some(estimate(b.point - a.point, interval, n)))
        }
    };
    let alone = match (a.n, b.n) {
        (1, 1) => "n = 1 on both sides",
        (1, _) => "n = 1 in A",
        _ => "n = 1 in B",
    };
    Some(Untested {
        metric: both.metric,
        a,
        b,
        ratio,
        difference,
        basis,
        tested: None,
        why: Some(alone.to_owned()),
    })
}

/// The estimate of one side: of one trial its own interval, of several the usual one.
fn own(seen: &[Observation], on: On) -> Option<Estimate> {
    if let [one] = seen {
        return Some(estimate(one.value, one.within.map(|within| within.own), 1));
    }
    let all = values(seen);
    if on == On::Differences {
        return Some(bounded(mean(&all, USUAL_CONFIDENCE).ok()?));
    }
    let logs: Vec<f64> = all.iter().map(|value| value.ln()).collect();
    Some(exponential(mean(&logs, USUAL_CONFIDENCE).ok()?))
}

fn estimate(point: f64, interval: Option<Interval>, n: u64) -> Estimate {
    Estimate {
        point,
        interval,
        confidence_ratio: USUAL_CONFIDENCE.get(),
        n,
    }
}

/// All quotients of a value of `second` and one of `first`.
fn quotient(first: Interval, second: Interval) -> Option<Interval> {
    (first.low > 0.0).then(|| Interval {
        low: second.low / first.high,
        high: second.high / first.low,
    })
}

/// No metric is below zero.
fn bounded(estimate: Estimate) -> Estimate {
    Estimate {
        interval: estimate.interval.map(|interval| Interval {
            low: interval.low.max(0.0),
            high: interval.high,
        }),
        ..estimate
    }
}

fn values(seen: &[Observation]) -> Vec<f64> {
    seen.iter().map(|one| one.value).collect()
}

fn average(seen: &[Observation]) -> f64 {
    let count = linerate_model::PacketCount::new(seen.len() as u64).as_f64();
    values(seen).iter().sum::<f64>() / count
}

/// The variance of a mean that comes from rounding, which repetition need not average out: all
/// values may be rounded the same way. Uniform over the rounding interval.
fn rounding(seen: &[Observation], on: On) -> f64 {
    let widths = seen.iter().filter_map(|one| {
        let within = one
            .within
            .filter(|within| within.basis == Basis::Rounding)?;
        let width = within.own.high - within.own.low;
        Some(if on == On::Logarithms {
            width / one.value
        } else {
            width
        })
    });
    widths.fold(0.0_f64, f64::max).powi(2) / 12.0
}
