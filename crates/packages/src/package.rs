//! The packages: what each is called, what belongs in it, and what package managers are told of it.

use crate::command_line::{BESIDE, CRATE, Companion, HUB};

/// A package that is installed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// `linerate`, and all that it starts on one machine.
    Linerate,
    /// `linerate-hub`, which needs a database.
    Hub,
}

impl Package {
    /// All.
    pub const ALL: [Self; 2] = [Self::Linerate, Self::Hub];

    /// Its name, and that of its first program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linerate => "linerate",
            Self::Hub => "linerate-hub",
        }
    }

    /// Its programs, the first one that which the bill of materials is of.
    pub fn programs(self) -> Vec<String> {
        match self {
            Self::Linerate => [self.name().to_owned()]
                .into_iter()
                .chain(BESIDE.iter().map(Companion::program))
                .collect(),
            Self::Hub => vec![HUB.program()],
        }
    }

    /// The crates that its programs are built from.
    pub fn crates(self) -> Vec<&'static str> {
        match self {
            Self::Linerate => [CRATE]
                .into_iter()
                .chain(BESIDE.iter().map(|one| one.of))
                .collect(),
            Self::Hub => vec![HUB.of],
        }
    }

    /// Whether a man page or a completion with this file name is of one of its programs.
    pub fn has_words(self, file: &str) -> bool {
        let name = file.trim_start_matches('_');
        let rest = name.strip_prefix(Self::Hub.name());
        let is_of_hub = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']));
        is_of_hub == (self == Self::Hub)
    }

    /// Its service.
    pub const fn service(self) -> &'static str {
        match self {
            Self::Linerate => "linerate.service",
            Self::Hub => "linerate-hub.service",
        }
    }

    /// Its units in the order in which they are stopped: a socket would start its service again.
    pub const fn units(self) -> &'static str {
        match self {
            Self::Linerate => "linerate.socket linerate.service",
            Self::Hub => "linerate-hub.service",
        }
    }

    /// A script or another text of its, with its own names in it.
    pub(crate) fn filled(self, text: &str) -> String {
        text.replace("@NAME@", self.name())
            .replace("@SERVICE@", self.service())
            .replace("@UNITS@", self.units())
    }

    /// What it is for, in a line.
    pub fn summary(self) -> &'static str {
        self.about().0
    }

    /// What it is for, in paragraphs.
    pub fn description(self) -> &'static str {
        self.about().1
    }

    fn about(self) -> (&'static str, &'static str) {
        let text = match self {
            Self::Linerate => include_str!("../files/description"),
            Self::Hub => include_str!("../files/description-hub"),
        };
        let parts = text.trim_end().split_once("\n\n");
        parts.expect("invariant: a line and paragraphs")
    }
}
