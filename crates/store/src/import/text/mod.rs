//! The lines of a log, one at a time: in whatever encoding it is, as a terminal would show them, with their white space
//! made plain.
//!
//! Invariant: no more than [`MAX_PIECE_BYTES`] of a log are in memory, however long its lines are.

mod container;
mod prefix;
mod terminal;
mod typography;
mod utf16;
mod writer;

use super::{ImportError, Result, Source};
use std::io::BufRead;

pub(super) use prefix::{Finder, Prefixes};
pub(super) use terminal::shown;
pub(super) use typography::typed;
pub(super) use utf16::decoded;
pub use writer::Writer;

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
    /// The program that wrote it, as the words of its prefixes name it; `None` where it has none.
    pub writer: Option<Writer>,
    /// It goes on from the piece before.
    pub is_rest: bool,
    /// A line end follows.
    pub has_end: bool,
    /// Nothing follows.
    pub is_last: bool,
}

/// The lines of a log, from its beginning.
pub(super) trait Pieces {
    /// The log's name.
    fn file(&self) -> &str;

    /// The next piece; `None` at the end.
    fn next(&mut self) -> Result<Option<Line<'_>>>;
}

/// Lines without what a logger wrote before each.
pub(super) struct Stripped<'a> {
    lines: Box<dyn Pieces + 'a>,
    prefixes: &'a Prefixes,
    /// Of the line of which pieces are read.
    writer: Option<Writer>,
}

impl<'a> Stripped<'a> {
    pub(super) fn new(lines: Box<dyn Pieces + 'a>, prefixes: &'a Prefixes) -> Self {
        Self {
            lines,
            prefixes,
            writer: None,
        }
    }
}

impl Pieces for Stripped<'_> {
    fn file(&self) -> &str {
        self.lines.file()
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
        let Some(line) = self.lines.next()? else {
            return Ok(None);
        };
        let mut text = line.text;
        if !line.is_rest {
            let (prefix, after) = self.prefixes.split(text);
            self.writer = Writer::of(line.writer, prefix);
            text = after;
        }
        Ok(Some(Line {
            text,
            writer: self.writer,
            ..line
        }))
    }
}

/// The lines of a log as they are in it.
pub(super) struct Lines<'a> {
    file: String,
    from: Box<dyn BufRead + 'a>,
    /// The piece that was read last, as it is in the log.
    raw: Vec<u8>,
    /// The piece that was read last as plain text, if it had to be changed.
    plain: String,
    number: usize,
    /// Offset of `raw` in the log.
    offset: usize,
    /// How the piece before ended.
    end: End,
}

/// How a piece of a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a line.
    Line,
    /// With a carriage return: what follows was written over it, as progress is.
    Return,
    /// In a line: at the longest piece, or at the end of the log.
    Inside,
}

/// UTF-8's byte order mark, with which some editors begin a text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The first bytes of a text.
fn begin<'a>(from: &'a mut (dyn BufRead + '_)) -> std::io::Result<&'a [u8]> {
    loop {
        match from.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => return from.fill_buf(),
        }
    }
}

impl<'a> Lines<'a> {
    pub(super) fn open(source: &'a dyn Source) -> Result<Self> {
        let file = source.name();
        let unreadable = |error| ImportError::unreadable(&file, &error);
        let mut from = source.open().map_err(unreadable)?;
        if let Some(container) = container::detect(begin(&mut *from).map_err(unreadable)?) {
            return Err(container.error(file));
        }
        let from = decoded(from).map_err(unreadable)?;
        Ok(Self {
            file,
            from,
            raw: Vec::new(),
            plain: String::new(),
            number: 0,
            offset: 0,
            end: End::Line,
        })
    }

