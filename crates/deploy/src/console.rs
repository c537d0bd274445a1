//! Route to a board with a serial console: a login there, an agent started by its shell, and the control connection
//! over the line. Traffic runs over the network.
//!
//! Noise may corrupt input and output: steps that fail are retried, up to a limit.

use crate::console_time::{LOGIN, Limit};
use crate::login::{Login, MAX_REFUSALS, PROBE, Prompt, SHELL, Step, prompt};
use anyhow::{Context as _, Result};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::query::{self, Query};
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::carrier::Carrier;
use linerate_session::{CONSOLE_TIMEOUT, ConsoleLink, Line, connection_pair, type_in};
use linerate_sys::clock::MonoClock;
use linerate_sys::random::random_bytes;
use linerate_sys::serial::{SerialError, SerialLine};
use linerate_sys::tcp::wait_readable;
use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Hidden command that starts an agent for the console on which it is started.
pub const CONSOLE_AGENT: &str = "console-agent";

/// Greeting of that agent when it takes over the console.
pub const CONSOLE_GREETING: &str = "linerate-console ready";

/// Default baud rate of most boards' consoles.
pub const DEFAULT_BAUD: u32 = 115_200;

/// Timeout until the agent has taken over the console: three tries.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Most bytes of a console until its agent has taken over: several times what a board prints while it starts.
const MAX_TAKEN: usize = 512 << 10;

/// Silence after which a console's own output is complete.
const QUIET: Duration = Duration::from_millis(700);

/// Timeout of a shell's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

const ENDED: &str = "linerate-ended";

/// A board with a console, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleHost {
    device: PathBuf,
    baud: u32,
    /// Its address in the network under test.
    pub host: String,
    login: Option<String>,
    password: Option<String>,
    /// Path of linerate on the board.
    agent: String,
}

impl ConsoleHost {
    /// Parses what follows `serial://`.
    pub fn read(rest: &str) -> Result<Self, String> {
        let (device, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let device = query::device(device)?;
        let mut parts = Query::read(parameters)?;
        let host = parts.host()?;
        let baud = parts.number("baud", DEFAULT_BAUD)?;
        let [login, password, agent] = ["login", "password", "agent"].map(|name| parts.take(name));
        let agent = agent.unwrap_or_else(|| "linerate".to_owned());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
        if agent.is_empty() || !agent.chars().all(is_plain) {
            return Err("agent= is not the path of a program".to_owned());
        }
        parts.end(&["host=", "baud=", "login=", "password=", "agent="])?;
        Ok(Self {
            device,
            baud,
            host,
            login,
            password,
            agent,
        })
    }
}

impl fmt::Display for ConsoleHost {
    /// Without the password, which would be stored with every run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serial://{}?host={}", self.device.display(), self.host)?;
        if self.baud != DEFAULT_BAUD {
            write!(f, "&baud={}", self.baud)?;
        }
        if let Some(login) = &self.login {
            write!(f, "&login={login}")?;
        }
        if self.agent != "linerate" {
            write!(f, "&agent={}", self.agent)?;
        }
        Ok(())
    }
}

/// A board with a console, and this process's session over it.
#[derive(Debug)]
pub struct ConsolePeer {
    host: ConsoleHost,
    carried: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for ConsolePeer {
    fn drop(&mut self) {
        self.finish();
    }
}

impl ConsolePeer {
    /// The board, with nothing started yet.
    pub const fn new(host: ConsoleHost) -> Self {
        Self {
            host,
            carried: Mutex::new(None),
        }
    }

    /// The board as given in the address.
    pub const fn host(&self) -> &ConsoleHost {
        &self.host
    }

    /// Waits until the previous session has left the console.
    fn finish(&self) {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = carried.take() {
            // Its error was visible to the user of that session.
            let _ = thread.join();
        }
    }

