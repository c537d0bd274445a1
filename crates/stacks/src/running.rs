//! A stack that runs: its process, its link, and what it says.

use crate::caller::COUNTS;
use crate::link::{self, Attachment, StackAddresses};
use crate::spec::StackSpec;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::stack::{StackCounts, StackReport};
use linerate_sys::clock::MonoClock;
use linerate_sys::netns::NetNamespace;
use linerate_sys::process::{die_with_parent, wait_for_end};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A stack that says nothing for this long, on a busy host too, hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A stack and the server on it. Dropping it ends both; its link ends with it.
#[derive(Debug)]
pub struct RunningStack {
    spec: StackSpec,
    /// What its program was made of.
    source: Option<String>,
    addresses: StackAddresses,
    child: Child,
    said: BufReader<UnixStream>,
}

impl RunningStack {
    pub(crate) fn start(spec: &StackSpec, program: &Path) -> Result<Self, Failure> {
        let (own, theirs) = UnixStream::pair().map_err(|error| failed(spec, "a socket", &error))?;
        let patience = spec.kind.patience(&spec.options);
        let start = patience.map_or(Duration::ZERO, |patience| patience.start);
        own.set_read_timeout(Some(start + ANSWER_TIMEOUT))
            .map_err(|error| failed(spec, "a socket", &error))?;
        let mut command = Command::new(program);
        command
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::piped())
            // A Ctrl-C is for this process, which needs the stack until its end.
            .process_group(0);
        if patience.is_none() {
            die_with_parent(&mut command);
        }
        let (child, addresses) = match spec.kind.attachment(&spec.options) {
            Attachment::OwnTap => beside(spec, &mut command)?,
            Attachment::Tap => on_tap(spec, &mut command)?,
            Attachment::Veth => in_namespace(spec, &mut command)?,
        };
        // It holds the child's end of the socket.
        drop(command);
        let mut running = Self {
            spec: spec.clone(),
            source: spec.kind.source(program),
            addresses,
            child,
            said: BufReader::new(own),
        };
        match running.line()? {
            line if line == "ready" => Ok(running),
            line => Err(running.wrong(&line)),
        }
    }

    /// Where it is.
    pub const fn addresses(&self) -> StackAddresses {
        self.addresses
    }

    /// What it has counted since its start, once `streams` of its server have come to their end, those of
    /// both ways counted twice.
    pub fn report(&mut self, streams: u64) -> Result<StackReport, Failure> {
        // In one piece, as the server reads it.
        let question = format!("{COUNTS} {streams}\n");
        let asked = self.said.get_mut().write_all(question.as_bytes());
        asked.map_err(|error| self.gone(&error.to_string()))?;
        let line = self.line()?;
        let mut counts: StackCounts = serde_json::from_str(&line).map_err(|_| self.wrong(&line))?;
        counts.source = counts.source.or_else(|| self.source.clone());
        Ok(StackReport {
            stack: self.spec.kind.id().to_owned(),
            options: self.spec.options.clone(),
            usual: self.usual(),
            counts,
        })
    }

    /// Why it is of no use any more, if it is not.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.report(0).map(drop)
    }

    /// What its options are where none was given.
    fn usual(&self) -> BTreeMap<String, String> {
        let StackSpec { kind, options } = &self.spec;
        let usual = kind.usual().iter();
        let missing = usual.filter(|(name, _)| !options.contains_key(*name));
        missing
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.said.read_line(&mut line) {
            Ok(0) => Err(self.gone("it ended")),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(self.gone(&error.to_string())),
        }
    }

    fn wrong(&mut self, line: &str) -> Failure {
        let start: String = line.chars().take(80).collect();
        self.gone(&format!("it said \"{}\"", start.escape_debug()))
    }

    /// It is of no use any more: why, and what it printed last.
    fn gone(&mut self, why: &str) -> Failure {
        self.end();
        let mut printed = String::new();
        if let Some(errors) = &mut self.child.stderr {
            // It has ended, so this does too; what cannot be read is not quoted.
            let _ = errors.take(4096).read_to_string(&mut printed);
        }
        // What it says of itself begins as what this process says.
        let last = printed.lines().last();
        let last = last.map(|line| format!(": {}", line.trim_start_matches("linerate: ")));
        let message = format!(
            "the stack {} failed: {why}{}",
            self.spec,
            last.unwrap_or_default()
        );
        Failure::new(ExitCode::Peer, message)
    }

    /// Ends it; it may have ended by itself.
    fn end(&mut self) {
        if let Some(patience) = self.spec.kind.patience(&self.spec.options) {
            let deadline = MonoClock.now().after(patience.stop + ANSWER_TIMEOUT);
            let _ = self.said.get_ref().shutdown(Shutdown::Both);
            let _ = wait_for_end(&self.child, deadline);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningStack {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the program with the frames of a TAP device as its input. The device is then the program's alone.
fn on_tap(spec: &StackSpec, command: &mut Command) -> Result<(Child, StackAddresses), Failure> {
    let (tap, addresses) = link::tap()?;
    command
        .args(spec.kind.arguments(&spec.options, addresses))
        .stdin(Stdio::from(OwnedFd::from(tap)));
    Ok((spawn(spec, command)?, addresses))
}

/// Starts the program here; it makes its device.
fn beside(spec: &StackSpec, command: &mut Command) -> Result<(Child, StackAddresses), Failure> {
    let addresses = link::unmade()?;
    command
        .args(spec.kind.arguments(&spec.options, addresses))
        .stdin(Stdio::null());
    Ok((spawn(spec, command)?, addresses))
}

/// Starts the program in a new network namespace, which is then the program's alone.
fn in_namespace(
    spec: &StackSpec,
    command: &mut Command,
) -> Result<(Child, StackAddresses), Failure> {
    let near = NetNamespace::current()
        .map_err(|error| failed(spec, "the namespace of this thread", &error))?;
    let started = within(&near, spec, command);
    near.enter()
        .map_err(|error| failed(spec, "the way back from the stack's namespace", &error))?;
    started
}

/// The same; where the calling thread then is, is not said.
fn within(
    near: &NetNamespace,
    spec: &StackSpec,
    command: &mut Command,
) -> Result<(Child, StackAddresses), Failure> {
    let far =
        NetNamespace::unshare().map_err(|error| failed(spec, "a network namespace", &error))?;
    let addresses = link::veth(near, &far)?;
    let StackSpec { kind, options } = spec;
    kind.configure(options)?;
    command
        .args(kind.arguments(options, addresses))
        .stdin(Stdio::null());
    Ok((spawn(spec, command)?, addresses))
}

fn spawn(spec: &StackSpec, command: &mut Command) -> Result<Child, Failure> {
    command
        .spawn()
        .map_err(|error| failed(spec, &command.get_program().to_string_lossy(), &error))
}

fn failed(spec: &StackSpec, what: &str, error: &io::Error) -> Failure {
    let message = format!("starting the stack {spec}: {what}: {error}");
    Failure::new(ExitCode::HostLacks, message)
}
