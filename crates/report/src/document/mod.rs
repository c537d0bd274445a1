//! A document says what it has to say once, in blocks; each format writes any blocks down.
//!
//! A new document is a folder with an `impl Document`, a new format a file here with its line in [`render`].

mod block;
mod format;
mod html;
mod markdown;
mod text;

pub use crate::table::Medium;
pub use block::{Block, Fact, Sheet, Tone};
pub(crate) use block::{Look, MARKDOWN, Most, PAGE, SCREENS, SheetRow, TERMINAL};
pub use format::DocumentFormat;
pub(crate) use text::write as write_text;

use crate::junit::{self, Suite};
use crate::page::{self, Drawings, Frame};
use crate::paper::{Paper, Style};
use crate::report::ReportError;
use linerate_model::WallTime;
use serde::Serialize;

/// What a command answers with.
pub trait Document {
    /// The formats that it is written in, in the order messages list them.
    const FORMATS: &'static [DocumentFormat];
    /// What it is called in a sentence.
    const NAME: &'static str;

    /// What stands above and below its blocks on a page.
    fn head(&self) -> Head;

    /// Everything it says.
    fn blocks(&self) -> Vec<Block<'_>>;

    /// What it is as data.
    fn json(&self) -> impl Serialize;

    /// A row for each of its figures, where it is written as CSV.
    fn csv(&self) -> String {
        String::new()
    }

    /// A test for each of its answers, where it is written for CI systems.
    fn suites(&self) -> Vec<Suite> {
        Vec::new()
    }
}

/// What stands above and below the blocks of a document on a page.
pub struct Head {
    /// The heading.
    pub heading: String,
    /// How the document is called where it says when it was made.
    pub made_what: &'static str,
    /// How its figures are to be read.
    pub reading: &'static str,
}

/// Columns of a text file.
const COLUMNS: usize = 110;

/// The document as a file of `format`, which is one of its own; `made` labels it.
pub fn render<D: Document>(
    document: &D,
    format: DocumentFormat,
    made: &WallTime,
) -> Result<String, ReportError> {
    Ok(match format {
        DocumentFormat::Csv => document.csv(),
        DocumentFormat::Html => whole_page(document, made)?,
        DocumentFormat::Json => as_json(document, Indent::Indented)? + "\n",
        DocumentFormat::Junit => junit::document(&document.suites()),
        DocumentFormat::Markdown => markdown::write(&document.blocks()),
        DocumentFormat::Text => as_text(document, COLUMNS, Style::Plain),
    })
}

/// What a terminal of `width` columns shows of it.
pub fn as_text<D: Document>(document: &D, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    text::write(&mut paper, &document.blocks());
    paper.finish()
}

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indent {
    /// For people.
    Indented,
    /// On one line.
    Line,
}

/// The document as data.
pub fn as_json<D: Document>(document: &D, indent: Indent) -> Result<String, ReportError> {
    let data = document.json();
    let written = match indent {
        Indent::Indented => serde_json::to_string_pretty(&data),
        Indent::Line => serde_json::to_string(&data),
    };
    written.map_err(|source| ReportError::Json {
        what: D::NAME,
        source,
    })
}

/// Blocks as a section of a page.
pub(crate) fn write_html(blocks: &[Block<'_>], drawings: &mut Drawings) -> maud::Markup {
    html::sections(blocks, drawings)
}

fn whole_page<D: Document>(document: &D, made: &WallTime) -> Result<String, ReportError> {
    let mut drawings = Drawings::new();
    let head = document.head();
    let content = html::sections(&document.blocks(), &mut drawings);
    let frame = Frame {
        heading: &head.heading,
        made_what: head.made_what.to_owned(),
        made,
        reading: head.reading,
    };
    page::page(&frame, &content, &drawings)
}
