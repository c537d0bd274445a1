//! Lines of text with a label column, wrapped and aligned.

use super::Style;
use crate::figures::clean;

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

    /// A heading.
    pub(crate) fn title(&mut self, text: &str) {
        let cut = cut(&clean(text), self.width);
        let shown = self.paint("1", &cut);
        self.push(&shown);
    }

    /// A label and what belongs to it, wrapped under itself.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        self.lines(label, text, 2, None);
    }

    /// A row in bold.
    pub(super) fn strong(&mut self, label: &str, text: &str) {
        self.lines(label, text, 2, Some("1"));
    }

    /// A row in red.
    pub(super) fn alarm(&mut self, label: &str, text: &str) {
        self.lines(label, text, 2, Some("31"));
    }

    /// A row of at most `most` lines.
    pub(crate) fn wrapped(&mut self, label: &str, text: &str, most: usize) {
        self.lines(label, text, most, None);
    }

    /// Rows of columns: the first left-aligned, the others right-aligned.
    pub(super) fn columns<const N: usize>(&mut self, rows: &[[String; N]]) {
        let cleaned: Vec<_> = rows
            .iter()
            .map(|row| row.each_ref().map(|cell| clean(cell)))
            .collect();
        let mut widths: [usize; N] = std::array::from_fn(|column| widest(&cleaned, column));
        let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        let room = self.width.saturating_sub(LABEL + others).max(8);
        if let Some(first) = widths.first_mut() {
            *first = (*first).min(room);
        }
        for row in &cleaned {
            self.line("", aligned(row, &widths).trim_end(), None);
        }
    }

    /// The same over the whole width: tables of many columns. The first row is a heading.
    pub(crate) fn wide_columns(&mut self, rows: &[Vec<String>]) {
        let cleaned: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| clean(cell)).collect())
            .collect();
        let columns = cleaned.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns).map(|at| widest(&cleaned, at)).collect();
        let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        let room = self.width.saturating_sub(2 + others).max(12);
        if let Some(first) = widths.first_mut() {
            *first = (*first).min(room);
        }
        for (index, row) in cleaned.iter().enumerate() {
            let line = aligned(row, &widths);
            let line = cut(line.trim_end(), self.width.saturating_sub(2));
            let shown = if index == 0 {
                self.paint("1", &line)
            } else {
                line
            };
            self.push(&format!("  {shown}"));
        }
    }

    /// Text over the whole width.
    pub(crate) fn wide(&mut self, text: &str) {
        for part in wrap(&clean(text), self.width.saturating_sub(2).max(20), 6) {
            self.push(&format!("  {part}"));
        }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) {
        self.push("");
    }

    /// A line with a name column of `indent` characters in place of the label.
    pub(super) fn item(&mut self, name: &str, indent: usize, text: &str) {
        let name = cut(&clean(name), indent - 2);
        let room = self.width.saturating_sub(indent + 2).max(20);
        for (index, part) in wrap(&clean(text), room, 2).iter().enumerate() {
            let name = if index == 0 { name.as_str() } else { "" };
            let name = self.paint("1", &format!("  {name:<indent$}"));
            self.push(&format!("{name}{part}"));
        }
    }

    /// The columns that the text may take.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    fn lines(&mut self, label: &str, text: &str, most: usize, color: Option<&str>) {
        let room = self.width - LABEL;
        let wrapped = wrap(&clean(text), room, most);
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

fn widest(rows: &[impl AsRef<[String]>], column: usize) -> usize {
    let lengths = rows
        .iter()
        .filter_map(|row| Some(row.as_ref().get(column)?.chars().count()));
    lengths.max().unwrap_or(0)
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, cell) in row.iter().enumerate() {
        let width = widths[column];
        let part = if column == 0 {
            format!("{:<width$}", cut(cell, width))
        } else {
            format!("  {cell:>width$}")
        };
        line.push_str(&part);
    }
    line
}

/// At most `width` characters, the cut shown.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Lines of at most `width` characters broken at spaces, at most `most` of them.
fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines.last_mut().expect("invariant: never empty");
        let gap = usize::from(!line.is_empty());
        if line.chars().count() + gap + word.chars().count() <= width || line.is_empty() {
            line.push_str(&" ".repeat(gap));
            line.push_str(&cut(&word, width));
        } else {
            lines.push(cut(&word, width));
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most - 1).join(" ");
        lines.push(cut(&rest, width));
    }
    lines
}

/// The words of a text; a number stays with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let digit = |c: char| c.is_ascii_digit();
        match words.last_mut() {
            Some(last)
                if last.ends_with(['≤', '·', '='])
                    || word == "="
                    || (last.ends_with(digit) && is_unit(word)) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Whether a word reads as a unit after a number.
fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches([',', ';', '.', ')', ':']);
    matches!(
        bare,
        "%" | "ns" | "µs" | "ms" | "s" | "B" | "KiB" | "MiB" | "GiB"
    ) || bare.ends_with("bit/s")
}
