//! Reads a log line by line, test by test: one that cannot be read is named, and the rest is read.
//!
//! What a format owns is its [`Grammar`]: which lines begin and end a test, and what each says. Where a line is, what
//! went before it, how a fault is named and what follows a refused test is the [`Reader`]'s, once for all formats.
//!
//! Invariant: a reader keeps of the lines it took what the open test needs, so its memory is bounded by what is bounded
//! there: streams, keys, intervals.

use super::streams::MIXED;
use super::{Command, ImportError, Line, Origin, ParsedTest, Skipped};
use std::borrow::Cow;

/// Cuts a log into tests.
pub trait LogReader {
    /// Takes the next piece of the log.
    fn take(&mut self, line: &Line<'_>);

    /// Ends the log.
    fn finish(&mut self);

    /// The tests that were read or refused and are not yet taken.
    fn tests(&mut self) -> &mut Vec<ParsedTest>;
}

/// What a line or a test gives.
pub(super) type Result<T, E = Fault> = std::result::Result<T, E>;

/// What is wrong with a line or a test. The reader adds where that is.
#[derive(Debug)]
pub(super) enum Fault {
    /// Anything that is not about the line, with its own place.
    Other(ImportError),
    /// The test is cut off: what is missing, as a sentence (`its summary is not there`).
    Missing(String),
    /// What the line, or the test at its end, should have.
    Wanted(&'static str),
}

impl From<&'static str> for Fault {
    fn from(wanted: &'static str) -> Self {
        Self::Wanted(wanted)
    }
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Self {
        Self::Other(error)
    }
}

/// What a line is to the tests of a log.
pub(super) enum Step<T> {
    /// The first line of a test, which ends the one before it.
    Begin(T),
    /// It ends the open test and is of none.
    Between,
    /// A line of the open test, if one is open.
    Inside,
    /// Nothing is left to do with it.
    Taken,
}

/// What is a format's own of cutting a log into tests.
pub(super) trait Grammar {
    /// A test that is being read.
    type Test: Draft;

    /// The line without what a terminal or a logger added to it.
    fn plain<'l>(&mut self, line: &'l str) -> Cow<'l, str> {
        Cow::Borrowed(line)
    }

    /// Whether the tool itself may print this line twice in a row.
    fn may_repeat(&self, _line: &str) -> bool {
        false
    }

    /// What `line` is, beside the test that is open.
    fn step(
        &mut self,
        log: &mut Log,
        open: &mut Option<Self::Test>,
        line: &str,
    ) -> Result<Step<Self::Test>, Fault>;

    /// Takes a line while no test is open.
    fn outside(&mut self, _log: &mut Log, _line: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// Ends the test that is open, if one is.
    fn close(&mut self, log: &mut Log, test: Option<Self::Test>) {
        if let Some(test) = test {
            log.end(test);
        }
    }

    /// Hands out what the end of the log makes whole.
    fn finish(&mut self, _log: &mut Log) {}
}

/// A test that is being read.
pub(super) trait Draft {
    /// The line at which it begins, from 1.
    fn begun(&self) -> usize;

    /// Takes the next line of it, the first one too. After a fault the test is lost.
    fn line(&mut self, _log: &Log, _line: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether the line before was its last one.
    fn is_over(&self) -> bool {
        false
    }

    /// Adds what it is to `tests`.
    fn finish(self, tests: &mut Vec<ParsedTest>) -> Result<(), Fault>;
}

/// Where in a log the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// After all lines.
    End,
    /// At a line that others follow.
    Inner,
    /// At the last line, which may be cut.
    Last {
        /// A line end follows.
        has_end: bool,
    },
}

/// What is known at a line of a log.
pub(super) struct Log {
    pub(super) file: String,
    /// Number of the line, from 1.
    pub(super) number: usize,
    pub(super) place: Place,
    /// The lines are those of a test that was refused.
    pub(super) is_lost: bool,
    /// The command line that was seen last and of which no test is yet.
    pub(super) command: Option<Command>,
    /// The line before was the end of it, so far.
    is_command: bool,
    /// What the tool said of its version.
    pub(super) version: Option<String>,
    /// What the tool said last of why it failed.
    failure: Option<Failure>,
    /// A test was read, refused or left out.
    has_test: bool,
    pub(super) tests: Vec<ParsedTest>,
}

/// A line in which a tool says that it failed.
struct Failure {
    number: usize,
    text: String,
    /// Lines with text since.
    after: usize,
}

