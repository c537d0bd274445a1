//! Hashes and checksums by the names that compiled programs use.

use crate::bits;

/// How a hash or checksum is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Crc8,
    Crc16,
    CrcCcitt,
    Crc32,
    Crc64,
    Csum16,
    Xor(u32),
    Identity,
    /// Counts its calls.
    RoundRobin,
    Xxh64,
}

impl Algorithm {
    /// Every name that programs use; what is not here cannot be computed.
    const ALL: &'static [(&'static str, Self)] = &[
        ("crc8", Self::Crc8),
        ("crc8_custom", Self::Crc8),
        ("crc16", Self::Crc16),
        ("crc16_custom", Self::Crc16),
        ("crcCCITT", Self::CrcCcitt),
        ("crc_ccitt", Self::CrcCcitt),
        ("crc32", Self::Crc32),
        ("crc32_custom", Self::Crc32),
        ("crc64_custom", Self::Crc64),
        ("csum16", Self::Csum16),
        ("cksum16", Self::Csum16),
        ("xor8", Self::Xor(8)),
        ("xor16", Self::Xor(16)),
        ("xor32", Self::Xor(32)),
        ("xor64", Self::Xor(64)),
        ("identity", Self::Identity),
        ("round_robin", Self::RoundRobin),
        ("random", Self::RoundRobin),
        ("xxh64", Self::Xxh64),
        ("bmv2_hash", Self::Xxh64),
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, algorithm)| *algorithm)
    }

    /// The hash of these bytes; `calls` is how often this calculation was made before.
    pub(crate) fn compute(self, bytes: &[u8], calls: u64) -> u64 {
        match self {
            Self::Crc8 => crc(bytes, 8, &CRC8, 0),
            Self::Crc16 => crc_reflected(bytes, &CRC16, 0),
            Self::CrcCcitt => crc(bytes, 16, &CRC_CCITT, 0xffff),
            Self::Crc32 => crc_reflected(bytes, &CRC32, 0xffff_ffff) ^ 0xffff_ffff,
            Self::Crc64 => crc_reflected(bytes, &CRC64, 0),
            Self::Csum16 => internet_checksum(bytes).into(),
            Self::Xor(width) => xor(bytes, width),
            Self::Identity => {
                let bytes = &bytes[..bytes.len().min(8)];
                bytes
                    .iter()
                    .fold(0, |value, byte| value << 8 | u64::from(*byte))
            }
            Self::RoundRobin => calls,
            Self::Xxh64 => xxh64(bytes),
        }
    }
}

/// What eight further zeros make of each first byte of a rest, with the most significant bit first.
const fn crc_table(width: u32, polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut rest = (at as u64) << (width - 8);
        let mut bit = 0;
        while bit < 8 {
            let carry = rest >> (width - 1) & 1;
            rest = (rest << 1) ^ (carry * polynomial);
            bit += 1;
        }
        table[at] = rest & (u64::MAX >> (64 - width));
        at += 1;
    }
    table
}

/// The table of a CRC whose least significant bit comes first; the polynomial is reversed in its width.
const fn reflected_table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut rest = at as u64;
        let mut bit = 0;
        while bit < 8 {
            rest = (rest >> 1) ^ ((rest & 1) * polynomial);
            bit += 1;
        }
        table[at] = rest;
        at += 1;
    }
    table
}

static CRC8: [u64; 256] = crc_table(8, 0x07);
static CRC_CCITT: [u64; 256] = crc_table(16, 0x1021);
static CRC16: [u64; 256] = reflected_table(0xa001);
static CRC32: [u64; 256] = reflected_table(0xedb8_8320);
static CRC64: [u64; 256] = reflected_table(0x1b_u64.reverse_bits());

/// Most significant bit first.
fn crc(bytes: &[u8], width: u32, table: &[u64; 256], initial: u64) -> u64 {
    let mask = u64::MAX >> (64 - width);
    bytes.iter().fold(initial, |rest, byte| {
        let first = (rest >> (width - 8)).to_le_bytes()[0] ^ byte;
        rest << 8 & mask ^ table[usize::from(first)]
    })
}

