//! Tables as comma-separated values, quoted as RFC 4180 has it; lines end with a line feed alone, which line tools expect.

use crate::figures::clean_char;
use ::csv::Writer;
use serde::Serialize;

/// The table with these headings and one line for each of `rows`, whose cells are empty where they are `None`. A
/// first character that makes spreadsheets compute is defused, and what would command a terminal replaced.
pub(crate) fn table<Row: Iterator<Item = Option<String>>>(
    headings: impl Iterator<Item = impl Into<String>>,
    rows: impl Iterator<Item = Row>,
) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let mut write = |cells: Vec<String>| {
        let written = writer.write_record(cells);
        written.expect(
            "invariant: memory takes every line, and all have the columns' number of cells",
        );
    };
    write(headings.map(Into::into).collect());
    for row in rows {
        write(row.map(|cell| defused(&cell.unwrap_or_default())).collect());
    }
    let bytes = writer.into_inner().ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.expect("invariant: memory is flushed, and all cells are text")
}

/// A value as a cell.
pub(crate) fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// The value's name in documents.
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
        );
        assert_eq!(
            table,
            "a,b,c,d,e,f\n1,-2.5,' =1+1,\"a,b\",\"\"\"c\"\"\u{fffd}[2J\",\n,,,,,\n"
        );
    }
}
