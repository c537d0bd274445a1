//! How the process ends before its work is done: by a signal, or because its terminal or its reader is gone.
//!
//! ```text
//!   working ── signal, hang-up ──► asked to end ── the work returns ──► the process ends by itself
//!      │                                └── a second signal, or GRACE ──► it is ended here
//!      └── a command that did not call `interrupt` ──► it is ended here
//! ```
//!
//! A thread waits for all of this; it never wakes otherwise. Without it a program that has no controlling terminal, or
//! whose shell is gone too, would go on for nobody: the kernel sends `SIGHUP` to the terminal's own session only, and
//! `SIGPIPE` to nobody, since Rust ignores it.

use crate::clock::MonoClock;
use crate::wake::Waker;
use linerate_model::exit::ExitCode;
use linerate_model::{Clock as _, MonoInstant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Signals that ask a program to end.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// From the wish to end to the end of the process, at most. With the start of a reaction it stays below 2 s.
pub const GRACE: Duration = Duration::from_millis(1700);

/// Signals this close together are one wish: `timeout` signals its program and then its group, a closing terminal
/// is reported by the kernel and by the shell.
const ONE_WISH: Duration = Duration::from_millis(100);

/// Maximum time of what is done before the end.
const FAREWELL: Duration = Duration::from_millis(100);

/// Maximum wait for a thread that has ended to leave the process.
const LEAVING: Duration = Duration::from_secs(1);

/// What the kernel reports of a descriptor whose other end is gone.
const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

/// Whether the process was asked to end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the command ends its work by itself once [`ASKED`] is set.
static IS_GRACEFUL: AtomicBool = AtomicBool::new(false);

/// Whether `SIGHUP` asks for another reading of the configuration instead of the end.
static IS_RELOADING: AtomicBool = AtomicBool::new(false);

/// Whether the configuration is to be read again.
static RELOAD: AtomicBool = AtomicBool::new(false);

/// Signals and [`ask`]s so far.
static WISHES: AtomicU32 = AtomicU32::new(0);

/// The last signal.
static LAST: AtomicI32 = AtomicI32::new(SIGINT);

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Who sleeps until a wish to end comes, and what wakes them.
static SLEEPERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

/// Why the process is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Signal(i32),
    TerminalGone,
    ReaderGone,
}

/// What the process does before it is ended.
type Farewell = Box<dyn FnOnce() + Send>;

struct Watch {
    waker: Waker,
    /// What tells that nobody is there any more.
    watched: Vec<(BorrowedFd<'static>, Cause)>,
    farewell: Mutex<Option<Farewell>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    is_paused: AtomicBool,
}

/// From here on the process ends within 2 s of `SIGINT`, `SIGTERM` or `SIGHUP`, the end of its terminal, or the end of
/// the reader of its standard output. `SIGHUP` and the terminal do not count if `SIGHUP` was ignored from the start, as
/// `nohup` does; the others count also in the background of a script.
pub fn watch() -> io::Result<()> {
    let is_nohup = is_ignored(SIGHUP)?;
    for signal in [SIGINT, SIGTERM] {
        if is_ignored(signal)? {
            set_default(signal)?;
        }
    }
    let state = Watch {
        waker: Waker::new()?,
        watched: watched(is_nohup),
        farewell: Mutex::new(None),
        thread: Mutex::new(None),
        is_paused: AtomicBool::new(false),
    };
    if WATCH.set(state).is_ok() {
        start()?;
    }
    Ok(())
}

/// A flag that the first wish to end sets: the command ends its work, keeps what it has, and returns. The second
/// wish, or [`GRACE`], ends the process.
pub fn interrupt() -> io::Result<&'static AtomicBool> {
    static IS_HANDLING: AtomicBool = AtomicBool::new(false);
    IS_GRACEFUL.store(true, Ordering::Relaxed);
    if IS_HANDLING.swap(true, Ordering::Relaxed) {
        return Ok(&ASKED);
    }
    for signal in SIGNALS {
        if signal == SIGHUP && (IS_RELOADING.load(Ordering::Relaxed) || is_ignored(SIGHUP)?) {
            continue;
        }
        let heard = move || {
            LAST.store(signal, Ordering::Relaxed);
            wish();
        };
        // SAFETY: the action stores to atomics and writes to an eventfd, which a handler may do.
        unsafe { signal_hook::low_level::register(signal, heard) }?;
    }
    Ok(&ASKED)
}

