//! Lengths of the frames of a stream: one, or a mix that repeats (IMIX genome, RFC 6985).

use crate::units::{ByteCount, UnitError};
use std::fmt;
use std::str::FromStr;

/// A sequence of frame lengths that repeats as long as a stream lasts: frame `n` has the length at place `n` modulo the
/// number of places.
///
/// Lengths are bytes from destination address to FCS, 64 to 9000. Text is that of RFC 6985 (`aaaaaaag`), or numbers of
/// frames and their lengths in order (`7x64+4x594+1x1518`); `imix` is the latter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Genome {
    text: String,
    lengths: Vec<u16>,
}

/// Why lengths of frames could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FrameLengthsError(String);

/// Letters of RFC 6985 and their lengths, bytes; `z`, the MTU, is not among them, since ports have no common one.
const LETTERS: [(char, u16); 9] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
];

/// Shortest and longest frame of a mix, bytes.
const LENGTHS: [u16; 2] = [64, 9000];

/// The mix that testers call IMIX: seven short frames, four of 594 bytes, one of 1518.
const IMIX: &str = "7x64+4x594+1x1518";

impl Genome {
    /// Most places of a mix.
    pub const MAX_PLACES: usize = 256;

    /// Length of the frame at each place, in order.
    pub fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Mean length of a frame, bytes.
    pub fn mean(&self) -> f64 {
        let sum: u32 = self.lengths.iter().map(|length| u32::from(*length)).sum();
        let places = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        f64::from(sum) / f64::from(places)
    }

    fn longest(&self) -> u16 {
        self.lengths.iter().copied().max().unwrap_or_default()
    }

    fn shortest(&self) -> u16 {
        self.lengths.iter().copied().min().unwrap_or_default()
    }

    /// Lengths of `7x64+4x594`, or of letters.
    fn read(text: &str) -> Result<Vec<u16>, String> {
        let mut lengths = Vec::new();
        if text.contains('x') {
            for item in text.split('+') {
                let (count, length) = weighted(item.trim())?;
                let room = Self::MAX_PLACES - lengths.len().min(Self::MAX_PLACES);
                lengths.extend(std::iter::repeat_n(length, count.min(room + 1)));
            }
        } else {
            for letter in text.chars() {
                let known = LETTERS.iter().find(|(other, _)| *other == letter);
                let (_, length) = known.ok_or_else(|| {
                    format!(
                        "{letter:?} is not a letter of a genome: a=64 b=128 c=256 d=512 e=1024 f=1280 g=1518 h=2112 i=9000 B"
                    )
                })?;
                lengths.push(*length);
            }
        }
        match lengths.len() {
            0 => Err("a mix needs at least one frame".to_owned()),
            places if places > Self::MAX_PLACES => Err(format!(
                "a mix has at most {} frames before it repeats",
                Self::MAX_PLACES
            )),
            _ => Ok(lengths),
        }
    }
}

/// Reads `7x64`.
fn weighted(item: &str) -> Result<(usize, u16), String> {
    let wrong = || format!("{item:?} is not a number of frames and their length, as 7x64");
    let (count, length) = item.split_once('x').ok_or_else(wrong)?;
    let count = count.parse().map_err(|_| wrong())?;
    let length: u16 = length.parse().map_err(|_| wrong())?;
    let [least, most] = LENGTHS;
    if !(least..=most).contains(&length) {
        return Err(format!(
            "frames of a mix have {least} to {most} B, not {length}"
        ));
    }
    Ok((count, length))
}

impl FromStr for Genome {
    type Err = FrameLengthsError;

    fn from_str(text: &str) -> Result<Self, FrameLengthsError> {
        let text = text.trim();
        let lengths = Self::read(if text == "imix" { IMIX } else { text });
        let lengths = lengths.map_err(FrameLengthsError)?;
        Ok(Self {
            text: text.to_owned(),
            lengths,
        })
    }
}

impl fmt::Display for Genome {
    /// The text that it was read from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Lengths of the frames of a test, bytes from destination address to FCS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameLengths {
    /// All the same.
    One(ByteCount),
    /// A mix that repeats.
    Mix(Genome),
}

