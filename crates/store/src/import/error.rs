//! Why a log, or one test of it, could not be imported.

use super::ALL;
use crate::store::more_files;

/// What an import gives.
pub(super) type Result<T, E = ImportError> = std::result::Result<T, E>;

/// Why a file, or one test of it, could not be imported: which, where, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Lines of another format than the one that is read.
    #[error(
        "{file}: read as {read}; it also has lines of {other}, which were left out; give them in a file of their own"
    )]
    Beside {
        /// The file.
        file: String,
        /// Id of the format that is read.
        read: &'static str,
        /// Id of the other one.
        other: &'static str,
    },
    /// Not text.
    #[error(
        "{file} is not a text log: byte {offset} is not printable UTF-8; give the tool's own text output"
    )]
    Binary {
        /// The file.
        file: String,
        /// Offset of the first byte that does not belong into text.
        offset: usize,
    },
    /// A cell of a table does not hold what its column should.
    #[error(
        "{file}: line {line}, column \"{column}\": \"{text}\": {why}; correct the cell, or remove the line"
    )]
    Cell {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Heading of the column.
        column: String,
        /// The cell, shortened.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A table has no column of this name.
    #[error("{file} has no column \"{column}\"; it has {known}; name one of them in --columns")]
    Column {
        /// The file.
        file: String,
        /// What was named.
        column: String,
        /// The headings.
        known: String,
    },
    /// A folder that logs are looked for in.
    #[error("{folder} {why}; {hint}")]
    Folder {
        /// The folder.
        folder: String,
        /// What is wrong with it.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// More comes from a pipe than is kept of one.
    #[error(
        "{file} is not a file, and more than 64 MiB come from it; write it to a file and import that"
    )]
    Pipe {
        /// The pipe.
        file: String,
    },
    /// A test has no end.
    #[error(
        "{file}: the test that begins at line {line} is cut off: {missing}; give the whole log, or remove that test from it"
    )]
    Cut {
        /// The file.
        file: String,
        /// Line at which the test begins, from 1.
        line: usize,
        /// What is not there.
        missing: String,
    },
    /// Lines of two programs side by side.
    #[error(
        "{file}: line {line} has lines of two panes of a terminal side by side, and no bar stands between them in the same \
         column throughout; copy each pane by itself (`tmux capture-pane -p -J -S - -t PANE`), to a file of its own"
    )]
    Panes {
        /// The file.
        file: String,
        /// Line of the first, from 1.
        line: usize,
    },
    /// Larger than what is read of it at once.
    #[error("{file}: line {line} is beyond what is read of {what}, {limit}; {hint}")]
    TooLarge {
        /// The file.
        file: String,
        /// Line at which it begins, from 1.
        line: usize,
        /// What is so large.
        what: &'static str,
        /// Most that is read, with its unit.
        limit: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Beyond those that are named.
    #[error(
        "{count} more tests or files could not be read; import fewer files at once to see each"
    )]
    More {
        /// How many.
        count: usize,
    },
    /// The system did not give it.
    #[error("cannot read {file}: {reason}; {hint}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// A file of another kind than text, known by its first bytes.
    #[error("{file} is {what}, not a text log; {remedy}")]
    Container {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
        /// What takes the text out of it.
        remedy: &'static str,
    },
    /// A log that is written in something else could not be read.
    #[error("{error}; the file is {what}: `{command}` takes its text out")]
    Enclosed {
        /// Why what was found in it cannot be read.
        error: Box<Self>,
        /// What it is written in.
        what: &'static str,
        /// The command that takes the text out.
        command: &'static str,
    },
    /// Nothing in it.
    #[error("{file} is empty: give a log with at least one test")]
    Empty {
        /// The file.
        file: String,
    },
    /// A test without figures.
    #[error(
        "{file}: the test that begins at line {line} failed and has no figures ({reason}); repeat it, and give its new log"
    )]
    Failed {
        /// The file.
        file: String,
        /// Line at which the test begins, from 1.
        line: usize,
        /// What the tool said.
        reason: String,
    },
    /// A test that is left out, and nothing beside it.
    #[error("{file}: the test that begins at line {line} was left out: {reason}")]
    LeftOut {
        /// The file.
        file: String,
        /// Line at which the test begins, from 1.
        line: usize,
        /// Why, and what to do.
        reason: String,
    },
    /// A document inside an object of another program.
    #[error(
        "{file}: the object that begins at line {line} is no document of {tool}, but has one at {path}: `jq '{path}' {file}` takes it out"
    )]
    Inside {
        /// The file.
        file: String,
        /// Line at which the object begins, from 1.
        line: usize,
        /// The tool.
        tool: &'static str,
        /// Where the document is, as `jq` writes it.
        path: String,
    },
    /// A line is not what its format says.
    #[error(
        "{file}: line {line} is damaged ({reason}): \"{text}\"; repair the line (perhaps a mail or a terminal \
         wrapped it), or remove its test"
    )]
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What was expected.
        reason: &'static str,
        /// The line, shortened.
        text: String,
    },
    /// Figures of one stream that are not of one test.
    #[error(
        "{file}: line {line} begins what is no part of the test before it (\"{text}\"): two tests are mixed in this log, or \
         lines are damaged; give the output of each test in a file of its own"
    )]
    Mixed {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// No test in it.
    #[error(
        "{file} looks like {format} but has no test in it; give a log with at least one whole test"
    )]
    NoTest {
        /// The file.
        file: String,
        /// Id of the format that recognised it.
        format: &'static str,
    },
    /// The output of a tool that is not read.
    #[error(
        "{file} is output of {tool}, which linerate does not read; put its figures into a table and give that with --csv; \
         it reads: {}",
        known()
    )]
    OtherTool {
        /// The file.
        file: String,
        /// The tool.
        tool: &'static str,
    },
    /// A document of linerate's own.
    #[error(
        "{file} is a document of linerate itself ({schema}), no log: `linerate show {file}` and `linerate report {file}` read run documents as they are"
    )]
    OwnDocument {
        /// The file.
        file: String,
        /// Its schema.
        schema: String,
    },
    /// Something that only the user knows.
    #[error("{file}: line {line}: the file does not tell {what}; give {hint}")]
    Untold {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is not told.
        what: &'static str,
        /// How to tell it.
        hint: &'static str,
    },
    /// A kind of test that is not imported.
    #[error(
        "{file}: line {line} belongs to {what}, which cannot be imported; remove that test from the log"
    )]
    Unsupported {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The kind of test.
        what: &'static str,
    },
    /// Lines that can be joined in several ways.
    #[error(
        "{file}: its lines are wrapped at {width} columns, and joined at words they tell other figures than joined at that \
         column; give the log with its lines whole"
    )]
    Wrapped {
        /// The file.
        file: String,
        /// Columns in which a line has room.
        width: usize,
    },
    /// No format knows it.
    #[error(
        "{file} is not a log that linerate can import (it begins with \"{first}\"); it imports: {}",
        known()
    )]
    Unknown {
        /// The file.
        file: String,
        /// Its first line, shortened.
        first: String,
    },
}

impl ImportError {
    /// A file that the system did not give.
    pub fn unreadable(file: &str, error: &std::io::Error) -> Self {
        Self::Unreadable {
            file: file.to_owned(),
            reason: error.to_string(),
            hint: match error.kind() {
                std::io::ErrorKind::NotFound => "check the path",
                _ => more_files(error).unwrap_or("give a log file that this user may read"),
            },
        }
    }

    pub(super) fn mixed(file: &str, line: usize, text: &str) -> Self {
        Self::Mixed {
            file: file.to_owned(),
            line,
            text: text.trim().chars().take(80).collect(),
        }
    }

    pub(super) fn line(file: &str, line: usize, reason: &'static str, text: &str) -> Self {
        Self::Line {
            file: file.to_owned(),
            line,
            reason,
            text: text.trim().chars().take(80).collect(),
        }
    }
}

fn known() -> String {
    let ids: Vec<_> = ALL.iter().map(|format| format.id).collect();
    ids.join(", ")
}
