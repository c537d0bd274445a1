//! The lines of a log, one at a time, with their white space made plain.
//!
//! Invariant: no more than [`MAX_PIECE_BYTES`] of a log are in memory, however long its lines are.

use super::{ImportError, Source};
use std::borrow::Cow;
use std::io::BufRead;

/// Longest piece of a line: longer ones come in several. No tool but one that prints JSON without line ends has
/// lines of this length.
pub(super) const MAX_PIECE_BYTES: usize = 64 * 1024;

/// A line of a log, or a piece of a long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its text without its end.
    pub text: &'a str,
    /// It goes on from the piece before.
    pub is_rest: bool,
    /// A line end follows.
    pub has_end: bool,
    /// Nothing follows.
    pub is_last: bool,
}

/// Reads a log from its beginning.
pub(super) struct Lines<'a> {
    file: String,
    from: Box<dyn BufRead + 'a>,
    /// The piece that was read last, as it is in the log.
    raw: Vec<u8>,
    /// The same as plain text, if it had to be changed.
    plain: String,
    number: usize,
    /// Offset of `raw` in the log.
    offset: usize,
    /// The piece before had no line end.
    goes_on: bool,
}

/// UTF-8's byte order mark, with which some editors begin a text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

impl<'a> Lines<'a> {
    pub(super) fn open(source: &'a dyn Source) -> Result<Self, ImportError> {
        let file = source.name();
        let from = source
            .open()
            .map_err(|error| ImportError::unreadable(&file, &error))?;
        Ok(Self {
            file,
            from,
            raw: Vec::new(),
            plain: String::new(),
            number: 0,
            offset: 0,
            goes_on: false,
        })
    }

    /// The next piece; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, ImportError> {
        let is_rest = self.goes_on;
        self.offset += self.raw.len();
        let has_end = self.fill()?;
        if self.raw.is_empty() {
            return Ok(None);
        }
        self.number += usize::from(!is_rest);
        self.goes_on = !has_end;
        let is_last = self.peek()?.is_none();
        Ok(Some(Line {
            number: self.number,
            text: self.text(has_end)?,
            is_rest,
            has_end,
            is_last,
        }))
    }

    /// Reads the next piece with its line end; whether it has one.
    fn fill(&mut self) -> Result<bool, ImportError> {
        self.raw.clear();
        loop {
            let room = MAX_PIECE_BYTES - self.raw.len();
            let next = match self.from.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                next => next.map_err(|error| ImportError::unreadable(&self.file, &error))?,
            };
            let next = &next[..next.len().min(room)];
            let end = next.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(next.len(), |at| at + 1);
            self.raw.extend_from_slice(&next[..taken]);
            self.from.consume(taken);
            if end.is_some() || taken == 0 {
                return Ok(end.is_some());
            }
            if self.raw.len() == MAX_PIECE_BYTES {
                return self.whole_character();
            }
        }
    }

    /// Reads on to the end of the character that a piece ends in.
    fn whole_character(&mut self) -> Result<bool, ImportError> {
        let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        while let Some(byte) = self.peek()?.filter(is_inside) {
            self.raw.push(byte);
            self.from.consume(1);
            if self.raw.len() >= MAX_PIECE_BYTES + 3 {
                break;
            }
        }
        Ok(false)
    }

    fn peek(&mut self) -> Result<Option<u8>, ImportError> {
        loop {
            match self.from.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                next => {
                    let next = next.map_err(|error| ImportError::unreadable(&self.file, &error))?;
                    return Ok(next.first().copied());
                }
            }
        }
    }

    /// The text of the piece, or why it is no text.
    fn text(&mut self, has_end: bool) -> Result<&str, ImportError> {
        let mut raw = &self.raw[..];
        if has_end {
            raw = &raw[..raw.len() - 1];
            raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        }
        let begin = match raw.strip_prefix(MARK).filter(|_| self.offset == 0) {
            Some(after) => {
                raw = after;
                MARK.len()
            }
            None => 0,
        };
        let binary = |at: usize| ImportError::Binary {
            file: self.file.clone(),
            offset: self.offset + begin + at,
        };
        let text = std::str::from_utf8(raw).map_err(|error| binary(error.valid_up_to()))?;
        let plain = without_controls(text);
        let is_plain = |c: char| !c.is_control() || matches!(c, '\t' | '\r');
        if let Some((at, _)) = plain.char_indices().find(|(_, c)| !is_plain(*c)) {
            return Err(binary(at));
        }
        // Logs that went through a mail or a web page have no-break spaces in their columns.
        self.plain = match plain {
            Cow::Borrowed(text) if !text.contains('\u{a0}') => {
                self.plain.clear();
                self.plain.push_str(text);
                return Ok(&self.plain);
            }
            plain => plain.replace('\u{a0}', " "),
        };
        Ok(&self.plain)
    }
}

/// Takes out the control sequences of a terminal: colours, and the cursor's moves of a board's shell.
fn without_controls(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(BEGIN);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| ('@'..='~').contains(&c));
        plain.push_str(end.map_or("", |end| &piece[end + 1..]));
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8]) -> Result<Vec<(usize, String, bool, bool)>, ImportError> {
        let source = ("log".to_owned(), bytes.to_vec());
        let mut lines = Lines::open(&source)?;
        let mut all = Vec::new();
        while let Some(line) = lines.next()? {
            assert_eq!(line.is_rest, all.last().is_some_and(|(_, _, end, _)| !end));
            all.push((
                line.number,
                line.text.to_owned(),
                line.has_end,
                line.is_last,
            ));
        }
        Ok(all)
    }

    #[test]
    fn lines_are_plain_text() {
        let read = pieces(b"\xEF\xBB\xBFa\xC2\xA0b\r\n\n\x1b[2;35mc\x1b[0m").unwrap();
        let line =
            |number, text: &str, has_end, is_last| (number, text.to_owned(), has_end, is_last);
        assert_eq!(
            read,
            [
                line(1, "a b", true, false),
                line(2, "", true, false),
                line(3, "c", false, true)
            ]
        );
    }

    #[test]
    fn what_is_no_text_is_named_by_its_offset() {
        let offset = |bytes: &[u8]| match pieces(bytes).unwrap_err() {
            ImportError::Binary { offset, .. } => offset,
            other => panic!("{other}"),
        };
        assert_eq!(offset(b"ab\ncd\xffe"), 5);
        assert_eq!(offset(b"\xEF\xBB\xBFab\0"), 5);
    }

    #[test]
    fn long_lines_come_in_pieces_of_whole_characters() {
        let long = "ä".repeat(MAX_PIECE_BYTES);
        let read = pieces(format!("x{long}\nend\n").as_bytes()).unwrap();
        assert_eq!(read.len(), 4);
        let text: String = read[..3].iter().map(|(_, text, _, _)| &**text).collect();
        assert_eq!(text, format!("x{long}"));
        assert!(read[..3].iter().all(|(number, ..)| *number == 1));
        assert_eq!(read[3].0, 2);
    }
}
