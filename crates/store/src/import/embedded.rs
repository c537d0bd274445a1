//! Logs inside JSON: what a tool printed as texts of a document of another program.
//!
//! Docker's log files, `journalctl -o json`, results of Ansible and events of clouds are such documents; annotations of CI
//! systems are read beside them. None is known here: of all keys the one is read whose texts look most like a log.

use super::text::{Line, MAX_PIECE_BYTES, Pieces, shown, typed};
use super::{ImportError, Result};
use std::collections::{BTreeMap, VecDeque};

/// Deeper than any document that has a log in it.
const MAX_DEPTH: usize = 64;
/// Longest key.
const MAX_KEY_BYTES: usize = 128;
/// Most keys that are compared.
const MAX_KEYS: usize = 256;

/// Where in a document the text of a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The key of the texts; those of a list have the list's.
    key: String,
    /// A text has its line end in it: one without goes on in the next.
    has_ends: bool,
}

/// What the texts of one key look like.
#[derive(Debug, Default)]
struct Count {
    signs: Vec<usize>,
    has_ends: bool,
}

/// The key whose texts look most like a log; `None` if less than half of the log's `signs` are in its texts.
///
/// `sign` counts how many signs of each format a line has. An error if the document is cut or damaged.
pub(super) fn find(
    lines: Box<dyn Pieces + '_>,
    signs: usize,
    sign: &dyn Fn(&str) -> Vec<usize>,
) -> Result<Option<Place>> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut damage = None;
    let mut texts = Texts::new(lines);
    while let Some(found) = texts.next() {
        let Text {
            key,
            line: text,
            end,
            ..
        } = match found {
            Ok(text) => text,
            Err(Damage::Document(error)) => {
                damage.get_or_insert(error);
                continue;
            }
            Err(Damage::Log(error)) => return Err(error),
        };
        // iperf3's own document has the server's log in it.
        if key == "server_output_text" || counts.len() >= MAX_KEYS && !counts.contains_key(&key) {
            continue;
        }
        let count = counts.entry(key).or_default();
        let new = sign(&text);
        count.signs.resize(new.len(), 0);
        count
            .signs
            .iter_mut()
            .zip(new)
            .for_each(|(all, new)| *all += new);
        count.has_ends |= end == End::LastLine;
    }
    let best = |count: &Count| count.signs.iter().copied().max().unwrap_or(0);
    let found = counts.into_iter().max_by(|(a, x), (b, y)| {
        // Of two with the same text the one that says its lines: a list may have lost empty ones.
        (best(x), x.has_ends, b).cmp(&(best(y), y.has_ends, a))
    });
    let is_log = |count: &Count| best(count) > 0 && best(count) * 2 >= signs;
    let Some((key, count)) = found.filter(|(_, count)| is_log(count)) else {
        return Ok(None);
    };
    match damage {
        Some(error) => Err(error),
        None => Ok(Some(Place {
            key,
            has_ends: count.has_ends,
        })),
    }
}

/// How a line of a text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a line end, after which the text goes on.
    Line,
    /// With a line end, which ends the text.
    LastLine,
    /// With the text, which has no line end at all.
    Whole,
    /// With the text, which has line ends before.
    Rest,
    /// Inside of a line that is too long.
    Inside,
}

/// A line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    key: String,
    line: String,
    /// Line of the log at which it ends, from 1.
    number: usize,
    end: End,
}

/// Why there is no next line.
enum Damage {
    /// A document is cut or damaged; others may follow.
    Document(ImportError),
    /// The log cannot be read.
    Log(ImportError),
}

/// An object or a list that is open.
#[derive(Debug)]
struct Level {
    is_object: bool,
    key: String,
}

/// The texts of all documents of a log, line by line.
struct Texts<'a> {
    lines: Box<dyn Pieces + 'a>,
    found: VecDeque<Result<Text, Damage>>,
    open: Vec<Level>,
    /// Line at which the document begins, from 1; `None` outside of documents.
    begun: Option<usize>,
    /// The text that is open, as far as it was not handed out.
    text: Option<String>,
    /// The text had a line end before.
    has_lines: bool,
    escape: Escape,
    /// The last character that is neither blank nor in a text.
    before: char,
}

/// What of an escape sequence was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Begun,
    /// Of `\uXXXX` so many digits, and their value.
    Digits(u32, u32),
}

