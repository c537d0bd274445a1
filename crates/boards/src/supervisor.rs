//! The process above an emulator: makes the network, starts QEMU, sees the board become ready, and ends QEMU.
//!
//! ```text
//!   starting ──── the agent greets ─────► ready ──── "keep" ────► kept ──── SIGTERM, or QEMU ends ────► ended
//!      └── the caller is gone, QEMU ends, or time is up ──► ended ◄── the caller is gone ──┘
//! ```
//!
//! The kernel ends QEMU with the thread that started it, which is the first one; a second carries frames where the board
//! has a link element. Its standard error is the board's lock, which it so holds as long as it lives.

use crate::answer::{Answer, is_readable, say};
use crate::boards::{BoardState, Home, Record};
use crate::control::Control;
use crate::link::BoardNetwork;
use crate::network::{self, Subnet};
use crate::qemu::{CONSOLE_LOG, Emulation};
use crate::tools::{failed, not_started};
use crate::{Machine, SerialNumber};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::die_with_parent;
use linerate_sys::wake::{wait, wait_for_any};
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Hidden command that starts a supervisor.
pub const SUPERVISOR: &str = "board-supervisor";

/// Line by which a caller detaches from the board.
pub(crate) const KEEP: &str = "keep";

/// Timeout of a start: a board on a busy host takes a minute at most.
const READY_TIMEOUT: Duration = Duration::from_mins(5);

/// Timeout of one attempt to reach the agent: the board's address is not resolved before its driver is loaded.
const ATTEMPT: Duration = Duration::from_millis(250);

/// Interval between attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum lines of the console quoted in an error.
const QUOTED_LINES: usize = 12;

/// Task of a supervisor, on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) folder: PathBuf,
    pub(crate) serial: Option<SerialNumber>,
    pub(crate) emulation: Emulation,
    /// Port of the agent.
    pub(crate) port: u16,
}

/// Result of a handshake with a board's agent over a new connection; the protocol is the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Greeting {
    /// It answered.
    Heard,
    /// No answer yet, with the reason.
    NotYet(String),
    /// It refuses this end, with the reason.
    Refused(String),
}

/// Performs the handshake with a board's agent over a new connection, while the other argument returns true.
pub type Greet = fn(TcpStream, &mut dyn FnMut() -> bool) -> Greeting;

/// Runs the task from `input` and writes the result to `output`. Returns once the board has ended. `greet` performs the
/// handshake with its agent.
pub fn supervise(input: impl Read + AsFd, mut output: impl Write, greet: Greet) -> Result<()> {
    // Fails if it was started as a session leader.
    let _ = setsid();
    let mut input = BufReader::new(input);
    let mut line = String::new();
    let read = input.read_line(&mut line);
    let task: Task = read
        .and_then(|_| Ok(serde_json::from_str(&line)?))
        .map_err(|error| {
            Failure::new(
                ExitCode::Usage,
                format!("reading the supervisor's task: {error}"),
            )
        })?;
    match Supervisor::start(&task) {
        Ok(mut supervisor) => supervisor.watch(&task, greet, &mut input, &mut output),
        Err(failure) => {
            say(&mut output, &Answer::from(&failure));
            Err(failure)
        }
    }
}

/// Why a board is ended.
enum End {
    /// By request.
    Asked,
    /// Its starter is gone without having detached.
    CallerGone,
    /// QEMU ended by itself.
    Emulator(ExitStatus),
    /// Its agent refused the handshake, with the reason.
    Refused(String),
    /// It was not ready in time; with the last error of the handshake.
    TimedOut(String),
}

struct Supervisor {
    home: Home,
    record: Record,
    emulator: Child,
    emulator_end: OwnedFd,
    asked: UnixStream,
    control: Control,
}

