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
mod sides;

use super::bounds::MAX_STREAMS;
use super::intervals::MAX_TOGETHER;
use super::line::{DataLine, Kind, kind};
use super::{Command, Hints, ImportError, LogFormat, LogReader, Origin, ParsedTest, View};
use draft::Draft;
use linerate_model::spec::Transport;
use std::collections::VecDeque;

/// iperf 2's text output.
#[derive(Debug)]
pub(super) struct Iperf2Text;

const ID: &str = "iperf2-text";

impl LogFormat for Iperf2Text {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "text output of an iperf 2 client or server, TCP or UDP"
    }

    fn recognise(&self, line: &str) -> usize {
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
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            last: None,
            command: None,
            version: None,
            listens: None,
            payload_bytes: None,
            early: Vec::new(),
            open: None,
            earlier: VecDeque::new(),
            is_lost: false,
            tests: Vec::new(),
        })
    }
}

/// Cuts a log into tests.
struct Reader {
    file: String,
    /// Number of the last line, once it is known: damage there is a cut.
    last: Option<usize>,
    command: Option<Command>,
    version: Option<String>,
    /// A server is listening; what it carries, and whether a client came already.
    listens: Option<(Transport, bool)>,
    /// What the header of the client or server says.
    payload_bytes: Option<u64>,
    /// Streams that were announced before their client's header, as happens with `-P`.
    early: Vec<(usize, String)>,
    open: Option<Draft>,
    /// Tests that began before the open one and may go on beside it.
    earlier: VecDeque<Draft>,
    /// The lines are those of a test that was refused.
    is_lost: bool,
    tests: Vec<ParsedTest>,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let line = line.trim_end();
        if let Some((_, version)) = line.split_once("iperf version ") {
            self.settle();
            self.is_lost = false;
            self.version = version.split(' ').next().map(str::to_owned);
        } else if let Some(command) = Command::find(line, &["iperf", "iperf2"]) {
            self.settle();
            self.is_lost = false;
            self.listens = None;
            self.command = Some(command).filter(|command| !command.has('s', "server"));
        } else if line.contains("Client connecting to ") {
            let listens = self.listens.take();
            // The server of `-d` calls back before it has counted anything.
            if matches!(listens, Some((_, true)))
                && self.open.as_ref().is_some_and(|draft| !draft.has_figures())
            {
                self.listens = listens;
            } else {
                self.begin(number, View::Client, transport(line))?;
                if let (Some(draft), Some((_, false))) = (&mut self.open, listens) {
                    draft.listens = true;
                }
            }
        } else if line.contains("Server listening on ")
            && self.open.as_ref().is_some_and(Draft::is_calling)
        {
            // A client with `-d` or `-r` may say so after it has called.
            self.open.iter_mut().for_each(|draft| draft.listens = true);
        } else if line.contains("Server listening on ") {
            self.settle();
            self.payload_bytes = None;
            self.listens = Some((transport(line), false));
        } else if let Some(bytes) = datagram_size(line) {
            self.payload_bytes = Some(bytes);
        }
        self.tagged(number, line)
            .map_err(|error| self.cut(number, error))
    }

    fn last(&mut self, number: usize, _has_end: bool) {
        self.last = Some(number);
    }

    fn finish(&mut self) {
        self.settle();
        if let Some((number, _)) = self.early.first() {
            let error = self.headless(*number);
            self.refuse(error);
        }
    }

    fn close(&mut self) -> Result<(), ImportError> {
        while let Some(draft) = self.earlier.pop_front() {
            self.end(draft);
        }
        if let Some(draft) = self.open.take() {
            self.end(draft);
        }
        Ok(())
    }

    fn forget(&mut self) {
        (self.open, self.is_lost) = (None, true);
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Reader {
    /// Ends a test; one that is not whole is named.
    fn end(&mut self, draft: Draft) {
        match draft.finish() {
            Ok(test) => self.tests.extend(test),
            Err(error) => self.tests.push(ParsedTest::Refused(error)),
        }
    }

    fn tagged(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let Kind::Tagged { rest, .. } = kind(line) else {
            return self.inside(number, line);
        };
        if !rest.starts_with("local ") {
            return self.inside(number, line);
        }
        if let Some(back) = self.way_back(number) {
            self.set_aside();
            self.open = Some(back);
        } else if let Some((transport, came)) = &mut self.listens {
            let (transport, _) = (*transport, std::mem::replace(came, true));
            // The parallel streams of one test may come while others of them have figures already.
            let is_beside = |draft: &Draft| draft.can_have(number, rest);
            if !self.open.as_ref().is_some_and(is_beside) {
                self.set_aside();
                self.begin(number, View::Server, transport)?;
            }
        } else if self
            .open
            .as_ref()
            .is_some_and(|draft| draft.has_figures() && draft.is_over())
        {
            // A stream of the next client, whose header comes later.
            return self.keep_early(number, line);
        }
        self.inside(number, line)
    }

    /// What follows an open client's test on its own port.
    fn way_back(&self, number: usize) -> Option<Draft> {
        let draft = self.open.as_ref()?;
        (draft.listens && draft.has_figures()).then(|| draft.way_back(number))
    }

    /// Keeps the open test beside the one that begins: its last lines may be still to come.
    fn set_aside(&mut self) {
        /// More tests than run at once in any real log.
        const MAX_OPEN: usize = 64;
        self.earlier.extend(self.open.take());
        if self.earlier.len() > MAX_OPEN
            && let Some(oldest) = self.earlier.pop_front()
        {
            self.end(oldest);
        }
        // All of them together have no more intervals than all tests of an import.
        let share = MAX_TOGETHER / (self.earlier.len() + 1);
        for draft in &mut self.earlier {
            draft.set_limit(share);
        }
    }

    /// An earlier test that a line belongs to: the newest one that has its stream, if the open one has not.
    fn earlier(&mut self, line: &str) -> Option<&mut Draft> {
        let tag = tag(line)?;
        let has_it = |draft: &Draft| draft.has_stream(tag);
        if self.open.as_ref().is_some_and(has_it) {
            return None;
        }
        let at = self.earlier.iter().rposition(has_it)?;
        self.earlier.get_mut(at)
    }

    fn inside(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let is_new = line.contains(" connected with ");
        if !is_new {
            self.take_early(line)?;
        }
        if !is_new && let Some(draft) = self.earlier(line) {
            draft.line_or_refuse(number, line);
            return Ok(());
        }
        match &mut self.open {
            Some(draft) => {
                let payload = &mut draft.test.payload_bytes;
                *payload = payload.or(self.payload_bytes);
                draft.line(number, line)
            }
            None if is_new => self.keep_early(number, line),
            None if self.is_lost => Ok(()),
            None if matches!(kind(line), Kind::Data(_)) => Err(self.headless(number)),
            None => Ok(()),
        }
    }

    fn keep_early(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        if self.early.len() >= MAX_STREAMS {
            let (first, _) = self.early[0];
            self.early.clear();
            return Err(self.headless(first));
        }
        self.early.push((number, line.to_owned()));
        Ok(())
    }

    /// Streams that have figures before another header are of the open test, not of the next.
    fn take_early(&mut self, line: &str) -> Result<(), ImportError> {
        let is_early = |tag| {
            self.early
                .iter()
                .any(|(_, line)| self::tag(line) == Some(tag))
        };
        let Some(draft) = &mut self.open else {
            return Ok(());
        };
        if tag(line).is_some_and(|tag| !draft.has_stream(tag) && is_early(tag)) {
            for (number, line) in self.early.drain(..) {
                draft.line(number, &line)?;
            }
        }
        Ok(())
    }

    fn headless(&self, line: usize) -> ImportError {
        ImportError::Cut {
            file: self.file.clone(),
            line,
            missing: "its first line (\"Client connecting to\" or \"Server listening on\")"
                .to_owned(),
        }
    }

    fn begin(
        &mut self,
        number: usize,
        view: View,
        transport: Transport,
    ) -> Result<(), ImportError> {
        // Other tests of a server may go on.
        if view == View::Client {
            self.settle();
        }
        self.is_lost = false;
        let origin = Origin {
            file: self.file.clone(),
            line: number,
        };
        let command = match view {
            View::Client => {
                self.payload_bytes = None;
                self.command.take()
            }
            View::Server => None,
        };
        let mut draft = Draft::new(origin, view, transport, command, self.version.clone());
        for (number, line) in self.early.drain(..) {
            draft.line(number, &line)?;
        }
        self.open = Some(draft);
        Ok(())
    }

    /// A damaged line at the very end of a log is where it was cut.
    fn cut(&self, number: usize, error: ImportError) -> ImportError {
        match (error, &self.open) {
            (ImportError::Line { file, .. }, Some(draft)) if Some(number) == self.last => {
                ImportError::Cut {
                    file,
                    line: draft.origin().line,
                    missing: format!("line {number}, the last one, is not whole"),
                }
            }
            (error, _) => error,
        }
    }
}

/// The tag of a line's stream, if it has one.
fn tag(line: &str) -> Option<&str> {
    match kind(line) {
        Kind::Data(DataLine { tag, .. }) | Kind::Tagged { tag, .. } => Some(tag),
        Kind::Damaged(_) | Kind::Other => None,
    }
}

fn transport(line: &str) -> Transport {
    if line.contains("UDP") {
        Transport::Udp
    } else {
        Transport::Tcp
    }
}

/// `Sending 1470 byte datagrams` or `Receiving 1470 byte datagrams`.
fn datagram_size(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("Sending ")
        .or_else(|| line.strip_prefix("Receiving "))?;
    rest.split_once(" byte datagrams")?.0.parse().ok()
}
