//! The version that sfnt-pingpong announces, with the checksum of its sources.

/// The most common release.
const USUAL: &str = "1.5.0";

/// Announced version: an original client leaves unless both values are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Number of the release, or a short hash of what it was built from.
    pub version: String,
    /// MD5 of its sources in hexadecimal digits.
    pub checksum: String,
}

impl Release {
    /// Releases with the checksums of their sources, as they print them.
    const KNOWN: &'static [(&'static str, &'static str)] = &[
        ("1.4.0", "3df8729945b6df198d3b59576641aeec"),
        ("1.5.0", "8dc3b027d85b28bedf9fd731362e4968"),
        ("1.6.0-rc1", "90b95efce4ec5ab3987cb432a34702e0"),
        ("1.6.0-rc2", "90b95efce4ec5ab3987cb432a34702e0"),
    ];

    /// This version with its checksum; `None` if that is not known.
    pub(super) fn known(version: &str) -> Option<Self> {
        let (version, checksum) = Self::KNOWN.iter().find(|(known, _)| *known == version)?;
        Some(Self {
            version: (*version).to_owned(),
            checksum: (*checksum).to_owned(),
        })
    }

    /// Release that a server is set to announce; a version alone needs a known checksum.
    pub(super) fn from_settings(
        version: Option<&str>,
        checksum: Option<&str>,
    ) -> Result<Self, String> {
        let version = version.unwrap_or(USUAL);
        let given = checksum.map(|checksum| Self {
            version: version.to_owned(),
            checksum: checksum.to_owned(),
        });
        given.or_else(|| Self::known(version)).ok_or_else(|| {
            format!(
                "--sfnt-version {version}: its checksum is not known here; give --sfnt-checksum as the client prints it after \"# src:\""
            )
        })
    }

    /// The number of the release. A program that was built from an archive calls itself `no-version`.
    pub(super) fn number(&self) -> &str {
        let same = |(_, checksum): &&(&str, &str)| *checksum == self.checksum;
        let known = Self::KNOWN.iter().find(same);
        known.map_or(&self.version, |(version, _)| version)
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::known(USUAL).expect("invariant: it is in the list")
    }
}
