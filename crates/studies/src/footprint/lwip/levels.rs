//! The factors of a build, their levels, and the processors.

use std::fmt;

/// A processor that lwIP is built for.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What the compiler calls it.
    pub(super) machine: &'static [&'static str],
}

impl Target {
    /// How the names of its binutils begin.
    pub(super) const TOOLS: &str = "arm-none-eabi";
}

/// Every processor. A new one is a line here.
pub static TARGETS: &[Target] = &[
    Target {
        name: "cortex-m0plus",
        machine: &["-mcpu=cortex-m0plus", "-mthumb"],
    },
    Target {
        name: "cortex-m3",
        machine: &["-mcpu=cortex-m3", "-mthumb"],
    },
    Target {
        name: "cortex-m4",
        machine: &[
            "-mcpu=cortex-m4",
            "-mthumb",
            "-mfpu=fpv4-sp-d16",
            "-mfloat-abi=hard",
        ],
    },
    Target {
        name: "cortex-m7",
        machine: &[
            "-mcpu=cortex-m7",
            "-mthumb",
            "-mfpu=fpv5-d16",
            "-mfloat-abi=hard",
        ],
    },
    Target {
        name: "cortex-m33",
        machine: &[
            "-mcpu=cortex-m33",
            "-mthumb",
            "-mfpu=fpv5-sp-d16",
            "-mfloat-abi=hard",
        ],
    },
];

/// A level of one factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// IP versions.
    Addressing(Addressing),
    /// Sizes of buffers.
    Buffers(Buffers),
    /// Of the compiler.
    Optimisation(Optimisation),
}

/// IP versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addressing {
    /// IPv4 alone.
    Ipv4,
    /// IPv6 alone.
    Ipv6,
    /// Both.
    Dual,
}

/// Sizes of buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Buffers {
    /// 16 buffers of 1536 B, windows of 4 segments.
    Base,
    /// 48 buffers of 1536 B, windows of 16 segments.
    Large,
}

/// Levels of optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimisation {
    /// None.
    O0,
    /// For size.
    Os,
    /// For speed.
    O2,
    /// For speed, with more inlining.
    O3,
}

impl Choice {
    /// Every level, and whether it is built where none of its factor is chosen.
    pub const ALL: &'static [(Self, &'static str, bool)] = &[
        (Self::Addressing(Addressing::Ipv4), "ipv4", true),
        (Self::Addressing(Addressing::Ipv6), "ipv6", false),
        (Self::Addressing(Addressing::Dual), "ipv4+ipv6", true),
        (Self::Buffers(Buffers::Base), "base", true),
        (Self::Buffers(Buffers::Large), "large-buffers", true),
        (Self::Optimisation(Optimisation::O0), "O0", true),
        (Self::Optimisation(Optimisation::Os), "Os", true),
        (Self::Optimisation(Optimisation::O2), "O2", true),
        (Self::Optimisation(Optimisation::O3), "O3", false),
    ];

    /// By its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL
            .iter()
            .find(|(_, known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(choice, ..)| *choice).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(_, name, _)| *name).collect();
            format!("\"{name}\" is not one of {}", names.join(", "))
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(known, ..)| known == self);
        f.write_str(name.map_or("", |(_, name, _)| name))
    }
}

/// A level of each factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) addressing: Addressing,
    pub(super) buffers: Buffers,
    pub(super) optimisation: Optimisation,
}

impl Configuration {
    /// All combinations of the levels chosen.
    pub(super) fn all(choices: &[Choice]) -> Vec<Self> {
        let levels = |pick: fn(Choice) -> bool| -> Vec<Choice> {
            let chosen = Choice::ALL
                .iter()
                .filter(|(level, ..)| choices.contains(level) && pick(*level));
            let chosen: Vec<_> = chosen.collect();
            let usual = Choice::ALL
                .iter()
                .filter(|(level, _, is_usual)| *is_usual && pick(*level));
            let levels = if chosen.is_empty() {
                usual.collect()
            } else {
                chosen
            };
            levels.into_iter().map(|(level, ..)| *level).collect()
        };
        let mut all = Vec::new();
        for addressing in levels(|level| matches!(level, Choice::Addressing(_))) {
            for buffers in levels(|level| matches!(level, Choice::Buffers(_))) {
                for optimisation in levels(|level| matches!(level, Choice::Optimisation(_))) {
                    if let (
                        Choice::Addressing(addressing),
                        Choice::Buffers(buffers),
                        Choice::Optimisation(optimisation),
                    ) = (addressing, buffers, optimisation)
                    {
                        all.push(Self {
                            addressing,
                            buffers,
                            optimisation,
                        });
                    }
                }
            }
        }
        all
    }

    /// The names of its levels.
    pub(super) fn names(self) -> Vec<String> {
        let levels = [
            Choice::Addressing(self.addressing),
            Choice::Buffers(self.buffers),
            Choice::Optimisation(self.optimisation),
        ];
        levels.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_chosen_is_built_as_published() {
        let all = Configuration::all(&[]);
        assert_eq!(all.len(), 12);
        assert_eq!(all[0].names(), ["ipv4", "base", "O0"]);
        let chosen = ["IPv6", "O3", "os"].map(|name| Choice::parse(name).unwrap());
        let names: Vec<_> = Configuration::all(&chosen)
            .iter()
            .map(|one| one.names().join(" "))
            .collect();
        assert_eq!(
            names,
            [
                "ipv6 base Os",
                "ipv6 base O3",
                "ipv6 large-buffers Os",
                "ipv6 large-buffers O3"
            ]
        );
        assert!(Choice::parse("O9").unwrap_err().contains("O3"));
    }
}
