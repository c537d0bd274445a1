//! `cargo xtask check`: what the compiler cannot check about this workspace. `cargo xtask test TIER`: its tests.
//! `cargo xtask recipe`: the crates of its Yocto recipe.
//!
//! `check` reads the tree and `cargo metadata`, and changes nothing. One line per violation, with its file and what
//! to do; the exit code is 1 if there is any.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its purpose"
)]

mod checks;
mod recipe;
mod suite;
mod tree;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tree::Tree;

fn main() -> ExitCode {
    asked().unwrap_or_else(|error| {
        // Without a backtrace, which would be all that is seen at the end of a log.
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

fn asked() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["check"] => check(&own_root()),
        ["check", root] => check(Path::new(root)),
        ["recipe"] => write_recipe(&own_root()),
        ["test", tier] => suite::run(&own_root(), tier),
        ["help" | "--help" | "-h"] => {
            println!("cargo xtask check [ROOT]    checks this workspace, or the one at ROOT:");
            for check in checks::ALL {
                println!("    {:<12} {}", check.id, check.summary);
            }
            println!(
                "cargo xtask recipe          writes the crates of the Yocto recipe, from Cargo.lock"
            );
            println!("cargo xtask test TIER     runs the tests of a tier: check, test or all");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!(
            "usage: cargo xtask check [ROOT] | cargo xtask recipe | cargo xtask test check|test|all"
        ),
    }
}

fn check(root: &Path) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let metadata = metadata(root)?;
    let mut total = 0;
    for check in checks::ALL {
        for violation in (check.run)(&tree, &metadata) {
            println!("{}: {violation}", check.id);
            total += 1;
        }
    }
    println!(
        "xtask check: {} checks, {total} violations",
        checks::ALL.len()
    );
    Ok(if total == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn write_recipe(root: &Path) -> Result<ExitCode> {
    let lock = std::fs::read_to_string(root.join(recipe::LOCK)).context(recipe::LOCK)?;
    let text = recipe::crates(&lock).map_err(anyhow::Error::msg)?;
    std::fs::write(root.join(recipe::LIST), text).context(recipe::LIST)?;
    Ok(ExitCode::SUCCESS)
}

/// The workspace this was built from.
fn own_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

fn metadata(root: &Path) -> Result<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("reading the output of cargo metadata")
}
