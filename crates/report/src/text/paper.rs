//! Lines of text with a label column, wrapped and aligned. Whatever the width, every character is written.

use super::wrap::{length, wrap};
use super::{Style, columns};
use crate::figures::clean;

/// Columns before a line that has no label.
const INDENT: usize = 2;
/// Columns that labels take.
const LABEL: usize = 17;
/// Narrower than this, nothing can be aligned.
const MIN_WIDTH: usize = 40;

/// Text that is being written.
pub(crate) struct Paper {
    width: usize,
    style: Style,
    text: String,
}

impl Paper {
    pub(crate) fn new(width: usize, style: Style) -> Self {
        Self {
            width: width.max(MIN_WIDTH),
            style,
            text: String::new(),
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// A heading, or the sentence that comes first.
    pub(crate) fn title(&mut self, text: &str) {
        for part in wrap(&clean(text), self.width) {
            let shown = self.paint("1", &part);
            self.push(&shown);
        }
    }

    /// A label and what belongs to it, wrapped under itself.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        self.lines(label, text, None);
    }

    /// A row in bold.
    pub(super) fn strong(&mut self, label: &str, text: &str) {
        self.lines(label, text, Some("1"));
    }

    /// A row in red.
    pub(super) fn alarm(&mut self, label: &str, text: &str) {
        self.lines(label, text, Some("31"));
    }

    /// Rows of columns beside the labels: the first left-aligned, the others right-aligned.
    pub(super) fn columns<const N: usize>(&mut self, rows: &[[String; N]]) {
        let rows: Vec<_> = rows.iter().map(|row| row.to_vec()).collect();
        for line in columns::lines(&cleaned(&rows), self.width - LABEL) {
            self.line("", &line.text, None);
        }
    }

    /// The same over the whole width: tables of many columns. The first row is a heading.
    pub(crate) fn wide_columns(&mut self, rows: &[Vec<String>]) {
        for line in columns::lines(&cleaned(rows), self.width - INDENT) {
            let shown = if line.row == 0 {
                self.paint("1", &line.text)
            } else {
                line.text
            };
            self.push(&format!("  {shown}"));
        }
    }

    /// Rows of left-aligned columns over the whole width, the first a heading, each followed by what is said of it.
    pub(super) fn listing(&mut self, rows: &[(Vec<String>, Option<String>)]) {
        let widest = |mut widest: [usize; 4], (row, _): &(Vec<String>, Option<String>)| {
            for (width, cell) in widest.iter_mut().zip(row) {
                // Cleaning leaves as many characters.
                *width = (*width).max(length(cell));
            }
            widest
        };
        let widths = rows.iter().fold([0; 4], widest);
        for (index, (row, about)) in rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let gap = (width + 2).saturating_sub(length(cell));
                line.push_str(&clean(cell));
                line.extend(std::iter::repeat_n(' ', gap));
            }
            let line = line.trim_end();
            let parts = if length(line) > self.width {
                wrap(line, self.width)
            } else {
                vec![line.to_owned()]
            };
            for part in parts {
                let shown = if index == 0 {
                    self.paint("1", &part)
                } else {
                    part
                };
                self.push(&shown);
            }
            let room = self.width - 2 * INDENT;
            for part in about.iter().flat_map(|about| wrap(&clean(about), room)) {
                self.push(&format!("    {part}"));
            }
        }
    }

    /// Text over the whole width.
    pub(crate) fn wide(&mut self, text: &str) {
        for part in wrap(&clean(text), self.width - INDENT) {
            self.push(&format!("  {part}"));
        }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) {
        self.push("");
    }

    /// A name in bold and what is said of it, wrapped over the whole width under an indent.
    pub(super) fn item(&mut self, name: &str, text: &str) {
        let name = format!("{}:", clean(name));
        let whole = format!("{name} {}", clean(text));
        for (index, part) in wrap(&whole, self.width - INDENT).into_iter().enumerate() {
            let line = match part.strip_prefix(&name) {
                Some(rest) if index == 0 => format!("{}{rest}", self.paint("1", &name)),
                _ if index == 0 => part,
                _ => format!("  {part}"),
            };
            self.push(&line);
        }
    }

    /// How many lines there are.
    pub(super) fn height(&self) -> usize {
        self.text.lines().count()
    }

    /// Adds what was written on another sheet.
    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// An empty sheet of the same width and style.
    pub(super) const fn blank(&self) -> Self {
        Self {
            width: self.width,
            style: self.style,
            text: String::new(),
        }
    }

    fn lines(&mut self, label: &str, text: &str, color: Option<&str>) {
        let wrapped = wrap(&clean(text), self.width - LABEL);
        for (index, part) in wrapped.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            self.line(label, part, color);
        }
    }

    fn line(&mut self, label: &str, text: &str, color: Option<&str>) {
        let label = self.paint("2", &format!("  {label:<width$}", width = LABEL - 2));
        let text = color.map_or_else(|| text.to_owned(), |color| self.paint(color, text));
        self.push(&format!("{label}{text}"));
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, color: &str, text: &str) -> String {
        match self.style {
            Style::Ansi => format!("\u{1b}[{color}m{text}\u{1b}[0m"),
            Style::Plain => text.to_owned(),
        }
    }
}

fn cleaned(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let row = |row: &Vec<String>| row.iter().map(|cell| clean(cell)).collect();
    rows.iter().map(row).collect()
}
