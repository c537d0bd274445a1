//! Meters: two rates (RFC 2698) or one (RFC 2697), three colours, with time as an argument.

/// The colour of a packet, as programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Within the committed rate.
    Green = 0,
    /// Above the committed, within the peak rate.
    Yellow = 1,
    /// Above the peak rate.
    Red = 2,
}

/// A token bucket's rate and size, in packets or bytes as the meter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Units per second.
    pub rate: u64,
    /// Units that may come at once.
    pub burst: u64,
}

/// What a meter allows. Without it every packet is green.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeterConfig {
    /// Above it a packet is yellow.
    pub committed: Bucket,
    /// Above it a packet is red.
    pub peak: Bucket,
    /// Of a meter with a single rate: units beyond the committed burst that are yellow, and what is above them is red, whatever
    /// the peak. 0 where the peak decides.
    pub excess: u64,
}

impl MeterConfig {
    /// The second bucket: its size.
    const fn second(&self) -> u64 {
        if self.excess > 0 {
            self.excess
        } else {
            self.peak.burst
        }
    }
}

/// A cell of a meter array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    /// Tokens in billionths of a unit.
    committed: u128,
    /// Of the peak, or of the excess.
    second: u128,
    /// Nanoseconds.
    filled: u64,
}

/// A token in the units of the buckets: rates are per second, time is in nanoseconds.
const TOKEN: u128 = 1_000_000_000;

impl Meter {
    /// A meter whose buckets are full.
    pub(crate) fn new(config: Option<MeterConfig>, now: u64) -> Self {
        let full = |burst: u64| u128::from(burst) * TOKEN;
        Self {
            config,
            committed: config.map_or(0, |config| full(config.committed.burst)),
            second: config.map_or(0, |config| full(config.second())),
            filled: now,
        }
    }

    pub(crate) fn config(&self) -> Option<MeterConfig> {
        self.config
    }

    /// The colour of a packet of this many units at this time.
    pub(crate) fn colour(&mut self, units: u64, now: u64) -> Colour {
        let Some(config) = self.config else {
            return Colour::Green;
        };
        let passed = u128::from(now.saturating_sub(self.filled));
        self.filled = self.filled.max(now);
        let full = |burst: u64| u128::from(burst) * TOKEN;
        let more = |bucket: Bucket| passed.saturating_mul(bucket.rate.into());
        let committed = self.committed.saturating_add(more(config.committed));
        self.committed = committed.min(full(config.committed.burst));
        let needed = u128::from(units) * TOKEN;
        if config.excess > 0 {
            // What the first bucket has no room for goes into the second.
            let second = self.second.saturating_add(committed - self.committed);
            self.second = second.min(full(config.excess));
            return self.take_single(needed);
        }
        let second = self.second.saturating_add(more(config.peak));
        self.second = second.min(full(config.peak.burst));
        if self.second < needed {
            return Colour::Red;
        }
        self.second -= needed;
        if self.committed < needed {
            return Colour::Yellow;
        }
        self.committed -= needed;
        Colour::Green
    }

    /// RFC 2697: a packet takes tokens of one bucket.
    fn take_single(&mut self, needed: u128) -> Colour {
        if self.committed >= needed {
            self.committed -= needed;
            return Colour::Green;
        }
        if self.second >= needed {
            self.second -= needed;
            return Colour::Yellow;
        }
        Colour::Red
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_rates() {
        let config = MeterConfig {
            committed: Bucket { rate: 10, burst: 2 },
            peak: Bucket { rate: 20, burst: 4 },
            excess: 0,
        };
        let mut meter = Meter::new(Some(config), 0);
        let first: Vec<_> = (0..6).map(|_| meter.colour(1, 0)).collect();
        assert_eq!(
            first,
            [
                Colour::Green,
                Colour::Green,
                Colour::Yellow,
                Colour::Yellow,
                Colour::Red,
                Colour::Red
            ]
        );
        // In a second at 100 packets/s a tenth is green and another tenth yellow.
        let colours: Vec<_> = (1..=100)
            .map(|at| meter.colour(1, at * 10_000_000))
            .collect();
        let count = |colour| colours.iter().filter(|found| **found == colour).count();
        assert_eq!((count(Colour::Green), count(Colour::Yellow)), (10, 10));
    }

    /// RFC 2697: after a rest both bursts are there; then one rate is green, for only what it leaves fills the second bucket.
    #[test]
    fn a_single_rate_has_an_excess_burst() {
        let rate = Bucket { rate: 10, burst: 2 };
        let config = MeterConfig {
            committed: rate,
            peak: rate,
            excess: 3,
        };
        let mut meter = Meter::new(Some(config), 0);
        let mut burst = |at| {
            let colours: Vec<_> = (0..6).map(|_| meter.colour(1, at)).collect();
            let count = |colour| colours.iter().filter(|found| **found == colour).count();
            [Colour::Green, Colour::Yellow, Colour::Red].map(count)
        };
        assert_eq!(burst(0), [2, 3, 1]);
        // 200 ms fill the first bucket, and nothing is left for the second.
        assert_eq!(burst(200_000_000), [2, 0, 4]);
        assert_eq!(burst(500_000_000), [2, 1, 3]);
        let hour = 3_600_000_000_000;
        assert_eq!(burst(hour), [2, 3, 1]);
    }

    #[test]
    fn time_that_steps_back_adds_nothing() {
        let bucket = Bucket { rate: 1, burst: 1 };
        let mut meter = Meter::new(
            Some(MeterConfig {
                committed: bucket,
                peak: bucket,
                excess: 0,
            }),
            5 * 1_000_000_000,
        );
        assert_eq!(meter.colour(1, 0), Colour::Green);
        assert_eq!(meter.colour(1, 1), Colour::Red);
    }
}
