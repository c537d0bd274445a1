//! Ways to wait, side by side.

use super::point::Point;
use crate::statistics::{Moments, TestDesign, USUAL_CONFIDENCE, paired_ratio, to_f64};
use linerate_model::Estimate;
use linerate_model::run::Confidence;
use linerate_model::spec::WaitMode;

/// Points that differ in the wait mode alone.
pub(super) struct Comparison<'a> {
    /// What the others are compared with: blocking, what programs do unless told otherwise, else the slowest.
    reference: &'a Point<'a>,
    /// The others, fastest first.
    others: Vec<&'a Point<'a>>,
}

impl<'a> Comparison<'a> {
    /// The points that are like the first, but for the mode.
    pub(super) fn of_first_alike(points: &'a [Point<'a>]) -> Option<Self> {
        let first = points.iter().find(|point| !point.is_stamped)?;
        Self::like(first, points)
    }

    fn like(first: &Point<'_>, points: &'a [Point<'a>]) -> Option<Self> {
        let alike = points.iter().filter(|point| {
            point.is_alike_but_for_the_mode(first)
                && point.is_loaded() == first.is_loaded()
                && point.mode().is_some()
        });
        let mut alike: Vec<&Point<'_>> = alike.collect();
        alike.sort_by(|a, b| a.p50.total_cmp(&b.p50));
        let blocking = alike.iter().position(|p| p.waits(WaitMode::Block));
        let index = blocking.unwrap_or(alike.len().checked_sub(1)?);
        let reference = alike.remove(index);
        (!alike.is_empty()).then_some(Self {
            reference,
            others: alike,
        })
    }

    /// The fastest against the reference, with what both cost.
    pub(super) fn claim(&self) -> String {
        let Some(fastest) = self.others.first() else {
            return String::new();
        };
        let difference = Difference::between(self.reference, fastest);
        if let Difference::NotShown(ratio) = &difference {
            return self.ranking(fastest, ratio);
        }
        let said = difference.said(self.reference, fastest);
        format!(
            "{said}: a median {} of {} against {}{}.",
            fastest.what(),
            fastest.quantiles(),
            self.reference.quantiles(),
            self.cost(fastest)
        )
    }

    /// Every mode with its figures, fastest first, and why the fastest is not told from the reference.
    fn ranking(&self, fastest: &Point<'_>, ratio: &Estimate) -> String {
        let mut all: Vec<&Point<'_>> = self.others.clone();
        all.push(self.reference);
        all.sort_by(|a, b| a.p50.total_cmp(&b.p50));
        let each = all.iter().map(|point| {
            let cores = point.cores();
            let cores = cores.map_or_else(String::new, |cores| format!(" for {cores:.2} cores"));
            format!("{} {}{cores}", name(point), point.quantiles())
        });
        let each: Vec<_> = each.collect();
        format!(
            "Median {}: {}. {}.",
            fastest.what(),
            each.join(", "),
            self.undecided(fastest, ratio)
        )
    }

    /// That no difference is shown, what scatters, and how many turns would tell.
    fn undecided(&self, fastest: &Point<'_>, ratio: &Estimate) -> String {
        let (own, other) = (name(fastest), name(self.reference));
        let shown = format!(
            "No difference between {own} and {other} is shown: {own} is {} times as fast",
            interval(ratio)
        );
        if ratio
            .interval
            .is_some_and(|all| all.low > ALIKE.recip() && all.high < ALIKE)
        {
            return shown;
        }
        let log = |of: &Point<'_>| of.turns().into_iter().map(f64::ln).collect::<Vec<f64>>();
        let (a, b) = (log(fastest), log(self.reference));
        let pairs: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let (Some((mean, deviation)), Some((_, by_own)), Some((_, by_other))) =
            (moments(&pairs), moments(&a), moments(&b))
        else {
            return shown;
        };
        let (whose, scatter) = if by_own > by_other {
            (&own, by_own)
        } else {
            (&other, by_other)
        };
        let needed = match turns_for(mean.abs(), deviation) {
            Some(turns) => format!("about {turns} turns of each would tell (`--rounds {turns}`)"),
            None => "more than a thousand turns would be needed to tell".to_owned(),
        };
        format!(
            "{shown} over {} turns, since {whose}'s medians scatter by {:.0} % from turn to turn; {needed}",
            pairs.len(),
            scatter.exp_m1() * 100.0
        )
    }

    /// `, for 1.63 cores of both ends against 0.59`.
    fn cost(&self, point: &Point<'_>) -> String {
        let cores = point.cores().zip(self.reference.cores());
        cores.map_or_else(String::new, |(own, other)| {
            format!(", for {own:.2} cores of both ends together against {other:.2}")
        })
    }

    /// A sentence for each of those that the claim leaves out.
    pub(super) fn others(&self) -> impl Iterator<Item = String> {
        self.others.iter().skip(1).map(|point| {
            let said = Difference::between(self.reference, point).said(self.reference, point);
            format!("{said}: {}{}.", point.quantiles(), self.cost(point))
        })
    }

    /// Which mode is how much faster, for every other size.
    pub(super) fn of_other_sizes(&self, points: &'a [Point<'a>]) -> Vec<String> {
        let mut said = Vec::new();
        let mut seen = vec![self.reference.trial.payload_bytes];
        for point in points.iter().filter(|p| !p.is_stamped && !p.is_loaded()) {
            let size = point.trial.payload_bytes;
            if seen.contains(&size) {
                continue;
            }
            seen.push(size);
            let Some(other) = Self::like(point, points) else {
                continue;
            };
            let bytes = size.map_or(0, linerate_model::ByteCount::get);
            let claim = other.claim();
            said.push(format!("{bytes} B: {claim}"));
        }
        said
    }

    /// Repeats decide: a difference that they do not bear out is weak.
    pub(super) fn confidence(&self) -> Confidence {
        let fastest = self.others.first();
        match fastest.map(|point| Difference::between(self.reference, point)) {
            Some(Difference::Shown(_)) => Confidence::Supported,
            _ => Confidence::Weak,
        }
    }
}

