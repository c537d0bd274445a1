//! A footprint as one HTML file that opens offline: treemaps, tables, budgets.

use super::treemap::{self, HEIGHT, Item, Tile, WIDTH};
use super::{
    budget, file, growth, kind, largest, name, region, run_time_cells, run_time_columns,
    run_time_sentence, share, signed, source, stack_sentence, totals,
};
use crate::ReportError;
use crate::figures::Unit;
use crate::html::{Drawings, figure, sheet};
use crate::table::{Cell, Table};
use linerate_model::footprint::{
    ByteCountChange, ChangeKind, Footprint, FootprintBudget, FootprintBuild, FootprintBuilds,
    FootprintChange, FootprintContent, FootprintDifference, FootprintFile, FootprintTotals,
    RunTimeMemory,
};
use linerate_model::{ByteCount, WallTime};
use maud::{Markup, html};

/// Rows of a table; the CSV has all.
const MAX_ROWS: usize = 200;

/// The whole page; `made` labels it.
pub fn footprint_html(content: &FootprintContent, made: &WallTime) -> Result<String, ReportError> {
    let (title, body) = match content {
        FootprintContent::Builds(builds) => {
            let title = format!(
                "Footprint of {} {} for {}",
                builds.stack, builds.version, builds.target
            );
            (title, of_builds(builds))
        }
        FootprintContent::Difference(difference) => (
            "Footprint: B against A".to_owned(),
            of_difference(difference),
        ),
        FootprintContent::Footprint(footprint) => (
            format!("Footprint of {}", name(footprint)),
            of_footprint(footprint),
        ),
    };
    let page = html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { (title) }
            p.muted { "Report made " time { (made) } " by linerate" }
        }
        main id="content" { section.run { (body) } }
        footer.page {
            p.muted {
                "Sizes are bytes of memory. Text, data and bss are those of the command size: text is what is not written, data has initial "
                "values and takes flash and RAM, bss starts as zero. Stack frames are lower bounds of what a thread needs."
            }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    };
    sheet(&title, page, &Drawings::new())
}

fn of_footprint(footprint: &Footprint) -> Markup {
    html! {
        h2 { (totals(&footprint.totals)) }
        (cards(&footprint.totals))
        (budgets(&footprint.budgets))
        (notes(&footprint.notes))
        @for (at, one) in footprint.regions.iter().enumerate() {
            (drawing(&format!("region-{at}"), &region(one), one.size, &treemap::of_region(one)))
        }
        (groups(footprint))
        (largest_parts(footprint))
        (stack(footprint))
        (run_time(footprint))
        (files("Files", &footprint.files))
    }
}

fn run_time(footprint: &Footprint) -> Markup {
    let table = |memory: &RunTimeMemory| {
        let mut table = Table::new(run_time_columns());
        for pool in &memory.pools {
            table.push(run_time_cells(pool).map(Cell::text).to_vec());
        }
        table
    };
    html! {
        @for memory in &footprint.run_time {
            h3 { "Memory at run time" }
            p { (run_time_sentence(memory)) ". Static is what the build sets aside, capacity what the stack counts as its own." }
            div.scroll tabindex="0" role="group" aria-label="Memory at run time" {
                (figure::table(&table(memory), "Memory at run time"))
            }
        }
    }
}

fn cards(totals: &FootprintTotals) -> Markup {
    let all = [
        ("flash", totals.flash),
        ("RAM", totals.ram),
        ("text", totals.text),
        ("data", totals.data),
        ("bss", totals.bss),
    ];
    html! {
        dl.results { @for (name, size) in all { div { dt { (name) } dd { (size.get()) " B" } } } }
    }
}

fn budgets(all: &[FootprintBudget]) -> Markup {
    html! {
        @if !all.is_empty() {
            h3 { "Budgets" }
            @for one in all.iter().filter(|one| !one.met) { p.alarm role="note" { "Exceeded: " (budget(one)) } }
            ul { @for one in all.iter().filter(|one| one.met) { li { (budget(one)) } } }
        }
    }
}

