//! Tables as comma-separated values: the one place where cells are quoted (RFC 4180).

use crate::figures::clean_char;
use ::csv::{Terminator, WriterBuilder};
use serde::Serialize;

/// How lines end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LineEnd {
    /// As RFC 4180 has it.
    CrLf,
    /// As other text files of Unix.
    Lf,
}

/// The table with these headings and one line for each of `rows`, whose cells are empty where they are `None`. A
/// first character that makes spreadsheets compute is defused, and what would command a terminal replaced.
pub(crate) fn table<Row: Iterator<Item = Option<String>>>(
    headings: impl Iterator<Item = &'static str>,
    rows: impl Iterator<Item = Row>,
    end: LineEnd,
) -> String {
    let terminator = match end {
        LineEnd::CrLf => Terminator::CRLF,
        LineEnd::Lf => Terminator::Any(b'\n'),
    };
    let mut builder = WriterBuilder::new();
    let mut writer = builder.terminator(terminator).from_writer(Vec::new());
    let mut write = |cells: Vec<String>| {
        let written = writer.write_record(cells);
        written.expect(
            "invariant: memory takes every line, and all have the columns' number of cells",
        );
    };
    write(headings.map(str::to_owned).collect());
    for row in rows {
        write(row.map(|cell| defused(&cell.unwrap_or_default())).collect());
    }
    let bytes = writer.into_inner().ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.expect("invariant: memory is flushed, and all cells are text")
}

/// A value that is written as a word, as in JSON.
pub(crate) fn kebab(value: &impl Serialize) -> Option<String> {
    let name = serde_json::to_value(value).ok()?;
    name.as_str().map(str::to_owned)
}

/// A cell that neither computes nor commands a terminal, in which such files are looked at too.
fn defused(cell: &str) -> String {
    // A line feed inside a cell is quoted.
    let plain = |c| if c == '\n' { c } else { clean_char(c) };
    let cell: String = cell.chars().map(plain).collect();
    let risky = cell
        .trim_start()
        .starts_with(['=', '+', '-', '@', '\u{fffd}'])
        && cell.parse::<f64>().is_err();
    if risky { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_what_would_compute_is_defused() {
        let cells = ["1", "-2.5", " =1+1", "a,b", "\"c\"\u{1b}[2J", ""];
        let row = cells.map(|cell| Some(cell.to_owned()));
        let rows = [row.into_iter(), [const { None }; 6].into_iter()];
        let table = table(
            "abcdef".split("").filter(|name| !name.is_empty()),
            rows.into_iter(),
            LineEnd::CrLf,
        );
        assert_eq!(
            table,
            "a,b,c,d,e,f\r\n1,-2.5,' =1+1,\"a,b\",\"\"\"c\"\"\u{fffd}[2J\",\r\n,,,,,\r\n"
        );
    }
}