    /// Starts an agent over the console: a control connection with it, for traffic with `remote`.
    pub fn open(&self, remote: SocketAddr) -> Result<Line> {
        self.finish();
        let local = Line::to(remote).context("looking for the way to the board")?;
        let local = local.local().ip();
        let line = SerialLine::open(&self.host.device, self.host.baud)
            .map_err(|error| no_line(&self.host.device, &error))?;
        let mut console = Console {
            line,
            heard: String::new(),
            password: self.host.password.clone().unwrap_or_default(),
            baud: self.host.baud,
            limit: LOGIN,
            began: MonoClock.now(),
            taken: 0,
        };
        let start = self.host.start(local, remote.ip());
        let started = console
            .log_in(&self.host)
            .and_then(|()| console.start(&start));
        started.with_context(|| format!("the console at {}", self.host.device.display()))?;
        let (near, far) = connection_pair()?;
        let carried = self.host.link(console.line)?;
        *self.carried.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(thread::spawn(move || carry(carried, &far)));
        Ok(Line::over(near, CONSOLE_TIMEOUT)?.between(local, remote.ip()))
    }
}

/// Runs until the session ends. The session sees a failure of the line as its end.
fn carry(mut link: ConsoleLink, stream: &TcpStream) {
    drop(link.carry(stream, &AtomicBool::new(false)));
}

impl ConsoleHost {
    /// Command line for the shell. A shell that comes back prints the exit code.
    fn start(&self, client: IpAddr, address: IpAddr) -> String {
        format!(
            "{} {CONSOLE_AGENT} --baud {} --client {client} --address {address}; echo linerate-'ended' $?\r",
            self.agent, self.baud
        )
    }

