//! What the values of both sides show: a test of each metric, the correction for all, the verdict.
//!
//! Ratios are compared as logarithms, so that B/A and A/B say the same with opposite signs: a
//! difference matters from `1 + threshold` on, and from its inverse on.

use super::Options;
use super::metrics::{Both, Observation};
use super::on::On;
use super::power::{self, Requirement, Scatter};
use crate::statistics::{
    AgainstMargin, TestDesign, USUAL_CONFIDENCE, against_margin, exponential, holm, mean,
};
use linerate_model::comparison::{
    Basis, BetterWhen, CompareAnswer, CompareVerdict, MetricComparison, Power, ScatterFrom,
};
use linerate_model::units::float;
use linerate_model::{Estimate, Interval, Quantity};

/// The margins of a comparison.
pub(super) struct Rules {
    log_margin: f64,
    threshold: f64,
    loss_margin: f64,
    sensitivity: f64,
    loss_sensitivity: f64,
    /// Whether the user chose what is compared: then all of it decides.
    is_chosen: bool,
}

/// A metric before the correction.
pub(super) struct Untested {
    metric: Quantity,
    a: Estimate,
    b: Estimate,
    ratio: Option<Estimate>,
    difference: Option<Estimate>,
    basis: Basis,
    tested: Option<AgainstMargin>,
    why: Option<String>,
    on: On,
    margin: f64,
    /// The larger value of both sides, where differences are compared.
    whole: f64,
    scatter: Option<Scatter>,
}

impl Rules {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            log_margin: options.threshold.get().ln_1p(),
            threshold: options.threshold.get(),
            loss_margin: options.loss_threshold.get(),
            sensitivity: options.sensitivity.get(),
            loss_sensitivity: options.loss_sensitivity.get(),
            is_chosen: !options.only.is_empty(),
        }
    }

    /// Estimates, ratio and test of one metric; `None` if a value is no number.
    pub(super) fn test(&self, both: &Both) -> Option<Untested> {
        let (first, second) = (values(&both.a), values(&both.b));
        let all = || first.iter().chain(&second);
        if !all().all(|value| value.is_finite()) {
            return None;
        }
        let on = if !both.metric.is_share() && all().all(|value| *value > 0.0) {
            On::Logarithms
        } else {
            On::Differences
        };
        if first.len() > 1 && second.len() > 1 {
            self.between(both, on)
        } else {
            let margin = self.margin(both, on);
            single(both, on, margin)
        }
    }

    /// Several trials on both sides.
    fn between(&self, both: &Both, on: On) -> Option<Untested> {
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
        let margin = self.margin(both, on);
        let tested = against_margin(&first, &second, margin, rounding, USUAL_CONFIDENCE).ok()?;
        let (scatter, whole) = (Scatter::tested(both, &tested), whole(both));
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
            on,
            margin,
            whole,
            scatter: Some(scatter),
            metric: both.metric,
        })
    }

    fn margin(&self, both: &Both, on: On) -> f64 {
        match on {
            _ if both.metric.is_share() => self.loss_margin,
            On::Logarithms => self.log_margin,
            On::Differences => self.threshold * whole(both),
        }
    }

    /// What must be shown of a metric, of `tests` that are corrected together.
    fn wanted(&self, untested: &Untested, tests: usize) -> Requirement {
        let is_loss = untested.metric.is_share();
        Requirement {
            on: untested.on,
            better: untested.metric.better(),
            design: TestDesign {
                margin: untested.margin,
                alpha: 1.0 - USUAL_CONFIDENCE.get(),
                tests,
            },
            sensitivity: if is_loss {
                self.loss_sensitivity
            } else {
                self.sensitivity
            },
            whole: if is_loss { 1.0 } else { untested.whole },
        }
    }

    /// The verdict of every metric of a pair, of `tests` that are corrected together.
    pub(super) fn conclude(
        &self,
        untested: Vec<Untested>,
        corrected: Vec<Option<f64>>,
        tests: usize,
    ) -> Vec<MetricComparison> {
        let each = untested.into_iter().zip(corrected).enumerate();
        let each = each.map(|(index, (untested, p_adjusted))| {
            let decides = self.is_chosen || power::decides(untested.metric, index == 0);
            let wanted = self.wanted(&untested, tests);
            let mut metric = conclude(untested, p_adjusted, &wanted);
            metric.decides = decides;
            metric
        });
        each.collect()
    }
}

