//! Lines that a mail wrapped: the words that did not fit stand on a line of their own.
//!
//! That a line is the rest of the one before is a guess. So a log is read both ways, and joined only where more of it is
//! known then and every test is whole.

use super::interleaved::Shares;
use super::layers::{Layers, Signs, begins};
use super::{Hints, Result, Source, iperf3_json};
use std::ops::RangeInclusive;

/// Where mails wrap, characters.
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
    /// Length of the log's longest line, characters.
    pub(super) width: usize,
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
    let Some(text) = joined(log, layers, width)? else {
        return Ok(None);
    };
    let as_is = Shares::find(log, layers, signs.clone(), hints)?.counts(log, layers, hints)?;
    let log = (log.name(), text.into_bytes());
    let (layers, signs) = Layers::find(&log)?;
    if signs.format().is_err() {
        return Ok(None);
    }
    let shares = Shares::find(&log, &layers, signs.clone(), hints)?;
    let counts = shares.counts(&log, &layers, hints)?;
    // A row that was joined to another is none any more, and contradicts nothing.
    let is_more = counts.figures > as_is.figures
        || counts.figures == as_is.figures && counts.whole > as_is.whole;
    let is_whole = counts.faults == 0 && counts.whole >= as_is.whole.max(1);
    Ok((is_more && is_whole).then_some(Unwrapped {
        log,
        layers,
        signs,
        width,
    }))
}

/// The lines below the layers of a log, joined with their rests; `None` if none has one, or several programs wrote it.
fn joined(log: &dyn Source, layers: &Layers, width: usize) -> Result<Option<String>> {
    let mut lines = layers.open(log)?;
    let mut text = String::new();
    let (mut length, mut rests) = (0, 0);
    // Number of the line that is written. A paragraph ends with as many empty lines as were joined in it, so that numbers of
    // lines are those of the log from the next one on; an empty line inside it could end a table.
    let mut at = 1;
    while let Some(line) = lines.next()? {
        if line.number > MAX_LINES || line.writer.is_some() {
            return Ok(None);
        }
        if is_rest(length, line.text, width) {
            text.push(' ');
            text.push_str(line.text.trim_start());
            rests += 1;
        } else {
            let mut ends = usize::from(line.number > 1);
            if line.text.trim().is_empty() {
                ends = ends.max(line.number.saturating_sub(at));
            }
            text.push_str(&"\n".repeat(ends));
            text.push_str(line.text);
            at += ends;
        }
        length = line.text.trim_end().chars().count();
    }
    text.push('\n');
    Ok((rests > 0).then_some(text))
}

/// Whether a line is what did not fit any more into the one before, which has this length.
fn is_rest(length: usize, line: &str, width: usize) -> bool {
    let text = line.trim_start();
    let is_text = text.starts_with(|c: char| c.is_alphanumeric() || "()/.%".contains(c));
    let word = text.split_whitespace().next().unwrap_or_default();
    length > 0
        && is_text
        && begins(text).is_none()
        && length + MAX_BLANKS + word.chars().count() > width
}
