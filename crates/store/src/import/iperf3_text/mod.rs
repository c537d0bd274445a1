//! iperf3's text output, of clients and servers, from 3.0 on.
//!
//! # References
//! - Line forms and their generations: iperf3's printed output; the column title `Bandwidth` is
//!   3.1 and before, `Bitrate` 3.2 and after
//! - `-b` counts in steps of 1000 (iperf3 3.1 and after)

mod draft;

use super::line::{Kind, kind};
use super::{Command, Hints, ImportError, LogFormat, LogReader, Origin, ParsedTest, View};
use draft::Draft;
use linerate_model::WallTime;

/// iperf3's text output.
#[derive(Debug)]
pub(super) struct Iperf3Text;

const ID: &str = "iperf3-text";

impl LogFormat for Iperf3Text {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "text output of an iperf3 client or server, TCP or UDP"
    }

    fn recognise(&self, line: &str) -> usize {
        const MARKS: &[&str] = &[
            "Connecting to host ",
            "Accepted connection from ",
            " connected to ",
            "iperf Done.",
            "Bitrate",
            "iperf3: ",
        ];
        usize::from(MARKS.iter().any(|mark| line.contains(mark)))
    }

    fn reader(&self, file: &str, _hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader::new(file))
    }
}

impl Iperf3Text {
    /// Reads the server's log that is inside the client's JSON document, which begins at `line`.
    pub(super) fn parse_inner(
        file: &str,
        line: usize,
        text: &str,
    ) -> Result<Vec<ParsedTest>, ImportError> {
        let mut reader = Reader::new(file);
        let origin = Origin {
            file: file.to_owned(),
            line,
        };
        reader.outer = Some(Draft::new(origin, View::Client, None, None));
        reader.open = reader.outer.as_ref().map(|outer| outer.inner(line));
        for text in text.lines() {
            reader.line(line, text)?;
        }
        reader.end()?;
        Ok(std::mem::take(&mut reader.tests))
    }
}

/// Cuts a log into tests.
struct Reader {
    file: String,
    /// Number of the last line, once it is known: damage there is a cut.
    last: Option<usize>,
    command: Option<(usize, Command)>,
    version: Option<String>,
    /// With `-V` a client prints the time before its first line.
    started: Option<WallTime>,
    open: Option<Draft>,
    /// The client's test whose server's log is being read.
    outer: Option<Draft>,
    /// The lines are those of a test that was refused.
    is_lost: bool,
    tests: Vec<ParsedTest>,
}

impl Reader {
    fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            last: None,
            command: None,
            version: None,
            started: None,
            open: None,
            outer: None,
            is_lost: false,
            tests: Vec::new(),
        }
    }

    fn begin(&mut self, number: usize, view: View) {
        self.settle();
        self.is_lost = false;
        let command = match view {
            // A server runs many tests for one command.
            View::Server => self.command.clone(),
            View::Client => self.command.take(),
        };
        let origin = Origin {
            file: self.file.clone(),
            line: command.as_ref().map_or(number, |(line, _)| match view {
                View::Server => number,
                View::Client => *line,
            }),
        };
        let command = command.map(|(_, command)| command);
        let started = self.started.take();
        let draft = Draft::new(origin, view, command, self.version.clone());
        self.open = Some(draft.begun(started));
    }

    /// Ends the server's log inside the client's.
    fn back(&mut self) -> Result<(), ImportError> {
        if let Some(outer) = self.outer.take() {
            self.end()?;
            self.open = Some(outer);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ImportError> {
        if let Some(draft) = self.open.take() {
            let test = draft.finish()?;
            self.tests.push(ParsedTest::Traffic(Box::new(test)));
        }
        Ok(())
    }

    /// Figures outside of any test mean that its first lines are gone.
    fn orphan(&self, number: usize, line: &str) -> Result<(), ImportError> {
        let is_figure = matches!(kind(line), Kind::Data(_) | Kind::Damaged(_));
        if self.is_lost {
            return Ok(());
        }
        if is_figure || line.contains(" connected to ") {
            return Err(ImportError::Cut {
                file: self.file.clone(),
                line: number,
                missing: "its first line (\"Connecting to host\" or \"Accepted connection from\")"
                    .to_owned(),
            });
        }
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

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let line = line.trim_end();
        if let Some(command) = Command::find(line, &["iperf3"]) {
            self.settle();
            self.is_lost = false;
            self.command = Some((number, command));
            return Ok(());
        }
        if let Some(version) = line.strip_prefix("iperf 3.") {
            let end = version.find(char::is_whitespace).unwrap_or(version.len());
            self.version = Some(format!("3.{}", &version[..end]));
        } else if line.contains("Connecting to host ") {
            self.begin(number, View::Client);
        } else if line.contains("Accepted connection from ") && self.outer.is_none() {
            self.begin(number, View::Server);
        } else if line.contains("Server output:")
            && let Some(draft) = self.open.as_ref().filter(|draft| draft.is_client())
        {
            self.outer = Some(draft.inner(number));
            std::mem::swap(&mut self.open, &mut self.outer);
            return Ok(());
        } else if line.contains("iperf Done.") && self.outer.is_some() {
            self.back()?;
        } else if line.contains("Server listening on ") {
            // A server's log inside a client's begins with it.
            if self.outer.is_none() {
                self.settle();
            }
            return Ok(());
        } else if self.open.is_none() && !self.is_lost && line.contains("iperf3: error - ") {
            self.begin(number, View::Client);
        }
        let Some(draft) = &mut self.open else {
            self.started = Draft::time(line).or_else(|| self.started.take());
            return self.orphan(number, line);
        };
        draft
            .line(number, line)
            .map_err(|error| self.cut(number, error))
    }

    fn last(&mut self, number: usize, _has_end: bool) {
        self.last = Some(number);
    }

    fn close(&mut self) -> Result<(), ImportError> {
        self.back()?;
        self.end()
    }

    fn forget(&mut self) {
        (self.open, self.outer, self.is_lost) = (None, None, true);
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}