impl Supervisor {
    fn start(task: &Task) -> Result<Self> {
        let home = Home::at(task.folder.clone());
        home.hold_on()?;
        let asked = ends_asked_for().map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("installing the handler of SIGTERM: {error}"),
            )
        })?;
        let machine = task.machine()?;
        let (tap, subnet) = network::connect()?;
        let record = task.record(subnet)?;
        home.keep(&record)?;
        let control = Control::listen(&home.path, BoardNetwork::direct(subnet))
            .map_err(|error| failed("listening in", &home.path, &error))?;
        let inherited = tap.inheritable().map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("handing QEMU the TAP device: {error}"),
            )
        })?;
        let arguments = task
            .emulation
            .arguments(machine, record.serial, subnet, inherited);
        let log = home.path.join("qemu.log");
        let errors = File::create(&log).map_err(|error| failed("creating", &log, &error))?;
        let mut command = Command::new(machine.arch.qemu());
        command.args(arguments).current_dir(&home.path);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors);
        die_with_parent(&mut command);
        let emulator = command
            .spawn()
            .map_err(|error| not_started(command.get_program(), &error))?;
        // From here on the device belongs to QEMU alone, and ends with it.
        drop(tap);
        let emulator_end = end_of(&emulator).map_err(|error| {
            Failure::new(ExitCode::HostLacks, format!("watching QEMU: {error}"))
        })?;
        Ok(Self {
            home,
            record,
            emulator,
            emulator_end,
            asked,
            control,
        })
    }

    /// Follows the board to its end.
    fn watch(
        &mut self,
        task: &Task,
        greet: Greet,
        caller: &mut BufReader<impl Read + AsFd>,
        output: &mut impl Write,
    ) -> Result<()> {
        let agent = SocketAddr::new(self.record.address.into(), task.port);
        let end = match self.wait_for_agent(agent, greet, caller) {
            Ok(()) => {
                self.record.state = BoardState::Ready;
                self.home.keep(&self.record)?;
                say(output, &Answer::Ready(self.record.clone()));
                self.follow(caller)
            }
            Err(end) => {
                say(output, &Answer::from(&self.not_ready(&end)));
                end
            }
        };
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
        self.control.close();
        self.record.link = None;
        self.record.state = BoardState::Ended(match end {
            End::Asked => "it was stopped".to_owned(),
            End::CallerGone => "the command that started it ended before it was ready".to_owned(),
            End::Emulator(status) => format!("QEMU ended: {status}"),
            End::Refused(_) | End::TimedOut(_) => "it did not become ready".to_owned(),
        });
        // Its folder may have been removed by a `stop`.
        let _ = self.home.keep(&self.record);
        Ok(())
    }

    /// Retries until the agent answers: an open port alone is the kernel's answer.
    fn wait_for_agent(
        &mut self,
        agent: SocketAddr,
        greet: Greet,
        caller: &BufReader<impl Read + AsFd>,
    ) -> Result<(), End> {
        let deadline = MonoClock.now().after(READY_TIMEOUT);
        loop {
            let connected = TcpStream::connect_timeout(&agent, ATTEMPT);
            let mut go_on = || self.end_of_wait(caller).is_none();
            let why = match connected.map(|stream| greet(stream, &mut go_on)) {
                Ok(Greeting::Heard) => return Ok(()),
                Ok(Greeting::Refused(why)) => return Err(End::Refused(why)),
                Ok(Greeting::NotYet(why)) => why,
                Err(error) => error.to_string(),
            };
            let now = MonoClock.now();
            if now >= deadline {
                return Err(End::TimedOut(why));
            }
            let retry = now.after(RETRY_INTERVAL);
            let watched = [
                caller.get_ref().as_fd(),
                self.emulator_end.as_fd(),
                self.asked.as_fd(),
            ];
            let _ = wait(watched, Some(retry));
            if let Some(end) = self.end_of_wait(caller) {
                return Err(end);
            }
        }
    }

    /// Why to stop waiting for the agent, if so.
    fn end_of_wait(&mut self, caller: &BufReader<impl Read + AsFd>) -> Option<End> {
        // The caller sends nothing before the answer, so readable means gone.
        let is_gone = || is_readable(caller.get_ref().as_fd()).then_some(End::CallerGone);
        self.ended().or_else(is_gone)
    }

    /// Waits for the caller's word, and then for the board's end; changes its link on request.
    fn follow(&mut self, caller: &mut BufReader<impl Read + AsFd>) -> End {
        let mut word = String::new();
        if caller.read_line(&mut word).is_err() || word.trim() != KEEP {
            return End::CallerGone;
        }
        loop {
            let own = [self.emulator_end.as_fd(), self.asked.as_fd()];
            let _ = wait_for_any(own.into_iter().chain(self.control.descriptors()), None);
            if let Some(end) = self.ended() {
                return end;
            }
            let (record, home) = (&mut self.record, &self.home);
            self.control.serve(&mut |link| {
                record.link = link;
                home.keep(record)?;
                Ok(record.clone())
            });
        }
    }

    fn ended(&mut self) -> Option<End> {
        if let Ok(Some(status)) = self.emulator.try_wait() {
            return Some(End::Emulator(status));
        }
        is_readable(self.asked.as_fd()).then_some(End::Asked)
    }

    /// Error for a board that did not become ready.
    fn not_ready(&self, end: &End) -> Failure {
        let name = &self.record.name;
        let (code, why) = match end {
            End::Asked => (ExitCode::Other, "it was stopped".to_owned()),
            End::CallerGone => (ExitCode::Other, "the caller is gone".to_owned()),
            End::Emulator(status) => (ExitCode::HostLacks, format!("QEMU ended ({status})")),
            End::Refused(why) => (ExitCode::Peer, format!("its agent does not greet: {why}")),
            End::TimedOut(why) => {
                let seconds = READY_TIMEOUT.as_secs();
                (
                    ExitCode::Peer,
                    format!("its agent did not greet within {seconds} s: {why}"),
                )
            }
        };
        let quoted = self.last_words();
        Failure::new(
            code,
            format!("board {name} did not become ready: {why}{quoted}"),
        )
    }

    /// Last lines of the emulator and of the console.
    fn last_words(&self) -> String {
        let mut text = String::new();
        for (whose, file) in [("QEMU", "qemu.log"), ("the console", CONSOLE_LOG)] {
            let said = fs::read(self.home.path.join(file)).unwrap_or_default();
            let lines = last_lines(&String::from_utf8_lossy(&said));
            if !lines.is_empty() {
                text = format!("{text}; {whose} said last:\n{lines}");
            }
        }
        text
    }
}

