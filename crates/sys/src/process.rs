//! Child processes: waiting for their end with a deadline, and their resource use.

use crate::clock::{MonoClock, has_passed};
use crate::wake::wait;
use crate::{bounded, ending};
use linerate_model::agent::ProcessUse;
use linerate_model::{ByteCount, Clock as _, MonoInstant};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getpid, getppid, getrlimit,
    kill_process, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, waitid,
};
use std::env;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// The program of this name: the one beside this program, else the first on `PATH`.
pub fn program_beside(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(env::split_paths(&path));
    places.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}

/// How a child process ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Its exit code or the signal that ended it.
    pub status: ExitStatus,
    /// CPU time of all its threads and of the children that it waited for, user and system.
    pub cpu: Duration,
}

/// File in memory for a child's input or output: no reader has to keep up with it.
pub fn memory_file() -> io::Result<File> {
    Ok(memfd_create("child", MemfdFlags::CLOEXEC)?.into())
}

/// Waits until `child` has ended or until `deadline`; returns whether it has ended. It is not reaped.
pub fn wait_for_end(child: &Child, deadline: MonoInstant) -> io::Result<bool> {
    let pid = pid_of(child)?;
    let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        if waitid(WaitId::Pid(pid), options)?.is_some() {
            return Ok(true);
        }
        if has_passed(deadline) {
            return Ok(false);
        }
        wait([descriptor.as_fd()], Some(deadline))?;
    }
}

/// Kills every process of the group that `child` leads; it must have been started as a group leader.
pub fn kill_group(child: &Child) -> io::Result<()> {
    Ok(kill_process_group(pid_of(child)?, Signal::KILL)?)
}

/// Sends `SIGTERM` to every process of the group that `child` leads.
pub fn ask_group_to_end(child: &Child) -> io::Result<()> {
    Ok(kill_process_group(pid_of(child)?, Signal::TERM)?)
}

/// Between two looks at a wish to end while a command is waited for.
const LOOK: Duration = Duration::from_millis(200);

/// A shell that runs this command line.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

/// What a command prints: text of at most `most` bytes. Its standard error is that of this process. What it leaves behind is
/// killed, and it too after `limit`, or once this process is asked to end.
///
/// # Errors
///
/// It cannot be started, fails, is killed, or prints more or no UTF-8.
pub fn printed_by(command: &mut Command, most: u64, limit: Duration) -> io::Result<String> {
    let deadline = MonoClock.now().after(limit);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::other(format!("it does not start: {error}")))?;
    let pipe = child.stdout.take();
    let reader = thread::spawn(move || {
        let printed = pipe.map(|pipe| bounded::read_text(pipe, most));
        printed.unwrap_or_else(|| Ok(String::new()))
    });
    let mut killed = None;
    while !wait_for_end(&child, MonoClock.now().after(LOOK))? {
        if ending::is_asked() {
            killed = Some("it was interrupted".to_owned());
        } else if has_passed(deadline) {
            killed = Some(format!("it took longer than {} s", limit.as_secs()));
        } else {
            continue;
        }
        kill_group(&child)?;
    }
    // What it left behind may hold the pipe.
    drop(kill_group(&child));
    let status = child.wait()?;
    let printed = reader.join();
    if let Some(why) = killed {
        return Err(io::Error::other(why));
    }
    let printed = printed.unwrap_or_else(|_| Err(io::Error::other("reading it panicked")))?;
    if !status.success() {
        return Err(io::Error::other(format!("it failed: {status}")));
    }
    Ok(printed)
}

/// Raises the number of files that this process may have open to what it may raise it to without privileges
/// (`RLIMIT_NOFILE`). If refused, the lower limit stays.
pub fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// How many files this process may have open; `None`: any number.
pub fn max_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// What to raise where a call failed because this process, or this host, has too little of something; `None` for other
/// errors.
pub fn resource_remedy(error: &io::Error) -> Option<&'static str> {
    let errno = Errno::from_io_error(error)?;
    match errno {
        Errno::MFILE => {
            Some("raise this process's limit of open files (ulimit -n, LimitNOFILE= of a service)")
        }
        Errno::NFILE => Some("raise this host's limit of open files (sysctl fs.file-max)"),
        Errno::NOMEM => Some(
            "raise the limit of memory (ulimit -v, MemoryMax= of a service, the container's limit)",
        ),
        _ => None,
    }
}

