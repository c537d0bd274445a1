//! The Yocto layer builds this version, with the crates of `Cargo.lock`.

use super::{Check, Violation, violation};
use crate::recipe::{LIST, LOCK, crates};
use crate::tree::Tree;
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "recipe",
    summary: "the Yocto recipe is of this version and lists the crates of Cargo.lock",
    run: check,
};

const FOLDER: &str = "yocto/meta-linerate/recipes-linerate/linerate";

fn check(tree: &Tree, metadata: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    match crates(tree.text(LOCK).unwrap_or_default()) {
        Ok(text) if tree.text(LIST) == Some(&text) => {}
        Ok(_) => found.push(violation(
            LIST,
            "is not what Cargo.lock says",
            "run `cargo xtask recipe` and commit the file",
        )),
        Err(why) => found.push(violation(
            LOCK,
            why,
            "take it from crates.io, or bitbake cannot download it",
        )),
    }
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut versions = packages.filter_map(|package| {
        (package["name"] == "linerate-cli").then(|| package["version"].as_str())?
    });
    let recipe = format!("linerate_{}.bb", versions.next().unwrap_or("?"));
    if !tree.has(&format!("{FOLDER}/{recipe}")) {
        found.push(violation(
            FOLDER,
            format!("has no {recipe}"),
            "rename the recipe when the version changes",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    #[test]
    fn a_list_that_is_out_of_date_and_a_recipe_of_another_version_are_found() {
        let root = tempfile::tempdir().unwrap();
        let lock = "\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"00\"\n";
        fs::create_dir_all(root.path().join(FOLDER)).unwrap();
        let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        let metadata = json!({"packages": [{"name": "linerate-cli", "version": "0.2.0"}]});
        let said = || {
            let found = check(&Tree::read(root.path()).unwrap(), &metadata);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        write(LOCK, lock);
        write(LIST, &crates(lock).unwrap());
        write(&format!("{FOLDER}/linerate_0.2.0.bb"), "");
        assert_eq!(said(), [""; 0]);
        write(LOCK, &lock.replace("1.0.0", "1.0.1"));
        fs::remove_file(root.path().join(FOLDER).join("linerate_0.2.0.bb")).unwrap();
        let said = said();
        assert!(said[0].contains("cargo xtask recipe"), "{said:?}");
        assert!(said[1].contains("has no linerate_0.2.0.bb"), "{said:?}");
    }
}