impl Failure {
    /// How tools word it. Counts of errors, which they print of tests that did not fail, have none of these words.
    const WORDS: &[&str] = &[
        "aborted",
        "can't ",
        "cannot ",
        "connection closed",
        "connection reset",
        "could not ",
        "error -",
        "error:",
        "failed",
        "is the server down",
        "no messages were received",
        "no response",
        "no route to host",
        "refused",
        "timed out",
        "unable to ",
        "unreachable",
    ];
    /// What a tool says of its end is among its last lines.
    const MAX_AFTER: usize = 3;

    fn is_in(line: &str) -> bool {
        let line = line.to_lowercase();
        Self::WORDS.iter().any(|words| line.contains(words))
    }
}

impl Log {
    /// A log of which nothing is read.
    pub(super) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            number: 0,
            place: Place::Inner,
            is_lost: false,
            command: None,
            is_command: false,
            version: None,
            failure: None,
            has_test: false,
            tests: Vec::new(),
        }
    }

    /// Remembers the line if the tool says in it that it failed.
    fn note_failure(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if Failure::is_in(line) {
            self.failure = Some(Failure {
                number: self.number,
                text: line.trim().to_owned(),
                after: 0,
            });
        } else if let Some(failure) = &mut self.failure {
            failure.after += 1;
        }
    }

    /// Remembers whether a command line ends with this line, or goes on in the next.
    fn note_command(&mut self, line: &str) {
        let command = self.command.as_ref();
        self.is_command = command.is_some_and(|command| line.trim_end().ends_with(&command.line));
    }

    /// Whether the line goes on with the command line before it, as a mail wraps one and as it is typed with a backslash.
    fn continues_command(&mut self, line: &str) -> bool {
        let Some(command) = self.command.as_mut().filter(|_| self.is_command) else {
            return false;
        };
        let words = line.trim();
        let option = words.strip_prefix('-');
        let option = option.map(|option| option.strip_prefix('-').unwrap_or(option));
        let is_option = option.is_some_and(|name| name.starts_with(char::is_alphanumeric));
        let typed = command.line.strip_suffix('\\');
        if !is_option && typed.is_none() {
            return false;
        }
        command.line = format!("{} {words}", typed.unwrap_or(&command.line).trim_end());
        true
    }

    /// The test that begins at `line` as one that failed, if its tool says so at its end.
    fn failed(&mut self, line: Option<usize>) -> Option<ParsedTest> {
        let failure = self.failure.take()?;
        let line = line.unwrap_or(failure.number);
        // What a program says of errors is not buffered, and may come first in a file.
        let is_first = !self.has_test && self.tests.is_empty() && failure.number < line;
        let is_last = failure.after <= Failure::MAX_AFTER && failure.number >= line;
        (is_last || is_first).then(|| {
            ParsedTest::Skipped(Skipped {
                origin: Origin {
                    file: self.file.clone(),
                    line,
                },
                reason: failure.text,
                has_failed: true,
            })
        })
    }

    /// This line, as that at which a test begins.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            file: self.file.clone(),
            line: self.number,
        }
    }

    /// The test that begins at `line` is cut off.
    pub(super) fn cut(&self, line: usize, missing: impl Into<String>) -> ImportError {
        ImportError::Cut {
            file: self.file.clone(),
            line,
            missing: missing.into(),
        }
    }

    /// What is wrong with the line `text`, or with the test that begins at `begun`.
    pub(super) fn error(&self, fault: Fault, text: &str, begun: Option<usize>) -> ImportError {
        let line = begun.unwrap_or(self.number);
        match (fault, self.place) {
            (Fault::Other(error), _) => error,
            (Fault::Missing(missing), _) => self.cut(line, missing),
            (Fault::Wanted(MIXED), _) => ImportError::mixed(&self.file, self.number, text),
            (Fault::Wanted(missing), Place::End) => self.cut(line, missing),
            // A damaged line at the very end of a log is where it was cut.
            (Fault::Wanted(_), Place::Last { .. }) if begun.is_some() => {
                let missing = format!("line {}, the last one, is not whole", self.number);
                self.cut(line, missing)
            }
            (Fault::Wanted(wanted), _) => ImportError::line(&self.file, self.number, wanted, text),
        }
    }

    /// Names a test that cannot be read.
    pub(super) fn refuse(&mut self, error: ImportError) {
        self.is_lost = true;
        // A test without its end is cut, unless the tool itself ended it.
        let failed = match &error {
            ImportError::Cut { line, .. } => self.failed(Some(*line)),
            _ => None,
        };
        self.tests
            .push(failed.unwrap_or(ParsedTest::Refused(error)));
    }

    /// Ends a test.
    pub(super) fn end<T: Draft>(&mut self, test: T) {
        let begun = test.begun();
        if let Err(fault) = test.finish(&mut self.tests) {
            let error = match fault {
                Fault::Wanted(missing) => self.cut(begun, missing),
                fault => self.error(fault, "", Some(begun)),
            };
            self.refuse(error);
        }
    }
}

