//! How long packets are in each stage, by the instants that programs see as their time stamps.

use linerate_model::Histogram;
use linerate_model::dut::DutStage;

/// Where a switch's time comes from: nanoseconds since any instant. A `u64` is a time that stands still.
pub trait Time {
    /// When a piece of work begins: in a row without a pause, when the one before it ended.
    fn begin(&mut self) -> u64;
    /// When a stage of the work has ended.
    fn end(&mut self) -> u64;
}

impl Time for u64 {
    fn begin(&mut self) -> u64 {
        *self
    }

    fn end(&mut self) -> u64 {
        *self
    }
}

impl<T: Time> Time for &mut T {
    fn begin(&mut self) -> u64 {
        (**self).begin()
    }

    fn end(&mut self) -> u64 {
        (**self).end()
    }
}

const STAGES: usize = DutStage::ALL.len();

/// How long one packet, with what it is a copy of, was in each stage. Together that is all its time in the switch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StageTimes {
    since: u64,
    spent: [u64; STAGES],
}

impl StageTimes {
    /// Of a packet that comes in now.
    pub(super) const fn from_now(now: u64) -> Self {
        Self {
            since: now,
            spent: [0; STAGES],
        }
    }

    /// The packet was in this stage until now.
    pub(super) fn leave(&mut self, stage: DutStage, now: u64) {
        self.spent[stage as usize] += now.saturating_sub(self.since);
        self.since = now;
    }
}

/// Buckets of one power of two: a time is off by at most 0.4 %.
const PER_POWER: usize = 1 << BITS;
const BITS: u32 = 7;
/// Longer times count as 2^40 ns, 18 minutes.
const MAX_BITS: u32 = 40;
const BUCKETS: usize = PER_POWER * (MAX_BITS - BITS + 1) as usize;

/// Times of all packets that were sent. It is laid out once, where a [`Histogram`] takes memory as times grow.
#[derive(Debug)]
pub(super) struct StageCounts(Box<[u64]>);

impl StageCounts {
    pub(super) fn new() -> Self {
        Self(vec![0; STAGES * BUCKETS].into())
    }

    pub(super) fn count(&mut self, times: &StageTimes) {
        for (stage, nanos) in times.spent.into_iter().enumerate() {
            self.0[stage * BUCKETS + bucket(nanos)] += 1;
        }
    }

    pub(super) fn histograms(&self) -> impl Iterator<Item = (DutStage, Histogram)> {
        DutStage::ALL
            .into_iter()
            .zip(self.0.chunks(BUCKETS))
            .map(|(stage, counts)| {
                let mut times = Histogram::new();
                for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    times.record_n(middle(at), *count);
                }
                (stage, times)
            })
    }
}

/// Below 256 ns each has its own; from there on 128 share a power of two.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.min((1 << MAX_BITS) - 1);
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS + 1);
    let within = usize::try_from(nanos >> shift).unwrap_or(usize::MAX);
    shift as usize * PER_POWER + within
}

/// The middle time of a bucket.
fn middle(bucket: usize) -> u64 {
    let shift = (bucket / PER_POWER).saturating_sub(1);
    let lowest = ((bucket - shift * PER_POWER) as u64) << shift;
    lowest + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_off_by_at_most_half_a_percent() {
        let mut last = 0;
        for power in 0..MAX_BITS {
            for nanos in [
                1 << power,
                (1 << power) + (1 << power) / 3,
                (2 << power) - 1,
            ] {
                let at = bucket(nanos);
                assert!(at >= last && at < BUCKETS, "{nanos} ns at {at}");
                last = at;
                let told = middle(at);
                assert!(told.abs_diff(nanos) * 200 <= nanos, "{told} of {nanos}");
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket(0), 0);
        assert!((0..BUCKETS).all(|at| bucket(middle(at)) == at));
    }

    #[test]
    fn stages_add_up_to_the_whole_time() {
        let mut times = StageTimes::from_now(1000);
        for (stage, now) in [
            (DutStage::Ingress, 1300),
            (DutStage::Queue, 1340),
            (DutStage::Egress, 1500),
            (DutStage::Queue, 1600),
            // A clock that goes back takes no time.
            (DutStage::Egress, 1550),
        ] {
            times.leave(stage, now);
        }
        assert_eq!(times.spent, [300, 140, 160]);
        let mut counts = StageCounts::new();
        counts.count(&times);
        let told = counts.histograms();
        let told: Vec<_> = told.map(|(_, times)| times.mean_nanos()).collect();
        assert_eq!(told, [301.0, 140.0, 160.0]);
    }
}
