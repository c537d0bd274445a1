//! Timestamps of a sender's clock in datagrams and messages: 48 bits, circular.

use crate::MonoInstant;

const MASK_48: u64 = (1 << 48) - 1;

/// Nanoseconds modulo 2^48 (78 hours) on some host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp of `instant`.
    pub const fn from_instant(instant: MonoInstant) -> Self {
        Self::from_bits(instant.as_nanos())
    }

    /// The stamp of a header's seconds and microseconds. The microseconds are signed: zperf rounds its uptime up to
    /// milliseconds before it takes the seconds from it, so the end of a second is written as the next second minus
    /// some.
    pub const fn from_timeval(seconds: u32, micros: u32) -> Self {
        let within = micros.cast_signed() as i64 * 1000;
        Self::from_bits((seconds as u64 * 1_000_000_000).wrapping_add_signed(within))
    }

    /// The stamp with the lower 48 of these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & MASK_48)
    }

    /// The 48 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this stamp of the same clock, as the nearest signed distance.
    pub const fn since(self, earlier: Self) -> i64 {
        distance_48(self.0, earlier.0)
    }

    /// Nanoseconds from this stamp to `received` on another clock, modulo 2^48: the transit time
    /// plus the unknown offset between the clocks.
    pub const fn transit_to(self, received: MonoInstant) -> u64 {
        received.as_nanos().wrapping_sub(self.0) & MASK_48
    }
}

/// `value - base` of two 48-bit circular numbers, as the nearest signed distance.
pub const fn distance_48(value: u64, base: u64) -> i64 {
    distance::<48>(value, base)
}

/// `value - base` of two circular numbers of `BITS` bits, as the nearest signed distance.
pub const fn distance<const BITS: u32>(value: u64, base: u64) -> i64 {
    let shifted = value.wrapping_sub(base) << (64 - BITS);
    shifted.cast_signed() >> (64 - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_cross_the_wrap() {
        assert_eq!(distance_48(3, MASK_48), 4);
        assert_eq!(distance_48(MASK_48, 3), -4);
        assert_eq!(distance_48(9, 4), 5);
    }

    #[test]
    fn a_time_before_a_full_second_may_be_written_as_the_next_one_less_some() {
        let before = |micros: i32| Stamp::from_timeval(7, micros.cast_unsigned());
        let exact = |nanos| Stamp::from_instant(MonoInstant::from_nanos(nanos));
        assert_eq!(before(-400), exact(6_999_600_000));
        assert_eq!(before(999_999), exact(7_999_999_000));
        // Also around the start of the clock.
        let earlier = Stamp::from_timeval(0, (-600_i32).cast_unsigned());
        assert_eq!(Stamp::from_timeval(0, 400).since(earlier), 1_000_000);
    }

    #[test]
    fn transit_crosses_the_wrap_of_the_stamp() {
        let sent = Stamp::from_instant(MonoInstant::from_nanos(MASK_48));
        assert_eq!(sent.transit_to(MonoInstant::from_nanos(9)), 10);
    }
}