impl Task {
    fn machine(&self) -> Result<&'static Machine> {
        let Emulation { machine, arch, .. } = &self.emulation;
        Machine::find(Some(machine), Some(*arch)).map_err(|why| Failure::new(ExitCode::Usage, why))
    }

    fn record(&self, subnet: Subnet) -> Result<Record> {
        let own = SerialNumber::new(subnet.number().into());
        let serial = self.serial.or(own).expect("invariant: a byte has 8 bits");
        Ok(Record {
            name: self.emulation.name.clone(),
            emulated: self.emulation.description(),
            address: subnet.board(),
            host: subnet.host(),
            serial,
            mac: serial.mac(),
            namespace: network::namespace()?,
            link: None,
            state: BoardState::Starting,
        })
    }
}

/// Last lines of a console, without control sequences.
fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(QUOTED_LINES);
    let clean = |line: &&str| -> String { line.chars().filter(|c| !c.is_control()).collect() };
    let clean: Vec<_> = lines[from..].iter().map(clean).collect();
    clean.join("\n")
}

fn ends_asked_for() -> io::Result<UnixStream> {
    let (asked, signal) = UnixStream::pair()?;
    for number in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(number, signal.try_clone()?)?;
    }
    Ok(asked)
}

/// Descriptor that becomes readable when the process ends.
fn end_of(child: &Child) -> io::Result<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_quoted_and_nothing_that_moves_a_cursor() {
        let lines: Vec<_> = (0..40)
            .map(|line| format!("\x1b[31mline {line}\r\n"))
            .collect();
        let text = lines.join("\n");
        let quoted = last_lines(&text);
        assert_eq!(quoted.lines().count(), QUOTED_LINES);
        assert!(
            quoted.ends_with("line 39") && !quoted.contains('\x1b'),
            "{quoted}"
        );
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn a_task_that_cannot_be_read_is_refused() {
        let (mut caller, supervisor) = UnixStream::pair().unwrap();
        writeln!(caller, "no task").unwrap();
        let mut said = Vec::new();
        let failure = supervise(supervisor, &mut said, |_, _| Greeting::Heard).unwrap_err();
        assert_eq!(failure.code, ExitCode::Usage);
    }
}
