//! Why a file could not be read, or an option not understood.

/// Why there is no footprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// The file has none of the formats.
    #[error(
        "{file} is not a file that linerate reads a footprint from; give ELF files (objects, programs), archives, maps of GNU ld, .su files, or what `linerate footprint --json` printed"
    )]
    Unknown {
        /// The file.
        file: String,
    },
    /// The file has a format, and breaks its rules.
    #[error("{file} is damaged: {what}; build it again, or copy it again")]
    Damaged {
        /// The file, and within an archive the member.
        file: String,
        /// Which rule, and where.
        what: String,
    },
    /// The archive only names its members.
    #[error(
        "{file} is a thin archive, which only names its object files; give those, or make it with `ar` without T"
    )]
    Thin {
        /// The file.
        file: String,
    },
    /// The map is of another linker.
    #[error("{file} is a map of LLVM's lld; linerate reads those of GNU ld (-Wl,-Map=FILE)")]
    ForeignMap {
        /// The file.
        file: String,
    },
    /// A document says more than one thing.
    #[error(
        "{file} holds a {kind} document, not the footprint of one build; give what `linerate footprint --json` printed of one build"
    )]
    ForeignDocument {
        /// The file.
        file: String,
        /// What it holds.
        kind: &'static str,
    },
    /// Files that do not belong together.
    #[error("{what}")]
    Unfit {
        /// Which, and what to do.
        what: String,
    },
    /// Nothing that takes memory is among the files.
    #[error(
        "none of the files holds sections: {files}; give the ELF file, archive, object or map that they belong to"
    )]
    Nothing {
        /// Their names.
        files: String,
    },
    /// A group's pattern is no regular expression.
    #[error(
        "--group {name}: the pattern {pattern:?} is not a regular expression: {why}; an example is 'IPv6=ip6|nd6|mld6'"
    )]
    Pattern {
        /// The group.
        name: String,
        /// The pattern.
        pattern: String,
        /// What the parser says.
        why: String,
    },
    /// A group without a pattern that linerate does not know.
    #[error(
        "--group {name}: no pattern is given, and linerate knows none of that name; give NAME=PATTERN, or one of {known}"
    )]
    Group {
        /// The group.
        name: String,
        /// Those that it knows.
        known: String,
    },
    /// A budget of something that is not there.
    #[error("--budget {name}: there is no such total, region or group; there are {known}")]
    Budget {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A budget of growth without something to grow from.
    #[error(
        "--budget {name}=+…: growth needs two builds, A and B; give both, or a limit without +"
    )]
    Growth {
        /// What was asked for.
        name: String,
    },
}

impl FootprintError {
    /// Whether the command line is to blame, and not a file.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Pattern { .. } | Self::Group { .. } | Self::Budget { .. } | Self::Growth { .. }
        )
    }
}
