//! Lines of text with a label column, wrapped and aligned. Whatever the width, every character is written.

mod columns;
mod wrap;

pub(crate) use wrap::{length, wrap};

use crate::figures::clean;

/// Columns before a line that has no label.
const INDENT: usize = 2;
/// Columns that labels take.
const LABEL: usize = 17;
/// Narrower than this, nothing can be aligned.
const MIN_WIDTH: usize = 40;

/// Whether a terminal's colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Escape sequences for bold, dim, red and green.
    Ansi,
    /// Letters only.
    Plain,
}

/// How a line stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Green,
    Plain,
    Red,
}

/// A row of columns.
pub(crate) struct Line {
    cells: Vec<String>,
    /// How deep its first cell stands.
    indent: usize,
    ink: Ink,
}

impl Line {
    /// Rows of which the first is a heading.
    pub(crate) fn table<R: Into<Vec<String>>>(
        rows: impl IntoIterator<Item = R>,
        heading: Ink,
    ) -> Vec<Self> {
        let inks = std::iter::once(heading).chain(std::iter::repeat(Ink::Plain));
        let rows = rows.into_iter().zip(inks);
        rows.map(|(cells, ink)| Self::new(&cells.into()).ink(ink))
            .collect()
    }

    pub(crate) fn new(cells: &[String]) -> Self {
        Self {
            cells: cells.iter().map(|cell| clean(cell)).collect(),
            indent: 0,
            ink: Ink::Plain,
        }
    }

    pub(crate) fn indent(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    pub(crate) fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }
}

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
            let shown = self.paint(Ink::Bold, &part);
            self.push(&shown);
        }
    }

    /// A label and what belongs to it, wrapped under itself.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        self.inked(Ink::Plain, label, text);
    }

    /// A label and what belongs to it, coloured.
    pub(crate) fn inked(&mut self, ink: Ink, label: &str, text: &str) {
        let wrapped = wrap(&clean(text), self.width - LABEL);
        for (index, part) in wrapped.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            self.line(label, part, ink);
        }
    }

    /// Under a label all of `items`.
    pub(crate) fn rows<Item: AsRef<str>>(
        &mut self,
        label: &str,
        items: impl IntoIterator<Item = Item>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            self.row(if index == 0 { label } else { "" }, item.as_ref());
        }
    }

    /// Under a label the first `most` of `items`.
    pub(crate) fn list(&mut self, label: &str, items: &[String], most: usize) {
        self.rows(label, items.iter().take(most));
        if items.len() > most {
            self.row("", &format!("and {} more", items.len() - most));
        }
    }

    /// Columns beside the labels: the first left-aligned, the others right-aligned.
    pub(crate) fn beside(&mut self, lines: &[Line]) {
        for line in columns::lines(lines, self.width - LABEL) {
            self.line("", &line.text, line.ink);
        }
    }

    /// Columns over the whole width.
    pub(crate) fn wide_columns(&mut self, lines: &[Line]) {
        for line in columns::lines(lines, self.width - INDENT) {
            let shown = self.paint(line.ink, &line.text);
            self.push(&format!("  {shown}"));
        }
    }

    /// Rows of left-aligned columns over the whole width, the first a heading, each followed by what is said of it.
    pub(crate) fn listing(&mut self, rows: &[(Vec<String>, Option<String>)]) {
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
                    self.paint(Ink::Bold, &part)
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
    pub(crate) fn item(&mut self, name: &str, text: &str) {
        let name = format!("{}:", clean(name));
        let whole = format!("{name} {}", clean(text));
        for (index, part) in wrap(&whole, self.width - INDENT).into_iter().enumerate() {
            let line = match part.strip_prefix(&name) {
                Some(rest) if index == 0 => format!("{}{rest}", self.paint(Ink::Bold, &name)),
                _ if index == 0 => part,
                _ => format!("  {part}"),
            };
            self.push(&line);
        }
    }

    /// How many lines there are.
    pub(crate) fn height(&self) -> usize {
        self.text.lines().count()
    }

    /// Adds what was written on another sheet.
    pub(crate) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// An empty sheet of the same width and style.
    pub(crate) const fn blank(&self) -> Self {
        Self {
            width: self.width,
            style: self.style,
            text: String::new(),
        }
    }

    fn line(&mut self, label: &str, text: &str, ink: Ink) {
        let label = self.paint(Ink::Dim, &format!("  {label:<width$}", width = LABEL - 2));
        let text = self.paint(ink, text);
        self.push(&format!("{label}{text}"));
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, ink: Ink, text: &str) -> String {
        let color = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Green => "32",
            Ink::Red => "31",
            Ink::Plain => return text.to_owned(),
        };
        match self.style {
            Style::Ansi => format!("\u{1b}[{color}m{text}\u{1b}[0m"),
            Style::Plain => text.to_owned(),
        }
    }
}
