//! What a log is written in: HTML of a page, quoted-printable of a mail, a table, the escapes of Markdown, Python's print of
//! a text or dictionary, quotes of a logger, YAML.
//!
//! Whether a log is written in one of these is not guessed from its marks alone: its lines must look at least as much
//! like a tool's with it taken off as they do with it.

mod cells;
mod csv;
mod entities;
mod escapes;
mod html;
mod python;
mod quoted;
mod quoted_printable;
mod yaml;

use super::text::{MAX_PIECE_BYTES, Pieces, shown, typed};
use super::{ImportError, Line};
use std::collections::VecDeque;

/// What a text may be written in.
pub(super) struct Enclosure {
    /// What such a file is called.
    what: &'static str,
    /// The command that takes the text out of it.
    command: &'static str,
    /// Whether a line has a mark of it.
    pub(super) is_in: fn(&str) -> bool,
    decoder: fn() -> Box<dyn Decoder>,
}

/// Each; of two that read a log equally well the first one is taken.
pub(super) static ALL: &[&Enclosure] = &[
    &html::LINES,
    &html::PAGE,
    &quoted_printable::ENCLOSURE,
    &cells::ENCLOSURE,
    &escapes::ENCLOSURE,
    &python::ENCLOSURE,
    &quoted::ENCLOSURE,
    &yaml::ENCLOSURE,
    &csv::COLUMNS[0],
    &csv::COLUMNS[1],
    &csv::COLUMNS[2],
    &csv::COLUMNS[3],
    &csv::COLUMNS[4],
    &csv::COLUMNS[5],
    &csv::COLUMNS[6],
    &csv::COLUMNS[7],
];

impl Enclosure {
    /// Adds to an error what the file is written in.
    pub(super) fn explain(&self, error: ImportError) -> ImportError {
        ImportError::Enclosed {
            error: Box::new(error),
            what: self.what,
            command: self.command,
        }
    }
}

/// Takes an enclosure off.
trait Decoder {
    /// Takes the next piece of a line, and whether the line ends with it.
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output);

    /// Ends the text; `false` if it is not written in this.
    fn finish(&mut self, output: &mut Output) -> bool;
}

/// The lines that a decoder makes.
#[derive(Default)]
struct Output {
    line: String,
    /// Line of the log that is being decoded, from 1.
    number: usize,
    /// The piece handed out last did not end its line.
    is_open: bool,
    ready: VecDeque<Piece>,
}

struct Piece {
    number: usize,
    text: String,
    has_end: bool,
}

impl Output {
    /// Whether the line has no text so far.
    fn is_blank(&self) -> bool {
        !self.is_open && self.line.trim().is_empty()
    }

    fn push(&mut self, c: char) {
        self.line.push(c);
        if self.line.len() >= MAX_PIECE_BYTES {
            self.hand_out(false);
        }
    }

    fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    fn end_line(&mut self) {
        self.hand_out(true);
    }

    /// Ends `count` lines of the line `number` of the log.
    fn end_lines(&mut self, number: usize, count: usize) {
        let now = std::mem::replace(&mut self.number, number);
        (0..count).for_each(|_| self.end_line());
        self.number = now;
    }

    fn hand_out(&mut self, has_end: bool) {
        self.is_open = !has_end;
        let text = typed(&shown(&self.line)).into_owned();
        self.line.clear();
        self.ready.push_back(Piece {
            number: self.number,
            text,
            has_end,
        });
    }
}

/// The lines of a log without what they are written in.
pub(super) struct Enclosed<'a> {
    lines: Box<dyn Pieces + 'a>,
    decoder: Box<dyn Decoder>,
    output: Output,
    current: String,
    is_rest: bool,
    /// The last line of the log has its end.
    has_end: bool,
    end: Option<End>,
}

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is written in the enclosure.
    Decoded,
    /// It is not.
    Refuted,
}

impl<'a> Enclosed<'a> {
    pub(super) fn new(lines: Box<dyn Pieces + 'a>, enclosure: &Enclosure) -> Self {
        Self {
            lines,
            decoder: (enclosure.decoder)(),
            output: Output::default(),
            current: String::new(),
            is_rest: false,
            has_end: true,
            end: None,
        }
    }

    /// Whether the log, which was read to its end, is not written in this.
    pub(super) fn is_refuted(&self) -> bool {
        self.end == Some(End::Refuted)
    }

    /// Decodes until it is known what follows the next piece.
    fn fill(&mut self) -> Result<(), ImportError> {
        while self.end.is_none() && self.output.ready.len() < 2 {
            if let Some(line) = self.lines.next()? {
                self.output.number = line.number;
                self.has_end = line.has_end;
                self.decoder.take(line.text, line.has_end, &mut self.output);
                continue;
            }
            let is_decoded = self.decoder.finish(&mut self.output);
            if !self.output.line.is_empty() {
                self.output.hand_out(self.has_end);
            }
            self.end = Some(if is_decoded {
                End::Decoded
            } else {
                End::Refuted
            });
        }
        Ok(())
    }
}

impl Pieces for Enclosed<'_> {
    fn file(&self) -> &str {
        self.lines.file()
    }

    fn next(&mut self) -> Result<Option<Line<'_>>, ImportError> {
        self.fill()?;
        let Some(piece) = self.output.ready.pop_front() else {
            return Ok(None);
        };
        self.current = piece.text;
        Ok(Some(Line {
            number: piece.number,
            text: &self.current,
            writer: None,
            is_rest: std::mem::replace(&mut self.is_rest, !piece.has_end),
            has_end: piece.has_end,
            is_last: self.output.ready.is_empty(),
        }))
    }
}

/// The lines of a text without an enclosure; `None` if it is not written in it.
#[cfg(test)]
fn decoded(enclosure: &Enclosure, text: &str) -> Option<Vec<String>> {
    let log = ("log".to_owned(), text.as_bytes().to_vec());
    let lines = super::text::Lines::open(&log).unwrap();
    let mut enclosed = Enclosed::new(Box::new(lines), enclosure);
    let mut all = Vec::new();
    while let Some(line) = enclosed.next().unwrap() {
        all.push(line.text.to_owned());
    }
    (!enclosed.is_refuted()).then_some(all)
}
