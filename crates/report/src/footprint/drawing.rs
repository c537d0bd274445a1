//! A treemap on a page.

use super::treemap::{self, HEIGHT, Item, Tile, WIDTH};
use linerate_model::ByteCount;
use maud::{Markup, html};

/// A treemap below its heading; the box that is pointed at is told below it.
pub(super) fn drawn(id: &str, title: &str, size: ByteCount, items: &[Item]) -> Markup {
    let tiles = treemap::tiles(items);
    let label = format!(
        "Treemap of {title}: {} B; the tables below hold the figures",
        size.get()
    );
    html! {
        @if !tiles.is_empty() {
            figure.treemap data-treemap=(id) {
                figcaption {
                    h3 { (title) ": " (size.get()) " B" }
                    p { "Areas are sizes. Choose a box to fill the drawing with it." }
                }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) { @for tile in &tiles { (tile_box(tile)) } }
                p.treemap-said aria-live="polite" { "Point at a box for its figures." }
                div.tools { button type="button" data-does="whole" aria-label=(format!("Show all of {title}")) { "Show all" } }
            }
        }
    }
}

/// Width of a wide letter, in units of the drawing; the page's script has the same.
const CHARACTER: f64 = 7.8;

/// A name is drawn where it fits.
fn tile_box(tile: &Tile<'_>) -> Markup {
    let area = tile.area;
    let room = (area.width - 6.0) / CHARACTER;
    let is_named = room >= 3.0 && area.height >= 14.0;
    let name: String = tile
        .item
        .name
        .chars()
        .scan(0.0, |used, c| {
            *used += 1.0;
            (*used <= room).then_some(c)
        })
        .collect();
    let place = [area.x, area.y, area.width, area.height].map(|value| format!("{value:.2}"));
    let [x, y, width, height] = place;
    html! {
        g class={ "tile " (tile.item.tint.class()) } data-level=(tile.level) {
            title { (tile.item.note) }
            rect x=(x) y=(y) width=(width) height=(height) {}
            @if is_named { text x=(format!("{:.2}", area.x + 3.0)) y=(format!("{:.2}", area.y + 11.5)) { (name) } }
        }
    }
}

/// What the colours of changes say.
pub(super) fn legend() -> Markup {
    html! {
        ul.layers {
            li.tg { span.swatch {} "grew" } li.tgg { span.swatch {} "grew by more than a quarter, or came" }
            li.ts { span.swatch {} "shrank" } li.tss { span.swatch {} "shrank by more than a quarter, or went" }
        }
    }
}
