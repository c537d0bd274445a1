//! iperf 2's text output, of clients and servers, from 2.0.5 to 2.2.
//!
//! Tests in both directions at once (`-d`, `--full-duplex`) are one test with two directions; the way
//! back of `-r`, which follows, is a test of its own. CSV output is another format.
//!
//! # References
//! - `-b` counts in steps of 1000 with `k m g`; with `K M G` in steps of 1000 in 2.0.5, which
//!   lower-cases the argument, and of 1024 in 2.1 and after
//! - From 2.1 on `Sent N datagrams` counts the end packet as well

mod draft;

use super::bounds::MAX_STREAMS;
use super::intervals::MAX_TOGETHER;
use super::line::{DataLine, Kind, connection, first_of, kind};
use super::reader::{Draft as _, Fault, Grammar, Log, Reader, Result, Step};
use super::{Command, LogFormat, View};
use draft::Draft;
use linerate_model::spec::Transport;
use std::collections::VecDeque;

/// iperf 2's text output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "iperf2-text",
    tool: "iperf2",
    summary: "text output of an iperf 2 client or server, TCP or UDP",
    recognise: |line| {
        const MARKS: &[&str] = &[
            "Client connecting to ",
            "Server listening on TCP",
            "Server listening on UDP",
            " connected with ",
            "Server Report:",
            "TCP window size:",
            "UDP buffer size:",
        ];
        usize::from(MARKS.iter().any(|mark| line.contains(mark)))
    },
    begins: |line| {
        const WORDS: &[&str] = &[
            "Client connecting to ",
            "Bounceback test ",
            "Sending ",
            "Receiving ",
            "Server listening on ",
            "TCP window size:",
            "UDP buffer size:",
            "[ ID]",
            "--------------------",
        ];
        first_of(line, WORDS)
    },
    reader: |file, _| Reader::boxed(file, Iperf2Text::default()),
};

/// Tests begin with what a client or a server says of itself, and those of a server may run at once.
#[derive(Default)]
struct Iperf2Text {
    /// A server is listening.
    listens: Option<Listening>,
    /// What the header of the client or server says.
    payload_bytes: Option<u64>,
    /// Streams that were announced before their client's header, as happens with `-P`.
    early: Vec<(usize, String)>,
    /// Tests that began before the open one and may go on beside it.
    earlier: VecDeque<Draft>,
}

/// A server that waits for clients.
struct Listening {
    transport: Transport,
    port: Option<u16>,
    /// A client came already.
    is_called: bool,
}

impl Grammar for Iperf2Text {
    type Test = Draft;

    /// The only interval of a test is the line over the whole of it, too.
    fn may_repeat(&self, line: &str) -> bool {
        matches!(kind(line), Kind::Data(data) if data.start.value.total_cmp(&0.0).is_eq())
    }

    fn step(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<Step<Draft>> {
        let line = line.trim_end();
        if let Some((_, version)) = line.split_once("iperf version ") {
            self.settle(log, open);
            log.version = version.split(' ').next().map(str::to_owned);
        } else if let Some(command) = Command::find(line, &["iperf", "iperf2"]) {
            self.settle(log, open);
            self.listens = None;
            log.command = Some(command).filter(|command| !command.has('s', "server"));
        } else if line.contains("Client connecting to ") {
            self.connecting(log, open, line)?;
        } else if line.contains("Server listening on ")
            && let Some(draft) = open.as_mut().filter(|draft| draft.is_calling())
        {
            // A client with `-d` or `-r` may say so after it has called.
            draft.listens = true;
        } else if line.contains("Server listening on ") {
            self.settle(log, open);
            self.payload_bytes = None;
            self.listens = None;
            self.listens = Some(Listening {
                transport: transport(line)?,
                port: port(line),
                is_called: false,
            });
        } else if let Some(bytes) = datagram_size(line) {
            self.payload_bytes = Some(bytes);
        }
        self.tagged(log, open, line)?;
        Ok(Step::Taken)
    }

    fn close(&mut self, log: &mut Log, test: Option<Draft>) {
        let all = self.earlier.drain(..).chain(test);
        all.for_each(|draft| log.end(draft));
    }

    fn finish(&mut self, log: &mut Log) {
        if let Some((number, _)) = self.early.first() {
            let error = log.cut(*number, HEADLESS);
            log.refuse(error);
        }
    }
}

/// What figures outside of any test lack.
const HEADLESS: &str =
    "its first line (\"Client connecting to\" or \"Server listening on\") is not there";

impl Iperf2Text {
    fn settle(&mut self, log: &mut Log, open: &mut Option<Draft>) {
        self.close(log, open.take());
        log.is_lost = false;
    }

