//! Conversation with the board's shell.

use super::command::Job;
use super::output::{Download, Reader, ShellOutput, Upload};
use super::telnet::Telnet;
use super::terminal::Terminal;
use super::units::Release;
use crate::error::{Excerpt, ProtocolError};
use crate::session::{RefusalCode, Wire};
use linerate_model::MonoInstant;
use std::collections::VecDeque;
use std::time::Duration;

/// Silence after a prompt that ends a command's output: at 9600 baud a line of 80 characters takes 83 ms, and a board
/// may print it in pieces.
const SETTLE: Duration = Duration::from_millis(250);

/// Interval at which an unanswered Enter is repeated.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a board may take, after a test's time, to end it and print its counts: two end packets with two seconds
/// each, and the neighbour discovery before.
const GRACE: Duration = Duration::from_secs(10);

/// How long a server may take to print its counts after the traffic. A stalled TCP session prints none.
const NUMBERS: Duration = Duration::from_secs(3);

/// Maximum refused telnet options of a conversation: four commands for each of the 256. A peer that sends more is in a
/// loop, or wants to exhaust memory with pending answers.
const OPTIONS: usize = 4 * 256;

/// Configuration of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How the shell is reached.
    pub wire: Wire,
    /// Zephyr release of the board, if the user gave it; else the shell is asked.
    pub release: Option<Release>,
    /// Silence after which the shell counts as gone.
    pub timeout: Duration,
    /// Timeout for the first byte of a shell.
    pub first_answer: Duration,
}

/// Description of the board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Board {
    /// Zephyr release, from the user or the shell.
    pub release: Option<Release>,
    /// zperf's own version.
    pub zperf: String,
}

/// Event for the owner of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A shell with zperf is there; jobs may begin.
    Ready(Board),
    /// The board's server listens: traffic may begin.
    Serving,
    /// The board begins to send.
    Uploading,
    /// The server's job is over; its counts, if it printed any.
    Served(Option<Download>),
    /// The client's job is over.
    Uploaded(Upload),
}

/// Why a conversation is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// A command was refused or failed.
    #[error("the board could not do `{command}`: {words}")]
    Failed {
        /// The command.
        command: String,
        /// The shell's output.
        words: String,
    },
    /// The line or connection ended.
    #[error(
        "the shell's line ended {while_doing}: the board was switched off or unplugged, or another program took the line"
    )]
    Gone {
        /// Step that was interrupted.
        while_doing: &'static str,
    },
    /// Nothing received that looks like a prompt.
    #[error("no shell prompt came within {} s ({}): check device, baud rate and that Zephyr's shell runs there; a running command or a full-screen program must be ended first; wait longer with --timeout", .limit.as_secs_f64(), heard(.last))]
    NoPrompt {
        /// Time limit.
        limit: Duration,
        /// Last bytes received.
        last: Excerpt,
    },
    /// The peer only negotiates telnet options.
    #[error(
        "it asks for telnet options without an end ({refused} were refused): check host and port, what answers there is hardly Zephyr's shell"
    )]
    Options {
        /// Refused options.
        refused: usize,
    },
    /// The Zephyr release is unknown.
    #[error(
        "its shell does not say which Zephyr it is: add &zephyr=3.3, or which it is, to the address"
    )]
    NoRelease,
    /// The shell has no zperf.
    #[error(
        "the shell there has no zperf: build Zephyr with CONFIG_NET_ZPERF=y and CONFIG_NET_SHELL=y"
    )]
    NoZperf,
    /// A command took too long.
    #[error("the board did not end `{command}` within {} s ({})", .limit.as_secs_f64(), heard(.last))]
    Overdue {
        /// The command.
        command: String,
        /// Time limit.
        limit: Duration,
        /// Last bytes received.
        last: Excerpt,
    },
}

impl From<ShellError> for ProtocolError {
    fn from(error: ShellError) -> Self {
        let code = match error {
            ShellError::NoZperf => RefusalCode::Unsupported,
            ShellError::NoRelease => RefusalCode::Invalid,
            _ => RefusalCode::Protocol,
        };
        Self::Shell {
            code,
            message: error.to_string(),
        }
    }
}

