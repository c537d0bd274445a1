//! Programs that a device consists of, and the thread that keeps them.
//!
//! The kernel kills a program when the thread that started it ends, so one thread starts all programs of a device and
//! lives as long as the device. It is in the device's network and has a `/run` of its own: what programs write there
//! ends with them, also when this process is killed.

use super::programs::Program;
use crate::host::spawn_in;
use crate::{Result, TeardownError, TestbedError};
use linerate_model::Clock as _;
use linerate_model::dut::{DutThread, DutWork};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::netns::{NetNamespace, unshare_run_and_sys};
use linerate_sys::process::{memory_file, threads, wait_for_end};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Folder of the files of a device's programs, in their own `/run`.
pub(super) const FOLDER: &str = "/run/linerate-dut";

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a device's network. Dropping it ends it, and with it the programs that it started.
pub(super) struct Keeper {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(device: &Arc<NetNamespace>) -> Result<Self> {
        let (jobs, inbox): (_, Receiver<Job>) = channel();
        let thread = spawn_in(device, "dut-keeper", move || {
            for job in inbox {
                job();
            }
        })?;
        let keeper = Self {
            jobs: Some(jobs),
            thread: Some(thread),
        };
        keeper.run(|| {
            unshare_run_and_sys()
                .and_then(|()| std::fs::create_dir_all(FOLDER))
                .map_err(TestbedError::step("giving the device a /run of its own"))
        })?;
        Ok(keeper)
    }

    /// Runs `work` on the thread, and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.begin(work).wait()
    }

    /// Begins `work` on the thread.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Pending<T> {
        let (job, pending) = Pending::of(work);
        // A thread that has ended drops the job, which whoever waits for it is told.
        drop(self.jobs.as_ref().map(|jobs| jobs.send(Box::new(job))));
        pending
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.jobs = None;
        // It ends when there is no job to come; a panic of a job has reached its caller as an error.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// The result of work on another thread.
pub(super) struct Pending<T>(Receiver<Result<T>>);

