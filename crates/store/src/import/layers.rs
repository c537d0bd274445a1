//! What lies around the text of a tool in a log: a logger's prefixes, JSON of other programs, HTML of a page. Found by
//! reading the log, once for all of its lines.

use super::embedded::{self, Embedded, Place};
use super::enclosed::{self, Enclosed, Enclosure};
use super::text::{Finder, Lines, MAX_PIECE_BYTES, Pieces, Prefixes, Stripped};
use super::{ALL, ImportError, Line, LogFormat, Result, Source, iperf3_json, other_tools};

/// Whether a character stands between two panes of a terminal, or is the side of a frame.
pub(super) const fn is_bar(c: char) -> bool {
    matches!(c, '│' | '┃' | '║')
}

/// First lines that are looked at for the words of other tools: there are many, and a long log is whose it began as.
const NAMED_LINES: usize = 1000;

/// Most layers of a log: an annotation of a CI system that has a log of a container that has a result.
const MAX_LAYERS: usize = 4;

/// A document of linerate says within so many lines what it is.
const MAX_HEAD_LINES: usize = 4;

/// The schema of a document of linerate: `linerate/run/2`.
fn own_schema(line: &str) -> Option<String> {
    let (_, value) = line.split_once("\"schema\"")?;
    let value = value.trim_start_matches([' ', ':']).strip_prefix('"')?;
    let (schema, _) = value.split_once('"')?;
    schema.starts_with("linerate/").then(|| schema.to_owned())
}

/// Longest line that is no document of JSON, bytes: no tool prints longer ones.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// What is to be taken off the lines of a log.
enum Layer {
    Enclosure(&'static Enclosure),
    Json(Place),
    Prefixes(Prefixes),
}

/// What is to be taken off the lines of a log, outermost first.
#[derive(Default)]
pub(super) struct Layers(Vec<Layer>);

/// What one reading of a log says.
struct Look {
    signs: Signs,
    prefixes: Prefixes,
    /// A line begins like a document of JSON.
    is_json: bool,
    /// Whether a line has a mark of each enclosure, in the order of [`enclosed::ALL`].
    marks: Vec<bool>,
    /// A line is longer than any tool prints.
    too_large: Option<ImportError>,
}

impl Layers {
    /// The layers of a log, and what the lines below them say about its format.
    pub(super) fn find(log: &dyn Source) -> Result<(Self, Signs)> {
        let mut layers = Self::default();
        loop {
            let look = layers.look(log)?;
            let layer = match layers.json(log, &look) {
                Ok(Some(place)) => Some(Layer::Json(place)),
                Ok(None) => {
                    let found = layers.enclosure_of(log, &look)?;
                    found.map(|(enclosure, _)| Layer::Enclosure(enclosure))
                }
                // What looks like damaged JSON may be whole in what it is written in.
                Err(error) => match layers.enclosure_of(log, &look)? {
                    Some((enclosure, signs)) if signs > look.signs.most() => {
                        Some(Layer::Enclosure(enclosure))
                    }
                    _ => return Err(error),
                },
            };
            let layer = match (layer, look.too_large) {
                (Some(layer), _) => layer,
                (None, Some(error)) => return Err(error),
                (None, None) if look.prefixes.are_none() => return Ok((layers, look.signs)),
                (None, None) => Layer::Prefixes(look.prefixes),
            };
            if layers.0.len() >= MAX_LAYERS {
                return Ok((layers, look.signs));
            }
            layers.0.push(layer);
        }
    }

    /// The lines below all layers.
    pub(super) fn open<'a>(&'a self, log: &'a dyn Source) -> Result<Box<dyn Pieces + 'a>> {
        let mut lines: Box<dyn Pieces + 'a> = Box::new(Lines::open(log)?);
        for layer in &self.0 {
            lines = match layer {
                Layer::Enclosure(enclosure) => Box::new(Enclosed::new(lines, enclosure)),
                Layer::Json(place) => Box::new(Embedded::new(lines, place)?),
                Layer::Prefixes(prefixes) => Box::new(Stripped::new(lines, prefixes)),
            };
        }
        Ok(lines)
    }