impl FrameLengths {
    /// Reads a list as `64,imix,1518` or `64,7x64,4x594,1x1518`: neighbours of the form `7x64` are one mix.
    ///
    /// # Errors
    /// The first item that is neither a length nor a mix.
    pub fn list(text: &str) -> Result<Vec<Self>, FrameLengthsError> {
        let mut items: Vec<String> = Vec::new();
        let mut is_open = false;
        for item in text.split(',').map(str::trim) {
            let is_part = item.contains('x') && !item.contains('+') && item != "imix";
            match items.last_mut().filter(|_| is_part && is_open) {
                Some(mix) => {
                    mix.push('+');
                    mix.push_str(item);
                }
                None => items.push(item.to_owned()),
            }
            is_open = is_part;
        }
        items.iter().map(|item| item.parse()).collect()
    }

    /// The genome of a mix.
    pub const fn genome(&self) -> Option<&Genome> {
        match self {
            Self::One(_) => None,
            Self::Mix(genome) => Some(genome),
        }
    }

    /// The length, or the mean of a mix, rounded to whole bytes.
    pub fn nominal(&self) -> ByteCount {
        match self {
            Self::One(length) => *length,
            Self::Mix(genome) => ByteCount::from_f64(genome.mean().round()),
        }
    }

    /// The length, or the exact mean of a mix, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::One(length) => length.as_f64(),
            Self::Mix(genome) => genome.mean(),
        }
    }

    /// Length of the shortest frame.
    pub fn shortest(&self) -> ByteCount {
        match self {
            Self::One(length) => *length,
            Self::Mix(genome) => ByteCount::new(genome.shortest().into()),
        }
    }

    /// Length of the longest frame.
    pub fn longest(&self) -> ByteCount {
        match self {
            Self::One(length) => *length,
            Self::Mix(genome) => ByteCount::new(genome.longest().into()),
        }
    }
}

impl FromStr for FrameLengths {
    type Err = FrameLengthsError;

    fn from_str(text: &str) -> Result<Self, FrameLengthsError> {
        let is_one = text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains('x');
        if !is_one {
            return text.parse().map(Self::Mix);
        }
        let length = text.parse().map(Self::One);
        length.map_err(|error: UnitError| FrameLengthsError(error.to_string()))
    }
}

impl fmt::Display for FrameLengths {
    /// `64 B`, or the mix with its mean: `imix (mean 361.8 B)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(length) => write!(f, "{} B", length.get()),
            Self::Mix(genome) => write!(f, "{genome} (mean {:.1} B)", genome.mean()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<u16> {
        text.parse::<Genome>().unwrap().lengths().to_vec()
    }

    #[test]
    fn a_genome_is_letters_or_numbers_of_lengths() {
        assert_eq!(lengths("aabg"), [64, 64, 128, 1518]);
        assert_eq!(lengths("2x64+1x1500"), [64, 64, 1500]);
        let imix: Genome = "imix".parse().unwrap();
        assert_eq!(imix.lengths().len(), 12);
        assert!((imix.mean() - 4342.0 / 12.0).abs() < 1e-9);
        for bad in [
            "", "az", "A", "x64", "3x", "1x63", "1x9001", "300x64", "0x64",
        ] {
            assert!(bad.parse::<Genome>().is_err(), "{bad}");
        }
    }

    #[test]
    fn neighbours_with_numbers_are_one_mix() {
        let list = FrameLengths::list("64,7x64,4x594,1x1518,imix,2x64+1x128,3x100").unwrap();
        let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "64 B",
                "7x64+4x594+1x1518 (mean 361.8 B)",
                "imix (mean 361.8 B)",
                "2x64+1x128 (mean 85.3 B)",
                "3x100 (mean 100.0 B)",
            ]
        );
        assert!(FrameLengths::list("64,,128").is_err());
        assert_eq!(list[1].nominal(), ByteCount::new(362));
        assert_eq!(list[1].longest(), ByteCount::new(1518));
    }
}
