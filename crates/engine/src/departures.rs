//! Duration of a sender that does not report it, from the timestamps of received datagrams.

use linerate_peers::Stamp;
use std::time::Duration;

/// First and last of the received datagrams by sequence number, with their send times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Departures(Option<[(u64, Stamp); 2]>);

impl Departures {
    /// Records a datagram.
    #[inline]
    pub(crate) fn record(&mut self, sequence: u64, sent: Stamp) {
        let it = (sequence, sent);
        let [first, last] = self.0.get_or_insert([it; 2]);
        if sequence > last.0 {
            *last = it;
        } else if sequence < first.0 {
            *first = it;
        }
    }

    /// Time for `datagrams` at the average spacing between the first and the last received. `None` if fewer than two
    /// arrived, or their timestamps do not increase.
    pub(crate) fn time_of(self, datagrams: u64) -> Option<Duration> {
        let [first, last] = self.0?;
        let steps = last.0 - first.0;
        let nanos = u64::try_from(last.1.since(first.1)).ok()?;
        let all = u128::from(nanos) * u128::from(datagrams);
        let whole = u64::try_from(all.checked_div(u128::from(steps))?).ok()?;
        Some(Duration::from_nanos(whole)).filter(|time| !time.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stamps: &[(u64, u64)]) -> Departures {
        let mut departures = Departures::default();
        for (sequence, micros) in stamps {
            departures.record(*sequence, Stamp::from_bits(micros * 1000));
        }
        departures
    }

    #[test]
    fn what_did_not_come_took_as_long_as_what_did() {
        // One each millisecond; the first two and the last three of 100 are lost, and the order is another.
        let came: Vec<_> = (2..97)
            .rev()
            .map(|number| (number, number * 1000))
            .collect();
        assert_eq!(of(&came).time_of(100), Some(Duration::from_millis(100)));
    }

    #[test]
    fn stamps_that_tell_no_time_give_none() {
        assert_eq!(of(&[]).time_of(9), None);
        assert_eq!(of(&[(3, 5)]).time_of(9), None);
        assert_eq!(of(&[(3, 5), (3, 7)]).time_of(9), None);
        assert_eq!(of(&[(0, 5), (4, 5)]).time_of(9), None);
        // The peer's clock was set back.
        assert_eq!(of(&[(0, 5000), (4, 1000)]).time_of(9), None);
        // No time that can be written.
        let far = of(&[(0, 0), (1, (1 << 46) / 1000)]);
        assert_eq!(far.time_of(u64::MAX), None);
    }
}