    /// Whether a logger's prefixes are taken off.
    pub(super) fn have_prefixes(&self) -> bool {
        let is_prefix = |layer: &Layer| matches!(layer, Layer::Prefixes(_));
        self.0.iter().any(is_prefix)
    }

    /// What the log as a whole is written in, if in anything.
    pub(super) fn enclosure(&self) -> Option<&'static Enclosure> {
        let enclosure = |layer: &Layer| match layer {
            Layer::Enclosure(enclosure) => Some(*enclosure),
            Layer::Json(_) | Layer::Prefixes(_) => None,
        };
        self.0.iter().find_map(enclosure)
    }

    /// What the lines are written in, and how many signs of a tool they have without it: of all whose marks they have
    /// the one without which they look most like a tool's.
    fn enclosure_of(
        &self,
        log: &dyn Source,
        look: &Look,
    ) -> Result<Option<(&'static Enclosure, usize)>> {
        let mut best = None;
        let mut most = look.signs.most();
        let marked = enclosed::ALL.iter().zip(&look.marks);
        for (enclosure, _) in marked.filter(|(_, is_marked)| **is_marked) {
            let mut lines = Enclosed::new(self.open(log)?, enclosure);
            let mut signs = Signs::new(lines.file());
            while let Some(line) = lines.next()? {
                signs.take(line.text);
            }
            let count = signs.most();
            if !lines.is_refuted() && (count > most || count == most && best.is_none()) {
                (best, most) = (Some(*enclosure), count);
            }
        }
        Ok(best.map(|enclosure| (enclosure, most)))
    }

    fn look(&self, log: &dyn Source) -> Result<Look> {
        let mut lines = self.open(log)?;
        let mut signs = Signs::new(lines.file());
        let mut prefixes = Finder::default();
        let mut is_json = false;
        let mut marks = vec![false; enclosed::ALL.len()];
        let mut too_large = None;
        // Pieces of this line; only documents of JSON have lines of any length.
        let mut pieces = Some(0);
        while let Some(line) = lines.next()? {
            let Line { text, is_rest, .. } = line;
            if is_rest {
                pieces = pieces.map(|pieces| pieces + 1);
            } else {
                prefixes.take(text, begins(text));
                let is_document = embedded::begin(text).is_some();
                is_json |= is_document;
                pieces = (!is_document).then_some(1);
            }
            if let Some(schema) = own_schema(text).filter(|_| line.number <= MAX_HEAD_LINES) {
                return Err(ImportError::OwnDocument {
                    file: signs.file,
                    schema,
                });
            }
            if pieces.is_some_and(|pieces| pieces > MAX_LINE_BYTES / MAX_PIECE_BYTES) {
                too_large.get_or_insert_with(|| ImportError::TooLarge {
                    file: signs.file.clone(),
                    line: line.number,
                    what: "a line of text",
                    limit: "1 MiB",
                    hint: "give the tool's own text output",
                });
            }
            for (is_marked, enclosure) in marks.iter_mut().zip(enclosed::ALL) {
                *is_marked = *is_marked || (enclosure.is_in)(text);
            }
            signs.take(text);
        }
        if signs.first.is_empty() {
            return Err(ImportError::Empty { file: signs.file });
        }
        Ok(Look {
            signs,
            prefixes: prefixes.finish(),
            is_json,
            marks,
            too_large,
        })
    }

    /// Where in documents of JSON the text of the log is, if it is in such.
    fn json(&self, log: &dyn Source, look: &Look) -> Result<Option<Place>> {
        let counts = || ALL.iter().zip(look.signs.counts.iter().copied());
        // The one tool that prints JSON itself: no text inside JSON has its marks.
        let is_own = |format: &LogFormat| std::ptr::eq(format, &raw const iperf3_json::FORMAT);
        if !look.is_json || counts().any(|(format, count)| count > 0 && is_own(format)) {
            return Ok(None);
        }
        let sign = |line: &str| signs(line).collect();
        embedded::find(self.open(log)?, look.signs.most(), &sign)
    }
}

/// Where in a line the text of the tool begins that has words of it first.
pub(super) fn begins(line: &str) -> Option<usize> {
    ALL.iter().filter_map(|format| (format.begins)(line)).min()
}

