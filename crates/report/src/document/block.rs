//! What a document says, block by block, in whatever format it is written.

use crate::chart::Chart;
use crate::page::Drawings;
use crate::table::{Cell, Column, Medium, Table};
use maud::Markup;

/// A piece of a document.
pub enum Block<'a> {
    /// Large figures side by side, each with its name.
    Cards(Vec<(&'static str, String)>),
    /// Charts side by side.
    Charts(Vec<Chart>),
    /// What only a page shows, drawn by the document itself.
    Drawn(Box<dyn Fn(&mut Drawings) -> Markup + 'a>),
    /// A label and what belongs to it.
    Fact(Fact),
    /// An empty line on a terminal.
    Gap,
    /// A heading of a page.
    Heading(&'static str),
    /// What belongs under a label, at most so many items where room is scarce.
    List {
        /// The label.
        label: &'static str,
        /// Item by item.
        items: Vec<String>,
        /// Items that a terminal shows.
        most: usize,
    },
    /// What the reader should know.
    Notes(Vec<String>),
    /// Blocks for some media.
    Only(&'static [Medium], Vec<Self>),
    /// What is to be said of the table before it.
    Remark(String),
    /// A sentence.
    Sentence(String),
    /// A table.
    Table(Sheet),
    /// The answer in a sentence.
    Title {
        /// The answer.
        text: String,
        /// What a pull request shows before it.
        mark: &'static str,
    },
}

/// Media with room for everything but pictures, and for those.
pub(crate) const SCREENS: &[Medium] = &[Medium::Page, Medium::Terminal];
/// Pages.
pub(crate) const PAGE: &[Medium] = &[Medium::Page];
/// Terminals.
pub(crate) const TERMINAL: &[Medium] = &[Medium::Terminal];
/// Pull requests.
pub(crate) const MARKDOWN: &[Medium] = &[Medium::Markdown];

impl Block<'_> {
    pub(crate) fn title(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::Title { text, mark: "" }
    }

    pub(crate) fn fact(label: &str, text: impl Into<String>) -> Self {
        Self::toned(Tone::Plain, label, text)
    }

    pub(crate) fn toned(tone: Tone, label: &str, text: impl Into<String>) -> Self {
        Self::Fact(Fact {
            label: label.to_owned(),
            text: text.into(),
            tone,
        })
    }
}

/// A label and what belongs to it.
pub struct Fact {
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// How something stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Red.
    Alarm,
    /// A command line.
    Code,
    /// Green.
    Good,
    /// As everything else.
    Plain,
    /// Bold.
    Strong,
}

/// A table under its title.
pub struct Sheet {
    pub(crate) title: String,
    pub(crate) heads: Vec<(String, Option<Medium>)>,
    pub(crate) rows: Vec<SheetRow>,
    pub(crate) look: Look,
    /// Rows that a page and a terminal show.
    pub(crate) most: Most,
}

/// Rows that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) on_page: usize,
    pub(crate) on_terminal: usize,
}

impl Most {
    pub(crate) const ALL: Self = Self {
        on_page: usize::MAX,
        on_terminal: usize::MAX,
    };
}

/// A row of a table.
pub(crate) struct SheetRow {
    pub(crate) cells: Vec<Cell>,
    /// How deep it stands in a tree.
    pub(crate) level: usize,
    pub(crate) tone: Tone,
}

/// How a table stands among the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Over the whole width, under a heading.
    Open,
    /// On a terminal beside the labels, without a heading.
    Beside,
    /// On a page behind its title, which says how many rows it has.
    Folded {
        /// Rows up to which it is open at first.
        open_up_to: usize,
    },
}

impl Sheet {
    pub(crate) fn new<R>(
        title: impl Into<String>,
        rows: &[R],
        columns: Vec<Column<'_, R>>,
    ) -> Self {
        let line = |row: &R| SheetRow {
            cells: columns.iter().map(|column| column.cell(row)).collect(),
            level: 0,
            tone: Tone::Plain,
        };
        let rows = rows.iter().map(line).collect();
        let heads = columns.into_iter().map(|column| (column.head, column.on));
        Self {
            title: title.into(),
            heads: heads.collect(),
            rows,
            look: Look::Open,
            most: Most::ALL,
        }
    }

    pub(crate) fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    pub(crate) fn at_most(self, most: Most) -> Self {
        Self { most, ..self }
    }

    /// Its columns for one medium, with capital letters where it is read as a page.
    pub(crate) fn table(&self, medium: Medium) -> Table {
        let shown = |(_, on): &(String, Option<Medium>)| on.is_none_or(|on| on == medium);
        let is_shown: Vec<bool> = self.heads.iter().map(shown).collect();
        let heads = self
            .heads
            .iter()
            .zip(&is_shown)
            .filter(|(_, shown)| **shown);
        let heads = heads.map(|((head, _), _)| match medium {
            Medium::Page => heading(head),
            Medium::Markdown | Medium::Terminal => head.clone(),
        });
        let most = match medium {
            Medium::Page => self.most.on_page,
            Medium::Terminal => self.most.on_terminal,
            Medium::Markdown => usize::MAX,
        };
        let mut table = Table::new(heads);
        for row in self.rows.iter().take(most) {
            let cells = row.cells.iter().zip(&is_shown);
            let cells = cells.filter(|(_, shown)| **shown);
            table.push(cells.map(|(cell, _)| cell.clone()).collect());
        }
        table
    }
}

/// A label as a heading: capitalised, symbols of a letter left as they are.
pub(crate) fn heading(label: &str) -> String {
    let word = label.split([' ', ',']).next().unwrap_or_default();
    if word.chars().count() == 1 {
        return label.to_owned();
    }
    crate::charts::capital(label)
}