/// The larger of both sides' means.
fn whole(both: &Both) -> f64 {
    average(&both.a).abs().max(average(&both.b).abs())
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
fn conclude(untested: Untested, p_adjusted: Option<f64>, wanted: &Requirement) -> MetricComparison {
    let Untested {
        metric,
        a,
        b,
        ratio,
        difference,
        basis,
        tested,
        mut why,
        scatter,
        ..
    } = untested;
    let alpha = 1.0 - USUAL_CONFIDENCE.get();
    let shown = p_adjusted.is_some_and(|p| p < alpha);
    let rises = tested.is_some_and(|tested| tested.difference.point > 0.0);
    let verdict = match (shown, rises == (metric.better() == BetterWhen::Higher)) {
        (false, _) => CompareVerdict::NoDifferenceShown,
        (true, true) => CompareVerdict::Faster,
        (true, false) => CompareVerdict::Slower,
    };
    let within_threshold = tested.is_some_and(|tested| tested.is_within);
    let power = scatter.map(|scatter| wanted.power(&scatter));
    let is_excluded = tested.is_some_and(|tested| wanted.is_excluded(&tested));
    let answer = power::answer(verdict, is_excluded, power.as_ref(), wanted.sensitivity);
    if let Some(tested) = tested.filter(|_| !shown) {
        why = why.or_else(|| not_shown(tested, within_threshold, alpha));
    }
    if answer == CompareAnswer::CannotTell {
        // Of one trial alone it is said already how many there were.
        let alone = why.take_if(|_| tested.is_none());
        let n = alone.unwrap_or_else(|| repetitions(a.n, b.n));
        let limits = limits(power.as_ref(), &n, wanted.sensitivity);
        why = Some(why.map_or_else(|| limits.clone(), |why| format!("{why}: {limits}")));
    }
    MetricComparison {
        metric,
        words: metric.name(),
        better: metric.better(),
        a,
        b,
        ratio,
        difference,
        basis,
        p: tested.map(|tested| tested.p),
        p_adjusted,
        verdict,
        within_threshold,
        decides: false,
        answer,
        power,
        why,
    }
}

/// `n = 3`, or `n = 3 and 5`.
fn repetitions(a: u64, b: u64) -> String {
    if a == b {
        format!("n = {a}")
    } else {
        format!("n = {a} and {b}")
    }
}

/// `n = 3 cannot show less than 34 %; 6 repetitions would show 5 %`, with what is not sure of it.
fn limits(power: Option<&Power>, n: &str, wanted: f64) -> String {
    let percent = |ratio: f64| {
        let digits = usize::from(ratio < 0.1);
        let text = format!("{:.digits$}", ratio * 100.0);
        format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
    };
    let Some(power) = power else {
        return format!("{n}: no variance; repeat at least 5 times on each side");
    };
    let needed = power.repetitions.map_or_else(
        || {
            format!(
                "more than 1000 repetitions would be needed for {}",
                percent(wanted)
            )
        },
        |needed| format!("{needed} repetitions would show {}", percent(wanted)),
    );
    let guess = match power.scatter {
        ScatterFrom::BothSides => "",
        ScatterFrom::OneSide => " (if both sides scatter alike)",
        ScatterFrom::WithinTrials => " (if trials scatter like the intervals within them)",
    };
    format!(
        "{n} cannot show less than {}; {needed}{guess}",
        percent(power.detectable_ratio)
    )
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
fn single(both: &Both, on: On, margin: f64) -> Option<Untested> {
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
            let interval = wide.map(|(first, second)| {
                Interval::new(second.low - first.high, second.high - first.low)
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
        on,
        margin,
        whole: whole(both),
        scatter: Scatter::guessed(both, on),
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
    (first.low > 0.0).then(|| Interval::new(second.low / first.high, second.high / first.low))
}

/// No metric is below zero.
fn bounded(estimate: Estimate) -> Estimate {
    Estimate {
        interval: estimate
            .interval
            .map(|interval| Interval::new(interval.low.max(0.0), interval.high)),
        ..estimate
    }
}

fn values(seen: &[Observation]) -> Vec<f64> {
    seen.iter().map(|one| one.value).collect()
}

fn average(seen: &[Observation]) -> f64 {
    values(seen).iter().sum::<f64>() / float(seen.len() as u64)
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
