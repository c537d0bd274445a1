//! A table cut into parts, so that one of any length is read in the memory of a part.

use crate::import::text::decoded;
use crate::import::{ImportError, Result, Source};
use std::io::{BufRead, Read as _};

/// Largest part, bytes: one with longer lines has fewer of them.
const MAX_PART_BYTES: usize = 16 * 1024 * 1024;
/// Longest line, bytes.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Lines of a table below its headings.
pub(super) struct Part {
    pub(super) text: String,
    /// Lines of the table that are not in the text.
    pub(super) skipped: usize,
    /// Its first and its last line in the table, from 1.
    pub(super) lines: (usize, usize),
}

/// The parts of a table, from its beginning.
pub(super) struct Parts<'a> {
    file: String,
    from: Box<dyn BufRead + 'a>,
    max_lines: usize,
    headings: Vec<u8>,
    heading_lines: usize,
    /// A part was read.
    has_begun: bool,
    /// Lines and bytes that were read.
    lines: usize,
    bytes: usize,
}

impl<'a> Parts<'a> {
    /// Reads the headings. A part has at most `max_lines`, and more only where one goes on in quotes.
    pub(super) fn open(table: &'a dyn Source, max_lines: usize) -> Result<Self> {
        let file = table.name();
        let from = table.open().and_then(decoded);
        let mut parts = Self {
            from: from.map_err(|error| ImportError::unreadable(&file, &error))?,
            file,
            max_lines,
            headings: Vec::new(),
            heading_lines: 0,
            has_begun: false,
            lines: 0,
            bytes: 0,
        };
        let mut headings = Vec::new();
        while headings.trim_ascii().is_empty() && parts.line(&mut headings)? {}
        (parts.headings, parts.heading_lines) = (headings, parts.lines);
        Ok(parts)
    }

    /// The next part, the first one even if it has no line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Part>> {
        let before = self.lines;
        let begin = self.bytes
            - if before == self.heading_lines {
                self.headings.len()
            } else {
                0
            };
        let mut raw = self.headings.clone();
        let is_full = |parts: &Self, raw: &[u8]| {
            parts.lines - before >= parts.max_lines || raw.len() >= MAX_PART_BYTES
        };
        while !is_full(self, &raw) && self.line(&mut raw)? {}
        if self.lines == before && std::mem::replace(&mut self.has_begun, true) {
            return Ok(None);
        }
        self.has_begun = true;
        let text = String::from_utf8(raw).map_err(|error| ImportError::Binary {
            file: self.file.clone(),
            offset: begin + error.utf8_error().valid_up_to(),
        })?;
        Ok(Some(Part {
            text,
            skipped: before - self.heading_lines,
            lines: (before + 1, self.lines),
        }))
    }

    /// Whether nothing follows.
    pub(super) fn is_over(&mut self) -> Result<bool> {
        let next = self.from.fill_buf();
        let next = next.map_err(|error| ImportError::unreadable(&self.file, &error))?;
        Ok(next.is_empty())
    }

    /// Adds the next line of the table, with those that are in its quotes; whether there was one.
    fn line(&mut self, raw: &mut Vec<u8>) -> Result<bool> {
        let first = self.lines + 1;
        let begin = raw.len();
        let mut place = Place::Begin;
        loop {
            let at = raw.len();
            let room = (MAX_LINE_BYTES + 1).saturating_sub(at - begin);
            let read = (&mut self.from).take(room as u64).read_until(b'\n', raw);
            let count = read.map_err(|error| ImportError::unreadable(&self.file, &error))?;
            if raw.len() - begin > MAX_LINE_BYTES {
                return Err(ImportError::TooLarge {
                    file: self.file.clone(),
                    line: first,
                    what: "a line of a table",
                    limit: "1 MiB",
                    hint: "see whether a quote there is not closed",
                });
            }
            self.bytes += count;
            self.lines += usize::from(count > 0);
            place = raw[at..]
                .iter()
                .fold(place, |place, byte| place.after(*byte));
            if count == 0 || place != Place::Quoted {
                return Ok(raw.len() > begin);
            }
        }
    }
}

/// Where in a line a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a cell.
    Begin,
    /// In a cell, or behind its quotes.
    Plain,
    Quoted,
    /// Behind a quote in quotes, which another one makes a part of the text.
    Ending,
}

impl Place {
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Ending,
            (Self::Quoted, _) | (Self::Begin | Self::Ending, b'"') => Self::Quoted,
            (_, b',' | b';' | b'\t' | b'\n' | b'\r') => Self::Begin,
            _ => Self::Plain,
        }
    }
}
