//! A running stack: its process, link and answers.

use crate::caller::COUNTS;
use crate::link::{self, Attachment, StackAddresses};
use crate::spec::StackSpec;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure, Result};
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

/// Timeout of a stack's answer, on a busy host too.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A running stack and its server. Dropping it ends both, with its link.
#[derive(Debug)]
pub struct RunningStack {
    spec: StackSpec,
    /// What its program was built from.
    source: Option<String>,
    addresses: StackAddresses,
    child: Child,
    said: BufReader<UnixStream>,
}

impl RunningStack {
    pub(crate) fn start(spec: &StackSpec, program: &Path) -> Result<Self> {
        let (own, theirs) = UnixStream::pair().map_err(|error| failed(spec, "a socket", &error))?;
        let patience = (spec.kind.patience)(&spec.options);
        let start = patience.map_or(Duration::ZERO, |patience| patience.start);
        own.set_read_timeout(Some(start + ANSWER_TIMEOUT))
            .map_err(|error| failed(spec, "a socket", &error))?;
        let mut command = Command::new(program);
        command
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::piped())
            // Keeps Ctrl-C from the stack, which this process needs until its end.
            .process_group(0);
        if patience.is_none() {
            die_with_parent(&mut command);
        }
        let (child, addresses) = match (spec.kind.attachment)(&spec.options) {
            Attachment::OwnTap => beside(spec, &mut command)?,
            Attachment::Tap => on_tap(spec, &mut command)?,
            Attachment::Veth => in_namespace(spec, &mut command)?,
        };
        // It holds the child's end of the socket.
        drop(command);
        let mut running = Self {
            spec: spec.clone(),
            source: (spec.kind.source)(program),
            addresses,
            child,
            said: BufReader::new(own),
        };
        match running.line()? {
            line if line == "ready" => Ok(running),
            line => Err(running.wrong(&line)),
        }
    }

    /// Its addresses.
    pub const fn addresses(&self) -> StackAddresses {
        self.addresses
    }

    /// Its counts since its start, once `streams` of its server have ended, those of both directions counted twice.
    pub fn report(&mut self, streams: u64) -> Result<StackReport> {
        // In one write, as the server reads it.
        let question = format!("{COUNTS} {streams}\n");
        let asked = self.said.get_mut().write_all(question.as_bytes());
        asked.map_err(|error| self.gone(&error.to_string()))?;
        let line = self.line()?;
        let mut counts: StackCounts = serde_json::from_str(&line).map_err(|_| self.wrong(&line))?;
        counts.source = counts.source.or_else(|| self.source.clone());
        Ok(StackReport {
            stack: self.spec.kind.id.to_owned(),
            options: self.spec.options.clone(),
            usual: self.usual(),
            counts,
        })
    }

    /// Checks that it still runs; the error says why not.
    pub fn check(&mut self) -> Result<()> {
        self.report(0).map(drop)
    }

    /// Default option values.
    fn usual(&self) -> BTreeMap<String, String> {
        let StackSpec { kind, options } = &self.spec;
        let usual = kind.usual.iter();
        let missing = usual.filter(|(name, _)| !options.contains_key(*name));
        missing
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn line(&mut self) -> Result<String> {
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

    /// Error for a stack that is no longer usable, with the reason and its last output.
    fn gone(&mut self, why: &str) -> Failure {
        self.end();
        let mut printed = String::new();
        if let Some(errors) = &mut self.child.stderr {
            // It has ended, so the pipe has an end; an unreadable rest is not quoted.
            let _ = errors.take(4096).read_to_string(&mut printed);
        }
        // Use its last line of output.
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
        if let Some(patience) = (self.spec.kind.patience)(&self.spec.options) {
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

/// Starts the program with a TAP device as its standard input. The device then belongs to the program alone.
fn on_tap(spec: &StackSpec, command: &mut Command) -> Result<(Child, StackAddresses)> {
    let (tap, addresses) = link::tap()?;
    command
        .args((spec.kind.arguments)(&spec.options, addresses))
        .stdin(Stdio::from(OwnedFd::from(tap)));
    Ok((spawn(spec, command)?, addresses))
}

/// Starts the program in this namespace; it creates its device.
fn beside(spec: &StackSpec, command: &mut Command) -> Result<(Child, StackAddresses)> {
    let addresses = link::unmade()?;
    command
        .args((spec.kind.arguments)(&spec.options, addresses))
        .stdin(Stdio::null());
    Ok((spawn(spec, command)?, addresses))
}

/// Starts the program in a new network namespace, which then belongs to it alone.
fn in_namespace(spec: &StackSpec, command: &mut Command) -> Result<(Child, StackAddresses)> {
    let near = NetNamespace::current()
        .map_err(|error| failed(spec, "the namespace of this thread", &error))?;
    let started = within(&near, spec, command);
    near.enter()
        .map_err(|error| failed(spec, "the way back from the stack's namespace", &error))?;
    started
}

/// Starts the program in a new network namespace; the calling thread may be left in it.
fn within(
    near: &NetNamespace,
    spec: &StackSpec,
    command: &mut Command,
) -> Result<(Child, StackAddresses)> {
    let far =
        NetNamespace::unshare().map_err(|error| failed(spec, "a network namespace", &error))?;
    let addresses = link::veth(near, &far)?;
    let StackSpec { kind, options } = spec;
    (kind.configure)(options)?;
    command
        .args((kind.arguments)(options, addresses))
        .stdin(Stdio::null());
    Ok((spawn(spec, command)?, addresses))
}

fn spawn(spec: &StackSpec, command: &mut Command) -> Result<Child> {
    command
        .spawn()
        .map_err(|error| failed(spec, &command.get_program().to_string_lossy(), &error))
}

fn failed(spec: &StackSpec, what: &str, error: &io::Error) -> Failure {
    let message = format!("starting the stack {spec}: {what}: {error}");
    Failure::new(ExitCode::HostLacks, message)
}
