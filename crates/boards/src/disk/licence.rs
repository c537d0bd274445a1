//! What a package's `copyright` file says of its licences, in the words of SPDX.
//!
//! Only the machine-readable form of the file is read. A licence that has a name in the SPDX list is called by it; any
//! other is a reference (`LicenseRef-`) to the text in that file, which the image has too.
//!
//! # References
//! - Debian: Machine-readable `debian/copyright` file, version 1.0
//! - SPDX 2.3, annex D: licence expressions

use std::collections::BTreeSet;

/// Debian's licence names, and those of the SPDX list. A `+` after a version and exceptions are parsed separately.
const NAMES: &[(&str, &str)] = &[
    ("agpl-3", "AGPL-3.0"),
    ("apache-2", "Apache-2.0"),
    ("apache-2.0", "Apache-2.0"),
    ("artistic", "Artistic-1.0-Perl"),
    ("artistic-2", "Artistic-2.0"),
    ("artistic-2.0", "Artistic-2.0"),
    ("bsd-2-clause", "BSD-2-Clause"),
    ("bsd-3-clause", "BSD-3-Clause"),
    ("bsd-4-clause", "BSD-4-Clause"),
    ("bsl-1", "BSL-1.0"),
    ("bsl-1.0", "BSL-1.0"),
    ("cc0-1.0", "CC0-1.0"),
    ("expat", "MIT"),
    ("gfdl-1.2", "GFDL-1.2"),
    ("gfdl-1.3", "GFDL-1.3"),
    ("gpl-1", "GPL-1.0"),
    ("gpl-2", "GPL-2.0"),
    ("gpl-2.0", "GPL-2.0"),
    ("gpl-3", "GPL-3.0"),
    ("gpl-3.0", "GPL-3.0"),
    ("isc", "ISC"),
    ("lgpl-2", "LGPL-2.0"),
    ("lgpl-2.0", "LGPL-2.0"),
    ("lgpl-2.1", "LGPL-2.1"),
    ("lgpl-3", "LGPL-3.0"),
    ("lgpl-3.0", "LGPL-3.0"),
    ("mit", "MIT"),
    ("mpl-1.1", "MPL-1.1"),
    ("mpl-2.0", "MPL-2.0"),
    ("openssl", "OpenSSL"),
    ("psf-2", "PSF-2.0"),
    ("python-2.0", "Python-2.0"),
    ("unlicense", "Unlicense"),
    ("zlib", "Zlib"),
];

/// Licence families with separate identifiers for "or later".
const VERSIONED: &[&str] = &["AGPL-", "GFDL-", "GPL-", "LGPL-"];

/// The licences of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Licences {
    /// SPDX expression; `None` if the file could not be parsed.
    pub(crate) expression: Option<String>,
    /// References in it: identifier, and Debian's name.
    pub(crate) references: BTreeSet<(String, String)>,
}

/// Parses a `copyright` file.
pub(crate) fn licences(copyright: &str) -> Licences {
    let mut found = Licences::default();
    if !copyright.lines().take(20).any(is_format) {
        return found;
    }
    let names = copyright
        .lines()
        .filter_map(|line| line.strip_prefix("License:"))
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let all: BTreeSet<_> = names
        .map(|name| alternatives(name, &mut found.references))
        .collect();
    let all: Vec<_> = all.into_iter().collect();
    found.expression = match all.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(
            many.iter()
                .map(|one| bracketed(one))
                .collect::<Vec<_>>()
                .join(" AND "),
        ),
    };
    found
}

/// Whether it is the first line of the machine-readable format: `Format:
/// https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/`.
fn is_format(line: &str) -> bool {
    line.strip_prefix("Format:")
        .is_some_and(|rest| rest.contains("copyright-format/1.0"))
}

fn bracketed(expression: &str) -> String {
    if expression.contains(" OR ") {
        format!("({expression})")
    } else {
        expression.to_owned()
    }
}

/// Alternatives (OR), each of which may be several licences (AND).
fn alternatives(text: &str, references: &mut BTreeSet<(String, String)>) -> String {
    let text = text.replace(", and ", " and ").replace(", or ", " or ");
    let mut each = |names: &str| {
        let all = names
            .split(" and ")
            .map(|name| one(name.trim(), references));
        all.collect::<Vec<_>>().join(" AND ")
    };
    let all: Vec<_> = text.split(" or ").map(&mut each).collect();
    all.join(" OR ")
}

/// One licence: from the list, or a reference.
fn one(name: &str, references: &mut BTreeSet<(String, String)>) -> String {
    if let Some(known) = listed(name) {
        return known;
    }
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let identifier = format!(
        "LicenseRef-Debian-{}",
        name.chars().map(safe).collect::<String>()
    );
    references.insert((identifier.clone(), name.to_owned()));
    identifier
}

fn listed(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let (bare, is_open) = match lower.strip_suffix('+') {
        Some(bare) => (bare, true),
        None => (lower.as_str(), false),
    };
    let (_, spdx) = NAMES.iter().find(|(debian, _)| *debian == bare)?;
    let is_versioned = VERSIONED.iter().any(|family| spdx.starts_with(family));
    match (is_versioned, is_open) {
        (true, true) => Some(format!("{spdx}-or-later")),
        (true, false) => Some(format!("{spdx}-only")),
        (false, false) => Some((*spdx).to_owned()),
        // There is no identifier for "or later" of this licence.
        (false, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str =
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n";

    fn expression(rest: &str) -> Option<String> {
        licences(&format!("{FORMAT}{rest}")).expression
    }

    #[test]
    fn names_of_the_list_are_called_by_it() {
        let text = "\nFiles: *\nLicense: GPL-2+\n Some text.\n\nFiles: a\nLicense: Expat\n\nFiles: b\nLicense: GPL-2+\n";
        assert_eq!(
            expression(text).as_deref(),
            Some("GPL-2.0-or-later AND MIT")
        );
        assert_eq!(
            expression("License: LGPL-2.1\n").as_deref(),
            Some("LGPL-2.1-only")
        );
    }

    #[test]
    fn alternatives_stay_alternatives() {
        let text = "License: BSD-3-clause or GPL-2\n\nLicense: ISC\n";
        let said = expression(text);
        assert_eq!(
            said.as_deref(),
            Some("(BSD-3-Clause OR GPL-2.0-only) AND ISC")
        );
        let said = expression("License: GPL-2, and MIT\n");
        assert_eq!(said.as_deref(), Some("GPL-2.0-only AND MIT"));
    }

    #[test]
    fn another_licence_is_a_reference_to_its_text() {
        let found = licences(&format!("{FORMAT}License: GPL-2 with OpenSSL exception\n"));
        let identifier = "LicenseRef-Debian-GPL-2-with-OpenSSL-exception";
        assert_eq!(found.expression.as_deref(), Some(identifier));
        let name = "GPL-2 with OpenSSL exception".to_owned();
        assert_eq!(
            found.references,
            BTreeSet::from([(identifier.to_owned(), name)])
        );
    }

    #[test]
    fn a_file_for_people_only_tells_no_licence() {
        assert_eq!(
            licences("This is GPL-2.\nLicense: GPL-2\n"),
            Licences::default()
        );
        assert_eq!(expression("License:\n"), None);
        assert_eq!(licences(""), Licences::default());
    }
}
