//! A board that runs zperf, controlled through its shell.

mod address;
mod receive;
mod stream_listener;
mod wire;

pub(crate) use address::BoardAddress;
pub(crate) use receive::{Here, Seen, receive};

use anyhow::Result;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{TestSpec, Transport};
use linerate_peers::zperf::{
    Config, Event, Job, Release, Shell, ShellError, Upload, Wire as Kind, receiver, words,
};
use linerate_session::Heard;
use linerate_sys::clock::MonoClock;
use std::time::Duration;
use wire::Wire;

/// The longest that one wait for the shell takes.
const SHELL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a board says of a test that it received.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// Its end's report.
    pub(crate) receiver: Option<EndpointReport>,
    /// What cannot stand in a report.
    pub(crate) note: Option<String>,
}

/// A shell, open.
pub(crate) struct Board {
    wire: Wire,
    shell: Shell,
    name: String,
    release: Option<Release>,
    facts: Facts,
}

impl Board {
    /// Opens the way to the shell, and asks who is there.
    pub(crate) fn open(address: &BoardAddress, timeout: Duration) -> Result<Self> {
        let wire = Wire::open(&address.shell, timeout)?;
        let config = Config {
            wire: match wire {
                Wire::Serial(_) => Kind::Serial,
                Wire::Telnet(_) => Kind::Telnet,
            },
            release: address.release,
            timeout,
        };
        let mut board = Self {
            wire,
            shell: Shell::new(config, MonoClock.now()),
            name: address.shell.to_string(),
            release: None,
            facts: Facts::default(),
        };
        let who = loop {
            if let Event::Ready(who) = board.event()? {
                break who;
            }
        };
        let why = "its shell does not say which Zephyr it is: add &zephyr=3.3, or which it is, to the address";
        let release = who
            .release
            .ok_or_else(|| board.failure(ExitCode::Usage, why))?;
        board.release = Some(release);
        board.facts.os = Some(format!("Zephyr {release}"));
        board.facts.zperf = Some(who.zperf);
        Ok(board)
    }

    /// What is known of the board.
    pub(crate) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Has the board receive; returns when it does.
    pub(crate) fn serve(&mut self, job: Job) -> Result<()> {
        self.shell.begin(MonoClock.now(), job);
        while self.event()? != Event::Serving {}
        Ok(())
    }

    /// Traffic to the board has ended: takes its numbers, if it prints any, and ends its server. `answer` is what
    /// came over the network at the end of the traffic.
    pub(crate) fn served(
        &mut self,
        spec: &TestSpec,
        answer: Option<&EndpointReport>,
    ) -> Result<Served> {
        self.shell.traffic_ended(MonoClock.now());
        let numbers = loop {
            if let Event::Served(numbers) = self.event()? {
                break numbers;
            }
        };
        let Some((numbers, release)) = numbers.zip(self.release) else {
            return Ok(Served::default());
        };
        Ok(Served {
            receiver: receiver(spec, &numbers, release, answer),
            note: words(&numbers, release).filter(|_| spec.transport() == Transport::Tcp),
        })
    }

    /// Has the board send.
    pub(crate) fn upload(&mut self, job: Job) -> Result<()> {
        self.shell.begin(MonoClock.now(), job);
        self.look()
    }

    /// The board's traffic has ended, or is about to: takes its numbers.
    pub(crate) fn uploaded(&mut self) -> Result<Upload> {
        loop {
            if let Event::Uploaded(numbers) = self.event()? {
                return Ok(numbers);
            }
        }
    }

    /// Its numbers, if it has printed them.
    pub(crate) fn has_uploaded(&mut self) -> Option<Upload> {
        while let Some(event) = self.shell.poll_event() {
            if let Event::Uploaded(numbers) = event {
                return Some(numbers);
            }
        }
        None
    }

    /// Takes what the shell says while something else is going on.
    pub(crate) fn look(&mut self) -> Result<()> {
        self.turn(Duration::ZERO)
    }

    /// Ends what runs at the board, as far as it can be ended.
    pub(crate) fn give_up(&mut self) {
        self.shell.give_up();
        while let Some(bytes) = self.shell.poll_send() {
            // It does not matter any more what becomes of it.
            let _ = self.wire.write(&bytes);
        }
    }

    /// Waits for news.
    fn event(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.shell.poll_event() {
                return Ok(event);
            }
            self.turn(SHELL_POLL_INTERVAL)?;
        }
    }

    fn turn(&mut self, wait: Duration) -> Result<()> {
        let mut buffer = [0; 1024];
        let came = self
            .exchange(&mut buffer, wait)
            .map_err(|error| self.failure(ExitCode::Peer, &format!("{error:#}")))?;
        let now = MonoClock.now();
        let mut outcome = match came {
            Heard::Bytes(length) => self.shell.feed(now, &buffer[..length]),
            Heard::End => self.shell.eof(),
            Heard::Nothing => Ok(()),
        };
        if outcome.is_ok()
            && self
                .shell
                .deadline()
                .is_some_and(|deadline| now >= deadline)
        {
            outcome = self.shell.pass(now);
        }
        outcome.map_err(|error| self.broken(&error).into())
    }

    /// Says what is to be said, and takes what comes.
    fn exchange(&mut self, buffer: &mut [u8], wait: Duration) -> Result<Heard> {
        while let Some(bytes) = self.shell.poll_send() {
            self.wire.write(&bytes)?;
        }
        self.wire.read(buffer, wait)
    }

    fn broken(&self, error: &ShellError) -> Failure {
        let code = match error {
            ShellError::NoZperf => ExitCode::HostLacks,
            _ => ExitCode::Peer,
        };
        self.failure(code, &error.to_string())
    }

    fn failure(&self, code: ExitCode, why: &str) -> Failure {
        Failure::new(code, format!("{}: {why}", self.name))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.give_up();
    }
}
