//! Intended send times of requests. Pure: no clock.

use crate::plan::StreamPlan;
use linerate_model::random::Random;
use linerate_model::spec::Arrival;
use linerate_model::{BitRate, MonoInstant};
use linerate_wire::schedule::Schedule;
use std::time::Duration;

/// Endless ascending sequence of intended send times.
pub(super) struct Arrivals {
    start: MonoInstant,
    gaps: Gaps,
}

enum Gaps {
    /// Slot `next` of a schedule.
    Constant { slots: Schedule, next: u64 },
    /// A Poisson process: `offset` seconds after the start. In 64 bits a day is exact to 15 ps.
    Poisson {
        mean: f64,
        offset: f64,
        random: Random,
    },
}

impl Arrivals {
    /// Arrivals from `start` at the rate of `plan`; `None` if it has none.
    pub(super) fn new(start: MonoInstant, arrival: Arrival, plan: &StreamPlan) -> Option<Self> {
        let rate = plan.rate.filter(|rate| *rate > BitRate::from_bps(0))?;
        let gaps = match arrival {
            Arrival::Constant => Gaps::Constant {
                slots: Schedule::new(start, rate.bps(), plan.payload, Duration::ZERO, 1)?,
                next: 0,
            },
            Arrival::Poisson => {
                let bits = 8.0 * linerate_model::ByteCount::new(plan.payload as u64).as_f64();
                let mean = bits / rate.as_f64();
                let mut random = Random::new(plan.seed);
                Gaps::Poisson {
                    mean,
                    offset: random.exponential(mean),
                    random,
                }
            }
        };
        Some(Self { start, gaps })
    }

    /// When the next request is due.
    pub(super) fn next(&self) -> MonoInstant {
        match &self.gaps {
            Gaps::Constant { slots, next } => slots.deadline(*next),
            Gaps::Poisson { offset, .. } => {
                let offset = Duration::try_from_secs_f64(*offset).unwrap_or(Duration::MAX);
                self.start.after(offset)
            }
        }
    }

    /// Advances to the following request.
    pub(super) fn advance(&mut self) {
        match &mut self.gaps {
            Gaps::Constant { next, .. } => *next += 1,
            Gaps::Poisson {
                mean,
                offset,
                random,
            } => *offset += random.exponential(*mean),
        }
    }

    /// Skips the requests due before `end`, at most `most`; returns how many.
    pub(super) fn pass(&mut self, end: MonoInstant, most: u64) -> u64 {
        let mut passed = 0;
        while passed < most && self.next() < end {
            self.advance();
            passed += 1;
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EndpointPlan, Role};
    use linerate_model::PacketRate;
    use linerate_model::spec::{Side, TestSpec, Transport};
    use linerate_peers::native;
    use std::sync::Arc;

    const START: MonoInstant = MonoInstant::from_nanos(7_000_000_000);

    fn arrivals(arrival: Arrival, seed: u64) -> Arrivals {
        let rate = PacketRate::from_pps(1000.0);
        let spec = TestSpec {
            seed,
            ..TestSpec::request_response(Transport::Udp, rate)
        };
        let plan = EndpointPlan {
            side: Side::Sender,
            role: Role::Client,
            spec,
            format: Arc::new(native::Streams { token: 1 }),
        };
        Arrivals::new(START, arrival, &plan.stream(0)).unwrap()
    }

    fn offsets(mut arrivals: Arrivals, count: usize) -> Vec<Duration> {
        let each = std::iter::repeat_with(|| {
            let next = arrivals.next().saturating_since(START);
            arrivals.advance();
            next
        });
        each.take(count).collect()
    }

    #[test]
    fn constant_arrivals_are_a_schedule() {
        let all = offsets(arrivals(Arrival::Constant, 1), 10_001);
        assert_eq!(all[0], Duration::ZERO);
        assert_eq!(all[10_000], Duration::from_secs(10));
    }

    /// Of 10 000 gaps: the mean within 5 standard errors (1 %), and the share above the mean, e⁻¹, within
    /// 5 (0.48 %); the seed is fixed, so it passes always or never.
    #[test]
    fn poisson_gaps_are_exponential_and_the_seed_decides() {
        let all = offsets(arrivals(Arrival::Poisson, 1), 10_000);
        assert_eq!(all, offsets(arrivals(Arrival::Poisson, 1), 10_000));
        assert_ne!(all, offsets(arrivals(Arrival::Poisson, 2), 10_000));
        let mean = all[9_999].as_secs_f64() / 10_000.0;
        assert!((mean - 1e-3).abs() < 5e-5, "{mean}");
        let gaps = all.windows(2).map(|pair| pair[1].abs_diff(pair[0]));
        let long = gaps.filter(|gap| *gap > Duration::from_millis(1)).count();
        assert!((3438..=3920).contains(&long), "{long}");
    }

    #[test]
    fn what_is_passed_over_is_counted_up_to_a_bound() {
        let mut constant = arrivals(Arrival::Constant, 1);
        let end = START.after(Duration::from_millis(5));
        assert_eq!(constant.pass(end, 3), 3);
        assert_eq!(constant.pass(end, 100), 2);
        assert_eq!(constant.pass(end, 100), 0);
    }
}
