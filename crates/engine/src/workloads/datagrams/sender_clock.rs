//! Whether a sender's clock was set while its datagrams came.
//!
//! linerate's own stamps are of a monotonic clock. Other tools stamp their datagrams with the time of day, which is set
//! by hours where a host learns the time, or its user corrects it: then no two of them from before and after can be
//! compared.

use linerate_peers::distance_48;

/// Change of the transit time from one datagram to the next, in ns, that no path makes: the longest queues, of mobile
/// networks, hold some ten seconds.
const MAX_CHANGE_NS: u64 = 60_000_000_000;

/// Looks at the transit times of datagrams in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct SenderClock {
    last: Option<u64>,
    is_set: bool,
}

impl SenderClock {
    /// Takes the transit time of the next datagram, in ns modulo 2^48.
    #[inline]
    pub(super) const fn record(&mut self, transit: u64) {
        if let Some(last) = self.last {
            self.is_set |= distance_48(transit, last).unsigned_abs() > MAX_CHANGE_NS;
        }
        self.last = Some(transit);
    }

    /// Whether the clock was set between two of them.
    pub(super) const fn is_set(&self) -> bool {
        self.is_set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    fn is_set(transits: &[u64]) -> bool {
        let mut clock = SenderClock::default();
        for transit in transits {
            clock.record(*transit);
        }
        clock.is_set()
    }

    #[test]
    fn hours_forwards_and_back_are_a_setting_and_queues_are_none() {
        assert!(is_set(&[3 * HOUR, 3 * HOUR + 7, 2 * HOUR]));
        assert!(is_set(&[HOUR, 2 * HOUR]));
        // Across the wrap of the stamps.
        assert!(is_set(&[5, (1 << 48) - HOUR]));
        assert!(!is_set(&[5, (1 << 48) - 5, 9_000_000_000]));
        assert!(!is_set(&[]));
        assert!(!is_set(&[HOUR]));
    }
}