/// Least significant bit first.
fn crc_reflected(bytes: &[u8], table: &[u64; 256], initial: u64) -> u64 {
    bytes.iter().fold(initial, |rest, byte| {
        rest >> 8 ^ table[usize::from(rest.to_le_bytes()[0] ^ byte)]
    })
}

/// RFC 1071: the complement of the ones' complement sum of 16-bit words, here added four bytes at a time.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let whole = words.map(|word| u32::from_be_bytes(word.try_into().unwrap_or_default()));
    let mut sum: u64 = whole.map(u64::from).sum();
    sum += u64::from(u32::from_be_bytes(last));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

/// The last word is filled up with zeros.
fn xor(bytes: &[u8], width: u32) -> u64 {
    let words = bytes.chunks(width as usize / 8);
    words.fold(0, |value, word| {
        let bits = u32::try_from(word.len() * 8).unwrap_or(64);
        value ^ bits::get(word, 0, bits) << (width - bits)
    })
}

const PRIMES: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

fn little(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn xxh_round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(PRIMES[1]))
        .rotate_left(31)
        .wrapping_mul(PRIMES[0])
}

/// XXH64 with seed 0.
fn xxh64(bytes: &[u8]) -> u64 {
    let blocks = bytes.chunks_exact(32);
    let mut rest = blocks.remainder();
    let mut hash = if bytes.len() < 32 {
        PRIMES[4]
    } else {
        let mut lanes = [
            PRIMES[0].wrapping_add(PRIMES[1]),
            PRIMES[1],
            0,
            PRIMES[0].wrapping_neg(),
        ];
        for block in blocks {
            for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(8)) {
                *lane = xxh_round(*lane, little(word));
            }
        }
        let turns = [1, 7, 12, 18];
        let sum = lanes.iter().zip(turns).fold(0_u64, |sum, (lane, by)| {
            sum.wrapping_add(lane.rotate_left(by))
        });
        lanes.iter().fold(sum, |hash, lane| {
            (hash ^ xxh_round(0, *lane))
                .wrapping_mul(PRIMES[0])
                .wrapping_add(PRIMES[3])
        })
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((word, after)) = rest.split_at_checked(8) {
        hash = (hash ^ xxh_round(0, little(word)))
            .rotate_left(27)
            .wrapping_mul(PRIMES[0])
            .wrapping_add(PRIMES[3]);
        rest = after;
    }
    if let Some((word, after)) = rest.split_at_checked(4) {
        hash = (hash ^ little(word).wrapping_mul(PRIMES[0]))
            .rotate_left(23)
            .wrapping_mul(PRIMES[1])
            .wrapping_add(PRIMES[2]);
        rest = after;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(PRIMES[4]))
            .rotate_left(11)
            .wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(PRIMES[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIMES[2]);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values of the CRC catalogue and of the xxHash specification.
    #[test]
    fn published_check_values() {
        let check = |algorithm: Algorithm| algorithm.compute(b"123456789", 0);
        assert_eq!(check(Algorithm::Crc8), 0xf4);
        assert_eq!(check(Algorithm::Crc16), 0xbb3d);
        assert_eq!(check(Algorithm::CrcCcitt), 0x29b1);
        assert_eq!(check(Algorithm::Crc32), 0xcbf4_3926);
        assert_eq!(Algorithm::Xxh64.compute(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(Algorithm::Xxh64.compute(b"abc", 0), 0x44bc_2cf5_ad77_0999);
        let long = b"Call me Ishmael. Some years ago--never mind how long precisely-";
        assert_eq!(Algorithm::Xxh64.compute(long, 0), 0x02a2_e854_70d6_fd96);
    }

    #[test]
    fn the_checksum_of_an_ipv4_header() {
        let header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        assert_eq!(Algorithm::Csum16.compute(&header, 0), 0xb861);
    }

    #[test]
    fn words_are_xored_and_the_last_one_is_filled_up() {
        assert_eq!(
            Algorithm::Xor(16).compute(&[0x12, 0x34, 0xff], 0),
            0x12 << 8 ^ 0x34 ^ 0xff00
        );
        assert_eq!(Algorithm::Identity.compute(&[1, 2, 3], 0), 0x01_0203);
    }
}
