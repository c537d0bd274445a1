//! Blocks on a terminal.

use super::block::{Block, Fact, Look, Sheet, Tone};
use crate::paper::{Ink, Line, Paper};
use crate::table::{Cell, Medium};

/// Writes the blocks.
pub(crate) fn write(paper: &mut Paper, blocks: &[Block<'_>]) {
    for block in blocks {
        match block {
            Block::Fact(Fact { label, text, tone }) => paper.inked(ink(*tone), label, text),
            Block::Gap => paper.gap(),
            Block::List { label, items, most } => paper.list(label, items, *most),
            Block::Notes(notes) => paper.rows("note", notes),
            Block::Only(media, inner) if media.contains(&Medium::Terminal) => write(paper, inner),
            Block::Cards(_)
            | Block::Charts(_)
            | Block::Drawn(_)
            | Block::Heading(_)
            | Block::Only(..) => {}
            Block::Remark(text) => paper.wide(text),
            Block::Sentence(text) => paper.row("", text),
            Block::Table(sheet) => table(paper, sheet),
            Block::Title { text, .. } => paper.title(text),
        }
    }
}

const fn ink(tone: Tone) -> Ink {
    match tone {
        Tone::Alarm => Ink::Red,
        Tone::Good => Ink::Green,
        Tone::Strong => Ink::Bold,
        Tone::Code | Tone::Plain => Ink::Plain,
    }
}

/// Aligned columns; nothing without rows.
fn table(paper: &mut Paper, sheet: &Sheet) {
    if sheet.rows.is_empty() {
        return;
    }
    let data = sheet.table(Medium::Terminal);
    let head_ink = match sheet.look {
        Look::Beside => Ink::Plain,
        Look::Folded { .. } | Look::Open => Ink::Bold,
    };
    let mut lines = vec![Line::new(&data.columns).ink(head_ink)];
    let rows = data.rows.into_iter().zip(&sheet.rows);
    lines.extend(rows.map(|(cells, row)| {
        let cells = cells.into_iter().map(|cell: Cell| cell.text);
        Line::new(&cells.collect::<Vec<_>>())
            .indent(row.level)
            .ink(ink(row.tone))
    }));
    match sheet.look {
        Look::Beside => paper.beside(&lines),
        Look::Folded { .. } | Look::Open => paper.wide_columns(&lines),
    }
}
