//! Meters: two rates, three colours (RFC 2698), with time as an argument.

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
}

/// A cell of a meter array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    /// Tokens in billionths of a unit.
    committed: u128,
    peak: u128,
    /// Nanoseconds.
    filled: u64,
}

/// A token in the units of the buckets: rates are per second, time is in nanoseconds.
const TOKEN: u128 = 1_000_000_000;

impl Meter {
    /// A meter whose buckets are full.
    pub(crate) fn new(config: Option<MeterConfig>, now: u64) -> Self {
        let full = |bucket: Bucket| u128::from(bucket.burst) * TOKEN;
        Self {
            config,
            committed: config.map_or(0, |config| full(config.committed)),
            peak: config.map_or(0, |config| full(config.peak)),
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
        let fill = |tokens: u128, bucket: Bucket| {
            let more = passed.saturating_mul(bucket.rate.into());
            tokens
                .saturating_add(more)
                .min(u128::from(bucket.burst) * TOKEN)
        };
        self.committed = fill(self.committed, config.committed);
        self.peak = fill(self.peak, config.peak);
        let needed = u128::from(units) * TOKEN;
        if self.peak < needed {
            return Colour::Red;
        }
        self.peak -= needed;
        if self.committed < needed {
            return Colour::Yellow;
        }
        self.committed -= needed;
        Colour::Green
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

    #[test]
    fn time_that_steps_back_adds_nothing() {
        let bucket = Bucket { rate: 1, burst: 1 };
        let mut meter = Meter::new(
            Some(MeterConfig {
                committed: bucket,
                peak: bucket,
            }),
            5 * 1_000_000_000,
        );
        assert_eq!(meter.colour(1, 0), Colour::Green);
        assert_eq!(meter.colour(1, 1), Colour::Red);
    }
}
