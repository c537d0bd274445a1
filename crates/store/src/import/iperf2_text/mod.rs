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

use super::line::{Kind, kind};
use super::reader::LineReader;
use super::{Command, ImportError, LogFormat, Origin, ParsedTest, View, at_least_one};
use draft::Draft;
use linerate_model::spec::Transport;

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

    fn recognise(&self, text: &str) -> usize {
        const MARKS: &[&str] = &[
            "Client connecting to ",
            "Server listening on TCP",
            "Server listening on UDP",
            " connected with ",
            "Server Report:",
            "TCP window size:",
            "UDP buffer size:",
        ];
        text.lines()
            .filter(|line| MARKS.iter().any(|mark| line.contains(mark)))
            .count()
    }

    fn parse(&self, name: &str, text: &str) -> Result<Vec<ParsedTest>, ImportError> {
        let mut reader = Reader {
            file: name,
            last: text.lines().count(),
            command: None,
            version: None,
            listens: None,
            payload_bytes: None,
            early: Vec::new(),
            open: None,
            is_lost: false,
            tests: Vec::new(),
        };
        reader.read(text);
        if let Some((number, _)) = reader.early.first() {
            let error = reader.headless(*number);
            reader.refuse(error);
        }
        at_least_one(reader.tests, name, ID)
    }
}

/// Cuts a log into tests.
struct Reader<'a> {
    file: &'a str,
    /// Number of the last line: damage there is a cut.
    last: usize,
    command: Option<Command>,
    version: Option<String>,
    /// A server is listening; what it carries, and whether a client came already.
    listens: Option<(Transport, bool)>,
    /// What the header of the client or server says.
    payload_bytes: Option<u64>,
    /// Streams that were announced before their client's header, as happens with `-P`.
    early: Vec<(usize, &'a str)>,
    open: Option<Draft<'a>>,
    /// The lines are those of a test that was refused.
    is_lost: bool,
    tests: Vec<ParsedTest>,
}

impl<'a> LineReader<'a> for Reader<'a> {
    fn line(&mut self, number: usize, line: &'a str) -> Result<(), ImportError> {
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
        } else if line.contains("Server listening on ") && self.is_calling() {
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

    fn close(&mut self) -> Result<(), ImportError> {
        if let Some(draft) = self.open.take()
            && let Some(test) = draft.finish()?
        {
            self.tests.push(test);
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

impl<'a> Reader<'a> {
    fn tagged(&mut self, number: usize, line: &'a str) -> Result<(), ImportError> {
        let Kind::Tagged { rest, .. } = kind(line) else {
            return self.inside(number, line);
        };
        if rest.starts_with("local ")
            && let Some(draft) = self.open.as_ref()
            && draft.listens
            && draft.has_figures()
        {
            let back = draft.way_back(number);
            self.settle();
            self.open = Some(back);
        } else if rest.starts_with("local ")
            && let Some((transport, came)) = &mut self.listens
        {
            let (transport, _) = (*transport, std::mem::replace(came, true));
            // Streams that come before any figure are the parallel streams of one test.
            if self.open.as_ref().is_none_or(Draft::has_figures) {
                self.begin(number, View::Server, transport)?;
            }
        }
        self.inside(number, line)
    }

    fn inside(&mut self, number: usize, line: &'a str) -> Result<(), ImportError> {
        match &mut self.open {
            Some(draft) => {
                let payload = &mut draft.test.payload_bytes;
                *payload = payload.or(self.payload_bytes);
                draft.line(number, line)
            }
            None if line.contains(" connected with ") => {
                self.early.push((number, line));
                Ok(())
            }
            None if self.is_lost => Ok(()),
            None if matches!(kind(line), Kind::Data(_)) => Err(self.headless(number)),
            None => Ok(()),
        }
    }

    /// Whether a client's test is open that is connected and has no figures yet.
    fn is_calling(&self) -> bool {
        let draft = self.open.as_ref().filter(|draft| !draft.has_figures());
        draft.is_some_and(|draft| {
            draft.test.view == View::Client && !draft.test.connections.is_empty()
        })
    }

    fn headless(&self, line: usize) -> ImportError {
        ImportError::Cut {
            file: self.file.to_owned(),
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
        self.settle();
        self.is_lost = false;
        let origin = Origin {
            file: self.file.to_owned(),
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
            draft.line(number, line)?;
        }
        self.open = Some(draft);
        Ok(())
    }

    /// A damaged line at the very end of a log is where it was cut.
    fn cut(&self, number: usize, error: ImportError) -> ImportError {
        match (error, &self.open) {
            (ImportError::Line { file, .. }, Some(draft)) if number == self.last => {
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