impl<T: Send + 'static> Pending<T> {
    /// Begins `work` on a thread of its own in `network`.
    pub(super) fn begin_in(
        network: &Arc<NetNamespace>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<Self> {
        let (job, pending) = Self::of(work);
        spawn_in(network, "dut-restart", job)?;
        Ok(pending)
    }

    fn of(
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> (impl FnOnce() + Send + 'static, Self) {
        let (answer, done) = channel();
        let job = move || {
            // Nobody waits for it when the device is taken down.
            let _ = answer.send(work());
        };
        (job, Self(done))
    }

    /// Waits for it.
    pub(super) fn wait(&self) -> Result<T> {
        self.0.recv().unwrap_or_else(|_| {
            let step = TestbedError::step("asking the thread of the device");
            Err(step(io::ErrorKind::BrokenPipe.into()))
        })
    }
}

/// A program of a device, which may be started again.
pub(super) enum Restartable {
    /// It runs, or has ended by itself.
    Running(Running),
    /// It was killed and is being started.
    Starting(Pending<Running>),
}

impl Restartable {
    /// The program; waits for one that is being started.
    pub(super) fn get(&mut self) -> Result<&mut Running> {
        if let Self::Starting(pending) = self {
            *self = Self::Running(pending.wait()?);
        }
        match self {
            Self::Running(program) => Ok(program),
            Self::Starting(_) => unreachable!("invariant: it was waited for"),
        }
    }

    /// Kills it, and lets `keeper` start another by `begin`.
    pub(super) fn restart(
        &mut self,
        keeper: &Keeper,
        begin: impl FnOnce() -> Result<Running> + Send + 'static,
    ) -> Result<()> {
        self.get()?.kill()?;
        *self = Self::Starting(keeper.begin(begin));
        Ok(())
    }

    /// Whose CPU time its work is: nobody's while it is being started.
    pub(super) fn work(&self) -> DutWork {
        match self {
            Self::Running(program) => program.work(),
            Self::Starting(_) => DutWork::Threads(Vec::new()),
        }
    }

    /// Kills it and waits for its end. One that could not be started again has ended, which its counters said.
    pub(super) fn close(&mut self) -> Result<(), TeardownError> {
        self.get().map_or(Ok(()), Running::close)
    }
}

/// A program that runs until it is ended. What it writes is kept in memory.
#[derive(Debug)]
pub(super) struct Running {
    dut: &'static str,
    program: &'static str,
    child: Child,
    output: File,
}

impl Running {
    /// Starts it; to be called on a [`Keeper`]'s thread.
    pub(super) fn start(
        dut: &'static str,
        program: Program,
        command: &mut Command,
    ) -> Result<Self> {
        let step = || TestbedError::step(format!("starting {}", program.name));
        let output = memory_file().map_err(step())?;
        let [out, errors] = [output.try_clone(), output.try_clone()];
        let child = command
            .current_dir(FOLDER)
            .stdin(Stdio::piped())
            .stdout(out.map_err(step())?)
            .stderr(errors.map_err(step())?)
            .spawn()
            .map_err(step())?;
        Ok(Self {
            dut,
            program: program.name,
            child,
            output,
        })
    }

    /// An error with its last words if it has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        let step = TestbedError::step(format!("watching {}", self.program));
        let Some(status) = self.child.try_wait().map_err(step)? else {
            return Ok(());
        };
        Err(TestbedError::DutDied {
            dut: self.dut,
            program: self.program,
            how: status.to_string(),
            said: last_words(&self.written(0)),
        })
    }

    /// The error to report after `error` of asking it: that it has ended, if that is why.
    pub(super) fn explain(&mut self, error: TestbedError) -> TestbedError {
        // What a dying program does not answer is known before its end is.
        let deadline = MonoClock.now().after(DYING);
        // If it cannot be watched, the check says so.
        let _ = wait_for_end(&self.child, deadline);
        self.check().err().unwrap_or(error)
    }

    /// What it has written, from byte `start` on.
    pub(super) fn written(&self, start: u64) -> String {
        let length = self.output.metadata().map_or(0, |file| file.len());
        let length = length.saturating_sub(start).min(MAX_OUTPUT);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        // A file in memory has as many bytes as it says.
        let read = self.output.read_at(&mut bytes, start).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }

    /// Waits until `is_ready`; an error if the program ends before, or after [`PATIENCE`].
    pub(super) fn wait_until(
        &mut self,
        what: &str,
        mut is_ready: impl FnMut(&Self) -> bool,
    ) -> Result<()> {
        let deadline = MonoClock.now().after(PATIENCE);
        loop {
            if is_ready(self) {
                return Ok(());
            }
            self.check()?;
            let now = MonoClock.now();
            if now >= deadline {
                let said = last_words(&self.written(0));
                let step = format!("waiting for {} {what} (it said: {said})", self.program);
                return Err(TestbedError::step(step)(io::ErrorKind::TimedOut.into()));
            }
            sleep_until(now.after(POLL));
        }
    }

    /// Writes `command` to its input and returns what it answers, up to where `is_whole`.
    pub(super) fn ask(&mut self, command: &str, is_whole: impl Fn(&str) -> bool) -> Result<String> {
        let start = self.output.metadata().map_or(0, |file| file.len());
        if let Some(input) = &mut self.child.stdin {
            // If it has ended, the wait below says so.
            let _ = input.write_all(command.as_bytes());
        }
        let mut answer = String::new();
        self.wait_until("to answer", |program| {
            answer = program.written(start);
            is_whole(&answer)
        })?;
        Ok(answer)
    }

    /// Whose CPU time its work is: that of all its threads.
    pub(super) fn work(&self) -> DutWork {
        let pid = self.child.id();
        let all = threads(pid).into_iter();
        DutWork::Threads(
            all.map(|(tid, name)| DutThread { pid, tid, name })
                .collect(),
        )
    }

    /// Kills it and waits for its end, while its device stays.
    fn kill(&mut self) -> Result<()> {
        let step = TestbedError::step(format!("killing {}", self.program));
        self.end().map_err(step)
    }

    /// Kills it and waits for its end.
    pub(super) fn close(&mut self) -> Result<(), TeardownError> {
        let program = self.program;
        self.end()
            .map_err(|source| TeardownError::Program { program, source })
    }

    fn end(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a fallback: a caller that wants the errors calls `close`.
        drop(self.close());
    }
}

/// The end of what a program wrote, on one line.
fn last_words(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return "none".to_owned();
    }
    let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
    let joined = last.join(" / ");
    let skipped = joined.chars().count().saturating_sub(MAX_CHARACTERS);
    joined.chars().skip(skipped).collect()
}

/// Last words that an error repeats.
const MAX_LINES: usize = 4;
const MAX_CHARACTERS: usize = 500;
/// Bytes of a program's output that are read at once.
const MAX_OUTPUT: u64 = 1 << 20;
/// Time in which a program starts, or answers: DPDK takes seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time in which the end of a program that answers no more shows.
const DYING: Duration = Duration::from_millis(500);
/// Programs tell nobody that they have written.
const POLL: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_lines_and_short() {
        assert_eq!(last_words("\n \n"), "none");
        assert_eq!(last_words("a\n\nb\n"), "a / b");
        assert_eq!(last_words("1\n2\n3\n4\n5\n6"), "3 / 4 / 5 / 6");
        let long = last_words(&"x".repeat(10_000));
        assert_eq!(long.len(), MAX_CHARACTERS);
    }
}
