//! Bits of packets: reading and writing at any offset, most significant first.

use crate::num::limbs;

/// The `width` bits (at most 64) that begin `offset` bits into `bytes`. The caller has checked that they are there.
pub(crate) fn get(bytes: &[u8], offset: usize, width: u32) -> u64 {
    let (first, shift) = (offset / 8, offset % 8);
    let count = (shift + width as usize).div_ceil(8);
    let Some(bytes) = bytes.get(first..first + count) else {
        return 0;
    };
    let value = bytes
        .iter()
        .fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
    let value = value >> (count * 8 - shift - width as usize);
    let mask = (1_u128 << width) - 1;
    u64::try_from(value & mask).unwrap_or_default()
}

/// Puts the low `width` bits (at most 64) of `value` at this offset, and leaves the bits around them.
pub(crate) fn put(bytes: &mut [u8], offset: usize, width: u32, value: u64) {
    let (first, shift) = (offset / 8, offset % 8);
    let count = (shift + width as usize).div_ceil(8);
    let Some(bytes) = bytes.get_mut(first..first + count) else {
        return;
    };
    let unused = count * 8 - shift - width as usize;
    let mask = ((1_u128 << width) - 1) << unused;
    let value = (u128::from(value) << unused) & mask;
    for (at, byte) in bytes.iter_mut().rev().enumerate() {
        let part = |of: u128| of.to_le_bytes()[at];
        *byte = *byte & !part(mask) | part(value);
    }
}

/// Reads a value of any width into words, least significant first.
pub(crate) fn get_words(bytes: &[u8], offset: usize, width: u32, words: &mut [u64]) {
    let mut end = offset + width as usize;
    for word in words.iter_mut().take(limbs(width)) {
        let here = u32::try_from(end - offset).unwrap_or(64).min(64);
        end -= here as usize;
        *word = get(bytes, end, here);
    }
}

/// Writes a value of any width from words, least significant first.
pub(crate) fn put_words(bytes: &mut [u8], offset: usize, width: u32, words: &[u64]) {
    let mut end = offset + width as usize;
    for word in words.iter().take(limbs(width)) {
        let here = u32::try_from(end - offset).unwrap_or(64).min(64);
        end -= here as usize;
        put(bytes, end, here, *word);
    }
}

/// The words of a big-endian byte string, as many as `width` bits need; `None` if the value does not fit in `width` bits.
pub(crate) fn from_bytes(bytes: &[u8], width: u32) -> Option<Vec<u64>> {
    let mut words = vec![0; limbs(width)];
    for (at, byte) in bytes.iter().rev().enumerate() {
        let bit = at * 8;
        if *byte == 0 {
            continue;
        }
        if bit + 8 - byte.leading_zeros() as usize > width as usize {
            return None;
        }
        words[bit / 64] |= u64::from(*byte) << (bit % 64);
    }
    Some(words)
}

/// The big-endian byte string of these words, as long as `width` bits need.
pub(crate) fn to_bytes(words: &[u64], width: u32) -> Vec<u8> {
    let count = (width as usize).div_ceil(8);
    let byte = |at: usize| {
        words
            .get(at / 8)
            .map_or(0, |word| word.to_le_bytes()[at % 8])
    };
    (0..count).rev().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_got_and_nothing_else_changes(
            offset in 0_usize..40, width in 1_u32..=200, words in proptest::array::uniform4(any::<u64>()),
        ) {
            let mut words = words;
            crate::num::mask_top(&mut words[..limbs(width)], width);
            let mut bytes = [0xff; 32];
            put_words(&mut bytes, offset, width, &words);
            let mut read = [0; 4];
            get_words(&bytes, offset, width, &mut read);
            prop_assert_eq!(&read[..limbs(width)], &words[..limbs(width)]);
            let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            let own: u32 = words[..limbs(width)].iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(ones, 256 - width + own);
        }
    }

    #[test]
    fn byte_strings_fit_or_do_not() {
        assert_eq!(from_bytes(&[0, 0, 1, 0xff], 9), Some(vec![0x1ff]));
        assert_eq!(from_bytes(&[2, 0], 9), None);
        assert_eq!(to_bytes(&[0x1ff], 9), [1, 0xff]);
    }
}
