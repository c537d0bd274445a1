//! `doctor --host ssh://…`: this program, carried to another host by the system's ssh, run there and removed.
//!
//! ```text
//!   here                                  there (one ssh connection, a shell script)
//!    │ ssh … sh -c SCRIPT ───────────────► │ makes a directory of its own
//!    │ ◄───────────── linerate-far Linux x86_64
//!    │ this program's bytes ─────────────► │ linerate doctor --json …
//!    │ ◄───────────── the document ─────── │ removes the directory, whatever happened
//! ```
//!
//! How the host is reached and trusted is the user's `ssh_config` and `known_hosts`: nothing of that
//! is overridden. What comes back is bounded, parsed and checked like any hostile input.

use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::doctor::{CheckOutcome, Examination, SCHEMA};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::ssh::SshDestination;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::wait_for_end;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Longest document that is taken.
const DOCUMENT_MAX: u64 = 8 * 1024 * 1024;
/// Longest of what the far side says on standard error that is shown.
const SAID_MAX: u64 = 4 * 1024;
/// Longest first line.
const GREETING_MAX: u64 = 256;
/// How long the last bytes of an ssh that has ended may take.
const GRACE: Duration = Duration::from_secs(5);
/// What the far script says first.
const GREETING: &str = "linerate-far";
/// Most checks, changes and cores of a document.
const ITEMS_MAX: usize = 16 * 1024;

/// Reads `--host ssh://user@host:port`; user and port may be left out.
pub fn far_host(text: &str) -> Result<SshDestination, Failure> {
    let refuse = |why: &str| {
        let message = format!("--host {text}: {why}; write ssh://user@host or ssh://host:2222");
        Failure::new(ExitCode::Usage, message)
    };
    let rest = text
        .strip_prefix("ssh://")
        .ok_or_else(|| refuse("only ssh:// reaches another host here"))?;
    rest.parse().map_err(|why: String| refuse(&why))
}

/// How to examine another host.
#[derive(Debug, Clone)]
pub struct FarPlan {
    /// The host.
    pub host: SshDestination,
    /// The ssh program and its options: `ssh`, or `ssh -F FILE`.
    pub ssh: Vec<String>,
    /// Arguments of `doctor` there, without `--json`.
    pub arguments: Vec<String>,
    /// Most time for all of it, a password that the user types included.
    pub patience: Duration,
}

impl FarPlan {
    /// Examines the host. Its exit code is decided by whoever reads the document, as at home.
    pub fn examine(&self) -> Result<Examination> {
        let own = std::env::current_exe().context("looking for this program's own file")?;
        let program = File::open(&own).with_context(|| format!("opening {}", own.display()))?;
        let length = program
            .metadata()
            .context("asking for this program's length")?
            .len();
        let mut child = self.start(length)?;
        let (stderr, out, input) = (child.stderr.take(), child.stdout.take(), child.stdin.take());
        let said = aside(move || kept(stderr, SAID_MAX));
        let answer = aside(move || converse(out.map(BufReader::new), input, program));
        let deadline = MonoClock.now().after(self.patience);
        let ended = wait_for_end(&child, deadline).unwrap_or(false);
        if !ended {
            let _ = child.kill();
        }
        let status = child.wait().context("waiting for ssh")?;
        // A helper that ssh leaves behind may hold the pipes open: it is not waited for.
        let said = said.recv_timeout(GRACE).unwrap_or_default();
        match answer.recv_timeout(GRACE).unwrap_or(Err(Answer::Silent)) {
            Ok(document) if !document.is_empty() => self.read(&document, &said),
            Err(Answer::OtherMachine(theirs)) => Err(self.other_machine(&theirs).into()),
            _ if !ended => Err(self.failed("did not answer in time", &said).into()),
            Ok(_) => Err(self
                .failed(&format!("gave no document ({status})"), &said)
                .into()),
            Err(Answer::Silent) => Err(self
                .failed(
                    &format!("could not be reached or has no shell ({status})"),
                    &said,
                )
                .into()),
        }
    }

