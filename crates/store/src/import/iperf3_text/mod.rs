//! iperf3's text output, of clients and servers, from 3.0 on.
//!
//! # References
//! - Line forms and their generations: iperf3's printed output; the column title `Bandwidth` is
//!   3.1 and before, `Bitrate` 3.2 and after
//! - `-b` counts in steps of 1000 (iperf3 3.1 and after)

mod draft;

use super::line::{Kind, first_of, kind};
use super::reader::{Draft as _, Fault, Grammar, Log, Place, Reader, Result, Step};
use super::{Command, LogFormat, ParsedTest, View};
use draft::{Draft, end};
use linerate_model::WallTime;
use linerate_model::spec::Transport;

/// iperf3's text output.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "iperf3-text",
    tool: "iperf3",
    summary: "text output of an iperf3 client or server, TCP or UDP",
    recognise: |line| {
        const MARKS: &[&str] = &[
            "Connecting to host ",
            "Accepted connection from ",
            "iperf Done.",
            "Bitrate",
            "iperf3: ",
        ];
        // Other tools write a port behind a colon.
        let is_stream = line.contains(" connected to ") && line.contains(" port ");
        usize::from(is_stream || MARKS.iter().any(|mark| line.contains(mark)))
    },
    begins: |line| {
        const WORDS: &[&str] = &[
            "Connecting to host ",
            "Accepted connection from ",
            "Server listening on ",
            "Reverse mode, remote host ",
            "[ ID]",
            "- - - - - - - - - -",
            "iperf Done.",
            "CPU Utilization: ",
            "Starting Test: ",
            "Test Complete. Summary Results:",
            "iperf3: error - ",
        ];
        first_of(line, WORDS)
    },
    reader: |file, _| Reader::boxed(file, Iperf3Text::default()),
};

/// Reads the server's log that is inside the client's JSON document, which begins at `line`.
pub(super) fn inner(file: &str, line: usize, text: &str) -> Vec<ParsedTest> {
    let mut log = Log::new(file);
    log.number = line;
    let mut draft = Draft::of_server(&log, Transport::Tcp);
    for text in text.lines().filter(|line| !line.contains(LISTENING)) {
        if let Err(fault) = draft.line(&log, text) {
            let error = log.error(fault, text, None);
            return vec![ParsedTest::Refused(error)];
        }
    }
    log.end(draft);
    log.tests
}

/// What a server says between tests.
const LISTENING: &str = "Server listening on ";

/// Tests begin with a connection.
#[derive(Default)]
struct Iperf3Text {
    /// The line of the command that was seen last.
    command: Option<usize>,
    /// A test that ended before anything of it was told. What a program says of errors is not buffered: in a file it may
    /// stand before the lines of its own test, which take it over.
    ahead: Option<Draft>,
    /// With `-V` a client prints the time before its first line.
    started: Option<WallTime>,
}

impl Iperf3Text {
    fn begin(&mut self, log: &mut Log, view: View) -> Step<Draft> {
        let mut origin = log.origin();
        let command = match view {
            // A server runs many tests for one command.
            View::Server => log.command.clone(),
            View::Client => log.command.take(),
        };
        if let (Some(line), Some(_), View::Client) = (self.command, &command, view) {
            origin.line = line;
        }
        let draft = Draft::new(log, origin, view, command);
        let ahead = self.ahead.take_if(|ahead| !ahead.is_of_server());
        Step::Begin(draft.begun_at(self.started.take()).after(ahead))
    }

    /// Takes a line that ends a test of which there are no lines before it.
    fn end_ahead(&mut self, log: &mut Log, line: &str) -> Result<()> {
        let command = log.command.take();
        let mut origin = log.origin();
        if let Some(line) = self.command.filter(|_| command.is_some()) {
            origin.line = line;
        }
        let mut ahead = Draft::new(log, origin, View::Client, command);
        ahead.line(log, line)?;
        if let Some(before) = self.ahead.replace(ahead) {
            log.end(before);
        }
        Ok(())
    }
}

impl Grammar for Iperf3Text {
    type Test = Draft;

    fn step(&mut self, log: &mut Log, open: &mut Option<Draft>, line: &str) -> Result<Step<Draft>> {
        let line = line.trim_end();
        if let Some(command) = Command::find(line, &["iperf3"]) {
            self.command = Some(log.number);
            log.command = Some(command);
            return Ok(Step::Between);
        }
        let is_in_inner = open.as_ref().is_some_and(Draft::is_in_inner);
        if let Some(version) = line.strip_prefix("iperf 3.") {
            let end = version.find(char::is_whitespace).unwrap_or(version.len());
            log.version = Some(format!("3.{}", &version[..end]));
            // With `-V` it is the first line of a test, before the one that the others begin with.
            let is_between = open.as_ref().is_none_or(|open| !open.is_bare());
            if !is_in_inner && is_between {
                return Ok(Step::Between);
            }
        } else if line.contains("Connecting to host ") {
            let bare = open.take_if(|open| open.is_bare());
            let step = self.begin(log, View::Client);
            return Ok(match (step, bare) {
                (Step::Begin(draft), Some(bare)) => Step::Begin(draft.instead_of(log, bare)),
                (step, _) => step,
            });
        } else if line.contains("Accepted connection from ") && !is_in_inner {
            return Ok(self.begin(log, View::Server));
        } else if line.contains("Server output:")
            && let Some(draft) = open
            && draft.begin_inner(log)
        {
            return Ok(Step::Taken);
        } else if line.contains(LISTENING) {
            // A server's log inside a client's begins with it.
            return Ok(if is_in_inner {
                Step::Taken
            } else {
                Step::Between
            });
        } else if !log.is_lost
            && open.as_ref().is_none_or(Draft::is_done)
            && line.contains("iperf3: ")
            && end(line).is_some()
        {
            self.end_ahead(log, line)?;
            return Ok(Step::Between);
        }
        Ok(Step::Inside)
    }

    /// A server that is stopped in a test has no line after it: it did not listen again.
    fn close(&mut self, log: &mut Log, test: Option<Draft>) {
        let Some(mut test) = test else {
            return;
        };
        if log.place == Place::End {
            let ahead = self.ahead.take_if(|ahead| ahead.is_of_server());
            if let Some(left) = ahead.and_then(|ahead| test.stopped_by(ahead)) {
                self.ahead = Some(left);
            }
        }
        log.end(test);
    }

    /// What no test took over is a test that failed; a server that was stopped between tests is none.
    fn finish(&mut self, log: &mut Log) {
        if let Some(ahead) = self.ahead.take_if(|ahead| !ahead.is_of_server()) {
            log.end(ahead);
        }
    }

    /// Figures outside of any test mean that its first lines are gone.
    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        self.started = Draft::time(line).or_else(|| self.started.take());
        let is_figure = matches!(kind(line), Kind::Data(_) | Kind::Damaged(_));
        if !log.is_lost
            && (is_figure || line.contains(" connected to ") || line.contains("Reverse mode, "))
        {
            let missing = "its first line (\"Connecting to host\" or \"Accepted connection from\") is not there";
            return Err(Fault::Missing(missing.to_owned()));
        }
        Ok(())
    }
}
