//! `cargo xtask test TIER`: every test of a tier, counted, side by side where tests do not share what they measure.
//!
//! A test target says in its package what it needs, under `[package.metadata.tests.NAME]`:
//! - `tier = "test"` or `"all"`: not part of the tiers below (without it: `check`);
//! - `alone = true`: nothing runs beside it, since it measures rates or times, or changes a setting of the machine;
//! - `waits = true`: it waits for most of its time, and runs beside as many others as there are cores;
//! - `threads = N`: so many of its tests run at once, in place of as many as there are cores.
//!
//! Tests that need privileges are `#[ignore]`d (or cases of a namespace target) and belong to `test` at least. Every
//! test that a target lists must have run: one that did not is counted as skipped, and the suite then fails.

mod job;
mod targets;

use anyhow::{Result, bail};
use job::{Counts, Job, Share};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;

/// How much is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tier {
    /// What a contributor runs all the time: needs no privileges and no packages.
    #[default]
    Check,
    /// Everything a user relies on.
    Test,
    /// Also what takes long: every fault with its proof, every tool, endurance.
    All,
}

impl Tier {
    fn from_word(word: &str) -> Result<Self> {
        Ok(match word {
            "check" => Self::Check,
            "test" => Self::Test,
            "all" => Self::All,
            _ => bail!("no tier `{word}`: there are check, test and all"),
        })
    }

    /// As test targets read it from `LINERATE_TIER`.
    const fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Test => "test",
            Self::All => "all",
        }
    }
}

/// A command that passes or fails as a whole.
struct Step {
    name: &'static str,
    tier: Tier,
    command: &'static str,
}

/// What runs before the tests, in this order: the cheapest first.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        tier: Tier::Check,
        command: "cargo fmt --all --check",
    },
    Step {
        name: "workspace",
        tier: Tier::Check,
        command: "cargo xtask check",
    },
    Step {
        name: "clippy",
        tier: Tier::Check,
        command: "cargo clippy --workspace --all-targets --locked -- -D warnings",
    },
    Step {
        name: "documentation",
        tier: Tier::Test,
        command: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked",
    },
    Step {
        name: "doctests",
        tier: Tier::All,
        command: "cargo test --workspace --doc --locked",
    },
    Step {
        // That they still build. Nothing is linked, so the fuzzer's library need not be there; what clippy has checked of
        // the dependencies is taken.
        name: "fuzz targets",
        tier: Tier::Test,
        command: "CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir target",
    },
];

/// Runs the tier that `word` names, and says at the end "N passed, N failed, N skipped".
pub(crate) fn run(root: &Path, word: &str) -> Result<ExitCode> {
    let tier = Tier::from_word(word)?;
    let logs = root.join("target/test");
    drop(std::fs::remove_dir_all(&logs));
    std::fs::create_dir_all(&logs)?;

    let mut total = Counts::default();
    let mut failed: Vec<String> = Vec::new();
    for step in STEPS.iter().filter(|step| step.tier <= tier) {
        println!("\n== {}: {}", step.name, step.command);
        let shell = Command::new("sh")
            .args(["-c", step.command])
            .current_dir(root)
            .status()?;
        if !shell.success() {
            println!("== {} FAILED", step.name);
            failed.push(step.name.to_owned());
        }
    }

    println!("\n== tests, tier {}", tier.word());
    let jobs = targets::jobs(root, tier)?;
    for (job, counts) in run_jobs(jobs, tier, &logs) {
        if !counts.is_good() {
            failed.push(job.name());
        }
        total += counts;
    }

    println!();
    for name in &failed {
        println!("failed: {name}");
    }
    // A step that failed without a failed test counts as one failure.
    let steps = STEPS
        .iter()
        .filter(|step| failed.iter().any(|name| name == step.name))
        .count();
    total.failed += steps as u64;
    println!(
        "{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.skipped
    );
    Ok(if failed.is_empty() && total.passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the jobs, and tells of each as it ends: those that mostly wait all at once, as many of the usual ones beside as
/// there are cores, and after them each of those that must be alone.
fn run_jobs(jobs: Vec<Job>, tier: Tier, logs: &Path) -> Vec<(Job, Counts)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (alone, together): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| job.share == Share::Alone);
    let (waiting, usual): (Vec<Job>, Vec<Job>) = together
        .into_iter()
        .partition(|job| job.share == Share::Waits);
    let done = Mutex::new(Vec::new());
    let (waiters, waiting) = (waiting.len(), Mutex::new(waiting.into_iter()));
    let (usual, alone) = (Mutex::new(usual.into_iter()), Mutex::new(alone.into_iter()));
    let work = |jobs: &Mutex<std::vec::IntoIter<Job>>| {
        loop {
            let next = lock(jobs).next();
            let Some(job) = next else { return };
            let counts = job.run(tier, logs);
            lock(&done).push((job, counts));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..waiters {
            scope.spawn(|| work(&waiting));
        }
        for _ in 0..cores {
            scope.spawn(|| work(&usual));
        }
    });
    work(&alone);
    done.into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