impl<'a> Texts<'a> {
    fn new(lines: Box<dyn Pieces + 'a>) -> Self {
        Self {
            lines,
            found: VecDeque::new(),
            open: Vec::new(),
            begun: None,
            text: None,
            has_lines: false,
            escape: Escape::None,
            before: ':',
        }
    }

    fn next(&mut self) -> Option<Result<Text, Damage>> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Some(found);
            }
            let (file, number, text, has_end) = match self.lines.next() {
                Err(error) => return Some(Err(Damage::Log(error))),
                Ok(Some(line)) => (None, line.number, line.text.to_owned(), line.has_end),
                Ok(None) => (Some(self.lines.file().to_owned()), 0, String::new(), true),
            };
            match file {
                Some(file) => {
                    let line = self.begun.take()?;
                    let missing = "the end of its JSON is not there".to_owned();
                    let error = ImportError::Cut {
                        file,
                        line,
                        missing,
                    };
                    self.found.push_back(Err(Damage::Document(error)));
                }
                None => self.take(number, &text, has_end),
            }
        }
    }

    /// Takes a piece of the log.
    fn take(&mut self, number: usize, piece: &str, has_end: bool) {
        if self.begun.is_none()
            && let Some(message) = annotation(piece)
        {
            self.open.clear();
            for line in message.split("%0A") {
                let text = line.replace("%0D", "").replace("%25", "%");
                self.hand_out(number, &text, End::Line);
            }
            return;
        }
        let mut rest = piece;
        while !rest.is_empty() {
            if self.begun.is_none() {
                let Some(at) = begin(rest) else {
                    return;
                };
                rest = &rest[at..];
                self.reset();
                self.begun = Some(number);
            }
            for (at, c) in rest.char_indices() {
                if let Err(wanted) = self.character(number, c) {
                    return self.damaged(number, piece, wanted);
                }
                if self.begun.is_none() {
                    rest = &rest[at + c.len_utf8()..];
                    break;
                }
            }
            if self.begun.is_some() {
                break;
            }
        }
        if has_end && self.begun.is_some() && self.text.is_some() {
            self.damaged(number, piece, "the quote that ends a text");
        }
    }

    fn reset(&mut self) {
        self.open.clear();
        (self.begun, self.text, self.escape) = (None, None, Escape::None);
        self.before = ':';
    }

    fn damaged(&mut self, number: usize, piece: &str, wanted: &'static str) {
        self.reset();
        let error = ImportError::line(self.lines.file(), number, wanted, piece);
        self.found.push_back(Err(Damage::Document(error)));
    }

    fn character(&mut self, number: usize, c: char) -> Result<(), &'static str> {
        if self.text.is_some() {
            return self.inside(number, c);
        }
        match c {
            c if c.is_whitespace() => return Ok(()),
            '"' => {
                // What stands before says whether it is a key.
                self.text = Some(String::new());
                self.has_lines = false;
                return Ok(());
            }
            '{' | '[' => {
                if self.open.len() >= MAX_DEPTH {
                    return Err("at most 64 objects and lists inside each other");
                }
                let key = self
                    .open
                    .last()
                    .map_or_else(String::new, |level| level.key.clone());
                let is_object = c == '{';
                self.open.push(Level { is_object, key });
            }
            '}' | ']' => {
                let level = self.open.pop();
                if level.is_none_or(|level| level.is_object != (c == '}')) {
                    return Err("what is open to be ended");
                }
                self.begun = self.begun.filter(|_| !self.open.is_empty());
            }
            _ => {}
        }
        self.before = c;
        Ok(())
    }

    /// Takes a character of the text that is open.
    fn inside(&mut self, number: usize, c: char) -> Result<(), &'static str> {
        const ESCAPE: &str = "an escape sequence of JSON after a backslash";
        let plain = match (self.escape, c) {
            (Escape::None, '\\') => {
                self.escape = Escape::Begun;
                return Ok(());
            }
            (Escape::None, '"') => {
                self.end_text(number);
                return Ok(());
            }
            (Escape::None, c) => c,
            (Escape::Begun, 'u') => {
                self.escape = Escape::Digits(0, 0);
                return Ok(());
            }
            (Escape::Begun, c) => match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                '"' | '\\' | '/' => c,
                _ => return Err(ESCAPE),
            },
            (Escape::Digits(count, value), c) => {
                let value = value * 16 + c.to_digit(16).ok_or(ESCAPE)?;
                if count < 3 {
                    self.escape = Escape::Digits(count + 1, value);
                    return Ok(());
                }
                // No tool prints characters of two halves.
                char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
        };
        self.escape = Escape::None;
        let text = self.text.get_or_insert_default();
        if plain == '\n' {
            let line = std::mem::take(text);
            self.has_lines = true;
            self.hand_out(number, &line, End::Line);
        } else {
            text.push(plain);
            if text.len() >= MAX_PIECE_BYTES {
                let line = std::mem::take(text);
                self.hand_out(number, &line, End::Inside);
            }
        }
        Ok(())
    }

    /// Ends a text, which is a key or a value.
    fn end_text(&mut self, number: usize) {
        let text = self.text.take().unwrap_or_default();
        let is_value = self.before == ':' || self.open.last().is_none_or(|level| !level.is_object);
        if !is_value {
            if let Some(level) = self.open.last_mut() {
                level.key = text.chars().take(MAX_KEY_BYTES).collect();
            }
        } else if !self.has_lines {
            self.hand_out(number, &text, End::Whole);
        } else if text.is_empty() {
            // The line end before was the last character.
            if let Some(Ok(last)) = self.found.back_mut() {
                last.end = End::LastLine;
            }
        } else {
            self.hand_out(number, &text, End::Rest);
        }
        self.begun = self.begun.filter(|_| !self.open.is_empty());
        self.before = '"';
    }

    fn hand_out(&mut self, number: usize, text: &str, end: End) {
        let key = self
            .open
            .last()
            .map_or_else(String::new, |level| level.key.clone());
        let text = text.trim_end_matches('\r');
        let text = text.rsplit('\r').next().unwrap_or_default();
        self.found.push_back(Ok(Text {
            key,
            line: typed(&shown(text)).into_owned(),
            number,
            end,
        }));
    }
}

