//! Lines in a column of a table of comma-separated values, as spreadsheets and logging services export them: a line in
//! each row, or all of them in one cell.
//!
//! Which column it is, the one of which most looks like a log tells. All rows have as many cells. A table without quotes needs none of this: what stands
//! before a line is a logger's prefix.
//!
//! # References
//! - RFC 4180

use super::{Decoder, Enclosure, Output};

const WHAT: &str = "a table of comma-separated values (`import --csv` reads tables of results)";
const COMMAND: &str = "python3 -c 'import csv,sys; [print(max(r, key=len)) for r in csv.reader(sys.stdin) if r]' < FILE > log.txt";

const fn column<const AT: usize>() -> Enclosure {
    Enclosure {
        what: WHAT,
        command: COMMAND,
        is_in: |line| separator(line).is_some(),
        decoder: || Box::new(Column::<AT>::default()),
    }
}

/// One for each column in which a log is looked for.
pub(super) static COLUMNS: [Enclosure; 8] = [
    column::<0>(),
    column::<1>(),
    column::<2>(),
    column::<3>(),
    column::<4>(),
    column::<5>(),
    column::<6>(),
    column::<7>(),
];

const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// What stands between the cells of a row, beside the first quote that it has.
fn separator(line: &str) -> Option<char> {
    let (before, cell) = line.split_once('"')?;
    // JSON has quotes beside commas, too; in a cell they are doubled.
    if line.contains("\":") && !line.contains("\"\"") {
        return None;
    }
    if let Some(c) = before.chars().next_back() {
        return SEPARATORS.contains(&c).then_some(c);
    }
    let mut rest = cell.chars();
    while let Some(c) = rest.next() {
        if c == '"' && !rest.as_str().starts_with('"') {
            break;
        }
        if c == '"' {
            rest.next();
        }
    }
    match rest.next() {
        // A column by itself.
        None => (line.len() > 2 && line.ends_with('"')).then_some(','),
        Some(c) => SEPARATORS.contains(&c).then_some(c),
    }
}

/// What of a cell was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Cell {
    #[default]
    Empty,
    Plain,
    Quoted,
    /// A quote that ends it, or is doubled.
    AfterQuote,
}

/// Most rows before the first that has a quote.
const MAX_WAITING: usize = 100;

#[derive(Default)]
struct Column<const AT: usize> {
    separator: Option<char>,
    /// Rows before the first that has a quote, with their numbers.
    waiting: Vec<(usize, String)>,
    /// Cells of every row.
    cells: Option<usize>,
    /// The cell that is open, of those of its row.
    at: usize,
    cell: Cell,
    has_fault: bool,
}

impl<const AT: usize> Column<AT> {
    fn push(&self, c: char, output: &mut Output) {
        if self.at == AT {
            output.push(c);
        }
    }

    fn take(&mut self, c: char, separator: char, output: &mut Output) {
        self.cell = match (self.cell, c) {
            (Cell::Empty, '"') => Cell::Quoted,
            (Cell::Quoted, '"') => Cell::AfterQuote,
            (Cell::AfterQuote, '"') => {
                self.push(c, output);
                Cell::Quoted
            }
            (Cell::Empty | Cell::Plain | Cell::AfterQuote, c) if c == separator => {
                self.at += 1;
                Cell::Empty
            }
            (Cell::AfterQuote, _) => {
                self.has_fault = true;
                Cell::Plain
            }
            (cell, c) => {
                self.push(c, output);
                if cell == Cell::Quoted {
                    Cell::Quoted
                } else {
                    Cell::Plain
                }
            }
        };
    }
}

impl<const AT: usize> Column<AT> {
    fn line(&mut self, piece: &str, separator: char, has_end: bool, output: &mut Output) {
        piece.chars().for_each(|c| self.take(c, separator, output));
        if !has_end {
            return;
        }
        if self.cell == Cell::Quoted {
            // The cell goes on, and its line end is one of the text.
            if self.at == AT {
                output.end_line();
            }
            return;
        }
        let is_blank = self.at == 0 && self.cell == Cell::Empty;
        let cells = self.at + 1;
        (self.at, self.cell) = (0, Cell::Empty);
        if !is_blank {
            self.has_fault |= *self.cells.get_or_insert(cells) != cells;
        }
        output.end_line();
    }
}

impl<const AT: usize> Decoder for Column<AT> {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        self.separator = self.separator.or_else(|| separator(piece));
        let Some(separator) = self.separator else {
            self.has_fault |= !has_end || self.waiting.len() >= MAX_WAITING;
            if !self.has_fault {
                self.waiting.push((output.number, piece.to_owned()));
            }
            return;
        };
        let number = output.number;
        for (before, row) in std::mem::take(&mut self.waiting) {
            output.number = before;
            self.line(&row, separator, true, output);
        }
        output.number = number;
        self.line(piece, separator, has_end, output);
    }

    fn finish(&mut self, _output: &mut Output) -> bool {
        self.separator.is_some() && !self.has_fault && self.cell != Cell::Quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn a_column_is_its_lines() {
        let text =
            "time,line,host\n1,\"[  5] a, b\",h\n2,Done.,h\n3,,h\n4,\"it says \"\"x\"\"\",h\n";
        assert_eq!(
            decoded(&COLUMNS[1], text).unwrap(),
            ["line", "[  5] a, b", "Done.", "", "it says \"x\""]
        );
        let cell = "\"id\";\"output\"\n\"1\";\"one\n two\n\"\n";
        assert_eq!(
            decoded(&COLUMNS[1], cell).unwrap(),
            ["output", "one", " two", ""]
        );
        assert_eq!(decoded(&COLUMNS[0], "\"a\"\n\"b\"\n").unwrap(), ["a", "b"]);
    }

    #[test]
    fn what_is_not_whole_is_refuted() {
        for text in [
            "1,\"a\n2,\"b\"\n",
            "1,\"a\n",
            "1,\"a\"b\n",
            "plain, text\n",
            "Connecting to host a, port 5201\n\"it is quoted\"\n",
            "1,\"a\"\n2,\"b\",c\n",
        ] {
            assert_eq!(decoded(&COLUMNS[1], text), None, "{text}");
            assert_eq!(decoded(&COLUMNS[0], text), None, "{text}");
        }
        assert_eq!(separator("  \"socket\":\t5,"), None);
    }
}