/// From here on `SIGHUP` asks for another reading of the configuration, instead of the end: it sets the returned flag,
/// which who reads clears. To be called before [`interrupt`]. The end of the terminal still ends the process.
pub fn reload_on_hang_up() -> io::Result<&'static AtomicBool> {
    if !IS_RELOADING.swap(true, Ordering::Relaxed) {
        // SAFETY: the action stores to an atomic, which a handler may do.
        unsafe {
            signal_hook::low_level::register(SIGHUP, || RELOAD.store(true, Ordering::Relaxed))
        }?;
    }
    Ok(&RELOAD)
}

/// Says that the work is over that [`interrupt`] is about: what is left, such as printing, has nothing to keep, and the
/// next wish ends the process.
pub fn work_is_over() {
    IS_GRACEFUL.store(false, Ordering::Relaxed);
}

/// Asks the process to end, as Ctrl-C does.
pub fn ask() {
    LAST.store(SIGINT, Ordering::Relaxed);
    wish();
}

/// Whether the process was asked to end, or nobody is there any more.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Sleeps until `deadline`, or until the process is asked to end; whether it is. Needs [`watch`] and [`interrupt`]: without
/// them only the deadline ends the sleep.
pub fn sleep_until(deadline: MonoInstant) -> bool {
    let (lock, changed) = &SLEEPERS;
    let mut asleep = locked(lock);
    while !is_asked() && !crate::clock::has_passed(deadline) {
        let left = deadline.saturating_since(MonoClock.now());
        let woken = changed.wait_timeout(asleep, left);
        asleep = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
    is_asked()
}

/// Sets what is done just before the process is ended, such as giving its terminal back; for a moment at most.
pub fn before_end(farewell: impl FnOnce() + Send + 'static) {
    if let Some(watch) = WATCH.get() {
        *locked(&watch.farewell) = Some(Box::new(farewell));
    }
}

/// The process has no other thread than its own while this lives.
#[derive(Debug)]
pub(crate) struct Paused(());

/// Ends the watching thread until the returned value is dropped.
pub(crate) fn pause() -> Paused {
    if let Some(watch) = WATCH.get()
        && let Some(thread) = locked(&watch.thread).take()
    {
        watch.is_paused.store(true, Ordering::Release);
        drop(watch.waker.wake());
        drop(thread.join());
        // The kernel wakes who joins a thread shortly before the thread has left.
        let deadline = MonoClock.now().after(LEAVING);
        while fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
            && !crate::clock::has_passed(deadline)
        {
            thread::yield_now();
        }
    }
    Paused(())
}

impl Drop for Paused {
    fn drop(&mut self) {
        if WATCH
            .get()
            .is_some_and(|watch| watch.is_paused.swap(false, Ordering::AcqRel))
        {
            // Without the thread signals still set the flag.
            drop(start());
        }
    }
}

fn start() -> io::Result<()> {
    if let Some(watch) = WATCH.get() {
        let builder = thread::Builder::new().name("ending".to_owned());
        *locked(&watch.thread) = Some(builder.spawn(|| watch.attend())?);
    }
    Ok(())
}

/// Counts a wish; called by signal handlers.
fn wish() {
    WISHES.fetch_add(1, Ordering::Relaxed);
    ASKED.store(true, Ordering::Relaxed);
    if let Some(watch) = WATCH.get() {
        drop(watch.waker.wake());
    }
}

/// Descriptors whose end is the end of the process's audience.
fn watched(is_nohup: bool) -> Vec<(BorrowedFd<'static>, Cause)> {
    let (input, output, errors) = (
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    );
    let mut watched = Vec::new();
    if !is_nohup {
        // A program whose output is kept may have been started on a terminal that is no more.
        if input.is_terminal() && !has_hung_up(input) {
            watched.push((input, Cause::TerminalGone));
        }
        let shown = [output, errors]
            .into_iter()
            .filter(io::IsTerminal::is_terminal);
        watched.extend(shown.map(|shown| (shown, Cause::TerminalGone)));
    }
    let kind = fstat(output).map(|file| FileType::from_raw_mode(file.st_mode));
    if matches!(kind, Ok(FileType::Fifo | FileType::Socket)) {
        watched.push((output, Cause::ReaderGone));
    }
    watched
}

/// Whether the other end of a terminal, pipe or socket is gone.
pub fn has_hung_up(descriptor: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(GONE)
}

impl Watch {
    /// Waits for wishes to end and for the end of what is watched, until it is paused.
    fn attend(&self) {
        let mut seen = 0;
        let mut asked: Option<(Cause, MonoInstant)> = None;
        while !self.is_paused.load(Ordering::Acquire) {
            let deadline = asked.map(|(_, at)| at.after(GRACE));
            let found = self.wait(asked.is_none(), deadline);
            self.waker.clear();
            let wishes = WISHES.load(Ordering::Relaxed);
            let found = if wishes == seen {
                found
            } else {
                seen = wishes;
                Some(Cause::Signal(LAST.load(Ordering::Relaxed)))
            };
            let now = MonoClock.now();
            match (asked, found) {
                (None, Some(cause)) => {
                    if IS_GRACEFUL.load(Ordering::Relaxed) {
                        ASKED.store(true, Ordering::Relaxed);
                    } else if cause != Cause::ReaderGone {
                        // Who only prints meets the closed pipe by itself.
                        self.end(cause);
                    }
                    asked = Some((cause, now));
                    // Taken by sleepers from their look at the flag to their sleep: none misses this.
                    drop(locked(&SLEEPERS.0));
                    SLEEPERS.1.notify_all();
                }
                (Some((_, at)), Some(cause)) if now.saturating_since(at) > ONE_WISH => {
                    self.end(cause);
                }
                _ => {}
            }
            if let Some((cause, at)) = asked
                && now >= at.after(GRACE)
            {
                self.end(cause);
            }
        }
    }

    /// Waits for a wake-up, for the end of what is watched, if it still counts, or for the deadline.
    fn wait(&self, is_watching: bool, deadline: Option<MonoInstant>) -> Option<Cause> {
        let watched = self.watched.iter().filter(|_| is_watching);
        let mut polled = vec![PollFd::from_borrowed_fd(self.waker.as_fd(), PollFlags::IN)];
        polled.extend(
            watched
                .map(|(descriptor, _)| PollFd::from_borrowed_fd(*descriptor, PollFlags::empty())),
        );
        let timeout = deadline.map(|at| {
            let left = at.saturating_since(MonoClock.now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        poll(&mut polled, timeout.as_ref()).ok()?;
        let mut causes = polled[1..].iter().zip(&self.watched);
        causes
            .find(|(polled, _)| polled.revents().intersects(GONE))
            .map(|(_, (_, cause))| *cause)
    }

    /// Ends the process, as the signal would have; without a reader, as what was interrupted.
    fn end(&self, cause: Cause) {
        if let Some(farewell) = locked(&self.farewell).take() {
            let (done, is_done): (_, Receiver<()>) = channel();
            let thread = thread::Builder::new().spawn(move || {
                farewell();
                drop(done);
            });
            // A write to a stopped terminal may not return.
            drop(thread.map(|_| is_done.recv_timeout(FAREWELL)));
        }
        let signal = match cause {
            Cause::Signal(signal) => signal,
            Cause::TerminalGone => SIGHUP,
            Cause::ReaderGone => {
                // SAFETY: ends the process and runs no code of it, so that no lock is waited for.
                unsafe { libc::_exit(ExitCode::Other as i32) }
            }
        };
        drop(emulate_default_handler(signal));
    }
}

fn is_ignored(signal: i32) -> io::Result<bool> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a valid signal; the pointer is to a live value on this frame, and nothing is changed.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zero is a valid action, and the kernel has filled it.
    let action = unsafe { action.assume_init() };
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

fn set_default(signal: i32) -> io::Result<()> {
    // SAFETY: a valid signal, and an action that runs no code.
    let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
    if before == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_other_end_of_a_pipe_or_socket_is_seen_to_go() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(!has_hung_up(writer.as_fd()));
        drop(reader);
        assert!(has_hung_up(writer.as_fd()));
        let (here, there) = UnixStream::pair().unwrap();
        assert!(!has_hung_up(here.as_fd()));
        drop(there);
        assert!(has_hung_up(here.as_fd()));
    }
}