    fn connecting(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<()> {
        let is_called = self
            .listens
            .as_ref()
            .is_some_and(|listens| listens.is_called);
        // The server of `-d` calls back before it has counted anything.
        if is_called && open.as_ref().is_some_and(|draft| !draft.has_figures()) {
            return Ok(());
        }
        let listens = self.listens.take();
        self.settle(log, open);
        self.begin(log, open, View::Client, transport(line)?)?;
        if let Some(draft) = open {
            draft.listens = listens.is_some_and(|listens| !listens.is_called);
        }
        Ok(())
    }

    fn tagged(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<()> {
        let Kind::Tagged { rest, .. } = kind(line) else {
            return self.inside(log, open, line);
        };
        if !rest.starts_with("local ") {
            return self.inside(log, open, line);
        }
        let is_way_back = |draft: &&Draft| draft.listens && draft.has_figures();
        if let Some(back) = open.as_ref().filter(is_way_back) {
            // What follows an open client's test on its own port.
            let back = back.way_back(log);
            self.set_aside(log, open);
            *open = Some(back);
        } else if let Some(listens) = &mut self.listens {
            let transport = listens.transport;
            let is_first = !std::mem::replace(&mut listens.is_called, true);
            if is_first && listens.port.is_some_and(|port| calls(rest, port)) {
                return Err(Fault::Missing(HEADLESS.to_owned()));
            }
            // The parallel streams of one test may come while others of them have figures already.
            if !open.as_ref().is_some_and(|draft| draft.can_have(rest)) {
                self.set_aside(log, open);
                self.begin(log, open, View::Server, transport)?;
            }
        } else if open
            .as_ref()
            .is_some_and(|draft| draft.has_figures() && draft.is_whole())
        {
            // A stream of the next client, whose header comes later.
            return self.keep_early(log, line);
        }
        self.inside(log, open, line)
    }

    /// Keeps the open test beside the one that begins: its last lines may be still to come.
    fn set_aside(&mut self, log: &mut Log, open: &mut Option<Draft>) {
        /// More tests than run at once in any real log.
        const MAX_OPEN: usize = 64;
        self.earlier.extend(open.take());
        if self.earlier.len() > MAX_OPEN
            && let Some(oldest) = self.earlier.pop_front()
        {
            log.end(oldest);
        }
        // All of them together have no more intervals than all tests of an import.
        let share = MAX_TOGETHER / (self.earlier.len() + 1);
        for draft in &mut self.earlier {
            draft.set_limit(share);
        }
    }

    /// An earlier test that a line belongs to: the newest one that has its stream, if the open one has not.
    fn earlier(&mut self, open: Option<&Draft>, line: &str) -> Option<&mut Draft> {
        let tag = tag(line)?;
        let has_it = |draft: &Draft| draft.has_stream(tag);
        if open.is_some_and(has_it) {
            return None;
        }
        let at = self.earlier.iter().rposition(has_it)?;
        self.earlier.get_mut(at)
    }

    fn inside(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<()> {
        let is_new = line.contains(" connected with ");
        if !is_new {
            self.take_early(log, open.as_mut(), line)?;
            if let Some(draft) = self.earlier(open.as_ref(), line) {
                draft.line_or_refuse(log, line);
                return Ok(());
            }
        }
        match open {
            Some(draft) => {
                let payload = &mut draft.test.payload_bytes;
                *payload = payload.or(self.payload_bytes);
                draft.line(log, line)
            }
            None if is_new => self.keep_early(log, line),
            None if log.is_lost || !matches!(kind(line), Kind::Data(_)) => Ok(()),
            None => Err(Fault::Missing(HEADLESS.to_owned())),
        }
    }

    fn keep_early(&mut self, log: &Log, line: &str) -> Result<()> {
        if self.early.len() >= MAX_STREAMS {
            let (first, _) = self.early[0];
            self.early.clear();
            return Err(log.cut(first, HEADLESS).into());
        }
        self.early.push((log.number, line.to_owned()));
        Ok(())
    }

    /// Streams that have figures before another header are of the open test, not of the next.
    fn take_early(&mut self, log: &mut Log, open: Option<&mut Draft>, line: &str) -> Result<()> {
        let is_early = |tag| {
            let mut early = self.early.iter();
            early.any(|(_, line)| self::tag(line) == Some(tag))
        };
        match open {
            Some(draft) if tag(line).is_some_and(|tag| !draft.has_stream(tag) && is_early(tag)) => {
                self.add_early(log, draft)
            }
            _ => Ok(()),
        }
    }

    fn add_early(&mut self, log: &mut Log, draft: &mut Draft) -> Result<()> {
        let now = log.number;
        for (number, line) in self.early.drain(..) {
            log.number = number;
            draft
                .line(log, &line)
                .map_err(|fault| log.error(fault, &line, None))?;
        }
        log.number = now;
        Ok(())
    }

    fn begin(
        &mut self,
        log: &mut Log,
        open: &mut Option<Draft>,
        view: View,
        transport: Transport,
    ) -> Result<()> {
        log.is_lost = false;
        let mut draft = Draft::new(log, view, transport);
        if view == View::Client {
            self.payload_bytes = None;
            draft.test.command = log.command.take();
        }
        self.add_early(log, &mut draft)?;
        *open = Some(draft);
        Ok(())
    }
}

/// The tag of a line's stream, if it has one.
fn tag(line: &str) -> Option<&str> {
    match kind(line) {
        Kind::Data(DataLine { tag, .. }) | Kind::Tagged { tag, .. } => Some(tag),
        Kind::Damaged(_) | Kind::Other => None,
    }
}

/// What the header of a client or a server says.
fn transport(line: &str) -> Result<Transport, &'static str> {
    if line.contains(" UDP port ") {
        Ok(Transport::Udp)
    } else if line.contains(" TCP port ") {
        Ok(Transport::Tcp)
    } else {
        Err("\"TCP port\" or \"UDP port\" with its number")
    }
}

/// The port of `Server listening on TCP port 5001`.
fn port(line: &str) -> Option<u16> {
    let (_, after) = line.split_once(" port ")?;
    after.split_whitespace().next()?.parse().ok()
}

/// Whether a stream goes to `port` and does not come to it: then its end is no server.
fn calls(rest: &str, port: u16) -> bool {
    let new = connection(rest).ok().flatten();
    new.is_some_and(|new| new.local.port != port && new.remote.port == port)
}

/// `Sending 1470 byte datagrams` or `Receiving 1470 byte datagrams`.
fn datagram_size(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("Sending ")
        .or_else(|| line.strip_prefix("Receiving "))?;
    rest.split_once(" byte datagrams")?.0.parse().ok()
}
