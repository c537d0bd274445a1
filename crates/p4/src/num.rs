//! Numbers that expressions compute with: 128 bits where all operands fit in 64, else 2112.
//!
//! Both are two's complement and wrap. The compiler masks what a P4 type would wrap, so that wrapping at a width above
//! every field's is exact.

use std::cmp::Ordering;

/// The widest field that expressions may read or write, in bits.
pub(crate) const MAX_WIDTH: u32 = 2048;
/// One limb above the widest field, for signs and carries.
const LIMBS: usize = MAX_WIDTH as usize / 64 + 1;

/// 64-bit words that hold this many bits.
pub(crate) const fn limbs(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

/// Clears the bits above `width` in the last word.
pub(crate) fn mask_top(words: &mut [u64], width: u32) {
    if let (Some(top), rest @ 1..) = (words.last_mut(), width % 64) {
        *top &= (1 << rest) - 1;
    }
}

/// Words with `width` ones.
pub(crate) fn ones(width: u32) -> Vec<u64> {
    let mut words = vec![u64::MAX; limbs(width)];
    mask_top(&mut words, width);
    words
}

/// An integer of fixed width that wraps.
pub(crate) trait Num: Copy {
    /// The value of these words, least significant first, of which `width` bits count.
    fn load(words: &[u64], width: u32, signed: bool) -> Self;
    /// Writes the low `width` bits.
    fn store(self, words: &mut [u64], width: u32);
    fn small(value: i64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Quotient and remainder; a division by zero gives zero for both, as nothing in P4 may trap.
    fn divide(self, other: Self) -> (Self, Self);
    fn shl(self, bits: u32) -> Self;
    /// Keeps the sign.
    fn shr(self, bits: u32) -> Self;
    fn bits(self, other: Self, each: fn(u64, u64) -> u64) -> Self;
    fn compare(self, other: Self) -> Ordering;
    /// As an index: what exceeds 64 bits, or is negative, is `u64::MAX`.
    fn index(self) -> u64;

    fn is_zero(self) -> bool {
        self.compare(Self::small(0)) == Ordering::Equal
    }

    fn invert(self) -> Self {
        self.bits(Self::small(-1), |a, b| a ^ b)
    }

    /// The value whose low `width` bits these are, in two's complement.
    fn wrap_signed(self, width: u32) -> Self {
        let mut words = [0; LIMBS];
        let words = &mut words[..limbs(width)];
        self.store(words, width);
        Self::load(words, width, true)
    }

    /// The nearest value that `width` bits can hold.
    fn saturate(self, width: u32, signed: bool) -> Self {
        let one = Self::small(1);
        let (least, most) = if signed {
            let half = one.shl(width.max(1) - 1);
            (Self::small(0).sub(half), half.sub(one))
        } else {
            (Self::small(0), one.shl(width).sub(one))
        };
        if self.compare(least) == Ordering::Less {
            least
        } else if self.compare(most) == Ordering::Greater {
            most
        } else {
            self
        }
    }
}

impl Num for i128 {
    fn load(words: &[u64], width: u32, signed: bool) -> Self {
        if let ([word], false) = (words, signed) {
            return (*word).into();
        }
        let low = words.first().copied().unwrap_or(0);
        let high = words.get(1).copied().unwrap_or(0);
        let value = (u128::from(high) << 64 | u128::from(low)).cast_signed();
        if signed && width > 0 && width < 128 {
            let unused = 128 - width;
            value << unused >> unused
        } else {
            value
        }
    }

    fn store(self, words: &mut [u64], width: u32) {
        let value = self.cast_unsigned();
        let sign = if self < 0 { u64::MAX } else { 0 };
        for (at, word) in words.iter_mut().enumerate() {
            *word = match at {
                0 => low(value),
                1 => low(value >> 64),
                _ => sign,
            };
        }
        mask_top(words, width);
    }

    fn small(value: i64) -> Self {
        value.into()
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    fn divide(self, other: Self) -> (Self, Self) {
        if other == 0 {
            return (0, 0);
        }
        (self.wrapping_div(other), self.wrapping_rem(other))
    }

    fn shl(self, bits: u32) -> Self {
        self.checked_shl(bits).unwrap_or(0)
    }

    fn shr(self, bits: u32) -> Self {
        self >> bits.min(127)
    }

    fn bits(self, other: Self, each: fn(u64, u64) -> u64) -> Self {
        let (a, b) = (self.cast_unsigned(), other.cast_unsigned());
        let high = each(low(a >> 64), low(b >> 64));
        (u128::from(high) << 64 | u128::from(each(low(a), low(b)))).cast_signed()
    }

    fn compare(self, other: Self) -> Ordering {
        self.cmp(&other)
    }

    fn index(self) -> u64 {
        u64::try_from(self).unwrap_or(u64::MAX)
    }
}

/// The low 64 bits.
fn low(value: u128) -> u64 {
    u64::try_from(value & u128::from(u64::MAX)).unwrap_or_default()
}

/// For operands above 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wide([u64; LIMBS]);

impl Wide {
    fn is_negative(self) -> bool {
        self.0[LIMBS - 1] >> 63 == 1
    }

    fn negate(self) -> Self {
        Self::small(0).sub(self)
    }
}

impl Num for Wide {
    fn load(words: &[u64], width: u32, signed: bool) -> Self {
        let mut value = [0; LIMBS];
        let count = words.len().min(LIMBS);
        value[..count].copy_from_slice(&words[..count]);
        let value = Self(value);
        let top = width.saturating_sub(1);
        let negative = signed
            && width > 0
            && words
                .get(top as usize / 64)
                .is_some_and(|word| word >> (top % 64) & 1 == 1);
        if negative {
            value.bits(Self::small(-1).shl(width), |a, b| a | b)
        } else {
            value
        }
    }

    fn store(self, words: &mut [u64], width: u32) {
        let count = words.len().min(LIMBS);
        words[..count].copy_from_slice(&self.0[..count]);
        mask_top(words, width);
    }

    fn small(value: i64) -> Self {
        let mut words = [if value < 0 { u64::MAX } else { 0 }; LIMBS];
        words[0] = value.cast_unsigned();
        Self(words)
    }

    fn add(self, other: Self) -> Self {
        let mut sum = self;
        let mut carry = false;
        for (a, b) in sum.0.iter_mut().zip(other.0) {
            let (first, over) = a.overflowing_add(b);
            let (second, again) = first.overflowing_add(carry.into());
            *a = second;
            carry = over || again;
        }
        sum
    }

    fn sub(self, other: Self) -> Self {
        let plus_one = other.invert().add(Self::small(1));
        self.add(plus_one)
    }

    fn mul(self, other: Self) -> Self {
        let mut product = [0_u64; LIMBS];
        for (at, a) in self.0.into_iter().enumerate().filter(|(_, a)| *a != 0) {
            let mut carry = 0_u128;
            for (to, b) in product[at..].iter_mut().zip(other.0) {
                carry += u128::from(a) * u128::from(b) + u128::from(*to);
                *to = low(carry);
                carry >>= 64;
            }
        }
        Self(product)
    }

    fn divide(self, other: Self) -> (Self, Self) {
        let zero = Self::small(0);
        if other.is_zero() {
            return (zero, zero);
        }
        let positive = |value: Self| {
            if value.is_negative() {
                value.negate()
            } else {
                value
            }
        };
        let (from, by) = (positive(self), positive(other));
        let (mut quotient, mut rest) = (zero, zero);
        for bit in (0..LIMBS * 64).rev() {
            rest = rest.shl(1);
            rest.0[0] |= from.0[bit / 64] >> (bit % 64) & 1;
            if rest.compare(by) != Ordering::Less {
                rest = rest.sub(by);
                quotient.0[bit / 64] |= 1 << (bit % 64);
            }
        }
        if self.is_negative() != other.is_negative() {
            quotient = quotient.negate();
        }
        (
            quotient,
            if self.is_negative() {
                rest.negate()
            } else {
                rest
            },
        )
    }

    fn shl(self, bits: u32) -> Self {
        let (words, bits) = (bits as usize / 64, bits % 64);
        let mut value = [0; LIMBS];
        for (at, to) in value.iter_mut().enumerate().skip(words) {
            let below = if at > words && bits > 0 {
                self.0[at - words - 1] >> (64 - bits)
            } else {
                0
            };
            *to = self.0[at - words] << bits | below;
        }
        Self(value)
    }

    fn shr(self, bits: u32) -> Self {
        let (words, bits) = (bits as usize / 64, bits % 64);
        let sign = if self.is_negative() { u64::MAX } else { 0 };
        let word = |at: usize| self.0.get(at).copied().unwrap_or(sign);
        let mut value = [sign; LIMBS];
        for (at, to) in value.iter_mut().enumerate() {
            let from = at.saturating_add(words);
            let above = if bits > 0 {
                word(from.saturating_add(1)) << (64 - bits)
            } else {
                0
            };
            *to = word(from) >> bits | above;
        }
        Self(value)
    }

    fn bits(self, other: Self, each: fn(u64, u64) -> u64) -> Self {
        let mut value = self;
        for (a, b) in value.0.iter_mut().zip(other.0) {
            *a = each(*a, b);
        }
        value
    }

    fn compare(self, other: Self) -> Ordering {
        other
            .is_negative()
            .cmp(&self.is_negative())
            .then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn index(self) -> u64 {
        if self.0[1..].iter().all(|word| *word == 0) {
            self.0[0]
        } else {
            u64::MAX
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wide(value: i128) -> Wide {
        let value = value.cast_unsigned();
        Wide::load(&[low(value), low(value >> 64)], 128, true)
    }

    proptest! {
        #[test]
        fn wide_numbers_compute_as_narrow_ones(a in any::<i64>(), b in any::<i64>(), bits in 0_u32..60) {
            let (a, b) = (i128::from(a), i128::from(b));
            prop_assert_eq!(wide(a).add(wide(b)), wide(a + b));
            prop_assert_eq!(wide(a).sub(wide(b)), wide(a - b));
            prop_assert_eq!(wide(a).mul(wide(b)), wide(a * b));
            prop_assert_eq!(wide(a).shl(bits), wide(a << bits));
            prop_assert_eq!(wide(a).shr(bits), wide(a >> bits));
            prop_assert_eq!(wide(a).compare(wide(b)), a.cmp(&b));
            prop_assert_eq!(wide(a).wrap_signed(bits + 1), wide(Num::wrap_signed(a, bits + 1)));
            prop_assert_eq!(wide(a).saturate(bits + 1, true), wide(Num::saturate(a, bits + 1, true)));
            prop_assert_eq!(wide(a).saturate(bits + 1, false), wide(Num::saturate(a, bits + 1, false)));
            let (quotient, rest) = wide(a).divide(wide(b));
            let expected = Num::divide(a, b);
            prop_assert_eq!((quotient, rest), (wide(expected.0), wide(expected.1)));
        }
    }

    #[test]
    fn a_signed_cast_wraps_at_its_width() {
        assert_eq!(Num::wrap_signed(257_i128, 8), 1);
        assert_eq!(Num::wrap_signed(-129_i128, 8), 127);
    }
}
