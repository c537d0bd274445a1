//! Lines in the cells of a table, as Markdown, Jira and org-mode write one: `| cell | cell |`.

use super::{Decoder, Enclosure, Output};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "written in a table of Markdown or Jira",
    command: "sed 's/^ *|//; s/| *$//; s/|/ /g' FILE > log.txt",
    is_in,
    decoder: || Box::new(Cells::default()),
};

/// A line is a row of a table.
fn is_in(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2 && line.starts_with('|') && line.ends_with('|')
}

#[derive(Default)]
struct Cells {
    /// Rows of the table that is open.
    rows: usize,
    /// A line goes on from the piece before.
    is_inside: bool,
}

impl Decoder for Cells {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        let is_row = !self.is_inside && is_in(piece);
        self.is_inside = !has_end;
        if is_row {
            self.rows += 1;
            let cells = cells(piece);
            // The second row of Markdown says how the columns are set.
            if self.rows == 2 && cells.iter().all(|cell| is_rule(cell)) {
                return;
            }
            output.push_str(&cells.join("  "));
        } else {
            self.rows = 0;
            output.push_str(piece);
        }
        if has_end {
            output.end_line();
        }
    }

    fn finish(&mut self, _output: &mut Output) -> bool {
        true
    }
}

/// The cells of a row that are not empty; a bar that belongs into one has a backslash before it.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let last = cells.last_mut();
        match (c, last) {
            ('\\', Some(cell)) if chars.next_if_eq(&'|').is_some() => cell.push('|'),
            ('|', _) => cells.push(String::new()),
            (c, Some(cell)) => cell.push(c),
            (_, None) => {}
        }
    }
    // The blank beside a bar is the table's.
    let own = |cell: String| {
        cell.strip_prefix(' ')
            .unwrap_or(&cell)
            .trim_end()
            .to_owned()
    };
    let cells = cells.into_iter().map(own);
    cells.filter(|cell| !cell.trim().is_empty()).collect()
}

/// A cell says how its column is set: `---`, `:--`, `--:`.
fn is_rule(cell: &str) -> bool {
    let cell = cell.trim();
    let dashes = cell.strip_prefix(':').unwrap_or(cell);
    let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
    !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn rows_become_lines() {
        let text = "before | it\n\
                    | output |\n\
                    |:------|\n\
                    | ----- |\n\
                    | [  5]   0.00-1.00 sec |\n\
                    | [  5] | 1.00-2.00 | sec |\n\
                    ||head||ing||\n\
                    | a \\| b |\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            [
                "before | it",
                "output",
                "-----",
                "[  5]   0.00-1.00 sec",
                "[  5]  1.00-2.00  sec",
                "head  ing",
                "a | b"
            ]
        );
    }
}
