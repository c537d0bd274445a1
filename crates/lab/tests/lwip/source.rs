//! lwIP from Debian's source package, built with its lwiperf as a small board has it. The port to Unix, with its TAP driver,
//! is one of Debian's changes.

use anyhow::{Context as _, Result};
use linerate_stacks::{debian, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program on lwIP.
pub(crate) enum Program {
    /// That of `board.c`.
    Board,
    /// That of `responder.c`, with the responder for C in this folder.
    Responder(PathBuf),
}

/// What the standard library in the responder for this host needs.
const HOST_LIBRARIES: [&str; 4] = ["-lgcc_s", "-lpthread", "-lm", "-ldl"];

/// Builds a program from what was fetched; where it is.
pub(crate) fn build(folder: &Path, what: &Program) -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lwip");
    let source = folder.join(debian::UNPACKED);
    let name = match what {
        Program::Board => "board",
        Program::Responder(_) => "responder",
    };
    let program = folder.join(name);
    let mut cc = Command::new("cc");
    // The one that says what the stack is like comes first.
    cc.arg("-O2").arg("-w").arg("-I").arg(&here);
    for headers in ["src/include", "port/include"] {
        cc.arg("-I").arg(source.join(headers));
    }
    cc.arg(here.join(name).with_extension("c"));
    for part in ["src/core", "src/core/ipv4", "src/api", "src/apps/lwiperf"] {
        cc.args(with_extension(&source.join(part), "c")?);
    }
    cc.arg(source.join("src/netif/ethernet.c"));
    cc.arg(source.join("port/sys_arch.c"));
    cc.arg(source.join("port/netif/tapif.c"));
    if let Program::Responder(library) = what {
        let glue = here.join("../../../../firmware/c/lwip");
        cc.arg("-I").arg(library).arg("-I").arg(&glue);
        cc.arg(glue.join("linerate_lwip.c"));
        cc.arg(library.join("liblinerate_responder.a"));
        cc.args(HOST_LIBRARIES);
    }
    cc.args(["-lpthread", "-o"]).arg(&program);
    tools::run(&mut cc)?;
    Ok(program)
}

fn with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let fits = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    Ok(paths.into_iter().filter(fits).collect())
}
