//! Ways to wait, side by side.

use super::point::Point;
use crate::statistics::{USUAL_CONFIDENCE, paired_ratio};
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
        let said = Difference::between(self.reference, fastest).said(self.reference, fastest);
        format!(
            "{said}: a median {} of {} against {}{}.",
            fastest.what(),
            fastest.quantiles(),
            self.reference.quantiles(),
            self.cost(fastest)
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

    /// The same comparison for every other size.
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
        let name = |point: &Point<'_>| point.mode().unwrap_or_else(|| point.name());
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
