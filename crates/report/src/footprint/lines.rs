//! Aligned lines for a terminal, in which a row can be coloured as a whole.

use crate::figures::clean;
use crate::text::Style;

/// A row of a table: the first cell left-aligned and indented, the others right-aligned.
pub(super) struct Row {
    pub(super) level: usize,
    pub(super) cells: Vec<String>,
    pub(super) ink: Ink,
}

/// How a row is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Bold.
    Head,
    /// Red: grew, or over a limit.
    More,
    /// Green: shrank.
    Less,
    /// As it is.
    Plain,
}

impl Row {
    pub(super) fn new(level: usize, cells: impl IntoIterator<Item = String>) -> Self {
        Self {
            level,
            cells: cells.into_iter().map(|cell| clean(&cell)).collect(),
            ink: Ink::Plain,
        }
    }

    pub(super) fn head(cells: &[&str]) -> Self {
        let cells = cells.iter().map(|cell| (*cell).to_owned());
        Self::new(0, cells).ink(Ink::Head)
    }

    pub(super) fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }
}

/// Text that is being written.
pub(super) struct Page {
    width: usize,
    style: Style,
    text: String,
}

/// Columns that labels take.
const LABEL: usize = 10;

impl Page {
    pub(super) fn new(width: usize, style: Style) -> Self {
        Self {
            width: width.max(40),
            style,
            text: String::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, ink: Ink, line: &str) {
        let color = match ink {
            Ink::Head => "1",
            Ink::More => "31",
            Ink::Less => "32",
            Ink::Plain => "",
        };
        let line = line.trim_end();
        match self.style {
            Style::Ansi if !color.is_empty() => {
                self.text.push_str("\u{1b}[");
                self.text.push_str(color);
                self.text.push('m');
                self.text.push_str(line);
                self.text.push_str("\u{1b}[0m");
            }
            _ => self.text.push_str(line),
        }
        self.text.push('\n');
    }

    pub(super) fn gap(&mut self) {
        self.line(Ink::Plain, "");
    }

    /// A label and a sentence, wrapped under itself.
    pub(super) fn labelled(&mut self, ink: Ink, label: &str, sentence: &str) {
        let room = self.width.saturating_sub(LABEL + 2).max(20);
        for (at, part) in wrap(&clean(sentence), room).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.line(ink, &format!("  {label:<LABEL$}{part}"));
        }
    }

    /// A table whose first cell gives way where the width does not suffice.
    pub(super) fn table(&mut self, rows: &[Row]) {
        let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let length = |row: &Row, column: usize| {
            let indent = if column == 0 { row.level * 2 } else { 0 };
            row.cells
                .get(column)
                .map_or(0, |cell| cell.chars().count() + indent)
        };
        let widest = |column: usize| {
            rows.iter()
                .map(|row| length(row, column))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        let room = self.width.saturating_sub(2 + others).max(16);
        let first = widths.first().copied().unwrap_or(0).min(room);
        for row in rows {
            let indent = row.level * 2;
            let name = cut(
                row.cells.first().map_or("", String::as_str),
                first.saturating_sub(indent),
            );
            let mut line = format!(
                "  {:indent$}{name:<rest$}",
                "",
                rest = first.saturating_sub(indent)
            );
            for (cell, width) in row.cells.iter().zip(&widths).skip(1) {
                line.extend(["  ", &format!("{cell:>width$}")]);
            }
            self.line(row.ink, &line);
        }
    }
}

/// At most `width` characters, the cut shown.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("invariant: never empty");
        let length = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if length <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