fn heard(last: &Excerpt) -> String {
    if last.is_empty() {
        "it said nothing".to_owned()
    } else {
        format!("the last it said was {last}")
    }
}

/// State of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Enter was pressed; no prompt yet.
    Greeting,
    /// Waits for the kernel's version.
    Kernel,
    /// Waits for zperf's version.
    Zperf,
    Idle,
    /// Waits for the server to start.
    Starting,
    /// Waits for another user's server to stop, so that ours can start.
    Clearing,
    Serving,
    /// Traffic has ended; waits for the server's counts.
    Collecting,
    /// Waits for the server to stop.
    Ending,
    Uploading,
    Closed,
}

/// A conversation with the shell of one board.
#[derive(Debug)]
pub struct Shell {
    config: Config,
    state: State,
    telnet: Telnet,
    terminal: Terminal,
    reader: Reader,
    board: Board,
    job: Option<Job>,
    numbers: Option<Download>,
    /// A server left running was stopped for this job.
    was_cleared: bool,
    /// Last command, and whether a line has ended since: that line is its echo.
    command: String,
    is_echoed: bool,
    /// Last bytes received.
    last: Vec<u8>,
    sends: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    /// Deadline of the present step, and its limit.
    due: Option<(MonoInstant, Duration)>,
    /// When the conversation began.
    began: MonoInstant,
    /// When silence means that the output is complete.
    settles: Option<MonoInstant>,
}

impl Shell {
    /// Begins a conversation on a line that has just been opened.
    pub fn new(config: Config, now: MonoInstant) -> Self {
        let mut shell = Self {
            config,
            state: State::Greeting,
            telnet: Telnet::default(),
            terminal: Terminal::default(),
            reader: Reader::default(),
            board: Board {
                release: config.release,
                zperf: String::new(),
            },
            job: None,
            numbers: None,
            was_cleared: false,
            command: String::new(),
            is_echoed: false,
            last: Vec::new(),
            sends: VecDeque::new(),
            events: VecDeque::new(),
            due: Some((now.after(config.first_answer), config.first_answer)),
            began: now,
            settles: Some(now.after(AGAIN)),
        };
        shell.enter_key();
        shell
    }

    /// Bytes to write, in order.
    pub fn poll_send(&mut self) -> Option<Vec<u8>> {
        self.sends.pop_front()
    }

    /// Next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`Shell::pass`] if nothing arrives before.
    pub fn deadline(&self) -> Option<MonoInstant> {
        let due = self.due.map(|(due, _)| due);
        due.into_iter().chain(self.settles).min()
    }

    /// The board, as far as it is known.
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// Begins a job: after [`Event::Ready`], and after the last one is over.
    pub fn begin(&mut self, now: MonoInstant, job: Job) {
        debug_assert_eq!(self.state, State::Idle, "one job at a time");
        let (state, limit) = match &job {
            Job::Serve { .. } => (State::Starting, self.config.timeout),
            Job::Upload { .. } => (State::Uploading, job.time() + GRACE),
        };
        let command = job.command();
        self.job = Some(job);
        self.numbers = None;
        self.was_cleared = false;
        self.tell(now, command, state, limit);
    }

    /// Traffic to the board has ended: collects its counts, then stops its server.
    pub fn traffic_ended(&mut self, now: MonoInstant) {
        if self.state != State::Serving {
            return;
        }
        if self.numbers.is_some() {
            self.end_server(now);
        } else {
            self.state = State::Collecting;
            self.due = Some((now.after(NUMBERS), NUMBERS));
        }
    }

    /// Gives up: tells a running server to stop, without waiting for it. An upload cannot be stopped: the shell reads
    /// no input before it is over.
    pub fn give_up(&mut self) {
        let serves = matches!(
            self.state,
            State::Starting | State::Serving | State::Collecting
        );
        if let Some(stop) = self.job.as_ref().and_then(Job::stop_command)
            && serves
        {
            self.type_in(&stop);
        }
        self.close();
    }

