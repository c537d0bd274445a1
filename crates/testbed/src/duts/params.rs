//! Parameters of devices under test: their names, and how their values are read.

use super::DutKind;
use crate::{Result, TestbedError};
use linerate_model::dut::DutChoice;
use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// A parameter that a kind of device understands, for help and the reference table.
#[derive(Debug, Clone, Copy)]
pub struct DutParam {
    /// Its key.
    pub name: &'static str,
    /// What it takes: `true|false`.
    pub values: &'static str,
    /// What holds without it.
    pub usual: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// What a parameter takes that names a file.
pub(super) const FILE: &str = "FILE";

/// The parameters of a kind: a constant for each key, and `PARAMS`, the table of them, behind those that are shared.
macro_rules! params {
    (
        $([$($shared:expr),* $(,)?])?
        $($key:ident = $name:literal: $values:literal ($usual:literal), $summary:literal;)*
    ) => {
        $(const $key: &str = $name;)*
        const PARAMS: &[DutParam] = &[
            $($($shared,)*)?
            $(DutParam { name: $key, values: $values, usual: $usual, summary: $summary },)*
        ];
    };
}
pub(super) use params;

/// The interfaces of this host that a device is between which runs already.
pub(super) const PORTS: [DutParam; 2] = [
    DutParam {
        name: "a",
        values: "INTERFACE",
        usual: "the first of the command",
        summary: "Interface of this host that leads to its first port.",
    },
    DutParam {
        name: "b",
        values: "INTERFACE",
        usual: "the second of the command",
        summary: "Interface of this host that leads to its second port.",
    },
];

/// A device to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DutSetup {
    /// Its kind and parameters.
    pub choice: DutChoice,
    /// Largest L3 packet of its ports and the tester's, in bytes.
    pub mtu: u32,
    /// Seed of what it decides by chance.
    pub seed: u64,
}

impl DutSetup {
    /// With packets of up to 1500 bytes and seed 1.
    pub fn new(choice: DutChoice) -> Self {
        Self {
            choice,
            mtu: 1500,
            seed: 1,
        }
    }

    /// Refuses an MTU that no device has, and parameters that `kind` does not understand.
    pub(super) fn check(&self, kind: &dyn DutKind) -> Result<()> {
        if !MTUS.contains(&self.mtu) {
            return Err(self.refused("mtu", self.mtu, "it takes 1280 to 16000 bytes"));
        }
        let names: Vec<_> = kind.params().iter().map(|param| param.name).collect();
        let mut given = self.choice.params.iter();
        match given.find(|(key, _)| !names.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, value)) => {
                let known = if names.is_empty() {
                    "it has no parameters".to_owned()
                } else {
                    format!("its parameters are {}", names.join(", "))
                };
                Err(self.refused(key, value, &known))
            }
        }
    }

    /// The value of a parameter; `None` if it is not given.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.choice.params.get(key).map(String::as_str)
    }

    /// The file that a parameter names, from the folder in which linerate was started.
    pub(super) fn file(&self, key: &str) -> Result<Option<PathBuf>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let found = fs::canonicalize(text);
        let found = found.map_err(|error| self.refused(key, text, &error.to_string()))?;
        Ok(Some(found))
    }

    /// A parameter that is on or off.
    pub(super) fn switch(&self, key: &str, usual: bool) -> Result<bool> {
        match self.text(key) {
            None => Ok(usual),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(self.refused(key, other, "it takes true or false")),
        }
    }

    /// A parameter that is a whole number.
    pub(super) fn number(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<u32>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let want = || {
            format!(
                "it takes a number from {} to {}",
                range.start(),
                range.end()
            )
        };
        number
            .map(Some)
            .ok_or_else(|| self.refused(key, text, &want()))
    }

    /// A parameter that is one of some words, the first of which holds without it.
    pub(super) fn one_of<T: Copy + Display>(&self, key: &str, all: &[T]) -> Result<T> {
        let Some(text) = self.text(key) else {
            return Ok(all[0]);
        };
        let found = all.iter().find(|one| one.to_string() == text);
        found.copied().ok_or_else(|| {
            let known: Vec<_> = all.iter().map(ToString::to_string).collect();
            self.refused(key, text, &format!("it takes {}", known.join(" or ")))
        })
    }

    /// A parameter that is a quantity, by what reads it.
    pub(super) fn read<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>> {
        self.text(key)
            .map(|text| {
                text.parse()
                    .map_err(|error: T::Err| self.refused(key, text, &error.to_string()))
            })
            .transpose()
    }

    /// The error on a value that a parameter does not take.
    pub(super) fn refused(&self, key: &str, value: impl Display, want: &str) -> TestbedError {
        TestbedError::DutParam {
            dut: self.choice.kind.clone(),
            key: key.to_owned(),
            value: value.to_string(),
            want: want.to_owned(),
        }
    }
}

/// Valid MTUs: IPv6 needs 1280; a frame must fit into a ring slot of 16 KiB.
const MTUS: RangeInclusive<u32> = 1280..=16_000;

#[cfg(test)]
mod tests {
    use super::super::{ALL, find};
    use super::*;
    use std::collections::BTreeSet;

    fn setup(text: &str) -> DutSetup {
        DutSetup::new(text.parse().unwrap())
    }

    #[test]
    fn kinds_and_their_parameters_have_names_of_their_own_and_a_sentence() {
        let ids: BTreeSet<_> = ALL.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids.len(), ALL.len());
        for kind in ALL {
            let is_kebab = |name: &str| {
                let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                name.chars().all(fits)
            };
            assert!(is_kebab(kind.id()), "{}", kind.id());
            assert!(kind.summary().ends_with('.'), "{}", kind.summary());
            let names: BTreeSet<_> = kind.params().iter().map(|param| param.name).collect();
            assert_eq!(names.len(), kind.params().len());
            for param in kind.params() {
                assert!(is_kebab(param.name) && param.summary.ends_with('.'));
                assert!(!param.values.is_empty() && !param.usual.is_empty());
            }
        }
    }

    #[test]
    fn the_guide_has_a_row_for_each_kind_with_its_parameters() {
        let guide = include_str!("../../../../docs/guide/devices.md");
        for kind in ALL {
            let head = format!("| `{}` |", kind.id());
            let row = guide.lines().find(|line| line.starts_with(&head));
            let row = row.unwrap_or_else(|| panic!("no row for {}", kind.id()));
            for param in kind.params() {
                assert!(row.contains(&format!("`{}=", param.name)), "{}", param.name);
            }
        }
    }

    #[test]
    fn what_is_not_there_gives_what_is() {
        let error = find("brigde").err().unwrap().to_string();
        assert!(error.contains("wire, bridge"), "{error}");
        let kind = find("bridge").unwrap();
        let error = setup("bridge,lerning=true").check(kind).unwrap_err();
        assert!(error.to_string().contains("learning"), "{error}");
        let error = setup("bridge").switch("learning", true);
        assert!(error.unwrap());
        let error = setup("bridge,learning=on").switch("learning", true);
        assert!(error.unwrap_err().to_string().contains("true or false"));
        let large = DutSetup {
            mtu: 70_000,
            ..setup("wire")
        };
        assert!(large.check(find("wire").unwrap()).is_err());
    }
}