    /// Reads the next piece with what ends it.
    fn fill(&mut self) -> Result<End> {
        self.raw.clear();
        loop {
            let room = MAX_PIECE_BYTES - self.raw.len();
            let next = match self.from.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                next => next.map_err(|error| ImportError::unreadable(&self.file, &error))?,
            };
            let next = &next[..next.len().min(room)];
            let end = next.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.map_or(next.len(), |at| at + 1);
            self.raw.extend_from_slice(&next[..taken]);
            self.from.consume(taken);
            if end.is_some() {
                return self.line_end();
            }
            if taken == 0 {
                return Ok(End::Inside);
            }
            if self.raw.len() == MAX_PIECE_BYTES {
                return self.whole_character();
            }
        }
    }

    /// Reads on to the end of what ends a line: serial consoles write several carriage returns before a line feed.
    fn line_end(&mut self) -> Result<End> {
        /// More than any console writes.
        const MAX_RETURNS: usize = 16;
        for _ in 0..MAX_RETURNS {
            if self.raw.last() == Some(&b'\n') {
                return Ok(End::Line);
            }
            let Some(byte) = self.peek()?.filter(|byte| matches!(byte, b'\n' | b'\r')) else {
                break;
            };
            self.raw.push(byte);
            self.from.consume(1);
        }
        Ok(End::Return)
    }

    /// Reads on to the end of the character that a piece ends in.
    fn whole_character(&mut self) -> Result<End> {
        let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        while let Some(byte) = self.peek()?.filter(is_inside) {
            self.raw.push(byte);
            self.from.consume(1);
            if self.raw.len() >= MAX_PIECE_BYTES + 3 {
                break;
            }
        }
        Ok(End::Inside)
    }

    fn peek(&mut self) -> Result<Option<u8>> {
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

    /// Sets the plain text of the piece; an error if it is no text.
    fn make_plain(&mut self) -> Result<()> {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let length = self.raw.iter().rposition(|byte| !is_end(byte));
        let mut raw = &self.raw[..length.map_or(0, |at| at + 1)];
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
        let shown = shown(text);
        let is_plain = |c: char| !c.is_control() || c == '\t';
        if let Some((at, _)) = shown.char_indices().find(|(_, c)| !is_plain(*c)) {
            return Err(binary(at));
        }
        self.plain.clear();
        self.plain.push_str(&typed(&shown));
        Ok(())
    }
}

impl Pieces for Lines<'_> {
    fn file(&self) -> &str {
        &self.file
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
        let mut is_rest = self.end == End::Inside;
        loop {
            self.number += usize::from(self.end == End::Line);
            self.offset += self.raw.len();
            self.end = self.fill()?;
            if self.raw.is_empty() {
                return Ok(None);
            }
            self.make_plain()?;
            // Nothing is shown of what a shell writes before it writes over it.
            if self.end != End::Return || !self.plain.is_empty() || is_rest {
                break;
            }
            is_rest = false;
        }
        let is_last = self.peek()?.is_none();
        Ok(Some(Line {
            number: self.number,
            text: &self.plain,
            writer: None,
            is_rest,
            has_end: self.end != End::Inside,
            is_last,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8]) -> Result<Vec<(usize, String, bool, bool)>> {
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
    fn text_of_other_encodings_and_of_terminals_is_read() {
        let line =
            |number, text: &str, has_end, is_last| (number, text.to_owned(), has_end, is_last);
        let wide = |text: &str| {
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>()
        };
        let read = pieces(&wide("\u{feff}one\r\ntwo")).unwrap();
        assert_eq!(
            read,
            [line(1, "one", true, false), line(2, "two", false, true)]
        );
        // Several returns of a console end one line; what is written over stays, and blank beginnings do not.
        let read = pieces(b"\x1b[?2004l\rone\r\r\n10%\r20%\r\n\x1b]0;t\x07two\n").unwrap();
        let texts = read
            .iter()
            .map(|(number, text, ..)| (*number, text.as_str()));
        assert!(texts.eq([(1, "one"), (2, "10%"), (2, "20%"), (3, "two")]));
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
