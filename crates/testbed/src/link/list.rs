//! Exact lists of packets, counted from 1: `5, 17, 400-420`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Numbers of packets, counted from 1 in arrival order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PacketList(Vec<(u64, u64)>);

impl PacketList {
    /// No packet.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// The packets with the given numbers; number 0 does not exist and is ignored.
    pub fn from_numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self::merged(numbers.into_iter().filter(|n| *n > 0).map(|n| (n, n)))
    }

    /// Whether packet `number` is listed.
    pub fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after > 0 && number <= self.0[after - 1].1
    }

    /// How many of the first `sent` packets are listed.
    pub fn count_within(&self, sent: u64) -> u64 {
        let listed = self.0.iter().take_while(|(first, _)| *first <= sent);
        listed
            .map(|(first, last)| last.min(&sent) - first + 1)
            .sum()
    }

    /// Sorts ranges and merges overlapping and adjacent ones.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorted, and without overlaps or neighbours.
    fn merged(ranges: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut sorted: Vec<_> = ranges.collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in sorted {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }
}

/// Text that is not a [`PacketList`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{part}\" is not a packet number or range: want numbers from 1 such as \"5, 17, 400-420\""
)]
pub struct PacketListError {
    part: String,
}

impl FromStr for PacketList {
    type Err = PacketListError;

    fn from_str(text: &str) -> Result<Self, PacketListError> {
        if text.trim().is_empty() {
            return Ok(Self::none());
        }
        let ranges: Result<Vec<_>, _> = text.split(',').map(parse_range).collect();
        Ok(Self::merged(ranges?.into_iter()))
    }
}

fn parse_range(part: &str) -> Result<(u64, u64), PacketListError> {
    let part = part.trim();
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    number(first)
        .zip(number(last))
        .filter(|(first, last)| first <= last)
        .ok_or_else(|| PacketListError {
            part: part.chars().take(40).collect(),
        })
}

impl fmt::Display for PacketList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for PacketList {
    type Error = PacketListError;

    fn try_from(text: String) -> Result<Self, PacketListError> {
        text.parse()
    }
}

impl From<PacketList> for String {
    fn from(list: PacketList) -> Self {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_print_alike() {
        let list: PacketList = "5, 17, 400-420".parse().unwrap();
        assert_eq!(list.to_string(), "5, 17, 400-420");
        assert_eq!(list.count_within(u64::MAX), 23);
        assert_eq!(list.count_within(410), 13);
    }

    #[test]
    fn overlaps_and_neighbours_join() {
        let list: PacketList = "4-6,1-3, 5-9,20".parse().unwrap();
        assert_eq!(list.to_string(), "1-9, 20");
        assert_eq!(PacketList::from_numbers([3, 0, 1, 2, 2]).to_string(), "1-3");
    }

    #[test]
    fn membership_is_exact_at_the_ends() {
        let list: PacketList = "5,17,400-420".parse().unwrap();
        let members: Vec<u64> = (0..500).filter(|n| list.contains(*n)).collect();
        let wanted: Vec<u64> = [5, 17].into_iter().chain(400..=420).collect();
        assert_eq!(members, wanted);
    }

    #[test]
    fn nothing_is_a_list_without_packets() {
        for text in ["", "  "] {
            assert!(text.parse::<PacketList>().unwrap().is_empty());
        }
        assert!(!PacketList::none().contains(0));
    }

    #[test]
    fn nonsense_is_refused_with_the_part_that_is_wrong() {
        for text in [
            "0",
            "1,,2",
            "9-3",
            "a",
            "1-",
            "-3",
            "1-2-3",
            "99999999999999999999",
        ] {
            let error = text.parse::<PacketList>().unwrap_err();
            assert!(error.to_string().contains("such as"), "{text}: {error}");
        }
    }

    #[test]
    fn the_end_of_the_numbers_does_not_overflow() {
        let text = format!("{}-{}, 3", u64::MAX - 1, u64::MAX);
        let list: PacketList = text.parse().unwrap();
        assert!(list.contains(u64::MAX));
    }
}
