//! The ones' complement sum of the internet protocols (RFC 1071).

use std::net::IpAddr;

/// A sum under way. Works in the machine's byte order: the sum of swapped words is the swapped sum (RFC 1071 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds `bytes`; an odd last byte is padded with a zero, so only the last part may be odd.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        // Words of 32 bits into 64: no carry is lost below 16 GiB, and compilers make vectors of it.
        let whole: u64 = words
            .iter()
            .map(|word| u64::from(u32::from_ne_bytes(*word)))
            .sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self(fold(self.0) + whole + u64::from(u32::from_ne_bytes(last)))
    }

    /// Adds one 16-bit number.
    #[must_use]
    pub fn with_number(self, number: u16) -> Self {
        self.with(&number.to_be_bytes())
    }

    /// The folded 16-bit sum, in network byte order.
    pub fn bytes(self) -> [u8; 2] {
        let folded = fold(fold(self.0));
        u16::try_from(folded)
            .expect("invariant: folded to 16 bits")
            .to_ne_bytes()
    }

    /// Value of the checksum field: the complement of the sum.
    pub fn checksum(self) -> [u8; 2] {
        self.bytes().map(|byte| !byte)
    }

    /// Whether the sum over data and checksum is valid.
    pub fn is_intact(self) -> bool {
        self.bytes() == [0xff; 2]
    }
}

/// Sum over the pseudo-header of a transport protocol's `length` bytes (RFC 768, RFC 9293 §3.1, RFC 8200 §8.1).
pub fn pseudo(from: IpAddr, to: IpAddr, protocol: u8, length: u16) -> Sum {
    let sum = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Sum::default().with(&from.octets()).with(&to.octets())
        }
        (from, to) => Sum::default().with(&octets(from)).with(&octets(to)),
    };
    sum.with_number(protocol.into()).with_number(length)
}

/// Address as 16 bytes, IPv4 mapped; both ends of a flow have the same family.
pub const fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// Folds a 64-bit sum with carries: to at most 19 bits, then to 16.
const fn fold(sum: u64) -> u64 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    (sum & 0xffff) + (sum >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_sums_up() {
        let sum = Sum::default().with(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.bytes(), [0xdd, 0xf2]);
        assert_eq!(sum.checksum(), [0x22, 0x0d]);
    }

    /// The definition, word by word.
    fn slow(bytes: &[u8]) -> [u8; 2] {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            let word = [pair[0], pair.get(1).copied().unwrap_or(0)];
            sum += u32::from(u16::from_be_bytes(word));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::try_from(sum).unwrap().to_be_bytes()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..1600)) {
            prop_assert_eq!(Sum::default().with(&bytes).bytes(), slow(&bytes));
        }

        #[test]
        fn parts_of_even_length_sum_up_to_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            cut in 0..200_usize,
        ) {
            let (a, b) = bytes.split_at((cut * 2).min(bytes.len() / 2 * 2));
            let parts = Sum::default().with(a).with(b);
            prop_assert_eq!(parts.bytes(), Sum::default().with(&bytes).bytes());
        }

        #[test]
        fn data_with_its_checksum_is_intact_and_with_a_flipped_bit_is_not(
            bytes in proptest::collection::vec(any::<u8>(), 1..100),
            bit in 0..800_usize,
        ) {
            let mut all = bytes.clone();
            if all.len() % 2 == 1 {
                all.push(0);
            }
            let at = bit % (bytes.len() * 8);
            let sum = Sum::default().with(&all);
            all.extend(sum.checksum());
            prop_assert!(Sum::default().with(&all).is_intact());
            all[at / 8] ^= 1 << (at % 8);
            prop_assert!(!Sum::default().with(&all).is_intact());
        }
    }
}
