//! What a wrapper did to the process it started: preloaded libraries, their settings, their version.

use linerate_model::Clock as _;
use linerate_model::facts::{StackVersion, WrappedProcess};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::wait_for_end;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Prefixes of the settings of the stacks that wrappers load: Onload, VMA and XLIO.
const PREFIXES: [&str; 3] = ["EF_", "VMA_", "XLIO_"];

/// Longest that a wrapper may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// What this process was started with.
pub(super) fn loaded() -> WrappedProcess {
    let environment = fs::read("/proc/self/environ").unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/maps").ok();
    of(&environment, maps.as_deref())
}

/// From the environment that the process began with and, if it can be read, the files it has mapped.
fn of(environment: &[u8], maps: Option<&str>) -> WrappedProcess {
    let mut process = WrappedProcess::default();
    for entry in environment.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(entry);
        let Some((name, value)) = text.split_once('=') else {
            continue;
        };
        if name == "LD_PRELOAD" && !value.is_empty() {
            process.ld_preload = Some(value.to_owned());
            process.ld_preload_loaded = maps.map(|maps| {
                let mut all = value.split([':', ' ']).filter(|name| !name.is_empty());
                all.all(|library| is_mapped(library, maps))
            });
        } else if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            let (name, value) = (name.to_owned(), value.to_owned());
            process.stack_settings.insert(name, value);
        }
    }
    process
}

/// Whether a file of this library is mapped; its version may follow its name.
fn is_mapped(library: &str, maps: &str) -> bool {
    let file = Path::new(library)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let stem = file.split(".so").next().unwrap_or_default();
    let paths = maps
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5));
    let mut names = paths.filter_map(|path| Path::new(path).file_name());
    !stem.is_empty() && names.any(|name| name.to_string_lossy().starts_with(stem))
}

/// What to be careful about.
pub(super) fn warning(process: &WrappedProcess) -> Option<String> {
    let Some(preload) = &process.ld_preload else {
        return Some("it sets no LD_PRELOAD: if it does not load a stack in another way, these numbers are the kernel's".to_owned());
    };
    (process.ld_preload_loaded != Some(true)).then(|| {
        format!(
            "{preload} was not loaded into the process it started, as with a static binary: these numbers are the kernel's"
        )
    })
}

/// The version of the stack, where the wrapper is one that tells it.
pub(super) fn version(words: &[String]) -> StackVersion {
    let missing = |why: &str| StackVersion::Missing(why.to_owned());
    let program = words.first().map(String::as_str).unwrap_or_default();
    let is_onload = Path::new(program)
        .file_name()
        .is_some_and(|name| name == "onload");
    if !is_onload {
        return missing("only `onload` is asked for its version");
    }
    first_line(program).map_or_else(
        || missing("`onload --version` said nothing"),
        StackVersion::Known,
    )
}

fn first_line(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = MonoClock.now().after(VERSION_LIMIT);
    if !wait_for_end(&child, deadline).unwrap_or(false) {
        drop(child.kill());
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str =
        "7f00-7f01 r-xp 00000000 08:01 42  /usr/lib/libonload.so.8.1\n7f02-7f03 rw-p 0 00:00 0\n";

    #[test]
    fn a_loaded_stack_and_its_settings_are_told() {
        let environment = b"PATH=/bin\0LD_PRELOAD=libonload.so\0EF_POLL_USEC=100000\0";
        let process = of(environment, Some(MAPS));
        assert_eq!(process.ld_preload.as_deref(), Some("libonload.so"));
        assert_eq!(process.ld_preload_loaded, Some(true));
        assert_eq!(process.stack_settings["EF_POLL_USEC"], "100000");
        assert_eq!(process.stack_settings.len(), 1);
        assert_eq!(warning(&process), None);
    }

    #[test]
    fn a_library_that_is_not_there_is_not_believed() {
        let process = of(b"LD_PRELOAD=libonload.so:/opt/libother.so\0", Some(MAPS));
        assert_eq!(process.ld_preload_loaded, Some(false));
        assert!(warning(&process).unwrap().contains("static binary"));
        let process = of(b"LD_PRELOAD=libonload.so\0", None);
        assert_eq!(process.ld_preload_loaded, None);
        assert!(
            warning(&of(b"", Some(MAPS)))
                .unwrap()
                .contains("no LD_PRELOAD")
        );
    }

    #[test]
    fn only_onload_is_asked_for_its_version() {
        let message = |program: &str| match version(&[program.to_owned()]) {
            StackVersion::Missing(why) => why,
            StackVersion::Known(line) => panic!("{line}"),
        };
        assert!(message("sh").contains("only `onload`"));
        assert!(message("/nowhere/onload").contains("said nothing"));
    }
}
