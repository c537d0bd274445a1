//! One build: compile, archive, link, measure.

use super::levels::{Addressing, Buffers, Configuration, Optimisation, Target};
use crate::footprint::built;
use anyhow::{Context as _, Result};
use linerate_model::ByteCount;
use linerate_model::footprint::{Footprint, FootprintBuild};
use linerate_stacks::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The board's own files.
const FILES: &[(&str, &str)] = &[
    ("arch/cc.h", include_str!("board/arch/cc.h")),
    ("lwipopts.h", include_str!("board/lwipopts.h")),
    ("board.c", include_str!("board/board.c")),
    ("board.ld", include_str!("board/board.ld")),
];

/// Folders and files of lwIP that are the stack.
const STACK: &[&str] = &[
    "src/core",
    "src/core/ipv4",
    "src/core/ipv6",
    "src/netif/ethernet.c",
    "src/apps/lwiperf/lwiperf.c",
];

/// Names of what is made.
const ARCHIVE: &str = "liblwip.a";
const IMAGE: &str = "lwip.elf";
const MAP: &str = "lwip.map";

/// One build, in a folder of its own.
pub(super) struct Build<'a> {
    pub(super) target: &'a Target,
    pub(super) source: &'a Path,
    pub(super) folder: PathBuf,
    pub(super) configuration: Configuration,
}

impl Build<'_> {
    /// Makes it and measures it.
    pub(super) fn run(&self) -> Result<FootprintBuild> {
        let objects = self.folder.join("objects");
        for folder in [self.folder.join("arch"), objects.clone()] {
            fs::create_dir_all(&folder)
                .with_context(|| format!("creating {}", folder.display()))?;
        }
        for (name, text) in FILES {
            let path = self.folder.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        tools::run(self.compile().current_dir(&objects).args(self.stack()?))?;
        let archive = self.folder.join(ARCHIVE);
        // One of an earlier build would keep what is no longer compiled.
        let _ = fs::remove_file(&archive);
        tools::run(
            Command::new(tool("ar"))
                .arg("rcs")
                .arg(&archive)
                .args(with_ending(&objects, "o")?),
        )?;
        tools::run(self.compile().current_dir(&self.folder).arg("board.c"))?;
        self.link()?;
        self.measure(&objects)
    }

    fn compile(&self) -> Command {
        let Configuration {
            addressing,
            buffers,
            optimisation,
        } = self.configuration;
        let define = |name: &str, is: bool| format!("-DLINERATE_{name}={}", u8::from(is));
        let level = match optimisation {
            Optimisation::O0 => "-O0",
            Optimisation::Os => "-Os",
            Optimisation::O2 => "-O2",
            Optimisation::O3 => "-O3",
        };
        let mut gcc = Command::new(tool("gcc"));
        gcc.args(self.target.machine)
            .args([
                "-std=gnu11",
                level,
                "-g",
                "-w",
                "-ffunction-sections",
                "-fdata-sections",
                "-fstack-usage",
                "-c",
            ])
            // Source paths that are the same wherever the source is.
            .arg(format!("-ffile-prefix-map={}/=", self.source.display()))
            .arg(define("IPV4", addressing != Addressing::Ipv6))
            .arg(define("IPV6", addressing != Addressing::Ipv4))
            .arg(define("LARGE_BUFFERS", buffers == Buffers::Large))
            .arg("-I")
            .arg(&self.folder)
            .arg("-I")
            .arg(self.source.join("src/include"));
        gcc
    }

    fn stack(&self) -> Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for part in STACK {
            let path = self.source.join(part);
            if path.is_dir() {
                all.extend(with_ending(&path, "c")?);
            } else {
                all.push(path);
            }
        }
        Ok(all)
    }

    fn link(&self) -> Result<()> {
        let mut gcc = Command::new(tool("gcc"));
        gcc.current_dir(&self.folder)
            .args(self.target.machine)
            .args([
                "--specs=nano.specs",
                "-nostartfiles",
                "-Tboard.ld",
                "-Wl,--gc-sections",
            ])
            .arg(format!("-Wl,-Map={MAP}"))
            .args(["-o", IMAGE, "board.o", ARCHIVE]);
        tools::run(&mut gcc)?;
        Ok(())
    }

    fn measure(&self, objects: &Path) -> Result<FootprintBuild> {
        let file = |name: &str| self.folder.join(name);
        let archive = built(&[file(ARCHIVE)])?;
        let frames = with_ending(objects, "su")?;
        let image: Footprint = built(&[vec![file(IMAGE), file(MAP)], frames].concat())?;
        Ok(FootprintBuild {
            configuration: self.configuration.names(),
            archive: archive.totals,
            image: image.totals,
            stack_at_least: image
                .stack_use
                .map_or_else(ByteCount::default, |stack| stack.at_least),
        })
    }
}

fn tool(name: &str) -> String {
    format!("{}-{name}", Target::TOOLS)
}

/// The files of a folder with this ending, in the order of their names.
fn with_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let mut paths: Vec<_> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    paths.sort();
    Ok(paths)
}