    fn link(&self, line: SerialLine) -> Result<ConsoleLink> {
        let session = u16::from_be_bytes(random_bytes()?);
        let carrier = Carrier::client(session, self.baud, MonoClock.now());
        Ok(ConsoleLink::new(line, carrier))
    }
}

/// Exit code of the agent that the shell printed, if any.
fn ended(said: &str) -> Option<u8> {
    let (_, rest) = said.rsplit_once(ENDED)?;
    let digits: String = rest
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// A console with its output as text.
struct Console {
    line: SerialLine,
    heard: String,
    /// What errors must not show, though a console may echo it; empty if there is none.
    password: String,
    baud: u32,
    /// How long what is under way may take, and since when it is.
    limit: Limit,
    began: MonoInstant,
    /// Bytes of all that came.
    taken: usize,
}

/// Bits on the line for one byte.
const BITS_PER_BYTE: u32 = 10;

/// Maximum console output kept and shown, bytes.
const MAX_HEARD: usize = 4096;
const MAX_SHOWN: usize = 300;

impl Console {
    /// Logs in until there is a shell.
    fn log_in(&mut self, host: &ConsoleHost) -> Result<()> {
        let mut login = Login::new(host.login.as_deref(), host.password.as_deref());
        self.say("\r")?;
        while MonoClock.now() < self.deadline() {
            self.listen(|_| false, QUIET)?;
            match login.next(&self.heard) {
                Step::Refuse(what, hint) => return Err(self.failed(what, hint).into()),
                Step::Type(text) => self.say(&text)?,
                Step::Probe => {
                    self.say(PROBE)?;
                    let answers =
                        |said: &str| said.contains(SHELL) || prompt(said) != Prompt::Other;
                    self.listen(answers, ANSWER_TIMEOUT)?;
                    if self.heard.contains(SHELL) {
                        return Ok(());
                    }
                    if self.heard.trim().is_empty() {
                        self.say("\r")?;
                    }
                }
            }
        }
        let hint = "see that the board is on, that baud= is its console's rate, and that its console has a login or a shell";
        Err(self.failed("no shell answers there", hint).into())
    }

    /// Makes the shell start the agent.
    fn start(&mut self, command: &str) -> Result<()> {
        let mut tries = 0;
        self.limit = Limit::fixed(START_TIMEOUT);
        self.began = MonoClock.now();
        loop {
            self.say(command)?;
            let answers = |said: &str| said.contains(CONSOLE_GREETING) || ended(said).is_some();
            self.listen(answers, ANSWER_TIMEOUT)?;
            let code = ended(&self.heard);
            tries += 1;
            match code {
                // Its greeting may be corrupted: the link will show it.
                _ if self.heard.contains(CONSOLE_GREETING) => return Ok(()),
                None if tries == MAX_REFUSALS => return Ok(()),
                Some(127) if tries == MAX_REFUSALS => {
                    let hint = "put linerate for the board's architecture there (`make dist` builds it), in its PATH or as agent=/path/of/linerate";
                    return Err(Failure::new(
                        ExitCode::HostLacks,
                        format!("the board has no such program as the agent; {hint}"),
                    )
                    .into());
                }
                Some(code) if tries == MAX_REFUSALS => {
                    let what = format!("the agent ended at once, with code {code}");
                    return Err(self.failed(&what, "run it there by hand to see why").into());
                }
                _ => {}
            }
        }
    }

    /// When whatever is under way must be over.
    fn deadline(&self) -> MonoInstant {
        self.began.after(self.limit.after(self.taken))
    }

    /// Types text, discarding earlier output.
    fn say(&mut self, text: &str) -> Result<()> {
        self.heard.clear();
        type_in(&self.line, text.as_bytes())
    }

    /// Reads until the output `is_enough`, or for `silence` beyond the time that the typed text takes on the line;
    /// every received byte extends it.
    fn listen(&mut self, is_enough: impl Fn(&str) -> bool, silence: Duration) -> Result<()> {
        let typed = Duration::from_secs(1) * (160 * BITS_PER_BYTE) / self.baud.max(1);
        let mut until = MonoClock.now().after(silence + typed);
        while !is_enough(&self.heard) {
            let now = MonoClock.now();
            let left = until.min(self.deadline()).saturating_since(now);
            if left.is_zero() {
                break;
            }
            if wait_readable(&[self.line.as_fd()], left)?.contains(&true) {
                self.take()?;
                until = until.max(MonoClock.now().after(silence));
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<()> {
        let mut bytes = [0; 256];
        match self
            .line
            .read(&mut bytes)
            .context("reading from the serial line")?
        {
            Some(0) => anyhow::bail!("the serial line is gone"),
            Some(length) => {
                self.taken += length;
                if self.taken > MAX_TAKEN {
                    let hint = "stop the program that prints on its console";
                    return Err(self.failed("it never stops printing", hint).into());
                }
                let text = String::from_utf8_lossy(&bytes[..length]);
                self.heard.push_str(&text);
            }
            None => {}
        }
        if self.heard.len() > MAX_HEARD {
            let from = self
                .heard
                .ceil_char_boundary(self.heard.len() - MAX_HEARD / 2);
            self.heard.drain(..from);
        }
        Ok(())
    }

    fn failed(&self, what: &str, hint: &str) -> Failure {
        let from = self.heard.len().saturating_sub(MAX_SHOWN);
        let last = &self.heard[self.heard.ceil_char_boundary(from)..];
        let mut said = crate::conversation::clean(last.trim());
        if !self.password.is_empty() {
            said = said.replace(&self.password, "(password)");
        }
        let said = if said.is_empty() {
            "it said nothing".to_owned()
        } else {
            format!("it said last: {said}")
        };
        Failure::new(ExitCode::Peer, format!("{what} ({said}); {hint}"))
    }
}

/// Error for a serial line that cannot be used, with a remedy.
pub fn no_line(device: &Path, error: &SerialError) -> Failure {
    let path = device.display();
    let (why, hint) = match error {
        SerialError::Open(source) => (
            format!("cannot open {path}: {source}"),
            "see that the board is plugged in, and that you may use it (group dialout on Debian)",
        ),
        SerialError::Busy => (
            format!("cannot use {path}: another program has it"),
            "end the terminal program that shows the board's console",
        ),
        SerialError::NoLine(source) => (
            format!("{path} is not a serial line: {source}"),
            "name one such as /dev/ttyUSB0",
        ),
        other => (
            format!("cannot set up {path}: {other}"),
            "use a rate that the adapter has, such as baud=115200",
        ),
    };
    Failure::new(ExitCode::HostLacks, format!("{why}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consoles_are_read_and_shown_without_their_password() {
        let text =
            "/dev/ttyUSB0?baud=9600&login=root&password=secret&host=192.0.2.1&agent=/opt/linerate";
        let console = ConsoleHost::read(text).unwrap();
        assert_eq!(console.password.as_deref(), Some("secret"));
        let shown = console.to_string();
        assert_eq!(
            shown,
            "serial:///dev/ttyUSB0?host=192.0.2.1&baud=9600&login=root&agent=/opt/linerate"
        );
        for bad in [
            "ttyUSB0?host=a",
            "/dev/ttyUSB0",
            "/dev/ttyUSB0?host=",
            "/dev/ttyUSB0?host=a&baud=fast",
            "/dev/ttyUSB0?host=a&agent=x;y",
            "/dev/ttyUSB0?host=a&parity=even",
        ] {
            assert!(ConsoleHost::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ends_are_told_from_echoes() {
        let typed = "linerate x; echo linerate-'ended' $?\r\n";
        assert_eq!(ended(typed), None);
        assert_eq!(ended(&format!("{typed}linerate-ended 127\r\n")), Some(127));
    }
}
