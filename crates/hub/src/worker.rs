//! A round, made by `linerate mesh` as a child.
//!
//! A child and not a call: what measures has neither an event loop nor the database's password in it, and it ends with its
//! lease whatever becomes of the hub. `--max-duration` holds when the hub is suspended; its closed output ends it within two
//! seconds when the hub is killed; the group is killed when it does not end by itself.

use crate::database::LEASE_MARGIN;
use crate::environment::keep_from;
use crate::source::InventorySource;
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::exit::ExitCode;
use linerate_sys::clock::MonoClock;
use linerate_sys::{ending, process};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Between two looks at a wish to end.
const TURN: Duration = Duration::from_millis(200);
/// What is kept of the end of what a child says.
const MAX_SAID_BYTES: usize = 4096;

/// A round to be made.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) program: PathBuf,
    pub(crate) source: InventorySource,
    pub(crate) key: Option<PathBuf>,
    /// The store that it writes into.
    pub(crate) spool: PathBuf,
    pub(crate) max_duration: Duration,
}

/// How a round ended.
#[derive(Debug)]
pub(crate) enum RoundEnd {
    /// By itself; whether with a document is for the spool to say. Its last words.
    Ended(String),
    /// It failed before anything was measured, or the program could not be started: why.
    Failed(String),
    /// The hub is asked to end.
    Interrupted,
}

/// Makes a round, in the time that it may take.
pub(crate) fn run(job: &Job) -> RoundEnd {
    match started(job).and_then(|child| attend(child, job.max_duration)) {
        Ok((status, said)) => end(status, &said),
        Err(error) => RoundEnd::Failed(format!("{error:#}")),
    }
}

fn started(job: &Job) -> Result<Child> {
    let limit = format!("{}ms", job.max_duration.as_millis());
    // A command for the inventory has a working folder of its own.
    let absolute = |path: &Path| path::absolute(path);
    let mut command = match job.program.parent() {
        // A name alone is looked for on PATH.
        Some(folder) if folder.as_os_str().is_empty() => Command::new(&job.program),
        _ => Command::new(absolute(&job.program)?),
    };
    command.arg("mesh");
    job.source.give_to(&mut command);
    if let Some(key) = &job.key {
        command.arg("--key").arg(absolute(key)?);
    }
    keep_from(&mut command)
        .args(["--quiet", "--max-duration", &limit, "--store"])
        .arg(absolute(&job.spool)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C at the hub's terminal comes by way of the hub.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", job.program.display()))
}

/// Waits for the child's end, and sees that it comes; how it ended, and the end of what it said.
fn attend(mut child: Child, max_duration: Duration) -> Result<(ExitStatus, String)> {
    // A full pipe would stop it.
    let out = child.stdout.take().map(|pipe| thread::spawn(|| tail(pipe)));
    let errors = child.stderr.take().map(|pipe| thread::spawn(|| tail(pipe)));
    let deadline = MonoClock.now().after(max_duration + LEASE_MARGIN / 2);
    let mut is_told = false;
    while !process::wait_for_end(&child, MonoClock.now().after(TURN))? {
        if ending::is_asked() && !is_told {
            process::ask_group_to_end(&child)?;
            is_told = true;
        }
        if MonoClock.now() >= deadline {
            process::kill_group(&child)?;
        }
    }
    // What it left behind may hold the pipes, or measure on. Before it is reaped: its number is still its own.
    drop(process::kill_group(&child));
    let status = child.wait()?;
    drop(out.map(thread::JoinHandle::join));
    let said = errors.and_then(|errors| errors.join().ok());
    Ok((status, said.unwrap_or_default()))
}

fn end(status: ExitStatus, said: &str) -> RoundEnd {
    if ending::is_asked() {
        return RoundEnd::Interrupted;
    }
    let code = status.code().and_then(ExitCode::of);
    let is_failed = matches!(
        code,
        Some(ExitCode::Usage | ExitCode::Plan | ExitCode::HostLacks)
    );
    let last = said.trim().lines().last().unwrap_or_default().to_owned();
    if is_failed {
        RoundEnd::Failed(last)
    } else {
        RoundEnd::Ended(last)
    }
}

/// The end of what comes through a pipe.
fn tail(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let mut bytes = [0; 1024];
    loop {
        match pipe.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => kept.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        let surplus = kept.len().saturating_sub(MAX_SAID_BYTES);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
