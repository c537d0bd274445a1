//! What a wrapper says of the stack that it loads, and what to be careful about.

use linerate_model::Clock as _;
use linerate_model::facts::{Preloaded, StackVersion};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::wait_for_end;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest that a wrapper may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// What to be careful about.
pub(super) fn warning(preloaded: &Preloaded) -> Option<String> {
    let Some(libraries) = &preloaded.ld_preload else {
        return Some("it sets no LD_PRELOAD: if it does not load a stack in another way, these numbers are the kernel's".to_owned());
    };
    (preloaded.ld_preload_loaded != Some(true)).then(|| {
        format!(
            "{libraries} was not loaded into the process it started, as with a static binary: these numbers are the kernel's"
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

    #[test]
    fn a_stack_that_is_not_loaded_is_warned_of() {
        let with = |loaded| Preloaded {
            ld_preload: Some("libonload.so".to_owned()),
            ld_preload_loaded: loaded,
            ..Preloaded::default()
        };
        assert_eq!(warning(&with(Some(true))), None);
        assert!(
            warning(&with(Some(false)))
                .unwrap()
                .contains("static binary")
        );
        let none = warning(&Preloaded::default()).unwrap();
        assert!(none.contains("no LD_PRELOAD"));
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
