//! Panes of a terminal that were copied together: the lines of two programs side by side, with a bar between them in the
//! same column throughout. Each pane is a log of its own.

use super::layers::{Signs, is_bar};
use super::text::{Lines, Pieces};
use super::{ImportError, Result, Source};

/// Longer than anything that is copied from a terminal.
const MAX_LINES: usize = 10_000;

/// Wider than any terminal.
const MAX_COLUMNS: usize = 1024;

/// The log of a pane: its name and its text.
type Pane = (String, Vec<u8>);

/// A line as far as bars matter.
struct Row {
    number: usize,
    text: Vec<char>,
}

/// Whether a character is part of a frame.
fn is_frame(c: char) -> bool {
    ('\u{2500}'..='\u{257f}').contains(&c)
}

impl Row {
    /// The columns of its bars.
    fn bars(&self) -> Vec<usize> {
        let columns = self.text.iter().enumerate();
        let bars = columns.filter(|(_, c)| is_bar(**c));
        bars.map(|(at, _)| at).collect()
    }

    /// Nothing but a frame is in it.
    fn is_border(&self) -> bool {
        self.text.iter().all(|c| is_frame(*c) || c.is_whitespace())
    }

    fn cells(&self, bars: &[usize]) -> impl Iterator<Item = String> {
        let begins = std::iter::once(0).chain(bars.iter().map(|at| at + 1));
        let ends = bars.iter().copied().chain([self.text.len()]);
        begins.zip(ends).map(|(begin, end)| {
            let end = end.min(self.text.len());
            self.text[begin.min(end)..end].iter().collect()
        })
    }
}

/// The logs of the panes in `log` that are a tool's, in files of the same line numbers; `None` if it has no panes. An error
/// if lines of two tools are side by side and cannot be told apart.
pub(super) fn split(log: &dyn Source) -> Result<Option<Vec<Pane>>> {
    let Some(rows) = rows(log)? else {
        return Ok(None);
    };
    let barred: Vec<_> = rows
        .iter()
        .filter(|row| !row.is_border() && !row.bars().is_empty())
        .collect();
    let Some(mut bars) = barred.first().map(|row| row.bars()) else {
        return Ok(None);
    };
    for row in &barred {
        let own = row.bars();
        bars.retain(|at| own.contains(at));
    }
    let has_signs = |text: &str| signs(&log.name(), [text]).format().is_ok();
    let has_two = |row: &&&Row| {
        let bars = row.bars();
        let parts = row.cells(&bars);
        parts.filter(|part| has_signs(part)).count() > 1
    };
    // A line without a bar between those that have one is of no pane, or of all.
    let first = barred.first().map_or(0, |row| row.number);
    let last = barred.last().map_or(0, |row| row.number);
    let is_between = |row: &Row| (first..=last).contains(&row.number);
    let is_stray = |row: &&Row| {
        let text: String = row.text.iter().collect();
        let is_bare = row.bars().is_empty() && !row.is_border();
        is_bare && (is_between(row) || has_signs(&text))
    };
    if bars.is_empty() || rows.iter().any(|row| is_stray(&row)) {
        return match barred.iter().find(has_two) {
            Some(row) => Err(ImportError::Panes {
                file: log.name(),
                line: row.number,
            }),
            None => Ok(None),
        };
    }
    Ok(panes(&log.name(), &rows, &bars))
}

/// The lines of a log; `None` if they are more, or wider, than anybody copies.
fn rows(log: &dyn Source) -> Result<Option<Vec<Row>>> {
    let mut lines = Lines::open(log)?;
    let mut rows = Vec::new();
    while let Some(line) = lines.next()? {
        let text: Vec<char> = line.text.chars().collect();
        if line.number > MAX_LINES || line.is_rest || text.len() > MAX_COLUMNS {
            return Ok(None);
        }
        rows.push(Row {
            number: line.number,
            text,
        });
    }
    Ok(Some(rows))
}

fn signs<'a>(file: &str, lines: impl IntoIterator<Item = &'a str>) -> Signs {
    let mut signs = Signs::new(file);
    lines.into_iter().for_each(|line| signs.take(line));
    signs
}

/// The panes between these bars that are a tool's log.
fn panes(file: &str, rows: &[Row], bars: &[usize]) -> Option<Vec<Pane>> {
    let mut texts = vec![String::new(); bars.len() + 1];
    let mut at = 0;
    for row in rows {
        let is_inside = !row.bars().is_empty() && !row.is_border();
        let ends = "\n".repeat(row.number.saturating_sub(at.max(1)));
        at = row.number;
        for (text, cell) in texts.iter_mut().zip(row.cells(bars)) {
            text.push_str(&ends);
            if is_inside {
                text.push_str(cell.trim_end());
            }
        }
    }
    let is_frame = texts.iter().filter(|text| !text.trim().is_empty()).count() == 1;
    let name = |pane: u32| {
        if is_frame {
            file.to_owned()
        } else {
            format!("{file} (pane {pane})")
        }
    };
    let all = (1..).zip(texts);
    let logs = all.filter(|(_, text)| signs(file, text.lines()).format().is_ok());
    let logs: Vec<_> = logs
        .map(|(pane, text)| (name(pane), (text + "\n").into_bytes()))
        .collect();
    (!logs.is_empty()).then_some(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Vec<(String, String)>>> {
        let log = ("log".to_owned(), text.as_bytes().to_vec());
        let panes = split(&log)?;
        let text = |(name, bytes)| (name, String::from_utf8(bytes).unwrap());
        Ok(panes.map(|panes| panes.into_iter().map(text).collect()))
    }

    #[test]
    fn panes_are_logs_of_their_own() {
        let text = "see:\n\
                    Connecting to host a  │Server listening on 5201\n\
                    ──────────────────────┼──────────────────────\n\
                    \x20                     │[ ID] Interval  Bitrate\n\
                    [0] 0:bash*\n";
        let panes = read(text).unwrap().unwrap();
        let pane = |at: usize, text: &str| (format!("log (pane {at})"), text.to_owned());
        assert_eq!(
            panes,
            [
                pane(1, "\nConnecting to host a\n\n\n\n"),
                pane(
                    2,
                    "\nServer listening on 5201\n\n[ ID] Interval  Bitrate\n\n"
                )
            ]
        );
    }

    #[test]
    fn the_frame_of_a_box_is_none_of_its_text() {
        let text = "┌────────────┐\n│ iperf Done.│\n└────────────┘\n";
        let [(name, text)] = &read(text).unwrap().unwrap()[..] else {
            panic!("several");
        };
        assert_eq!((&**name, &**text), ("log", "\n iperf Done.\n\n"));
    }

    #[test]
    fn lines_of_two_panes_that_cannot_be_told_apart_are_named() {
        let text = "Connecting to host a  │Server listening on 5201\n\
                    [ ID] Bitrate │[ ID] Bitrate\n";
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains("two panes"), "{error}");
        for text in ["│ a │ b │\n│ cc │ d │\n", "iperf Done.\n", "a │ b\n"] {
            assert_eq!(read(text).unwrap(), None, "{text}");
        }
    }
}
