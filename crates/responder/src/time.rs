//! Time on the device's own monotonic clock.

use core::fmt;

/// Nanoseconds on the device's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Instant(u64);

impl Instant {
    /// From nanoseconds since the clock's own zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's own zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) const fn after(self, time: Nanos) -> Self {
        Self(self.0.saturating_add(time.0))
    }

    pub(crate) const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Nanos(pub(crate) u64);

impl Nanos {
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    pub(crate) const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }
}

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl fmt::Display for Nanos {
    /// Seconds, as the protocol's `_s` keys have them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secs, nanos) = (self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND);
        write!(f, "{secs}.{nanos:09}")
    }
}