    fn start(&self, length: u64) -> Result<Child> {
        let (program, options) = self
            .ssh
            .split_first()
            .ok_or_else(|| Failure::new(ExitCode::Usage, "--ssh names no program"))?;
        let mut command = Command::new(program);
        command
            .args(options)
            .args(self.host.options())
            .args(["-T", "--", self.host.host()])
            .arg(format!("sh -c {}", quoted(&self.script(length))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().map_err(|error| {
            Failure::new(ExitCode::HostLacks, format!(
                "starting {program}: {error}; install OpenSSH's client, or name another with --ssh"
            ))
            .into()
        })
    }

    /// What the far shell does. Only what POSIX has, and `head -c`, `mktemp -d`.
    fn script(&self, length: u64) -> String {
        let arguments: Vec<_> = self.arguments.iter().map(|word| quoted(word)).collect();
        format!(
            "d=$(mktemp -d) || exit 1; trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; \
             printf '{GREETING} %s %s\\n' \"$(uname -s)\" \"$(uname -m)\"; \
             head -c {length} >\"$d/linerate\"; [ \"$(wc -c <\"$d/linerate\")\" -eq {length} ] || exit 1; chmod 700 \"$d/linerate\"; \
             \"$d/linerate\" doctor --json {} </dev/null",
            arguments.join(" ")
        )
    }

    fn read(&self, document: &[u8], said: &str) -> Result<Examination> {
        let parsed: Result<Examination, _> = serde_json::from_slice(document);
        let examination = parsed.map_err(|error| {
            self.failed(
                &format!("sent something that is not {SCHEMA}: {error}"),
                said,
            )
        })?;
        check(&examination).map_err(|why| self.failed(&why, said))?;
        Ok(examination)
    }

    fn failed(&self, what: &str, said: &str) -> Failure {
        let said = said.trim();
        let there = if said.is_empty() {
            String::new()
        } else {
            format!("; it said: {said}")
        };
        Failure::new(
            ExitCode::Peer,
            format!("{} {what}{there}", self.host.host()),
        )
    }

    fn other_machine(&self, theirs: &str) -> Failure {
        Failure::new(
            ExitCode::HostLacks,
            format!(
                "{} is a {theirs}, and this program is built for Linux {}: copy a linerate built for it there and run `linerate doctor --json` on it",
                self.host.host(),
                std::env::consts::ARCH
            ),
        )
    }
}

/// Why there is no document.
enum Answer {
    /// The other host cannot run this program.
    OtherMachine(String),
    /// Nothing was said.
    Silent,
}

/// Waits for the greeting, sends the program, takes the document.
fn converse(
    out: Option<BufReader<impl Read>>,
    input: Option<ChildStdin>,
    mut program: File,
) -> Result<Vec<u8>, Answer> {
    let (Some(mut out), Some(mut input)) = (out, input) else {
        return Err(Answer::Silent);
    };
    // What a shell's start-up files print comes before.
    let theirs = loop {
        let mut line = Vec::new();
        let read = out.by_ref().take(GREETING_MAX).read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return Err(Answer::Silent);
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(theirs) = line.trim().strip_prefix(GREETING) {
            break clean(theirs.trim());
        }
    };
    if !is_ours(&theirs) {
        return Err(Answer::OtherMachine(theirs));
    }
    let sent = io::copy(&mut program, &mut input).and_then(|_| input.flush());
    drop(input);
    if sent.is_err() {
        return Ok(Vec::new());
    }
    let mut document = Vec::new();
    let taken = out.take(DOCUMENT_MAX).read_to_end(&mut document);
    taken.map_or_else(|_| Ok(Vec::new()), |_| Ok(document))
}

/// Whether `uname -s -m` tells of a host that this program can run on.
fn is_ours(theirs: &str) -> bool {
    let machine = match std::env::consts::ARCH {
        "arm" => &["armv7l", "armv6l", "armv8l"][..],
        "x86" => &["i686", "i586"],
        "x86_64" => &["x86_64", "amd64"],
        "aarch64" => &["aarch64", "arm64"],
        same => return theirs == format!("Linux {same}"),
    };
    machine
        .iter()
        .any(|machine| theirs == format!("Linux {machine}"))
}

/// Does `work` on a thread of its own.
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (tell, hear) = channel();
    // Nobody may be left to be told.
    thread::spawn(move || drop(tell.send(work())));
    hear
}

/// Reads to the end, and keeps the first `most` bytes.
fn kept(from: Option<impl Read>, most: u64) -> String {
    let Some(mut from) = from else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(most).read_to_end(&mut bytes);
    let _ = io::copy(&mut from, &mut io::sink());
    clean(&String::from_utf8_lossy(&bytes))
}

/// Words of the far side, safe for a terminal.
fn clean(text: &str) -> String {
    linerate_report::figures::clean(text)
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a document from elsewhere is what it should be.
fn check(examination: &Examination) -> Result<(), String> {
    if examination.schema != SCHEMA {
        return Err(format!(
            "sent a document of schema {:?}, not {SCHEMA}",
            clean(&examination.schema)
        ));
    }
    let cores = examination
        .jitter
        .as_ref()
        .map_or(0, |jitter| jitter.cores.len());
    let items = [
        examination.checks.len(),
        examination.changes.len(),
        examination.notes.len(),
        cores,
    ];
    if items.iter().any(|count| *count > ITEMS_MAX) {
        return Err("sent a document with too many parts".to_owned());
    }
    let known: Vec<_> = super::checks().map(|(id, _)| id).collect();
    let strange = examination.checks.iter().find(|check| {
        let is_known = known.contains(&check.id.as_str());
        let settings = match &check.outcome {
            CheckOutcome::Found { finding } => finding.settings.len(),
            _ => 0,
        };
        !is_known || settings > ITEMS_MAX
    });
    match strange {
        Some(check) => Err(format!(
            "sent a check that there is not: {:?}",
            clean(&check.id)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_written_as_an_address_of_ssh() {
        let host = far_host("ssh://root@board.lab:2222").unwrap();
        assert_eq!(host.to_string(), "root@board.lab:2222");
        for bad in ["board", "http://board", "ssh://", "ssh://-oProxyCommand=x"] {
            assert_eq!(far_host(bad).unwrap_err().code, ExitCode::Usage, "{bad}");
        }
    }

    #[test]
    fn words_stay_words_in_the_far_shell() {
        assert_eq!(quoted("it's; rm -rf /"), r"'it'\''s; rm -rf /'");
    }

    #[test]
    fn documents_that_are_none_are_refused() {
        let plan = FarPlan {
            host: far_host("ssh://board").unwrap(),
            ssh: vec!["ssh".to_owned()],
            arguments: Vec::new(),
            patience: Duration::ZERO,
        };
        let good = r#"{"schema":"linerate/doctor/1","tool":{"name":"linerate"},"made":"2026-11-21T05:00:00Z","checks":[]}"#;
        assert!(plan.read(good.as_bytes(), "").is_ok());
        let other = good.replace("doctor/1", "doctor/2\\u001b[2J");
        let strange = good.replace(
            "[]",
            r#"[{"id":"x","summary":"","outcome":"fine","now":""}]"#,
        );
        for bad in ["", "{}", "hello", &other, &strange] {
            let error = plan.read(bad.as_bytes(), "motd").unwrap_err().to_string();
            assert!(error.contains("board") && error.contains("motd"), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn a_machine_of_another_kind_is_told() {
        assert!(is_ours(&format!("Linux {}", std::env::consts::ARCH)) || cfg!(target_arch = "arm"));
        for other in ["Linux sparc64", "FreeBSD amd64", "Linux", ""] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