/// The message of a command to a CI system's runner, which has its line ends as `%0A`: `::notice title=iperf3::…`.
fn annotation(line: &str) -> Option<&str> {
    let (_, command) = line.split_once("::")?;
    let (name, message) = command.split_once("::")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
    (is_name && message.contains("%0A")).then_some(message)
}

/// Where in a line a document begins: an object, a list of texts, or a text with line ends.
pub(super) fn begin(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let at = line.len() - text.len();
    if annotation(line).is_some() {
        return Some(at);
    }
    let is_list = text.trim_end() == "[" || text.starts_with("[\"") || text.starts_with("[{");
    let is_text = text.starts_with('"') && text.contains("\\n");
    if text.starts_with('{') || is_list || is_text {
        return Some(at);
    }
    // Behind what a logger writes, or behind a name: `host | CHANGED => {`.
    let end = line.trim_end();
    line.find("{\"")
        .or_else(|| end.ends_with("=> {").then(|| end.len() - 1))
}

/// The lines of a log inside JSON.
pub(super) struct Embedded<'a> {
    texts: Texts<'a>,
    place: Place,
    /// The next line, and whether it ends.
    next: Option<(Text, bool)>,
    current: String,
    is_rest: bool,
}

impl<'a> Embedded<'a> {
    /// Those at `place` of the documents in `lines`.
    pub(super) fn new(lines: Box<dyn Pieces + 'a>, place: &Place) -> Result<Self> {
        let mut embedded = Self {
            texts: Texts::new(lines),
            place: place.clone(),
            next: None,
            current: String::new(),
            is_rest: false,
        };
        embedded.next = embedded.read()?;
        Ok(embedded)
    }

    fn read(&mut self) -> Result<Option<(Text, bool)>> {
        while let Some(found) = self.texts.next() {
            match found {
                Err(Damage::Document(error) | Damage::Log(error)) => return Err(error),
                Ok(text) if text.key == self.place.key => {
                    let goes_on = match text.end {
                        End::Inside => true,
                        End::Whole => self.place.has_ends,
                        End::Line | End::LastLine | End::Rest => false,
                    };
                    return Ok(Some((text, !goes_on)));
                }
                Ok(_) => {}
            }
        }
        Ok(None)
    }
}

impl Pieces for Embedded<'_> {
    fn file(&self) -> &str {
        self.texts.lines.file()
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
        let Some((Text { number, line, .. }, has_end)) = self.next.take() else {
            return Ok(None);
        };
        self.next = self.read()?;
        self.current = line;
        let is_rest = std::mem::replace(&mut self.is_rest, !has_end);
        Ok(Some(Line {
            number,
            text: &self.current,
            writer: None,
            is_rest,
            has_end,
            is_last: self.next.is_none(),
        }))
    }
}