/// The threads of a process, by number and name.
pub fn threads(pid: u32) -> Vec<(u32, String)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            // A thread may end between listing and reading.
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            let tid = task.file_name().to_str()?.parse().ok()?;
            Some((tid, name.trim_end().to_owned()))
        })
        .collect()
}

/// Descriptor that becomes readable when `child` ends.
pub fn watch(child: &Child) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid_of(child)?, PidfdFlags::empty())?)
}

/// Makes this process the reaper of its orphaned descendants.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills and reaps every child of this process, including orphans that they leave, until there is none.
pub fn end_children() -> io::Result<()> {
    loop {
        let children = children()?;
        if children.is_empty() {
            return Ok(());
        }
        for child in children {
            kill_process(child, Signal::KILL)?;
            waitid(WaitId::Pid(child), WaitIdOptions::EXITED)?;
        }
    }
}

/// Kills `child` and all that it started, which may not end with it; those first whose parents are still there.
pub fn kill_tree(child: &Child) {
    let mut all: Vec<_> = pid_of(child).into_iter().collect();
    let mut seen = 0;
    while let Some(pid) = all.get(seen).copied() {
        // It starts nothing more. One that has ended has no children any more.
        let _ = kill_process(pid, Signal::STOP);
        all.extend(children_of(&pid.as_raw_nonzero().to_string()).unwrap_or_default());
        seen += 1;
    }
    for pid in all {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Every child of this process, reaped or not.
fn children() -> io::Result<Vec<Pid>> {
    children_of("self")
}

/// Every child of a process by its number, reaped or not.
fn children_of(pid: &str) -> io::Result<Vec<Pid>> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between listing and reading.
        let listed = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        let numbers = listed
            .split_whitespace()
            .filter_map(|word| word.parse().ok());
        all.extend(numbers.filter_map(Pid::from_raw));
    }
    Ok(all)
}

/// Makes the kernel kill the program that `command` starts when the thread that starts it ends, for whatever reason.
pub fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the request.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec only two system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(ask) };
}

/// Makes the program that `command` starts ignore Ctrl-C, which is sent to every program of the terminal.
pub fn ignore_interrupt(command: &mut Command) {
    let ignore = || {
        // SAFETY: a valid signal, and an action that runs no code.
        let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        if before == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec only one system call is made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(ignore) };
}

/// Sends `SIGTERM` to the process.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    Ok(kill_process(pid_from(pid)?, Signal::TERM)?)
}

/// Sends `SIGKILL` to the process.
pub fn kill(pid: u32) -> io::Result<()> {
    Ok(kill_process(pid_from(pid)?, Signal::KILL)?)
}

/// Suspends `child` (`SIGSTOP`) until [`resume`]. One that has ended is left as it is.
pub fn rest(child: &Child) -> io::Result<()> {
    signal(child, Signal::STOP)
}

/// Asks `child` to end (`SIGINT`).
pub fn interrupt(child: &Child) -> io::Result<()> {
    signal(child, Signal::INT)
}

/// Resumes `child` after [`rest`] (`SIGCONT`).
pub fn resume(child: &Child) -> io::Result<()> {
    signal(child, Signal::CONT)
}

fn signal(child: &Child, signal: Signal) -> io::Result<()> {
    Ok(kill_process(pid_of(child)?, signal)?)
}

/// Waits for the end of `child` and reaps it (`wait4`, which std does not offer).
#[expect(
    clippy::needless_pass_by_value,
    reason = "taken, so that nobody waits for the same process again"
)]
pub fn reap(child: Child) -> io::Result<Ended> {
    let pid = pid_of(&child)?.as_raw_nonzero().get();
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live values on this frame; `child` is taken by value, so
        // nobody else reaps this process and its number cannot be another's.
        let result = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if result == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zero is a valid rusage, and the kernel has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        // In KiB (getrusage(2)).
    })
}

/// Involuntary context switches of the calling thread since it began (`ru_nivcsw`).
pub fn thread_preemptions() -> Option<u64> {
    u64::try_from(thread_usage()?.ru_nivcsw).ok()
}

