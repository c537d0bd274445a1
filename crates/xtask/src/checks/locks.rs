//! The fuzz targets' own lock file knows every dependency of the rooms that they use.
//!
//! They are outside the workspace, so no other command brings that file up to date; with `--locked` they would not build.

use super::{Check, Violation, violation};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "locks",
    summary: "fuzz/Cargo.lock knows the dependencies of every room that it lists",
    run: |tree, metadata| check(tree.text(LOCK).unwrap_or_default(), metadata),
};

const LOCK: &str = "fuzz/Cargo.lock";

fn check(lock: &str, metadata: &Value) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter_map(|package| {
            let name = package["name"].as_str()?;
            let listed = dependencies(lock, name)?;
            let wanted = package["dependencies"].as_array()?.iter();
            let missing: Vec<&str> = wanted
                .filter(|wanted| wanted["kind"] != "dev" && wanted["optional"] != true)
                .filter_map(|wanted| wanted["name"].as_str())
                .filter(|name| !listed.contains(name))
                .collect();
            (!missing.is_empty()).then(|| {
                violation(
                    LOCK,
                    format!("does not know that {name} uses {}", missing.join(", ")),
                    "run `cargo metadata --manifest-path fuzz/Cargo.toml` and commit the file",
                )
            })
        })
        .collect()
}

/// What `lock` lists below the package of that name; `None` when the package is not in it.
fn dependencies<'a>(lock: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let (_, package) = lock.split_once(&format!("\nname = \"{name}\"\n"))?;
    let package = package.split("[[package]]").next().unwrap_or_default();
    let lines = package.lines().filter_map(|line| {
        let quoted = line.trim().strip_prefix('"')?.split('"').next()?;
        // A name that two versions have is followed by one of them.
        quoted.split(' ').next()
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LISTED: &str = "[[package]]\nname = \"linerate-report\"\nversion = \"0.1.0\"\ndependencies = [\n \"csv\",\n \
                          \"sha2 0.10.9\",\n]\n\n[[package]]\nname = \"maud\"\n";

    fn report(dependencies: &Value) -> Value {
        json!({ "packages": [{ "name": "linerate-report", "dependencies": dependencies }] })
    }

    #[test]
    fn what_is_listed_or_not_built_is_right() {
        let all = json!([
            { "name": "csv", "kind": null },
            { "name": "sha2", "kind": null },
            { "name": "proptest", "kind": "dev" },
            { "name": "avif", "kind": null, "optional": true },
        ]);
        assert_eq!(check(LISTED, &report(&all)), []);
        let elsewhere = json!({ "packages": [{ "name": "linerate-cli", "dependencies": [{ "name": "clap" }] }] });
        assert_eq!(check(LISTED, &elsewhere), []);
    }

    #[test]
    fn a_dependency_that_is_not_listed_is_named() {
        let found = check(LISTED, &report(&json!([{ "name": "maud", "kind": null }])));
        assert_eq!(
            found[0].what,
            "does not know that linerate-report uses maud"
        );
    }
}
