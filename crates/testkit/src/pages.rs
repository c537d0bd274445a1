//! Pages of results in `docs/results`: what was measured, when, on which machine, by which build.
//!
//! A page is written by the command that its first lines name, and by nothing else. The machine is known by what
//! `/proc` shows; what it does not show is called unknown.

use linerate_sys::clock::wall_now;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, io, thread};

/// A page of `docs/results`, by its name: `bench.md`.
pub fn path(name: &str) -> PathBuf {
    root().join("docs/results").join(name)
}

/// Replaces a page: its title, who wrote it and when, and what was measured.
pub fn write(name: &str, title: &str, command: &str, body: &str) -> io::Result<()> {
    fs::write(
        path(name),
        format!("# {title}\n\n{}\n{body}", head(command)),
    )
}

/// Date, build and machine of what `command` measured, as Markdown.
pub fn head(command: &str) -> String {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!(
        "- written by: `{command}`\n- date: {}\n- build: {} ({profile})\n- machine: {}, {cores} cores, Linux {}\n",
        wall_now(),
        build().unwrap_or_else(|| UNKNOWN.to_owned()),
        cpu_model(&cpu_info).unwrap_or(UNKNOWN),
        kernel.trim()
    )
}

const UNKNOWN: &str = "unknown";

/// The commit that the sources are of, `-dirty` if they were changed since.
fn build() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--tags", "--dirty"]);
    let output = git.current_dir(root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Only x86 has a name here; other processors are unknown.
fn cpu_model(cpu_info: &str) -> Option<&str> {
    let line = cpu_info
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// The workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_names_command_date_build_and_machine() {
        let head = head("make bench");
        for key in [
            "- written by: `make bench`",
            "- date: 2",
            "- build: ",
            "- machine: ",
        ] {
            assert_eq!(head.matches(key).count(), 1, "{key} in {head}");
        }
    }

    #[test]
    fn the_processor_is_the_first_that_is_named() {
        let x86 = "processor\t: 0\nmodel name\t: Fast 3000\nmodel name\t: Other\n";
        assert_eq!(cpu_model(x86), Some("Fast 3000"));
        assert_eq!(cpu_model("hart\t: 0\nisa\t: rv64\n"), None);
    }

    #[test]
    fn every_page_says_what_wrote_it() {
        for entry in fs::read_dir(path("")).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            for key in [
                "- written by: `make ",
                "- date: 20",
                "- build: ",
                "- machine: ",
            ] {
                assert!(text.contains(key), "{} has no \"{key}\"", path.display());
            }
        }
    }
}
