//! The test programs of the workspace: built, asked what they hold, and made into jobs.

use super::Tier;
use super::job::{Job, Share};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `cargo metadata` says of a package, as far as it is needed.
#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: PathBuf,
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    tests: BTreeMap<String, Needs>,
}

#[derive(Deserialize)]
struct Workspace {
    packages: Vec<Package>,
}

/// What a test target says of itself.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(deny_unknown_fields)]
struct Needs {
    #[serde(default)]
    tier: Tier,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    waits: bool,
    threads: Option<u16>,
}

impl Needs {
    /// `None` if it says both.
    const fn share(self) -> Option<Share> {
        match (self.alone, self.waits) {
            (true, true) => None,
            (true, false) => Some(Share::Alone),
            (false, true) => Some(Share::Waits),
            (false, false) => Some(Share::Core),
        }
    }

    /// What is alone is so among its own tests too.
    const fn threads(self) -> Option<u16> {
        if self.alone { Some(1) } else { self.threads }
    }
}

/// One message of `cargo build --message-format=json`, if it is of a program.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    target: Target,
    executable: Option<PathBuf>,
    profile: Profile,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds every test program, and makes jobs of each that has something for this tier.
pub(super) fn jobs(root: &Path, tier: Tier) -> Result<Vec<Job>> {
    let workspace = workspace(root)?;
    let mut jobs = Vec::new();
    let mut built: Vec<(String, String)> = Vec::new();
    for artifact in build(root)? {
        let Some(program) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let id = &artifact.package_id;
        let package = workspace.packages.iter().find(|package| package.id == *id);
        let package = package.with_context(|| format!("cargo does not list {id}, and built it"))?;
        let name = artifact.target.test_name();
        let needs = package.needs(&name);
        built.push((package.name.clone(), name.clone()));
        let share = needs
            .share()
            .with_context(|| format!("{}, test {name}: both alone and waits", package.name))?;
        if needs.tier > tier {
            continue;
        }
        for ignored in [false, true] {
            if !ignored || tier >= Tier::Test {
                jobs.push(Job {
                    package: package.name.trim_start_matches("linerate-").to_owned(),
                    target: name.clone(),
                    program: program.clone(),
                    folder: package.folder(),
                    ignored,
                    share,
                    threads: needs.threads(),
                });
            }
        }
    }
    workspace.check_names(&built)?;
    Ok(jobs)
}

impl Package {
    fn needs(&self, test: &str) -> Needs {
        let listed = self.metadata.as_ref().and_then(|all| all.tests.get(test));
        listed.copied().unwrap_or_default()
    }

    fn folder(&self) -> PathBuf {
        let folder = self.manifest_path.parent();
        folder.unwrap_or_else(|| Path::new(".")).to_owned()
    }
}

impl Target {
    /// A package's own unit tests bear the name of its library or program: `unit` here.
    fn test_name(self) -> String {
        let is_unit = self.kind.iter().any(|kind| kind == "lib" || kind == "bin");
        if is_unit {
            "unit".to_owned()
        } else {
            self.name
        }
    }
}

impl Workspace {
    /// A section that names no test would silently do nothing.
    fn check_names(&self, built: &[(String, String)]) -> Result<()> {
        for package in &self.packages {
            let listed = package.metadata.iter().flat_map(|all| all.tests.keys());
            for test in listed {
                if !built.contains(&(package.name.clone(), test.clone())) {
                    let manifest = package.manifest_path.display();
                    bail!("{manifest}: [package.metadata.tests.{test}] names no test target");
                }
            }
        }
        Ok(())
    }
}

fn workspace(root: &Path) -> Result<Workspace> {
    let metadata = crate::metadata(root)?;
    // Other tools' sections of the same table may be of any form; ours is checked.
    serde_json::from_value(metadata)
        .context("reading [package.metadata.tests] of the workspace's packages")
}

/// Builds the tests; what the compiler says goes to standard error.
fn build(root: &Path) -> Result<Vec<Artifact>> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--locked", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo test --no-run")?;
    if !output.status.success() {
        bail!(
            "the tests do not build: cargo test --no-run ended with {}; what it said is above",
            output.status
        );
    }
    let text = String::from_utf8(output.stdout)?;
    let artifacts = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(artifacts.collect())
}
