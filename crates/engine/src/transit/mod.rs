//! Send and receive times of one stream's messages, from which the clocks' offset and one-way delays are estimated
//! afterwards.
//!
//! Memory is bounded: the fastest message of each stretch of time, which bound the clocks' offset, and every n-th
//! message for the distribution. Only integers, nothing allocated after construction.

mod floor;
mod sample;

pub(crate) use sample::Sample;

use floor::Floor;
use linerate_model::MonoInstant;
use linerate_model::one_way::{Passage, Transits};
use linerate_peers::{Stamp, distance_48};

/// Times of one stream's messages, relative to the first.
pub(crate) struct Transit {
    first: Option<(Stamp, u64)>,
    least: i64,
    floor: Floor,
    sample: Sample,
}

impl Transit {
    /// For a stream without messages yet.
    pub(crate) fn new() -> Self {
        Self {
            first: None,
            least: 0,
            floor: Floor::default(),
            sample: Sample::new(),
        }
    }

    /// Records a message sent at `sent` on the peer's clock and received at `received` on this one. One that is not
    /// `counted` (warm-up) still bounds the clocks' offset.
    pub(crate) fn record(&mut self, sent: Stamp, received: MonoInstant, counted: bool) {
        let passage = self.passage(sent, sent.transit_to(received));
        self.least = self.least.min(passage.took_ns);
        self.floor.record(passage);
        if counted {
            self.sample.offer(passage);
        }
    }

    /// Records the first message: the others are relative to it.
    pub(crate) fn begin(&mut self, sent: Stamp, transit: u64) {
        self.first.get_or_insert((sent, transit));
    }

    /// Records the fastest message of a stretch of time.
    pub(crate) fn record_fastest(&mut self, sent: Stamp, transit: u64) {
        let passage = self.passage(sent, transit);
        self.least = self.least.min(passage.took_ns);
        self.floor.record(passage);
    }

    /// Offers the counted message with this number, from 0, to the sample.
    pub(crate) fn offer(&mut self, number: u64, sent: Stamp, transit: u64) {
        let passage = self.passage(sent, transit);
        self.sample.offer_numbered(number, passage);
    }

    /// A message relative to the first.
    fn passage(&mut self, sent: Stamp, transit: u64) -> Passage {
        let (first_sent, first) = *self.first.get_or_insert((sent, transit));
        Passage {
            key: sent.since(first_sent),
            took_ns: distance_48(transit, first),
        }
    }

    /// What was recorded; `None` if nothing arrived.
    pub(crate) fn finish(self) -> Option<Transits> {
        let (first_sent, first_ns) = self.first?;
        Some(Transits {
            first_sent_ns: first_sent.bits(),
            first_ns,
            least_ns: self.least,
            floor: self.floor.finish(),
            sample: self.sample.finish(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_against_the_first_message_across_the_wrap() {
        let mut transit = Transit::new();
        let near_wrap = (1_u64 << 48) - 100;
        for (sent, received) in [(near_wrap, 7_000), (near_wrap + 200, 7_150)] {
            let stamp = Stamp::from_instant(MonoInstant::from_nanos(sent));
            transit.record(stamp, MonoInstant::from_nanos(received), true);
        }
        let seen = transit.finish().unwrap();
        assert_eq!((seen.first_ns, seen.least_ns), (7_100, -50));
        let sample: Vec<_> = seen.sample.iter().map(|p| (p.key, p.took_ns)).collect();
        assert_eq!(sample, [(0, 0), (200, -50)]);
    }

    #[test]
    fn the_warm_up_bounds_the_clocks_but_is_in_no_sample() {
        let mut transit = Transit::new();
        let stamp = Stamp::from_instant(MonoInstant::from_nanos(5));
        transit.record(stamp, MonoInstant::from_nanos(9), false);
        let seen = transit.finish().unwrap();
        assert_eq!((seen.floor.len(), seen.sample.len()), (1, 0));
        assert!(Transit::new().finish().is_none());
    }
}