    /// Takes received bytes. After an error the conversation is over.
    pub fn feed(&mut self, now: MonoInstant, bytes: &[u8]) -> Result<(), ShellError> {
        let text = match self.config.wire {
            Wire::Serial => bytes.to_vec(),
            Wire::Telnet => {
                let (text, answer) = self.telnet.take(bytes);
                if !answer.is_empty() {
                    self.sends.push_back(answer);
                }
                text
            }
        };
        let refused = self.telnet.refused();
        if refused > OPTIONS {
            return self.closing(Err(ShellError::Options { refused }));
        }
        // Something is there: a starting board may need longer for a prompt.
        if self.state == State::Greeting && self.last.is_empty() && !text.is_empty() {
            let limit = self.config.timeout.max(self.config.first_answer);
            self.due = Some((self.began.after(limit), limit));
        }
        self.remember(&text);
        for byte in text {
            self.is_echoed |= byte == b'\n';
            if let Some(line) = self.terminal.take(byte)
                && let Some(said) = self.reader.take(&line)
            {
                let heard = self.hear(now, said);
                self.closing(heard)?;
            }
        }
        self.settle(now);
        Ok(())
    }

    /// The line or connection has ended.
    pub fn eof(&mut self) -> Result<(), ShellError> {
        let while_doing = match self.state {
            State::Closed => return Ok(()),
            State::Greeting => "before a prompt came",
            State::Kernel | State::Zperf => "while it was asked for its version",
            State::Idle => "between two tests",
            _ => "in the middle of a test",
        };
        self.closing(Err(ShellError::Gone { while_doing }))
    }

    /// Time has passed.
    pub fn pass(&mut self, now: MonoInstant) -> Result<(), ShellError> {
        let passed = self.let_pass(now);
        self.closing(passed)
    }

    fn let_pass(&mut self, now: MonoInstant) -> Result<(), ShellError> {
        if self.settles.is_some_and(|at| now >= at) {
            self.settles = None;
            self.settled(now)?;
        }
        match self.due {
            Some((due, limit)) if now >= due => self.overdue(now, limit),
            _ => Ok(()),
        }
    }

    fn closing(&mut self, outcome: Result<(), ShellError>) -> Result<(), ShellError> {
        if outcome.is_err() {
            self.give_up();
        }
        outcome
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.due = None;
        self.settles = None;
    }

    /// Keeps the end of the output, for error messages.
    fn remember(&mut self, text: &[u8]) {
        const KEPT: usize = 24;
        self.last.extend_from_slice(text);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
    }

    fn enter_key(&mut self) {
        self.sends.push_back(match self.config.wire {
            Wire::Serial => b"\r".to_vec(),
            Wire::Telnet => b"\r\n".to_vec(),
        });
    }

    fn type_in(&mut self, command: &str) {
        self.sends.push_back(command.as_bytes().to_vec());
        self.enter_key();
    }

    /// Types a command and enters `state`, which may take `limit`.
    fn tell(&mut self, now: MonoInstant, command: String, state: State, limit: Duration) {
        self.type_in(&command);
        self.command = command;
        self.is_echoed = false;
        self.settles = None;
        self.state = state;
        self.due = Some((now.after(limit), limit));
    }

    /// Starts the silence timer if only a prompt stands on the line.
    fn settle(&mut self, now: MonoInstant) {
        let waits = match self.state {
            State::Greeting => self.terminal.candidate().is_some(),
            _ => self.is_echoed && self.terminal.is_at_prompt(),
        };
        if waits {
            self.settles = Some(now.after(SETTLE));
        } else if self.state != State::Greeting {
            self.settles = None;
        }
    }

    /// Silence: the last command's output is complete.
    fn settled(&mut self, now: MonoInstant) -> Result<(), ShellError> {
        match self.state {
            State::Greeting => self.greet(now),
            State::Kernel => self.ask_zperf(now),
            State::Zperf => self.ready(),
            State::Clearing => self.start_again(now),
            State::Ending => self.served(),
            State::Starting | State::Uploading => {
                return Err(self.failed("its shell came back without a word about it"));
            }
            State::Collecting | State::Serving | State::Idle | State::Closed => {}
        }
        Ok(())
    }

