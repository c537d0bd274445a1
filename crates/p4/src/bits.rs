//! Bits of packets: reading at any offset and writing one after the other, most significant first.

use crate::num::limbs;

/// The `width` bits (at most 64) that begin `offset` bits into `bytes`; zeros where there are no bytes.
pub(crate) fn get(bytes: &[u8], offset: usize, width: u32) -> u64 {
    let (first, shift) = (offset / 8, offset % 8);
    let mut word = [0; 8];
    let rest = bytes.get(first..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        word = *whole;
    } else {
        word[..rest.len()].copy_from_slice(rest);
    }
    let value = u64::from_be_bytes(word) << shift;
    // Up to seven bits of a ninth byte.
    let ninth = match bytes.get(first + 8) {
        Some(byte) if shift + width as usize > 64 => u64::from(*byte) >> (8 - shift),
        _ => 0,
    };
    (value | ninth).checked_shr(64 - width).unwrap_or(0)
}

/// Writes values of any width one behind the other at the end of a buffer, and fills up the last byte with zeros.
pub(crate) struct Writer<'a> {
    to: &'a mut Vec<u8>,
    /// Bits that are not in the buffer yet, the first one on top.
    held: u64,
    count: u32,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(to: &'a mut Vec<u8>) -> Self {
        Self {
            to,
            held: 0,
            count: 0,
        }
    }

    /// Appends `width` bits (at most 64); `value` has no others.
    pub(crate) fn put(&mut self, width: u32, value: u64) {
        if width == 0 {
            return;
        }
        let top = value << (64 - width);
        self.held |= top >> self.count;
        self.count += width;
        if self.count >= 64 {
            self.to.extend_from_slice(&self.held.to_be_bytes());
            self.count -= 64;
            // What is left of the value: as many of its last bits as are counted now.
            self.held = top.checked_shl(width - self.count).unwrap_or(0);
        }
    }

    /// Appends a value of any width from words, least significant first.
    pub(crate) fn put_words(&mut self, width: u32, words: &[u64]) {
        let mut width = width;
        for (at, word) in words.iter().enumerate().take(limbs(width)).rev() {
            let below = u32::try_from(at * 64).unwrap_or(0);
            self.put(width - below, *word);
            width = below;
        }
    }

    /// Appends whole bytes.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        if self.count.is_multiple_of(8) {
            self.flush();
            self.to.extend_from_slice(bytes);
        } else {
            for byte in bytes {
                self.put(8, u64::from(*byte));
            }
        }
    }

    fn flush(&mut self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.to.extend_from_slice(&self.held.to_be_bytes()[..bytes]);
        (self.held, self.count) = (0, 0);
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.flush();
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
        fn what_is_written_is_read_at_its_offset(
            values in proptest::collection::vec((1_u32..=200, proptest::array::uniform4(any::<u64>())), 1..12),
        ) {
            let mut bytes = vec![0xff];
            let mut writer = Writer::new(&mut bytes);
            let mut written = Vec::new();
            let mut offset = 8;
            for (width, mut words) in values {
                let count = limbs(width);
                crate::num::mask_top(&mut words[..count], width);
                if width % 8 == 0 {
                    writer.put_bytes(&to_bytes(&words[..count], width));
                } else {
                    writer.put_words(width, &words[..count]);
                }
                written.push((offset, width, words[..count].to_vec()));
                offset += width as usize;
            }
            drop(writer);
            prop_assert_eq!(bytes.len(), offset.div_ceil(8));
            prop_assert_eq!(get(&bytes, offset, u32::try_from(bytes.len() * 8 - offset).unwrap()), 0);
            for (offset, width, words) in written {
                let mut read = [0; 4];
                get_words(&bytes, offset, width, &mut read);
                prop_assert_eq!(&read[..limbs(width)], words.as_slice());
            }
        }
    }

    #[test]
    fn byte_strings_fit_or_do_not() {
        assert_eq!(from_bytes(&[0, 0, 1, 0xff], 9), Some(vec![0x1ff]));
        assert_eq!(from_bytes(&[2, 0], 9), None);
        assert_eq!(to_bytes(&[0x1ff], 9), [1, 0xff]);
    }
}
