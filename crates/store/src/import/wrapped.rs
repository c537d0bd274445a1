//! Lines that a mail or a terminal wrapped: what did not fit stands on a line of its own.
//!
//! That a line is the rest of the one before is a guess, and so is where it was broken: a mail breaks between words, a
//! terminal in its last column. So a log is read in each way, and joined only where more of it is known then and every
//! test is whole; a log in which both ways know as much but tell different figures is refused.

use super::interleaved::Shares;
use super::layers::{Layers, Signs, begins};
use super::text::Finder;
use super::{Hints, ImportError, Result, Source, iperf3_json};
use std::ops::RangeInclusive;

/// Where mails and terminals wrap, characters.
const WIDTHS: RangeInclusive<usize> = 40..=160;

/// Longer than any log in a mail.
const MAX_LINES: usize = 10_000;

/// Most blanks between two columns of a table: as many may be gone at a line's end.
const MAX_BLANKS: usize = 24;

/// A log whose lines are joined.
pub(super) struct Unwrapped {
    pub(super) log: (String, Vec<u8>),
    pub(super) layers: Layers,
    pub(super) signs: Signs,
    /// Columns in which a line has room.
    pub(super) width: usize,
    pub(super) by: Break,
}

impl Unwrapped {
    fn figures(&self, hints: &Hints) -> Result<Vec<String>> {
        let shares = Shares::find(&self.log, &self.layers, self.signs.clone(), hints)?;
        shares.figures(&self.log, &self.layers, hints)
    }
}

/// Where a line is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// In the last column, which may be inside of a word.
    Column,
    /// There too, of lines whose last columns were blank and are gone.
    Padded,
    /// Between two words.
    Word,
}

impl Break {
    const ALL: [Self; 3] = [Self::Word, Self::Column, Self::Padded];

    /// What breaks lines there.
    pub(super) const fn writer(self) -> &'static str {
        match self {
            Self::Column | Self::Padded => "a terminal",
            Self::Word => "a mail",
        }
    }
}

/// The log with its lines joined, if more is known of it then and nothing is in doubt.
pub(super) fn unwrap(
    log: &dyn Source,
    layers: &Layers,
    signs: &Signs,
    hints: &Hints,
) -> Result<Option<Unwrapped>> {
    let width = signs.widest();
    let is_json = |id: &str| id == iperf3_json::FORMAT.id;
    if !WIDTHS.contains(&width) || !signs.format().is_ok_and(|format| !is_json(format.id)) {
        return Ok(None);
    }
    let Some(lines) = lines(log, layers, width)? else {
        return Ok(None);
    };
    let mut best = Shares::find(log, layers, signs.clone(), hints)?.counts(log, layers, hints)?;
    let mut unwrapped: Option<Unwrapped> = None;
    for by in Break::ALL {
        let Some(text) = joined(&lines, width, by) else {
            continue;
        };
        let (layers, signs) = below(log, signs, &text)?;
        let log = (log.name(), text.into_bytes());
        if signs.format().is_err() {
            continue;
        }
        let shares = Shares::find(&log, &layers, signs.clone(), hints)?;
        let counts = shares.counts(&log, &layers, hints)?;
        if let Some(other) = unwrapped.as_ref().filter(|_| counts.is_as_good_as(&best))
            && other.figures(hints)? != shares.figures(&log, &layers, hints)?
        {
            return Err(ImportError::Wrapped { file: log.0, width });
        }
        if counts.is_better_than(&best) {
            best = counts;
            unwrapped = Some(Unwrapped {
                log,
                layers,
                signs,
                width,
                by,
            });
        }
    }
    Ok(unwrapped)
}

/// The layers of joined lines, and their signs. Those of the lines as they are hold, but where a logger's prefixes are
/// before most lines only now: looking for all layers again would take longer than reading the tests.
fn below(log: &dyn Source, signs: &Signs, text: &str) -> Result<(Layers, Signs)> {
    let mut prefixes = Finder::default();
    for line in text.lines() {
        prefixes.take(line, begins(line));
    }
    if prefixes.finish().are_none() {
        return Ok((Layers::default(), signs.clone()));
    }
    Layers::find(&(log.name(), text.as_bytes().to_vec()))
}

