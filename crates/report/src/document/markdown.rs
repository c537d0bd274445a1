//! Blocks as Markdown: what a pull request shows.

use super::block::{Block, Fact, Sheet};
use crate::figures::clean;
use crate::table::{Cell, Medium};

/// Rows that a pull request shows; the rest folds away.
const OPEN_ROWS: usize = 12;

/// The blocks one below the other.
pub(super) fn write(blocks: &[Block<'_>]) -> String {
    let mut lines = Vec::new();
    add(&mut lines, blocks);
    lines.join("\n").trim_end().to_owned() + "\n"
}

fn add(lines: &mut Vec<String>, blocks: &[Block<'_>]) {
    for block in blocks {
        // Facts are one list.
        if !matches!(block, Block::Fact(_))
            && lines.last().is_some_and(|line| line.starts_with('-'))
        {
            lines.push(String::new());
        }
        match block {
            Block::Fact(Fact { label, text, .. }) => {
                lines.push(format!("- {}: {}", plain(label), plain(text)));
            }
            Block::List { label, items, .. } => {
                lines.extend(
                    items
                        .iter()
                        .map(|item| format!("- {label}: {}", plain(item))),
                );
            }
            Block::Notes(notes) => {
                lines.extend(notes.iter().map(|note| format!("> {}\n", plain(note))));
            }
            Block::Only(media, inner) if media.contains(&Medium::Markdown) => add(lines, inner),
            Block::Cards(_)
            | Block::Charts(_)
            | Block::Drawn(_)
            | Block::Gap
            | Block::Heading(_)
            | Block::Only(..) => {}
            Block::Remark(text) | Block::Sentence(text) => {
                lines.extend([plain(text), String::new()]);
            }
            Block::Table(sheet) => add_table(lines, sheet),
            Block::Title { text, mark } => {
                lines.extend([format!("### {mark} {}", plain(text)), String::new()]);
            }
        }
    }
}

fn add_table(lines: &mut Vec<String>, sheet: &Sheet) {
    let data = sheet.table(Medium::Markdown);
    let (open, folded) = data.rows.split_at(data.rows.len().min(OPEN_ROWS));
    lines.extend(rows(&data.columns, open));
    if !folded.is_empty() {
        lines.push(format!(
            "<details><summary>{} more</summary>\n",
            folded.len()
        ));
        lines.extend(rows(&data.columns, folded));
        lines.push("</details>\n".to_owned());
    }
}

/// A table; its first and last columns are words, the others figures.
fn rows(columns: &[String], rows: &[Vec<Cell>]) -> Vec<String> {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<_> = cells.map(plain).collect();
        format!("| {} |", cells.join(" | ")).replace("|  |", "| |")
    };
    let figures = "---:|".repeat(columns.len().saturating_sub(2));
    let mut lines = vec![
        line(&mut columns.iter().map(String::as_str)),
        format!("|---|{figures}---|"),
    ];
    let cells = rows
        .iter()
        .map(|row| line(&mut row.iter().map(|cell| cell.text.as_str())));
    lines.extend(cells);
    lines.push(String::new());
    lines
}

/// Text that no Markdown is read in: names come from logs.
fn plain(raw: &str) -> String {
    let mut safe = String::new();
    for letter in clean(raw).chars() {
        match letter {
            '\n' | '\r' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '!' | '~' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            other => safe.push(other),
        }
    }
    safe
}