/// Reads logs of one grammar.
pub(super) struct Reader<G: Grammar> {
    grammar: G,
    log: Log,
    open: Option<G::Test>,
    /// The line before.
    before: String,
    /// Lines that were the same as the one before, since the last test.
    repeated: usize,
}

impl<G: Grammar + 'static> Reader<G> {
    /// A reader of the log called `file`.
    pub(super) fn boxed(file: &str, grammar: G) -> Box<dyn LogReader> {
        Box::new(Self {
            grammar,
            log: Log::new(file),
            open: None,
            before: String::new(),
            repeated: 0,
        })
    }
}

impl<G: Grammar> Reader<G> {
    fn line(&mut self, line: &str) -> Result<(), Fault> {
        match self.grammar.step(&mut self.log, &mut self.open, line)? {
            Step::Inside => {}
            Step::Taken => return Ok(()),
            Step::Between => {
                self.settle();
                return Ok(());
            }
            Step::Begin(test) => {
                self.settle();
                self.open = Some(test);
            }
        }
        let Some(open) = &mut self.open else {
            return self.grammar.outside(&mut self.log, line);
        };
        open.line(&self.log, line)?;
        if open.is_over() {
            self.settle();
        }
        Ok(())
    }

    /// Whether a line with figures is the same as the one before: no tool prints one twice in a row, but what gathers
    /// logs does.
    fn is_repeated(&mut self, text: &str) -> bool {
        let has_words = text.contains(|c: char| c.is_ascii_alphanumeric());
        let is_repeated = has_words && self.before == text && !self.grammar.may_repeat(text);
        let has_figure = text.contains(|c: char| c.is_ascii_digit());
        self.repeated += usize::from(is_repeated && has_figure);
        text.clone_into(&mut self.before);
        is_repeated
    }

    /// Says of the tests that were read how many lines came twice.
    fn tell_repeated(&mut self) {
        if self.repeated == 0 || self.log.tests.is_empty() {
            return;
        }
        let doubt = match self.repeated {
            1 => "1 line is the same as the line before it, and was counted once".to_owned(),
            count => {
                format!("{count} lines are the same as the line before them, and were counted once")
            }
        };
        for test in &mut self.log.tests {
            test.doubt(&doubt);
        }
        self.repeated = 0;
    }

    fn settle(&mut self) {
        let open = self.open.take();
        let was_open = open.is_some();
        self.grammar.close(&mut self.log, open);
        if was_open {
            self.log.failure = None;
        }
        self.log.is_lost = false;
    }
}

impl<G: Grammar> LogReader for Reader<G> {
    /// Of a line longer than a piece only the first is read.
    fn take(&mut self, line: &Line<'_>) {
        if line.is_rest {
            return;
        }
        self.log.number = line.number;
        let has_end = line.has_end;
        self.log.place = if line.is_last {
            Place::Last { has_end }
        } else {
            Place::Inner
        };
        let text = self.grammar.plain(line.text);
        if self.is_repeated(&text) {
            return;
        }
        if self.log.continues_command(&text) {
            return;
        }
        self.log.note_failure(&text);
        if let Err(fault) = self.line(&text) {
            let begun = self.open.take().map(|open| open.begun());
            let error = self.log.error(fault, &text, begun);
            self.log.refuse(error);
        }
        self.log.note_command(&text);
        self.tell_repeated();
    }

    fn finish(&mut self) {
        self.log.place = Place::End;
        self.grammar.close(&mut self.log, self.open.take());
        self.grammar.finish(&mut self.log);
        self.tell_repeated();
        // A tool that failed before any test.
        if !self.log.has_test && self.log.tests.is_empty() {
            let failed = self.log.failed(None);
            self.log.tests.extend(failed);
        }
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        self.log.has_test |= !self.log.tests.is_empty();
        &mut self.log.tests
    }
}
