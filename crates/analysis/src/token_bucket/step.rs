//! One change from a steady rate to a lower steady one, in a series of rates.

use std::time::Duration;

/// The rate of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) start: Duration,
    pub(super) end: Duration,
    /// bit/s.
    pub(super) rate: f64,
}

impl Point {
    fn seconds(&self) -> f64 {
        self.end.saturating_sub(self.start).as_secs_f64()
    }
}

/// The change. Rates are in bit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// When the first rate was reached, and left.
    pub(super) first_before: Duration,
    pub(super) last_before: Duration,
    /// When the second rate was reached.
    pub(super) first_after: Duration,
    /// When it changed, by what was carried in the interval between.
    pub(super) at: Duration,
    pub(super) before: f64,
    pub(super) after: f64,
    /// Bits that came above the second rate before.
    pub(super) above: f64,
    /// Part of all bits that came after it.
    pub(super) share_after: f64,
}

/// Fewest intervals at each rate: two could be a ramp.
const LEAST_POINTS: usize = 3;
/// Shortest time at the second rate: a sender that ends looks so for a moment.
const LEAST_AFTER: f64 = 1.0;
/// A smaller fall is within what paths and hosts do anyway.
const LEAST_FALL: f64 = 1.25;
/// Part of the fall by which the halves of a steady time may differ.
const STEADY: f64 = 0.25;

impl Step {
    /// The change in `points`, which are in order; `None` if they have none, or more.
    pub(super) fn find(points: &[Point]) -> Option<Self> {
        let points = &joined(points)[..];
        let split = split(points)?;
        let (before, after) = points.split_at(split);
        let middle = f64::midpoint(mean_rate(before)?, mean_rate(after)?);
        // TCP rises first.
        let rise = before
            .iter()
            .take_while(|point| point.rate < middle)
            .count();
        let before = before.get(rise..)?;
        let (before, between, after) = without_change(before, after)?;
        if before.len() < LEAST_POINTS || after.len() < LEAST_POINTS {
            return None;
        }
        let (full, rate) = (mean_rate(before)?, mean_rate(after)?);
        let difference = full - rate;
        let lasts: f64 = after.iter().map(Point::seconds).sum();
        let middle = rate + difference / 2.0;
        let is_clear = rate > 0.0
            && full >= rate * LEAST_FALL
            && lasts >= LEAST_AFTER
            && before.iter().all(|point| point.rate > middle)
            && after.iter().all(|point| point.rate < middle);
        let is_steady = drift(before) <= difference * STEADY
            && drift(after) <= (difference * STEADY).min(rate / 2.0);
        if !is_clear || !is_steady || !is_sharp(before, after, difference) {
            return None;
        }
        let last_before = before.last()?.end;
        let until = points
            .iter()
            .take_while(|point| point.start < after[0].start);
        let above = until.map(|point| (point.rate - rate).max(0.0) * point.seconds());
        let bits =
            |part: &[Point]| -> f64 { part.iter().map(|point| point.rate * point.seconds()).sum() };
        let part = between.map_or(0.0, |point| {
            ((point.rate - rate) / difference).clamp(0.0, 1.0) * point.seconds()
        });
        Some(Self {
            first_before: before.first()?.start,
            last_before,
            first_after: after.first()?.start,
            at: last_before + Duration::from_secs_f64(part),
            before: full,
            after: rate,
            above: above.sum(),
            share_after: bits(after) / bits(points).max(f64::MIN_POSITIVE),
        })
    }
}

/// Shortest time of a point: TCP waits for a retransmission for some tenths of a second.
const SHORTEST_POINT: f64 = 0.5;
/// Most points: what a rate does within a fortieth of a test does not matter.
const MAX_POINTS: f64 = 40.0;

/// The points, as few that each lasts long enough. Those between which something is missing stay apart.
fn joined(points: &[Point]) -> Vec<Point> {
    let whole: f64 = points.iter().map(Point::seconds).sum();
    // Readings of a clock are a little early or late.
    let shortest = (whole / MAX_POINTS).max(SHORTEST_POINT) * 0.95;
    let mut joined: Vec<Point> = Vec::new();
    for point in points {
        match joined.last_mut() {
            Some(last) if follows(last, point) && last.seconds() < shortest => {
                let bits = last.rate * last.seconds() + point.rate * point.seconds();
                last.end = point.end;
                last.rate = bits / last.seconds().max(f64::MIN_POSITIVE);
            }
            _ => joined.push(*point),
        }
    }
    joined
}

/// Whether nothing is missing between two points; ends of intervals are readings of a clock, a little late.
fn follows(last: &Point, point: &Point) -> bool {
    let between = point.start.saturating_sub(last.end);
    between.as_secs_f64() <= point.seconds() / 10.0
}

/// Where to cut the series so that each part differs least from its mean.
fn split(points: &[Point]) -> Option<usize> {
    if points.len() < 2 * LEAST_POINTS {
        return None;
    }
    // The sum of squares about a part's mean is that about zero, less the squared sum over the count: the best cut has the
    // largest of these.
    let total: f64 = points.iter().map(|point| point.rate).sum();
    let (mut sum, mut left) = (0.0, 0.0);
    let mut right = points.iter().map(|_| 1.0).sum::<f64>();
    let mut best = None;
    for (at, point) in points.iter().enumerate().take(points.len() - LEAST_POINTS) {
        sum += point.rate;
        (left, right) = (left + 1.0, right - 1.0);
        let explained = sum * sum / left + (total - sum) * (total - sum) / right;
        let is_better = best.is_none_or(|(most, _)| explained > most);
        if at + 1 >= LEAST_POINTS && is_better {
            best = Some((explained, at + 1));
        }
    }
    best.map(|(_, at)| at)
}

/// Takes the interval in which the rate changed out of the part that it ends or begins.
fn without_change<'a>(
    before: &'a [Point],
    after: &'a [Point],
) -> Option<(&'a [Point], Option<&'a Point>, &'a [Point])> {
    let (last, most) = before.split_last()?;
    let (first, rest) = after.split_first()?;
    let (Some(full), Some(rate)) = (mean_rate(most), mean_rate(rest)) else {
        return Some((before, None, after));
    };
    let off = [(last.rate - full).abs(), (first.rate - rate).abs()];
    let noticed = (full - rate).abs().min(rate) / 10.0;
    Some(if off[0] >= off[1] && off[0] > noticed {
        (most, Some(last), after)
    } else if off[1] > noticed {
        (before, Some(first), rest)
    } else {
        (before, None, after)
    })
}

/// Whether the rates beside the change are those of the whole parts: what falls slowly is no bucket.
fn is_sharp(before: &[Point], after: &[Point], difference: f64) -> bool {
    let ends = before.last().zip(mean_rate(before));
    let begins = after.first().zip(mean_rate(after));
    let is_near = |(point, rate): (&Point, f64)| (point.rate - rate).abs() <= difference / 3.0;
    ends.is_some_and(is_near) && begins.is_some_and(is_near)
}

/// By how much the halves of a part differ, bit/s.
fn drift(part: &[Point]) -> f64 {
    let (first, second) = part.split_at(part.len() / 2);
    let means = mean_rate(first).zip(mean_rate(second));
    means.map_or(0.0, |(first, second)| (first - second).abs())
}

fn mean_rate(part: &[Point]) -> Option<f64> {
    let rates: Vec<f64> = part.iter().map(|point| point.rate).collect();
    mean(&rates)
}

/// The mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    crate::readings::mean(values.iter().copied())
}