/// CPU time of the calling thread in the kernel since it began (`ru_stime`): the part of
/// [`thread_cpu_time`](crate::clock::thread_cpu_time) in system calls, by the kernel's sampling.
pub fn thread_system_time() -> Option<Duration> {
    Some(duration(thread_usage()?.ru_stime))
}

/// What this process takes of its host; `None` where the system does not say.
pub fn own_use() -> Option<ProcessUse> {
    let usage = usage(libc::RUSAGE_SELF)?;
    // proc(5): pages of the program, and those of them that are resident.
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    // One of them is the folder that is read.
    let open_files = fs::read_dir("/proc/self/fd")
        .ok()?
        .count()
        .saturating_sub(1);
    Some(ProcessUse {
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        resident: ByteCount::new(resident.saturating_mul(page)),
        open_files: u64::try_from(open_files).ok()?,
    })
}

/// Resource usage of the calling thread since it began.
fn thread_usage() -> Option<libc::rusage> {
    usage(libc::RUSAGE_THREAD)
}

fn usage(of: libc::c_int) -> Option<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live value on this frame.
    let result = unsafe { libc::getrusage(of, usage.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: zero is a valid rusage, and the kernel has filled it.
    Some(unsafe { usage.assume_init() })
}

fn pid_of(child: &Child) -> io::Result<Pid> {
    pid_from(child.id())
}

fn pid_from(number: u32) -> io::Result<Pid> {
    let number = i32::try_from(number).ok();
    number
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn duration(time: libc::timeval) -> Duration {
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_is_taken_whole_or_not_at_all() {
        let most = Duration::from_mins(10);
        let printed = |line: &str| printed_by(&mut shell(line), 10, most);
        assert_eq!(printed("echo abc").unwrap(), "abc\n");
        // What it leaves behind holds the pipe.
        assert_eq!(printed("sleep 1000 & echo abc").unwrap(), "abc\n");
        for (line, why) in [
            ("echo abc; exit 3", "it failed: exit status: 3"),
            ("yes", "it has more than 10 bytes"),
            ("printf '\\377'", "valid UTF-8"),
        ] {
            let error = printed(line).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
        let late = printed_by(&mut shell("sleep 1000"), 10, Duration::ZERO).unwrap_err();
        assert_eq!(late.to_string(), "it took longer than 0 s");
    }

    #[test]
    fn this_process_has_files_and_memory() {
        let before = own_use().unwrap();
        let _more = [(); 3].map(|()| File::open("/dev/null").unwrap());
        let after = own_use().unwrap();
        assert!(before.resident > ByteCount::new(0) && after.cpu >= before.cpu);
        assert!(after.open_files >= 3, "{after:?}");
    }
    use linerate_model::Clock;
    use std::process::Stdio;

    #[test]
    fn a_child_that_ends_is_seen_and_reaped_with_its_code() {
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let deadline = MonoClock.now().after(Duration::from_mins(1));
        assert!(wait_for_end(&child, deadline).unwrap());
        let ended = reap(child).unwrap();
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn the_deadline_ends_the_wait_and_the_child_lives() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!wait_for_end(&child, MonoClock.now()).unwrap());
        child.kill().unwrap();
        assert_eq!(reap(child).unwrap().status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_group_ends_as_a_whole() {
        use std::io::Read;
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]).process_group(0);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        kill_group(&child).unwrap();
        assert_eq!(reap(child).unwrap().status.signal(), Some(libc::SIGKILL));
        // The pipe ends when the last process that holds it is gone.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn a_program_dies_with_the_thread_that_started_it() {
        use std::io::Read;
        let child = thread::spawn(|| {
            let mut command = Command::new("sleep");
            die_with_parent(command.arg("1000").stdout(Stdio::piped()));
            command.spawn().unwrap()
        });
        let mut child = child.join().unwrap();
        let output = child.stdout.as_mut().unwrap();
        // It says nothing, so this ends when it does.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert_eq!(reap(child).unwrap().status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_program_that_ignores_interrupts_lives_on() {
        let mut command = Command::new("sh");
        ignore_interrupt(command.args(["-c", "kill -INT $$; exit 3"]));
        let child = command.spawn().unwrap();
        assert_eq!(reap(child).unwrap().status.code(), Some(3));
    }

    #[test]
    fn work_is_counted() {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        assert!(reap(child).unwrap().cpu > Duration::ZERO);
    }
}
