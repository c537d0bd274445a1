//! Blocks on a page.

use super::block::{Block, Fact, Look, Sheet, Tone, heading};
use crate::chart::Chart;
use crate::page::{self, Drawings};
use crate::table::Medium;
use maud::{Markup, PreEscaped, html};

/// Items up to which a list stands open.
const OPEN_ITEMS: usize = 12;

/// The blocks in one section; nothing of none.
pub(super) fn sections(blocks: &[Block<'_>], drawings: &mut Drawings) -> Markup {
    html! { @if !blocks.is_empty() { section.run { (all(blocks, drawings)) } } }
}

fn all(blocks: &[Block<'_>], drawings: &mut Drawings) -> Markup {
    let is_entry = |block: &Block<'_>| entry(block).is_some();
    let runs = blocks.chunk_by(|one, next| is_entry(one) && is_entry(next));
    let mut markup = String::new();
    for run in runs {
        let entries: Vec<&Fact> = run.iter().filter_map(entry).collect();
        let shown = match run {
            [one] if entries.is_empty() => block(one, drawings),
            _ => html! {
                dl { @for fact in entries { dt { (heading(&fact.label)) } dd { (said(fact)) } } }
            },
        };
        markup.push_str(&shown.into_string());
    }
    PreEscaped(markup)
}

/// A fact that stands in a list of facts.
fn entry<'a>(block: &'a Block<'_>) -> Option<&'a Fact> {
    match block {
        Block::Fact(fact) if fact.tone != Tone::Alarm && !fact.label.is_empty() => Some(fact),
        _ => None,
    }
}

fn said(fact: &Fact) -> Markup {
    html! {
        @match fact.tone {
            Tone::Code => code { (fact.text) },
            Tone::Strong => strong { (fact.text) },
            Tone::Alarm | Tone::Good | Tone::Plain => (fact.text),
        }
    }
}

fn block(block: &Block<'_>, drawings: &mut Drawings) -> Markup {
    match block {
        Block::Cards(cards) => html! {
            dl.results { @for (name, figure) in cards { div { dt { (name) } dd { (figure) } } } }
        },
        Block::Charts(charts) => drawn(charts, drawings),
        Block::Drawn(draw) => draw(drawings),
        Block::Fact(fact) if fact.tone == Tone::Alarm => {
            html! { p.alarm role="note" { (heading(&fact.label)) ": " (fact.text) } }
        }
        Block::Fact(fact) => html! { p { (said(fact)) } },
        Block::Gap => html! {},
        Block::Heading(text) => html! { h3 { (text) } },
        Block::List { label, items, .. } => list(&heading(label), items),
        Block::Notes(notes) => html! {
            @if !notes.is_empty() { ul.notes { @for note in notes { li { (note) } } } }
        },
        Block::Only(media, inner) if media.contains(&Medium::Page) => all(inner, drawings),
        Block::Only(..) => html! {},
        Block::Remark(text) => html! { p.muted { (text) } },
        Block::Sentence(text) => html! { p { (text) } },
        Block::Table(sheet) => table(sheet),
        Block::Title { text, .. } => html! { h2 { (text) } },
    }
}

fn drawn(charts: &[Chart], drawings: &mut Drawings) -> Markup {
    let charts = charts.iter().cloned().map(Chart::cleaned).collect();
    page::drawn_charts(charts, "chart", 4, drawings)
}

fn list(title: &str, items: &[String]) -> Markup {
    let items_list = html! { ul.notes { @for item in items { li { (item) } } } };
    html! {
        @if items.len() > OPEN_ITEMS {
            details { summary { (title) " (" (items.len()) ")" } (items_list) }
        } @else if !items.is_empty() {
            h3 { (title) }
            (items_list)
        }
    }
}

/// A table under or behind its title; nothing without rows.
fn table(sheet: &Sheet) -> Markup {
    let data = sheet.table(Medium::Page);
    let count = data.rows.len();
    match sheet.look {
        Look::Folded { open_up_to } if count > 0 => {
            let summary = format!("{} ({count})", sheet.title);
            page::folded(&data, &sheet.title, &summary, count <= open_up_to)
        }
        Look::Beside | Look::Folded { .. } | Look::Open => page::titled(&data, &sheet.title, 3),
    }
}