/// How many signs of each format a line has, in the order of [`ALL`].
fn signs(line: &str) -> impl Iterator<Item = usize> {
    ALL.iter().map(move |format| (format.recognise)(line))
}

/// What the lines of a log say about its format.
#[derive(Clone)]
pub(super) struct Signs {
    file: String,
    /// How many signs of each format it has, in the order of [`ALL`].
    counts: Vec<usize>,
    /// Its first line that is not blank, shortened.
    first: String,
    /// Characters of its longest line. One of a single word tells no width: what wraps lines may not break it.
    widest: usize,
    /// A tool that is not read, but in whose words it is.
    other_tool: Option<&'static str>,
    /// Lines that are still looked at for that.
    left_to_name: usize,
    /// No line before the first in its words had a sign of a format.
    is_other_first: bool,
    /// A line has a bar that may stand between two panes of a terminal.
    has_bars: bool,
}

impl Signs {
    pub(super) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            counts: vec![0; ALL.len()],
            first: String::new(),
            widest: 0,
            other_tool: None,
            left_to_name: NAMED_LINES,
            is_other_first: false,
            has_bars: false,
        }
    }

    pub(super) fn take(&mut self, text: &str) {
        if self.first.is_empty() {
            self.first = text.trim().chars().take(60).collect();
        }
        let line = text.trim();
        if line.contains(char::is_whitespace) {
            let length = text.trim_end().chars().count();
            self.widest = self.widest.max(length);
        }
        self.has_bars |= text.contains(is_bar);
        if self.other_tool.is_none() && self.left_to_name > 0 {
            self.left_to_name -= 1;
            self.other_tool = other_tools::name(text);
            self.is_other_first = self.most() == 0;
        }
        for (count, sign) in self.counts.iter_mut().zip(signs(text)) {
            *count += sign;
        }
    }

    /// Whether a line has a bar that may stand between two panes.
    pub(super) const fn has_bars(&self) -> bool {
        self.has_bars
    }

    /// Characters of the longest line.
    pub(super) const fn widest(&self) -> usize {
        self.widest
    }

    /// Signs of the format that has most.
    fn most(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// The format with most signs.
    pub(super) fn format(&self) -> Result<&'static LogFormat> {
        let known = self.counts.iter().zip(ALL).filter(|(count, _)| **count > 0);
        known
            .max_by_key(|(count, _)| **count)
            .map(|(_, format)| *format)
            .ok_or_else(|| {
                self.other_tool().unwrap_or_else(|| ImportError::Unknown {
                    file: self.file.clone(),
                    first: self.first.clone(),
                })
            })
    }

    /// Whether the log is of a tool that is not read, and has lines that look like those of one that is.
    pub(super) fn are_of_look_alike(&self) -> bool {
        self.is_other_first && self.other_tool.is_some_and(other_tools::looks_like_another)
    }

    /// The tool that is not read, but in whose words the log is.
    fn other_tool(&self) -> Option<ImportError> {
        self.other_tool.map(|tool| ImportError::OtherTool {
            file: self.file.clone(),
            tool,
        })
    }

    /// Why no test is in the log: its signs are words that another tool shares, or the tests are gone.
    pub(super) fn no_test(&self) -> ImportError {
        let none = || match self.format() {
            Ok(format) => ImportError::NoTest {
                file: self.file.clone(),
                format: format.id,
            },
            Err(error) => error,
        };
        self.other_tool().unwrap_or_else(none)
    }

    /// What else a file holds beside what is read of it.
    pub(super) fn others(&self, read: &[&LogFormat], mut refuse: impl FnMut(ImportError)) {
        // Fewer signs can be words that two tools share.
        const ENOUGH: usize = 3;
        for (count, other) in self.counts.iter().zip(ALL) {
            let is_read = read.iter().any(|format| format.id == other.id);
            if let (false, Some(read)) = (is_read, read.first().filter(|_| *count >= ENOUGH)) {
                refuse(ImportError::Beside {
                    file: self.file.clone(),
                    read: read.id,
                    other: other.id,
                });
            }
        }
    }
}
