//! Runs of a program: those that have ended, and those that go on.

use linerate_testkit::child::KilledChild;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStderr, ChildStdout, Command, Output, Stdio};

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// It went well and said nothing on standard error; what it printed.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self.out
    }

    /// It went well, whatever it said beside; what it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }

    /// It went well and printed one run document that its schema allows.
    #[track_caller]
    pub(crate) fn document(self) -> Value {
        valid(&self.done())
    }

    /// It failed with `code` and one error, in which each of `words` stands.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let errors: Vec<_> = self
            .err
            .lines()
            .filter(|line| line.starts_with("linerate: ") || line.starts_with("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "{}", self.err);
        for word in words {
            assert!(errors[0].contains(word), "{word:?} is not in {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        said_once(errors[0]);
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The system's reason stands in an error once.
#[track_caller]
fn said_once(error: &str) {
    assert!(error.matches("(os error").count() <= 1, "{error}");
}

/// Parses a run document and checks it against the published schema.
#[track_caller]
pub(crate) fn valid(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(linerate_schema_check::validate(&document), Ok(()));
    document
}

/// A program that runs beside the test; killed when it goes out of scope.
pub(crate) struct Running {
    child: KilledChild,
    out: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self {
            child: child.into(),
            out,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads lines of standard output until one has `wanted` in it.
    #[track_caller]
    pub(crate) fn await_line(&mut self, wanted: &str) {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            let length = self.out.read_line(&mut line).unwrap();
            assert!(length > 0, "the output ended without {wanted}");
        }
    }

    /// What it says on standard error is for who takes this.
    pub(crate) fn take_stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    /// Waits for its end; its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Waits for its end; standard output is what follows the awaited line.
    pub(crate) fn end(mut self) -> Ended {
        let mut out = String::new();
        self.out.read_to_string(&mut out).unwrap();
        let mut err = String::new();
        self.take_stderr().read_to_string(&mut err).unwrap();
        let code = self.wait();
        Ended { code, out, err }
    }
}
