//! Runs the program and looks at what it leaves behind.

#[path = "../shared/run.rs"]
pub(crate) mod run;

pub(crate) use run::{Ended, Running};

use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

/// The program with an environment that does not depend on who runs the tests.
pub(crate) fn linerate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command
        .stdin(Stdio::null())
        .env_remove("LINERATE_STORE")
        .env_remove("COLUMNS")
        .env_remove("LINES");
    command
}

/// A log of another tool, from the fixtures of the store.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../store/tests/fixtures/published/hifive-unleashed")
        .join(path)
}

/// A published table of sfnt-pingpong.
pub(crate) fn published(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../store/tests/fixtures/published/onload-sfnt-pingpong")
        .join(name)
}

/// A whole iperf3 log of one TCP test.
pub(crate) fn good_log() -> PathBuf {
    fixture("tcp/board-sends.client.log")
}

/// A directory that is gone after the test, with a store in it.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A file of this directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file of this directory.
    pub(crate) fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.file("store")
    }

    /// The program over this store, in this directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = linerate();
        command
            .args(args)
            .arg("--store")
            .arg(self.store())
            .current_dir(self.dir.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::spawn(&mut self.command(args))
    }

    /// Runs it to its end with this store as the user's own.
    pub(crate) fn run_own(&self, args: &[&str]) -> Ended {
        let mut command = linerate();
        command
            .args(args)
            .env("LINERATE_STORE", self.store())
            .current_dir(self.dir.path());
        Ended::spawn(&mut command)
    }

    /// The store's runs, as `list --json` prints them.
    pub(crate) fn listed(&self) -> Vec<Value> {
        let list = self.run(&["list", "--json"]).done();
        serde_json::from_str(&list).unwrap()
    }

    /// After a failure: every command over the store works, and shows this many incomplete runs only.
    #[track_caller]
    pub(crate) fn is_sound_with(&self, incomplete: usize) {
        let listed = self.listed();
        assert_eq!(listed.len(), incomplete, "{listed:?}");
        for run in &listed {
            assert_eq!(run["status"], "incomplete", "{run}");
            let id = run["id"].as_str().unwrap();
            for command in ["show", "report", "explain", "export"] {
                let output = self.run(&[command, id]).done();
                assert!(!output.is_empty(), "{command}");
            }
            let document = self.run(&["show", id, "--json"]).document();
            assert_eq!(document["status"], "incomplete");
        }
        self.run(&["import", good_log().to_str().unwrap()]).done();
        assert_eq!(self.listed().len(), incomplete + 1);
    }
}

/// `linerate serve` on a free port.
pub(crate) struct Server {
    running: Running,
    address: String,
    /// Reads what the server says: one that nobody reads waits when the pipe is full.
    messages: JoinHandle<String>,
    lines: Receiver<String>,
}

impl Server {
    pub(crate) fn on(host: &str) -> Self {
        Self::with(&["--listen", &format!("{host}:0")])
    }

    pub(crate) fn with(args: &[&str]) -> Self {
        Self::by(linerate().arg("serve").args(args))
    }

    /// By a command that starts it.
    pub(crate) fn by(command: &mut Command) -> Self {
        Self::by_with_prefix(command, "note: serving")
    }

    /// By a command whose first line begins like this, and ends with its address.
    pub(crate) fn by_with_prefix(command: &mut Command, prefix: &str) -> Self {
        let mut running = Running::start(command);
        let mut messages = BufReader::new(running.take_stderr());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(line.starts_with(prefix), "{line}");
        let (tell, lines) = channel();
        let messages = thread::spawn(move || {
            let mut said = String::new();
            for line in messages.lines() {
                let line = line.unwrap();
                said.push_str(&line);
                said.push('\n');
                // Most tests look at the whole at the end.
                drop(tell.send(line));
            }
            said
        });
        Self {
            running,
            address,
            messages,
            lines,
        }
    }

    /// Waits for a line that has this text.
    pub(crate) fn said_until(&self, text: &str) -> String {
        let mut lines = self.lines.iter();
        let found = lines.find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("it ended without {text}"))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Where it listens: `127.0.0.1:40000`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A figure of `/proc/PID/status`, such as `VmHWM`: the most memory that it has had, in KiB.
    pub(crate) fn status(&self, field: &str) -> u64 {
        let status = format!("/proc/{}/status", self.running.id());
        let status = std::fs::read_to_string(status).unwrap();
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        let (_, figure) = fields.find(|(name, _)| *name == field).unwrap();
        figure.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Kills it without a chance to say goodbye.
    pub(crate) fn kill(self) {
        self.running.signal(Signal::KILL);
    }

    /// Lets it answer nothing any more; it is killed with this value.
    pub(crate) fn rest(&self) {
        self.running.signal(Signal::STOP);
    }

    /// Asks it to end; its exit code and what it said until then.
    pub(crate) fn stop(self, signal: Signal) -> (Option<i32>, String) {
        self.running.signal(signal);
        self.ended()
    }

    /// Waits for its end; its exit code and what it said until then.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let said = self.messages.join().unwrap();
        (self.running.wait(), said)
    }
}
