//! What a frame costs a device, and what each of its bytes: the line through the times of frames of several sizes.

use crate::causes::device::CAUSE;
use linerate_model::Interval;
use linerate_model::run::{CostRange, Forwarding, FrameCost, Run};

/// Time that a device needs for a frame of this size.
struct FrameTime {
    /// From destination address to FCS.
    bytes: f64,
    /// One over each bound of the throughput, nanoseconds.
    time: Interval,
}

impl FrameTime {
    fn new(found: &Forwarding) -> Option<Self> {
        let goal = found.strictest()?;
        let time = |rate: f64| (rate > 0.0).then(|| 1e9 / rate);
        let high = time(goal.lower_bound?.pps())?;
        let low = time(goal.upper_bound?.pps())?;
        Some(Self {
            bytes: found.mean_bytes(),
            time: Interval { low, high },
        })
    }
}

/// The cost of a frame and of a byte, by the frame sizes of the first direction at which the device itself limits.
///
/// Least squares of time against size. An interval holds what the estimate may be while each throughput is between its
/// bounds; that cost rises in a straight line is assumed. `None` below two sizes.
pub fn frame_cost(rows: &[Forwarding], parts: &[Run]) -> Option<FrameCost> {
    let first = rows.first()?.direction;
    let limited = rows.iter().zip(parts).filter(|(row, part)| {
        let is_device = part
            .verdict
            .as_ref()
            .is_some_and(|verdict| CAUSE.is_in(verdict));
        row.direction == first && is_device
    });
    let points: Vec<_> = limited.filter_map(|(row, _)| FrameTime::new(row)).collect();
    let n = f64::from(u32::try_from(points.len()).ok()?);
    let mean = points.iter().map(|point| point.bytes).sum::<f64>() / n;
    let spread: f64 = points
        .iter()
        .map(|point| (point.bytes - mean).powi(2))
        .sum();
    if points.len() < 2 || spread == 0.0 {
        return None;
    }
    let slope = |point: &FrameTime| (point.bytes - mean) / spread;
    Some(FrameCost {
        frame_ns: weighted(&points, |point| 1.0 / n - mean * slope(point)),
        byte_ns: weighted(&points, slope),
        frame_sizes: u32::try_from(points.len()).ok()?,
    })
}

/// The sum of the times with these weights; no cost is below zero.
fn weighted(points: &[FrameTime], weight: impl Fn(&FrameTime) -> f64) -> CostRange {
    let sum = |time: fn(&FrameTime, bool) -> f64, upwards: bool| {
        let terms = points.iter().map(|point| {
            let weight = weight(point);
            weight * time(point, (weight > 0.0) == upwards)
        });
        terms.sum::<f64>().max(0.0)
    };
    let end = |point: &FrameTime, is_high: bool| {
        if is_high {
            point.time.high
        } else {
            point.time.low
        }
    };
    CostRange {
        point: sum(
            |point, _| f64::midpoint(point.time.low, point.time.high),
            true,
        ),
        interval: Interval::new(sum(end, false), sum(end, true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{Confidence, ForwardingGoal, Limit, RunKind, Tool, Verdict};
    use linerate_model::spec::Direction;
    use linerate_model::{ByteCount, PacketRate, Ratio};

    fn row(bytes: u64, time_ns: f64, width: f64) -> Forwarding {
        let rate = |time: f64| Some(PacketRate::from_pps(1e9 / time));
        Forwarding {
            goals: vec![ForwardingGoal {
                loss_goal: Ratio::ZERO,
                lower_bound: rate(time_ns * (1.0 + width)),
                upper_bound: rate(time_ns * (1.0 - width)),
                conditional_throughput: None,
                reached: true,
            }],
            ..Forwarding::new(ByteCount::new(bytes), Direction::Forward)
        }
    }

    fn part(limit: Limit) -> Run {
        let mut part = Run::new("a", RunKind::Saturate, Tool::unversioned("linerate"));
        part.verdict = Some(Verdict {
            limit,
            side: None,
            share_ratio: None,
            confidence: Confidence::Weak,
            claim: String::new(),
            evidence: Vec::new(),
            experiment: None,
            weighed: None,
            directions: Vec::new(),
        });
        part
    }

    #[test]
    fn a_line_gives_its_two_costs_and_bounds_give_theirs() {
        let rows = [64_u32, 512, 1518]
            .map(|bytes| row(bytes.into(), 600.0 + 0.5 * f64::from(bytes), 0.01));
        let device = CAUSE.limit();
        let parts: Vec<_> = rows.iter().map(|_| part(device.clone())).collect();
        let cost = frame_cost(&rows, &parts).unwrap();
        assert!((cost.frame_ns.point - 600.0).abs() < 1e-6, "{cost:?}");
        assert!((cost.byte_ns.point - 0.5).abs() < 1e-9, "{cost:?}");
        assert!(cost.frame_ns.interval.low < 595.0 && cost.frame_ns.interval.high > 605.0);
        assert_eq!(cost.frame_sizes, 3);
    }

    #[test]
    fn what_else_limits_tells_no_cost() {
        let rows = [64, 1518].map(|bytes| row(bytes, 600.0, 0.0));
        let device = part(CAUSE.limit());
        let other = part(Limit::unknown());
        assert_eq!(frame_cost(&rows, &[device.clone(), other]), None);
        assert_eq!(frame_cost(&rows[..1], &[device]), None);
        assert_eq!(frame_cost(&[], &[]), None);
    }
}
