//! Processes on the two hosts: started pinned, ended and reaped whatever happens.

use anyhow::{Context as _, Result, bail};
use linerate_model::{ByteCount, Clock as _};
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::process::{self, Ended, reap, wait_for_end};
use linerate_testbed::duts::Tester;
use linerate_testbed::{Host, TestbedError};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// A network in which threads are started.
pub(crate) trait Place {
    /// Runs `work` on a thread in it.
    fn start(&self, work: Starter) -> Result<JoinHandle<Result<Child>>, TestbedError>;
}

/// Starts a process.
type Starter = Box<dyn FnOnce() -> Result<Child> + Send>;

impl Place for Host {
    fn start(&self, work: Starter) -> Result<JoinHandle<Result<Child>>, TestbedError> {
        self.spawn("starter", work)
    }
}

impl Place for Tester {
    fn start(&self, work: Starter) -> Result<JoinHandle<Result<Child>>, TestbedError> {
        self.spawn("starter", work)
    }
}

/// A running process and what it prints. Dropping it kills it.
pub(crate) struct Process {
    name: String,
    child: Option<Child>,
    output: File,
    errors: File,
}

/// What an ended process leaves.
pub(crate) struct Done {
    /// What it printed.
    pub(crate) output: String,
    /// User and system time of the whole process.
    pub(crate) cpu: Duration,
    /// Most memory that it had resident, as read once a second.
    pub(crate) peak_memory: ByteCount,
}

impl Process {
    /// Starts `program` in `place`; all its threads may use `core` only, until they pin themselves.
    pub(crate) fn start(
        place: &dyn Place,
        core: u32,
        program: &Path,
        words: &[String],
    ) -> Result<Self> {
        let name = format!("{} {}", program.display(), words.join(" "));
        let [output, errors] = [tempfile::tempfile()?, tempfile::tempfile()?];
        let mut command = Command::new(program);
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?);
        // A child inherits network and affinity from the thread that starts it.
        let starter = place.start(Box::new(move || {
            pin_current_thread(core).context("pinning")?;
            command.spawn().context("starting")
        }))?;
        let child = starter
            .join()
            .expect("invariant: the starter returns errors");
        let child = child.with_context(|| name.clone())?;
        Ok(Self {
            name,
            child: Some(child),
            output,
            errors,
        })
    }

    /// Its process number.
    pub(crate) fn id(&self) -> u32 {
        self.child().id()
    }

    /// Asks it to end, as Ctrl-C does.
    pub(crate) fn interrupt(&self) -> Result<()> {
        process::interrupt(self.child()).with_context(|| format!("interrupting {}", self.name))
    }

    /// Lets it rest until [`resume`](Self::resume).
    pub(crate) fn rest(&self) -> Result<()> {
        process::rest(self.child()).with_context(|| format!("stopping {}", self.name))
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) -> Result<()> {
        process::resume(self.child()).with_context(|| format!("continuing {}", self.name))
    }

    /// Whether it has come to its own end.
    pub(crate) fn has_ended(&self) -> Result<bool> {
        Ok(wait_for_end(self.child(), MonoClock.now())?)
    }

    /// Waits for its own end; an exit code other than 0 and a late end are errors.
    pub(crate) fn finish(mut self, patience: Duration) -> Result<Done> {
        let deadline = MonoClock.now().after(patience);
        let mut peak_memory = ByteCount::default();
        while !wait_for_end(self.child(), deadline.min(MonoClock.now().after(LOOK)))? {
            if MonoClock.now() >= deadline {
                let printed = self.printed()?;
                bail!("{} did not end within {patience:?}: {printed}", self.name);
            }
            // The kernel's own account of an ended process begins with the memory of who started it.
            let now = memory(self.id(), "VmHWM");
            peak_memory = now.map_or(peak_memory, |now| now.max(peak_memory));
        }
        let Ended { status, cpu } = self.reap()?;
        if !status.success() {
            let printed = self.printed()?;
            bail!("{}: {status}: {printed}", self.name);
        }
        let output = text(&mut self.output)?;
        Ok(Done {
            output,
            cpu,
            peak_memory,
        })
    }

    /// Kills and reaps it.
    pub(crate) fn stop(mut self) -> Result<()> {
        if self.has_ended()? {
            let printed = self.printed()?;
            bail!("{} ended too early: {printed}", self.name);
        }
        self.kill();
        Ok(())
    }

    fn child(&self) -> &Child {
        self.child
            .as_ref()
            .expect("invariant: taken at the end only")
    }

    fn reap(&mut self) -> Result<Ended> {
        let child = self.child.take().expect("invariant: taken at the end only");
        reap(child).with_context(|| format!("waiting for {}", self.name))
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Fails only for a process that has been reaped, and this one has not.
            drop(child.kill());
            drop(reap(child));
        }
    }

    fn printed(&mut self) -> Result<String> {
        let errors = text(&mut self.errors)?;
        let all = if errors.trim().is_empty() {
            text(&mut self.output)?
        } else {
            errors
        };
        let all: String = all.chars().take(MOST_PRINTED).collect();
        Ok(all.trim().replace('\n', " / "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits; nothing else of the benchmark runs meanwhile.
pub(crate) fn pause(length: Duration) {
    sleep_until(MonoClock.now().after(length));
}

fn text(file: &mut File) -> Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Memory of a process as its `status` has it under `key`; `None` once it has ended.
pub(crate) fn memory(id: u32, key: &str) -> Option<ByteCount> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let words = |line: &str| -> Option<u64> {
        let (of, value) = line.split_once(':')?;
        let kib = value.split_ascii_whitespace().next()?;
        (of == key).then(|| kib.parse().ok())?
    };
    let kib = status.lines().find_map(words)?;
    Some(ByteCount::new(kib * 1024))
}

/// How often the memory of a process is read that is waited for.
const LOOK: Duration = Duration::from_secs(1);

const MOST_PRINTED: usize = 400;