/// How many times as fast one point is as the reference: the reference's median over its own.
enum Difference {
    /// Turns taken side by side show it.
    Shown(Estimate),
    /// They do not: 1 lies in the interval.
    NotShown(Estimate),
    /// Both were measured once.
    Once(f64),
}

impl Difference {
    fn between(reference: &Point<'_>, point: &Point<'_>) -> Self {
        // Turns of one round follow each other, so what drifts from round to round cancels.
        let pairs: Vec<(f64, f64)> = point.turns().into_iter().zip(reference.turns()).collect();
        let ratio = paired_ratio(&pairs, USUAL_CONFIDENCE).ok();
        match ratio.and_then(|ratio| Some((ratio, ratio.interval?))) {
            Some((ratio, interval)) if interval.contains(1.0) => Self::NotShown(ratio),
            Some((ratio, _)) => Self::Shown(ratio),
            None => Self::Once(reference.p50 / point.p50),
        }
    }

    /// `With spin it is 9.7 [9.1, 10.3] times as fast as with block`.
    fn said(&self, reference: &Point<'_>, point: &Point<'_>) -> String {
        let (own, other) = (name(point), name(reference));
        match self {
            Self::Shown(ratio) if ratio.point >= 1.0 => {
                format!(
                    "With {own} it is {} times as fast as with {other}",
                    interval(ratio)
                )
            }
            Self::Shown(ratio) => format!(
                "With {own} it takes {} times as long as with {other}",
                interval(&inverse(ratio))
            ),
            Self::NotShown(ratio) => format!(
                "No difference between {own} and {other} is shown ({} times as fast)",
                interval(ratio)
            ),
            Self::Once(ratio) if *ratio >= 1.0 => {
                format!(
                    "With {own} it was {} times as fast as with {other} (n = 1)",
                    number(*ratio)
                )
            }
            Self::Once(ratio) => format!(
                "With {own} it took {} times as long as with {other} (n = 1)",
                number(ratio.recip())
            ),
        }
    }
}

/// Ratios below this, and above its inverse, are no difference that matters.
const ALIKE: f64 = 1.1;

/// Most turns that are asked for.
const MAX_TURNS: u32 = 1000;

/// What a point's mode is called.
fn name(point: &Point<'_>) -> String {
    point.mode().unwrap_or_else(|| point.name())
}

/// Mean and standard deviation.
fn moments(samples: &[f64]) -> Option<(f64, f64)> {
    let moments = Moments::from_samples(samples)?;
    Some((moments.mean, moments.variance?.sqrt()))
}

/// How many pairs of turns show a mean of `difference` whose single values scatter by `deviation`.
fn turns_for(difference: f64, deviation: f64) -> Option<u32> {
    let design = TestDesign {
        margin: 0.0,
        alpha: 0.05,
        tests: 1,
    };
    (2..=MAX_TURNS).find(|turns| {
        let n = to_f64(u64::from(*turns));
        design.detectable(deviation / n.sqrt(), n - 1.0) <= difference
    })
}

fn inverse(ratio: &Estimate) -> Estimate {
    let turned = |interval: linerate_model::Interval| linerate_model::Interval {
        low: interval.high.recip(),
        high: interval.low.recip(),
    };
    Estimate {
        point: ratio.point.recip(),
        interval: ratio.interval.map(turned),
        ..*ratio
    }
}

/// `9.7 [9.1, 10.3]`, with n.
fn interval(ratio: &Estimate) -> String {
    let point = number(ratio.point);
    ratio.interval.map_or_else(
        || point.clone(),
        |interval| {
            let (low, high) = (number(interval.low), number(interval.high));
            format!("{point} [{low}, {high}]")
        },
    )
}

/// Three digits at most.
fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_scatter_takes_more_turns_and_no_difference_takes_none() {
        let turns = |deviation| turns_for(0.5, deviation).unwrap();
        assert!(turns(0.1) < turns(0.5) && turns(0.5) < turns(2.0));
        assert!((8..=12).contains(&turns(0.5)), "{}", turns(0.5));
        assert_eq!(turns_for(0.0, 0.5), None);
    }
}
