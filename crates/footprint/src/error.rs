//! Errors of reading files and parsing options.

/// Why there is no footprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FootprintError {
    /// Unknown file format.
    #[error(
        "{file} is not a file that linerate reads a footprint from; give ELF files (objects, programs), archives, maps of GNU ld, .su files, or what `linerate footprint --json` printed"
    )]
    Unknown {
        /// The file.
        file: String,
    },
    /// Invalid file of a known format.
    #[error("{file} is damaged: {what}; build it again, or copy it again")]
    Damaged {
        /// The file, and within an archive the member.
        file: String,
        /// The violated rule, with its place.
        what: String,
    },
    /// A thin archive contains only the names of its members.
    #[error(
        "{file} is a thin archive, which only names its object files; give those, or make it with `ar` without T"
    )]
    Thin {
        /// The file.
        file: String,
    },
    /// What another tool says of a build.
    #[error(
        "{file} is {what}, which linerate does not read; give the ELF file, or a map of GNU ld (-Wl,-Map=FILE)"
    )]
    Foreign {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
    },
    /// A document with more than one footprint, or of another kind.
    #[error(
        "{file} holds a {kind} document, not the footprint of one build; give what `linerate footprint --json` printed of one build"
    )]
    ForeignDocument {
        /// The file.
        file: String,
        /// Its kind.
        kind: &'static str,
    },
    /// Files that do not belong together.
    #[error("{what}")]
    Unfit {
        /// Which, and what to do.
        what: String,
    },
    /// None of the files has allocated sections.
    #[error(
        "none of the files holds sections: {files}; give the ELF file, archive, object or map that they belong to"
    )]
    Nothing {
        /// Their names.
        files: String,
    },
    /// A group's pattern is not a regular expression.
    #[error(
        "--group {name}: the pattern {pattern:?} is not a regular expression: {why}; an example is 'IPv6=ip6|nd6|mld6'"
    )]
    Pattern {
        /// The group.
        name: String,
        /// The pattern.
        pattern: String,
        /// Error of the parser.
        why: String,
    },
    /// A group without a pattern and with an unknown name.
    #[error(
        "--group {name}: no pattern is given, and linerate knows none of that name; give NAME=PATTERN, or one of {known}"
    )]
    Group {
        /// The group.
        name: String,
        /// Known names.
        known: String,
    },
    /// A budget for an unknown item.
    #[error("--budget {name}: there is no such total, region or group; there are {known}")]
    Budget {
        /// Its name.
        name: String,
        /// Known items.
        known: String,
    },
    /// A growth budget without a base build.
    #[error(
        "--budget {name}=+…: growth needs two builds, A and B; give both, or a limit without +"
    )]
    Growth {
        /// Its name.
        name: String,
    },
}

impl FootprintError {
    /// Whether it is a usage error, not an invalid file.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Pattern { .. } | Self::Group { .. } | Self::Budget { .. } | Self::Growth { .. }
        )
    }
}