/// A line of a log below its layers.
struct Written {
    number: usize,
    text: String,
    /// Its characters up to the last one that is not blank.
    length: usize,
}

/// The lines below the layers of a log; `None` if none can be a rest, or several programs wrote it.
fn lines(log: &dyn Source, layers: &Layers, width: usize) -> Result<Option<Vec<Written>>> {
    let mut pieces = layers.open(log)?;
    let mut lines = Vec::<Written>::new();
    let mut has_rest = false;
    while let Some(line) = pieces.next()? {
        if line.number > MAX_LINES || line.writer.is_some() {
            return Ok(None);
        }
        let before = lines.last().map_or(0, |before| before.length);
        let mut ways = Break::ALL.iter();
        // Where each line had room for more, none was broken.
        has_rest |= before + 1 + first_word(line.text) > width
            && ways.any(|by| by.is_rest(before, line.text, width));
        lines.push(Written {
            number: line.number,
            length: line.text.trim_end().chars().count(),
            text: line.text.to_owned(),
        });
    }
    Ok(has_rest.then_some(lines))
}

/// The lines joined with their rests; `None` if none has one that is broken there. Where no line is full to its last column,
/// all are broken at blanks.
fn joined(lines: &[Written], width: usize, by: Break) -> Option<String> {
    let mut text = String::new();
    let (mut length, mut rests, mut full) = (0, 0, 0);
    // Number of the line that is written. A paragraph ends with as many empty lines as were joined in it, so that numbers of
    // lines are those of the log from the next one on; an empty line inside it could end a table.
    let mut at = 1;
    for line in lines {
        if by.is_rest(length, &line.text, width) {
            by.join(&mut text, line, width - length.min(width));
            rests += 1;
            full += usize::from(length == width);
        } else {
            let mut ends = usize::from(line.number > 1);
            if line.text.trim().is_empty() {
                ends = ends.max(line.number.saturating_sub(at));
            }
            text.push_str(&"\n".repeat(ends));
            text.push_str(&line.text);
            at += ends;
        }
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        length = line.length;
    }
    text.push('\n');
    let is_broken = match by {
        Break::Column | Break::Word => rests > 0,
        Break::Padded => full > 0 && full < rests,
    };
    is_broken.then_some(text)
}

/// Characters of a line's first word.
fn first_word(line: &str) -> usize {
    let mut words = line.split_whitespace();
    words.next().map_or(0, |word| word.chars().count())
}

impl Break {
    /// Whether a line is what did not fit any more into the one before, which has this length.
    fn is_rest(self, length: usize, line: &str, width: usize) -> bool {
        let text = line.trim_start();
        let (first, inside) = match self {
            Self::Column | Self::Padded => (0, "=:,]_\""),
            Self::Word => (first_word(text), ""),
        };
        // A negative figure, or an option of a command, is no rule.
        let is_text = text
            .trim_start_matches('-')
            .starts_with(char::is_alphanumeric)
            || text.starts_with(|c| "()/.%".contains(c) || inside.contains(c));
        length > 0
            && is_text
            && match self {
                Self::Column => length == width,
                Self::Padded => (width.saturating_sub(MAX_BLANKS)..=width).contains(&length),
                Self::Word => length + MAX_BLANKS + first > width,
            }
            && begins(text).is_none()
    }

    /// Adds the rest of a line to it, in whose last columns `room` blanks are gone.
    fn join(self, text: &mut String, rest: &Written, room: usize) {
        match self {
            Self::Column | Self::Padded => {
                text.push_str(&" ".repeat(room));
                text.push_str(&rest.text);
            }
            Self::Word => {
                text.push(' ');
                text.push_str(rest.text.trim_start());
            }
        }
    }
}