    /// Takes the pending text for the prompt, or presses Enter again.
    fn greet(&mut self, now: MonoInstant) {
        if let Some(prompt) = self.terminal.candidate().map(str::to_owned) {
            self.terminal.learn(prompt);
            self.ask(now);
        } else {
            self.settles = Some(now.after(AGAIN));
            self.enter_key();
        }
    }

    fn overdue(&mut self, now: MonoInstant, limit: Duration) -> Result<(), ShellError> {
        let last = Excerpt::from_bytes(self.last.trim_ascii_end());
        match self.state {
            State::Greeting => Err(ShellError::NoPrompt { limit, last }),
            // Counts that never arrive are absent.
            State::Collecting => {
                self.end_server(now);
                Ok(())
            }
            _ => Err(ShellError::Overdue {
                command: self.command.clone(),
                limit,
                last,
            }),
        }
    }

    fn failed(&self, words: &str) -> ShellError {
        ShellError::Failed {
            command: self.command.clone(),
            words: words.to_owned(),
        }
    }

    fn hear(&mut self, now: MonoInstant, said: ShellOutput) -> Result<(), ShellError> {
        match (self.state, said) {
            (State::Kernel, ShellOutput::Zephyr(release)) => {
                self.board.release = self.board.release.or(Some(release));
            }
            (State::Zperf, ShellOutput::Zperf(version)) => self.board.zperf = version,
            (State::Zperf, ShellOutput::NotFound) => return Err(ShellError::NoZperf),
            // Zephyr 2.6 has no `stop`: use the server that runs.
            (State::Starting, ShellOutput::ServerStarted)
            | (State::Clearing, ShellOutput::AlreadyStarted) => {
                self.state = State::Serving;
                self.due = None;
                self.events.push_back(Event::Serving);
            }
            (State::Starting, ShellOutput::AlreadyStarted) => return self.clear(now),
            (State::Serving, ShellOutput::Downloaded(numbers)) => self.numbers = Some(numbers),
            (State::Collecting, ShellOutput::Downloaded(numbers)) => {
                self.numbers = Some(numbers);
                self.end_server(now);
            }
            (State::Uploading, ShellOutput::UploadStarted) => {
                self.events.push_back(Event::Uploading);
            }
            (State::Uploading, ShellOutput::Uploaded(numbers)) => {
                self.over();
                self.events.push_back(Event::Uploaded(numbers));
            }
            (State::Starting | State::Uploading, ShellOutput::NotFound) => {
                return Err(ShellError::NoZperf);
            }
            (
                State::Starting | State::Serving | State::Collecting | State::Uploading,
                ShellOutput::Failed(words),
            ) => return Err(self.failed(&words)),
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, now: MonoInstant) {
        let command = "kernel version".to_owned();
        self.tell(now, command, State::Kernel, self.config.timeout);
    }

    fn ask_zperf(&mut self, now: MonoInstant) {
        let command = "zperf version".to_owned();
        self.tell(now, command, State::Zperf, self.config.timeout);
    }

    fn over(&mut self) {
        self.state = State::Idle;
        self.due = None;
        self.settles = None;
    }

    fn ready(&mut self) {
        self.over();
        self.events.push_back(Event::Ready(self.board.clone()));
    }

    /// Stops a server left running. If one is there again after that, another user started it.
    fn clear(&mut self, now: MonoInstant) -> Result<(), ShellError> {
        if self.was_cleared {
            // Without a job, nothing stops the other user's server.
            self.job = None;
            return Err(self.failed("its server is in use by somebody else"));
        }
        self.was_cleared = true;
        self.stop(now, State::Clearing);
        Ok(())
    }

    fn stop(&mut self, now: MonoInstant, state: State) {
        let command = self.job.as_ref().and_then(Job::stop_command);
        self.tell(now, command.unwrap_or_default(), state, self.config.timeout);
    }

    fn start_again(&mut self, now: MonoInstant) {
        let command = self.job.as_ref().map(Job::command).unwrap_or_default();
        self.tell(now, command, State::Starting, self.config.timeout);
    }

    fn end_server(&mut self, now: MonoInstant) {
        self.stop(now, State::Ending);
    }

    fn served(&mut self) {
        self.over();
        let numbers = self.numbers.take();
        self.events.push_back(Event::Served(numbers));
    }
}
