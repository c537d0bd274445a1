//! Reads a log line by line, test by test: one that cannot be read is named, and the rest is read.

use super::{ImportError, ParsedTest};

/// Cuts a log into tests. Ends and begins them in [`line`](Self::line).
pub(super) trait LineReader<'a> {
    /// Takes the next line, `number` from 1. After an error the test that is open is lost.
    fn line(&mut self, number: usize, line: &'a str) -> Result<(), ImportError>;

    /// Ends the test that is open, if one is.
    fn close(&mut self) -> Result<(), ImportError>;

    /// Forgets the test that is open; what follows until the next one begins belongs to it.
    fn forget(&mut self);

    /// The tests that were read or refused.
    fn tests(&mut self) -> &mut Vec<ParsedTest>;

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

    /// Reads every line.
    fn read(&mut self, text: &'a str) {
        for (index, line) in text.lines().enumerate() {
            if let Err(error) = self.line(index + 1, line) {
                self.refuse(error);
            }
        }
        self.settle();
    }
}
