//! Tables for a terminal: the first column left-aligned, the others right-aligned.
//!
//! A table that is wider than there is room goes on below itself: its columns in groups, each with the names, and a
//! name that takes too much on lines of its own. Nothing is left out.

use super::{Ink, Line, length, wrap};
use std::fmt::Write as _;
use std::ops::Range;

/// Columns between two cells.
const GAP: usize = 2;
/// Columns that each level of a tree moves a name.
const INDENT: usize = 2;
/// Columns that a name keeps beside at least one other cell.
const MIN_NAME: usize = 12;

/// A line of the terminal.
pub(super) struct StyledLine {
    pub(super) ink: Ink,
    pub(super) text: String,
}

/// The lines of `rows`, at most `width` characters each.
pub(super) fn lines(rows: &[Line], width: usize) -> Vec<StyledLine> {
    let count = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(|at| widest(rows, at)).collect();
    let Some((name, others)) = widths.split_first() else {
        return Vec::new();
    };
    let room = width.saturating_sub((*name).min(MIN_NAME));
    groups(others, room)
        .into_iter()
        .flat_map(|columns| {
            let taken: usize = widths[columns.clone()]
                .iter()
                .map(|width| width + GAP)
                .sum();
            let name = (*name).min(width.saturating_sub(taken)).max(1);
            group(rows, columns, name, &widths)
        })
        .collect()
}

/// Which columns stand beside each other, counted from the second.
fn groups(others: &[usize], room: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut last = 1..1;
    let mut taken = 0;
    for (at, width) in others.iter().enumerate() {
        let needed = width + GAP;
        if taken + needed > room && last.start < last.end {
            groups.push(last);
            last = at + 1..at + 1;
            taken = 0;
        }
        last.end = at + 2;
        taken += needed;
    }
    groups.push(last);
    groups
}

fn group(rows: &[Line], columns: Range<usize>, name: usize, widths: &[usize]) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    for row in rows {
        let (ink, cells) = (row.ink, &row.cells);
        let indent = row.indent * INDENT;
        let first = cells.first().map_or("", String::as_str);
        let mut names = wrap(first, name.saturating_sub(indent).max(1));
        // The figures stand beside the last line of their name.
        let last = names.pop().unwrap_or_default();
        let indented = |text: &str| format!("{:indent$}{text}", "");
        let above = names.iter().map(|text| StyledLine {
            ink,
            text: indented(text),
        });
        lines.extend(above);
        let mut text = format!("{:<name$}", indented(&last));
        for (cell, width) in cells
            .iter()
            .zip(widths)
            .take(columns.end)
            .skip(columns.start)
        {
            let _ = write!(text, "{:GAP$}{cell:>width$}", "");
        }
        text.truncate(text.trim_end().len());
        lines.push(StyledLine { ink, text });
    }
    lines
}

fn widest(rows: &[Line], column: usize) -> usize {
    let indent = |row: &Line| if column == 0 { row.indent * INDENT } else { 0 };
    let lengths = rows
        .iter()
        .filter_map(|row| Some(length(row.cells.get(column)?) + indent(row)));
    lengths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Line> {
        let row = |cells: [&str; 4]| Line::new(&cells.map(str::to_owned));
        vec![
            row(["", "mean", "median", "maximum"]),
            row(["32 B, spinning", "1.25", "1.2", "9"]),
            row(["1448 B, under load", "17.5", "16", "120"]),
        ]
    }

    fn shown(width: usize) -> String {
        let lines = lines(&table(), width).into_iter().map(|line| line.text);
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn columns_are_aligned_where_there_is_room() {
        let wanted = "                    mean  median  maximum\n\
                      32 B, spinning      1.25     1.2        9\n\
                      1448 B, under load  17.5      16      120";
        assert_eq!(shown(41), wanted);
        assert_eq!(shown(usize::MAX), wanted);
    }

    #[test]
    fn a_narrow_table_says_the_same_on_more_lines() {
        let all = |width| {
            let text = shown(width);
            assert!(text.lines().all(|line| length(line) <= width), "{text}");
            let mut words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
            words.sort();
            words.dedup();
            words
        };
        for width in [20, 25, 30, 40] {
            assert_eq!(all(width), all(60), "{width}:\n{}", shown(width));
        }
    }
}
