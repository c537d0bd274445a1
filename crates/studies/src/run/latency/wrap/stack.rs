//! What a wrapper did to the process it started: preloaded libraries, their settings, their version.

use linerate_model::Clock as _;
use linerate_model::sample::Facts;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::wait_for_end;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Prefixes of the settings of the stacks that wrappers load: Onload, VMA and XLIO.
const PREFIXES: [&str; 3] = ["EF_", "VMA_", "XLIO_"];

/// Longest that a wrapper may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// What this process was started with.
pub(super) fn loaded() -> Facts {
    let environment = fs::read("/proc/self/environ").unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/maps").ok();
    of(&environment, maps.as_deref())
}

/// From the environment that the process began with and, if it can be read, the files it has mapped.
fn of(environment: &[u8], maps: Option<&str>) -> Facts {
    let mut facts = Facts::new();
    let mut settings = serde_json::Map::new();
    for entry in environment.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(entry);
        let Some((name, value)) = text.split_once('=') else {
            continue;
        };
        if name == "LD_PRELOAD" && !value.is_empty() {
            facts.insert("ld_preload".to_owned(), json!(value));
            if let Some(maps) = maps {
                let all = value.split([':', ' ']).filter(|name| !name.is_empty());
                let loaded = all.clone().all(|library| is_mapped(library, maps));
                facts.insert("ld_preload_loaded".to_owned(), json!(loaded));
            }
        } else if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            settings.insert(name.to_owned(), json!(value));
        }
    }
    if !settings.is_empty() {
        facts.insert("stack_settings".to_owned(), Value::Object(settings));
    }
    facts
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
pub(super) fn warning(facts: &Facts) -> Option<String> {
    let Some(preload) = facts.get("ld_preload").and_then(Value::as_str) else {
        return Some("it sets no LD_PRELOAD: if it does not load a stack in another way, these numbers are the kernel's".to_owned());
    };
    (facts.get("ld_preload_loaded") != Some(&Value::Bool(true))).then(|| {
        format!(
            "{preload} was not loaded into the process it started, as with a static binary: these numbers are the kernel's"
        )
    })
}

/// The version of the stack, where the wrapper is one that tells it.
pub(super) fn version(words: &[String]) -> Facts {
    let told = |text: String| Facts::from([("stack_version".to_owned(), json!(text))]);
    let absent = |why: &str| Facts::from([("stack_version_missing".to_owned(), json!(why))]);
    let program = words.first().map(String::as_str).unwrap_or_default();
    let is_onload = Path::new(program)
        .file_name()
        .is_some_and(|name| name == "onload");
    if !is_onload {
        return absent("only `onload` is asked for its version");
    }
    match first_line(program) {
        Some(line) => told(line),
        None => absent("`onload --version` said nothing"),
    }
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
        let facts = of(environment, Some(MAPS));
        assert_eq!(facts["ld_preload"], "libonload.so");
        assert_eq!(facts["ld_preload_loaded"], true);
        assert_eq!(facts["stack_settings"], json!({"EF_POLL_USEC": "100000"}));
        assert_eq!(warning(&facts), None);
    }

    #[test]
    fn a_library_that_is_not_there_is_not_believed() {
        let facts = of(b"LD_PRELOAD=libonload.so:/opt/libother.so\0", Some(MAPS));
        assert_eq!(facts["ld_preload_loaded"], false);
        assert!(warning(&facts).unwrap().contains("static binary"));
        let facts = of(b"LD_PRELOAD=libonload.so\0", None);
        assert_eq!(facts.get("ld_preload_loaded"), None);
        assert!(
            warning(&of(b"", Some(MAPS)))
                .unwrap()
                .contains("no LD_PRELOAD")
        );
    }

    #[test]
    fn only_onload_is_asked_for_its_version() {
        let facts = version(&["sh".to_owned()]);
        assert!(
            facts["stack_version_missing"]
                .as_str()
                .unwrap()
                .contains("onload")
        );
        let facts = version(&["/nowhere/onload".to_owned()]);
        assert!(facts.contains_key("stack_version_missing"));
    }
}
