//! Reads a log line by line, test by test: one that cannot be read is named, and the rest is read.
//!
//! Invariant: a reader keeps of the lines it took what the open test needs, so its memory is bounded by what is bounded
//! there: streams, keys, intervals.

use super::{ImportError, Line, ParsedTest};

/// Cuts a log into tests.
pub trait LogReader {
    /// Takes the next line, `number` from 1, without its end. After an error the test that is open is lost.
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError>;

    /// Ends the test that is open, if one is.
    fn close(&mut self) -> Result<(), ImportError>;

    /// Forgets the test that is open; what follows until the next one begins belongs to it.
    fn forget(&mut self);

    /// The tests that were read or refused and are not yet taken.
    fn tests(&mut self) -> &mut Vec<ParsedTest>;

    /// Hears that the line that comes next is the last one, and whether it has its end.
    fn last(&mut self, _number: usize, _has_end: bool) {}

    /// Ends the log.
    fn finish(&mut self) {
        self.settle();
    }

    /// Takes the next piece of the log. Of a line longer than a piece only the first is read.
    fn take(&mut self, line: &Line<'_>) {
        if line.is_rest {
            return;
        }
        if line.is_last {
            self.last(line.number, line.has_end);
        }
        if let Err(error) = self.line(line.number, line.text) {
            self.refuse(error);
        }
    }

    /// Ends the test that is open before another one begins.
    fn settle(&mut self) {
        if let Err(error) = self.close() {
            self.refuse(error);
        }
    }

    /// Names the test that is open as one that cannot be read.
    fn refuse(&mut self, error: ImportError) {
        self.forget();
        self.tests().push(ParsedTest::Refused(error));
    }
}