fn notes(all: &[String]) -> Markup {
    html! { @if !all.is_empty() { ul.notes { @for note in all { li { (note) } } } } }
}

/// A treemap below its heading; the box that is pointed at is told below it.
fn drawing(id: &str, title: &str, size: ByteCount, items: &[Item]) -> Markup {
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

fn groups(footprint: &Footprint) -> Markup {
    let mut table = Table::new([
        "Group",
        "Pattern",
        "Flash (B)",
        "Share of flash",
        "RAM (B)",
        "Share of RAM",
        "Parts",
    ]);
    for group in &footprint.groups {
        table.push(vec![
            Cell::text(&group.name),
            Cell::text(group.pattern.as_deref().unwrap_or("–")),
            bytes(group.totals.flash),
            Cell::text(share(group.totals.flash, footprint.totals.flash)),
            bytes(group.totals.ram),
            Cell::text(share(group.totals.ram, footprint.totals.ram)),
            Cell::count(Some(group.parts)),
        ]);
    }
    shown("Groups", &table)
}

fn largest_parts(footprint: &Footprint) -> Markup {
    let mut table = Table::new([
        "Part", "Size (B)", "Memory", "Section", "Of", "Is a", "From",
    ]);
    for leaf in largest::largest(footprint, MAX_ROWS) {
        table.push(vec![
            Cell::text(leaf.name),
            bytes(leaf.size),
            Cell::text(&leaf.region.name),
            Cell::text(&leaf.section.name),
            Cell::text(leaf.owner()),
            Cell::text(kind(leaf.kind)),
            Cell::text(source(leaf.source)),
        ]);
    }
    shown("Largest parts", &table)
}

fn stack(footprint: &Footprint) -> Markup {
    let Some(stack) = &footprint.stack_use else {
        return html! {};
    };
    let mut table = Table::new(["Function", "Frame (B)", "Size is"]);
    for function in stack.functions.iter().take(MAX_ROWS) {
        let cells = [
            Cell::text(&function.name),
            bytes(function.frame),
            Cell::text(growth(function.growth)),
        ];
        table.push(cells.into());
    }
    html! {
        (shown("Stack frames", &table))
        p { "Stack: " (stack_sentence(stack)) "." }
    }
}

fn files(title: &str, all: &[FootprintFile]) -> Markup {
    html! {
        h3 { (title) }
        ul { @for one in all { li { (file(one)) ", " (one.length.get()) " B" } } }
    }
}

fn of_difference(difference: &FootprintDifference) -> Markup {
    let (a, b) = (&difference.a.totals, &difference.b.totals);
    let by = |a, b| signed(ByteCountChange::between(a, b));
    html! {
        h2 { "B against A: flash " (by(a.flash, b.flash)) " B, RAM " (by(a.ram, b.ram)) " B" }
        dl {
            dt { "A" } dd { (super::files(&difference.a.files)) ": " (totals(a)) }
            dt { "B" } dd { (super::files(&difference.b.files)) ": " (totals(b)) }
        }
        (budgets(&difference.budgets))
        (notes(&difference.notes))
        @for (at, region) in difference.regions.iter().enumerate() {
            (drawing(&format!("region-{at}"), &format!("What changed in {} ({})", region.name, signed(region.change)), region.b,
                &treemap::of_changes(&region.parts, "")))
        }
        @if difference.regions.iter().any(|region| !region.parts.is_empty()) {
            ul.layers {
                li.tg { span.swatch {} "grew" } li.tgg { span.swatch {} "grew by more than a quarter, or came" }
                li.ts { span.swatch {} "shrank" } li.tss { span.swatch {} "shrank by more than a quarter, or went" }
            }
        }
        (changes(difference))
        (group_changes(difference))
        (files("Files of A", &difference.a.files))
        (files("Files of B", &difference.b.files))
    }
}

fn changes(difference: &FootprintDifference) -> Markup {
    let mut rows = Vec::new();
    for region in &difference.regions {
        smallest(region, &mut Vec::new(), &mut rows);
    }
    rows.sort_by_key(|(_, change)| std::cmp::Reverse(change.change.magnitude()));
    let mut table = Table::new(["Part", "A (B)", "B (B)", "Change (B)", "Is a"]);
    for (path, change) in rows.into_iter().take(MAX_ROWS) {
        let what = match change.kind {
            ChangeKind::Part(node) => kind(node),
            ChangeKind::Region => "memory",
            ChangeKind::Section(_) => "section",
        };
        table.push(vec![
            Cell::text(path),
            bytes(change.a),
            bytes(change.b),
            Cell::text(signed(change.change)),
            Cell::text(what),
        ]);
    }
    shown("Largest changes", &table)
}

/// The parts that changed and have none that did, with their paths.
fn smallest<'a>(
    change: &'a FootprintChange,
    above: &mut Vec<&'a str>,
    rows: &mut Vec<(String, &'a FootprintChange)>,
) {
    above.push(&change.name);
    if change.parts.is_empty() && change.change.get() != 0 {
        rows.push((above.join(" / "), change));
    }
    for part in &change.parts {
        smallest(part, above, rows);
    }
    above.pop();
}

fn group_changes(difference: &FootprintDifference) -> Markup {
    let mut table = Table::new([
        "Group",
        "Flash A (B)",
        "Flash B (B)",
        "Change (B)",
        "RAM A (B)",
        "RAM B (B)",
        "Change (B)",
    ]);
    for group in &difference.groups {
        let change = |a, b| Cell::text(signed(ByteCountChange::between(a, b)));
        table.push(vec![
            Cell::text(&group.name),
            bytes(group.a.flash),
            bytes(group.b.flash),
            change(group.a.flash, group.b.flash),
            bytes(group.a.ram),
            bytes(group.b.ram),
            change(group.a.ram, group.b.ram),
        ]);
    }
    shown("Groups", &table)
}

fn of_builds(builds: &FootprintBuilds) -> Markup {
    let table = |totals: fn(&FootprintBuild) -> FootprintTotals| {
        let mut table = Table::new([
            "Configuration",
            "text (B)",
            "data (B)",
            "bss (B)",
            "Total (B)",
            "Largest frame (B)",
        ]);
        for build in &builds.builds {
            let sums = totals(build);
            let figures = [
                sums.text,
                sums.data,
                sums.bss,
                sums.dec(),
                build.stack_at_least,
            ]
            .map(bytes);
            table.push(
                std::iter::once(Cell::text(build.configuration.join(", ")))
                    .chain(figures)
                    .collect(),
            );
        }
        table
    };
    let mut published = Table::new(["Published", "text (B)", "data (B)", "bss (B)", "Total (B)"]);
    for row in &builds.published {
        let figures = [row.text, row.data, row.bss, row.total].map(bytes);
        let name = Cell::text(format!("{}, scenario {}", row.stack, row.scenario));
        published.push(std::iter::once(name).chain(figures).collect());
    }
    html! {
        h2 { (builds.builds.len()) " builds by " (builds.compiler) }
        (notes(&builds.notes))
        (shown("The stack alone, as an archive", &table(|build| build.archive)))
        (shown("Linked program around it", &table(|build| build.image)))
        (shown("What others published", &published))
    }
}

fn bytes(size: ByteCount) -> Cell {
    let mut cell = Cell::number(Some(size.as_f64()), Unit::PLAIN);
    // To the byte: the value is rounded to four digits otherwise only where it has decimals.
    cell.text = size.get().to_string();
    cell
}

fn shown(title: &str, table: &Table) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            h3 { (title) }
            div.scroll.table-view tabindex="0" role="region" aria-label=(title) { (figure::table(table, title)) }
        }
    }
}
