//! The crates of the Yocto recipe: each with its checksum, made of `Cargo.lock`, since bitbake downloads what cargo may not.
//!
//! # References
//! - `crate://` addresses and checksums by name: "Crate fetcher" and `inherit cargo-update-recipe-crates` of the Yocto manuals

use std::fmt::Write as _;

/// The list, beside the recipe that requires it.
pub(crate) const LIST: &str = "yocto/meta-linerate/recipes-linerate/linerate/linerate-crates.inc";

/// The lock file of the workspace.
pub(crate) const LOCK: &str = "Cargo.lock";

/// The only registry that bitbake's addresses name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A package of a lock file.
#[derive(Debug, PartialEq, Eq)]
struct Locked<'a> {
    name: &'a str,
    version: &'a str,
    checksum: &'a str,
}

/// The text of the list for this `Cargo.lock`, or the package that cannot be in it.
pub(crate) fn crates(lock: &str) -> Result<String, String> {
    let all: Vec<_> = lock
        .split("\n[[package]]\n")
        .skip(1)
        .filter_map(|package| locked(package).transpose())
        .collect::<Result<_, _>>()?;
    let mut text = String::from(
        "# Made of Cargo.lock by `cargo xtask recipe`: not for editing.\n\nSRC_URI += \"\\\n",
    );
    for Locked { name, version, .. } in &all {
        let _ = writeln!(text, "    crate://crates.io/{name}/{version} \\");
    }
    text.push_str("\"\n\n");
    for Locked {
        name,
        version,
        checksum,
    } in &all
    {
        let _ = writeln!(text, "SRC_URI[{name}-{version}.sha256sum] = \"{checksum}\"");
    }
    Ok(text)
}

/// `None` for what is of this workspace.
fn locked(package: &str) -> Result<Option<Locked<'_>>, String> {
    let field = |key: &str| {
        let mut lines = package.lines();
        lines.find_map(|line| {
            line.strip_prefix(key)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')
        })
    };
    let Some(source) = field("source") else {
        return Ok(None);
    };
    let name = field("name").unwrap_or_default();
    match (field("version"), field("checksum")) {
        (Some(version), Some(checksum)) if source == REGISTRY => Ok(Some(Locked {
            name,
            version,
            checksum,
        })),
        _ => Err(format!(
            "{name} comes from {source}, not from crates.io with a checksum"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: &str = "# This file is generated.\nversion = 4\n\n[[package]]\nname = \"linerate-sys\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"libc\"\nversion = \"0.2.180\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"bcc3\"\n";

    #[test]
    fn a_crate_has_its_address_and_its_checksum_and_our_own_are_not_there() {
        let text = crates(LOCKED).unwrap();
        assert!(
            text.contains("    crate://crates.io/libc/0.2.180 \\\n"),
            "{text}"
        );
        assert!(
            text.contains("SRC_URI[libc-0.2.180.sha256sum] = \"bcc3\"\n"),
            "{text}"
        );
        assert!(!text.contains("linerate-sys"), "{text}");
    }

    #[test]
    fn a_crate_from_elsewhere_is_refused() {
        let said = crates(&LOCKED.replace("registry+https", "git+https")).unwrap_err();
        assert!(said.starts_with("libc comes from git+https"), "{said}");
        assert!(crates(&LOCKED.replace("checksum", "sum")).is_err());
    }
}
