//! lwIP for a microcontroller, in several configurations: built from Debian's source package, and measured.
//!
//! Each build is the stack as an archive, and a program around it that is linked as firmware is. The configurations are
//! levels of three factors; sizes of buffers are linerate's own choice, since published tables do not give theirs.

mod build;
mod levels;

pub use levels::{Addressing, Buffers, Choice, Optimisation, TARGETS, Target};

use anyhow::{Context as _, Result};
use build::Build;
use levels::Configuration;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::footprint::{
    FootprintBuild, FootprintBuilds, FootprintContent, PublishedFootprint,
};
use linerate_stacks::{debian, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What is built.
#[derive(Debug, Clone)]
pub struct LwipPlan {
    /// The processor.
    pub target: &'static Target,
    /// Levels of the factors; of a factor without one, those of the published study.
    pub choices: Vec<Choice>,
    /// Unpacked source of lwIP; else Debian's is fetched.
    pub source: Option<PathBuf>,
    /// Where objects, archives, programs and maps are kept; else they are gone afterwards.
    pub keep: Option<PathBuf>,
}

/// Builds and measures every configuration; `tell` hears what is being done.
pub fn builds(
    plan: &LwipPlan,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<FootprintContent> {
    let compiler = tools::version(&format!("{}-gcc", Target::TOOLS))?;
    let gone = tempfile::tempdir().context("making a folder for what is built")?;
    let folder = match &plan.keep {
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
            // Programs are started in other folders.
            folder
                .canonicalize()
                .with_context(|| format!("finding {}", folder.display()))?
        }
        None => gone.path().to_owned(),
    };
    let source = if let Some(source) = &plan.source {
        source
            .canonicalize()
            .map_err(|error| no_source(source, &error.to_string()))?
    } else {
        tell("fetching the source package of lwIP");
        debian::source("lwip", &folder).map_err(|error| {
            let message = format!("{error}; or give its unpacked source with --source DIR");
            Failure::new(error.code, message)
        })?
    };
    let version = version(&source)?;
    let builds: Vec<_> = Configuration::all(&plan.choices)
        .into_iter()
        .map(|configuration| Build {
            target: plan.target,
            source: &source,
            folder: folder.join(configuration.names().join("-")),
            configuration,
        })
        .collect();
    Ok(FootprintContent::Builds(FootprintBuilds {
        stack: "lwip".to_owned(),
        version,
        target: plan.target.name.to_owned(),
        compiler,
        builds: run(&builds, interrupt, tell)?,
        published: published()?,
        notes: NOTES.iter().map(|note| (*note).to_owned()).collect(),
    }))
}

/// What to be careful about when builds stand beside the published rows.
const NOTES: &[&str] = &[
    "the published table is of a board with an operating system, drivers and applications, which are not in these builds; orderings and ratios compare, sizes do not",
    "the table does not say what its scenarios are: 1 and 2 have the same data and bss, and so have 3 and 4, as one configuration at two levels of optimisation has",
    "base: 16 buffers of 1536 B, heap 16 KiB, TCP window of 4 segments; large-buffers: 48, 64 KiB, 16 segments",
];

/// As many at a time as the machine has cores, since a compiler uses one.
fn run(
    builds: &[Build<'_>],
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<FootprintBuild>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut made = Vec::new();
    for some in builds.chunks(cores) {
        if interrupt.load(Ordering::Relaxed) {
            let message = format!(
                "interrupted after {} of {} builds; give --config to build fewer",
                made.len(),
                builds.len()
            );
            return Err(Failure::new(ExitCode::Other, message).into());
        }
        for build in some {
            tell(&format!(
                "building {}",
                build.configuration.names().join(", ")
            ));
        }
        let results: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = some
                .iter()
                .map(|build| scope.spawn(|| build.run()))
                .collect();
            let ended = running
                .into_iter()
                .map(|build| build.join().expect("invariant: a build returns its errors"));
            ended.collect()
        });
        for result in results {
            made.push(result?);
        }
    }
    Ok(made)
}

/// The version that lwIP's header names.
fn version(source: &Path) -> Result<String, Failure> {
    let header = source.join("src/include/lwip/init.h");
    let text =
        fs::read_to_string(&header).map_err(|error| no_source(source, &error.to_string()))?;
    let number = |name: &str| {
        let define = format!("#define LWIP_VERSION_{name} ");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(define.as_str()))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let all: Option<Vec<_>> = ["MAJOR", "MINOR", "REVISION"]
        .into_iter()
        .map(number)
        .collect();
    all.map(|all| all.join("."))
        .ok_or_else(|| no_source(source, "src/include/lwip/init.h tells no version"))
}

fn no_source(source: &Path, why: &str) -> Failure {
    let message = format!(
        "{} is not the source of lwIP: {why}; give the folder that has src/include/lwip in it",
        source.display()
    );
    Failure::new(ExitCode::Plan, message)
}

/// The published rows, as they were printed.
fn published() -> Result<Vec<PublishedFootprint>> {
    let rows = include_str!("published.csv").lines().skip(1);
    rows.map(|row| {
        let (stack, figures) = row
            .split_once(',')
            .context("a row of the published table has no figures")?;
        let figures: Vec<u32> = figures
            .split(',')
            .map(|figure| {
                figure
                    .parse()
                    .with_context(|| format!("{figure} in the published table"))
            })
            .collect::<Result<_>>()?;
        let [scenario, text, data, bss, total] = figures[..] else {
            anyhow::bail!("a row of the published table has {} figures", figures.len());
        };
        let [text, data, bss, total] =
            [text, data, bss, total].map(|size| ByteCount::new(size.into()));
        Ok(PublishedFootprint {
            stack: stack.to_owned(),
            scenario,
            text,
            data,
            bss,
            total,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_rows_add_up() {
        let rows = published().unwrap();
        assert_eq!(rows.len(), 8);
        for row in rows {
            assert_eq!(
                row.text.get() + row.data.get() + row.bss.get(),
                row.total.get(),
                "{row:?}"
            );
        }
    }

    #[test]
    fn another_folder_is_not_the_source() {
        let folder = tempfile::tempdir().unwrap();
        let error = version(folder.path()).unwrap_err();
        assert_eq!(error.code, ExitCode::Plan);
        assert!(error.message.contains("src/include/lwip"), "{error}");
    }
}
