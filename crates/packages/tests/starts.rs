//! The time from start to the first byte of output, of every command, of the program that `make dist` builds.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_model::Clock as _;
use linerate_packages::command_line;
use linerate_sys::clock::MonoClock;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a person takes for at once, with room for a slow disk.
const LIMIT: Duration = Duration::from_millis(10);

/// Of so many starts the fastest counts: what else the machine does only adds.
const STARTS: usize = 20;

fn start(words: &[&str]) -> Duration {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist/linerate-x86-64");
    assert!(dist.is_file(), "`make dist` builds {}", dist.display());
    let began = MonoClock.now();
    let mut command = Command::new(dist);
    command.args(words).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 1];
    let output = child.stdout.as_mut().unwrap();
    output.read_exact(&mut first).unwrap();
    let taken = MonoClock.now().saturating_since(began);
    drop(child.stdout.take());
    child.wait().unwrap();
    taken
}

#[test]
#[ignore = "needs what `make dist` builds"]
fn every_command_says_something_at_once() {
    let root = command_line::linerate();
    let mut all = vec![
        vec!["--version"],
        vec!["-h"],
        vec!["ports"],
        vec!["plan", "schema"],
    ];
    let commands = command_line::walk(&root);
    let paths: Vec<Vec<&str>> = commands
        .iter()
        .map(|(path, _)| path.iter().skip(1).map(String::as_str).collect())
        .collect();
    // `linerate p4` is another program.
    for path in paths.iter().filter(|path| path.first() != Some(&"p4")) {
        all.push([path.as_slice(), &["--help"]].concat());
    }
    for words in all {
        let fastest = (0..STARTS).map(|_| start(&words)).min().unwrap();
        assert!(fastest < LIMIT, "linerate {}: {fastest:?}", words.join(" "));
    }
}
