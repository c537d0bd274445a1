//! What a footprint says: totals, budgets, treemaps, tables.

use super::tree::tone;
use super::{
    FootprintView, budget, bytes, drawing, file, files, largest, region, run_time_sentence, share,
    signed, stack_sentence, totals, tree, treemap,
};
use crate::document::{Block, Most, PAGE, Sheet, TERMINAL, Tone};
use crate::table::{Cell, Column, Medium, column, words};
use linerate_model::ByteCount;
use linerate_model::footprint::{
    ByteCountChange, ChangeKind, Footprint, FootprintBudget, FootprintBuild, FootprintBuilds,
    FootprintChange, FootprintDifference, FootprintFile, FootprintGroup, FootprintTotals,
    FunctionStack, GroupChange, PublishedFootprint, RunTimeMemory, RunTimePool, StackUse,
};

/// Rows of a table on a page; the CSV has all.
const MAX_ROWS: usize = 200;

const fn most(view: FootprintView) -> Most {
    Most {
        on_page: MAX_ROWS,
        on_terminal: view.rows,
    }
}

pub(super) fn of_footprint(footprint: &Footprint, view: FootprintView) -> Vec<Block<'_>> {
    let mut blocks = vec![
        Block::title(totals(&footprint.totals)),
        Block::Cards(cards(&footprint.totals)),
        on_terminal(Block::fact("files", files(&footprint.files))),
        Block::Notes(footprint.notes.clone()),
    ];
    blocks.extend(footprint.budgets.iter().map(budgeted));
    blocks.extend(footprint.regions.iter().enumerate().map(|(at, one)| {
        let items = move || treemap::of_region(one);
        drawn(at, region(one), one.size, items)
    }));
    blocks.extend([Block::Gap, tree_of(tree::of_footprint(footprint, view))]);
    blocks.extend(how_to_see_more(view));
    blocks.extend(groups(footprint));
    blocks.extend(largest_parts(footprint, view));
    blocks.extend(
        footprint
            .stack_use
            .iter()
            .flat_map(|stack| stack_use(stack, view)),
    );
    blocks.extend(footprint.run_time.iter().flat_map(run_time));
    blocks.push(listed("Files", &footprint.files));
    blocks
}

pub(super) fn of_difference(
    difference: &FootprintDifference,
    view: FootprintView,
) -> Vec<Block<'_>> {
    let (a, b) = (&difference.a.totals, &difference.b.totals);
    let by = |a, b| signed(ByteCountChange::between(a, b));
    let (flash, ram) = (by(a.flash, b.flash), by(a.ram, b.ram));
    let side = |files: &[FootprintFile], sums| format!("{}: {}", super::files(files), totals(sums));
    let mut blocks = vec![
        Block::title(format!("B against A: flash {flash} B, RAM {ram} B")),
        Block::fact("A", side(&difference.a.files, a)),
        Block::fact("B", side(&difference.b.files, b)),
        Block::Notes(difference.notes.clone()),
    ];
    blocks.extend(difference.budgets.iter().map(budgeted));
    blocks.extend(difference.regions.iter().enumerate().map(|(at, one)| {
        let title = format!("What changed in {} ({})", one.name, signed(one.change));
        drawn(at, title, one.b, move || {
            treemap::of_changes(&one.parts, "")
        })
    }));
    if difference
        .regions
        .iter()
        .any(|region| !region.parts.is_empty())
    {
        blocks.push(Block::Drawn(Box::new(|_| drawing::legend())));
    }
    blocks.extend([Block::Gap, tree_of(tree::of_difference(difference, view))]);
    blocks.extend(how_to_see_more(view));
    blocks.push(Block::Only(
        PAGE,
        vec![Block::Table(largest_changes(difference))],
    ));
    blocks.extend(group_changes(difference));
    blocks.push(listed("Files of A", &difference.a.files));
    blocks.push(listed("Files of B", &difference.b.files));
    blocks
}

pub(super) fn of_builds(builds: &FootprintBuilds) -> Vec<Block<'_>> {
    let FootprintBuilds {
        stack,
        version,
        target,
        compiler,
        ..
    } = builds;
    let title = format!("{stack} {version} for {target} ({compiler})");
    let published = |row: &PublishedFootprint| format!("{}, scenario {}", row.stack, row.scenario);
    let mut columns = vec![words("published", published)];
    columns.extend(sums(|row: &PublishedFootprint| {
        [row.text, row.data, row.bss, row.total]
    }));
    let published = Sheet::new("What others published", &builds.published, columns);
    vec![
        Block::title(title),
        Block::Notes(builds.notes.clone()),
        Block::Gap,
        built(builds, "The stack alone, as an archive", |build| {
            &build.archive
        }),
        Block::Gap,
        built(builds, "Linked program around it", |build| &build.image),
        Block::Gap,
        Block::Table(published),
    ]
}

/// What each configuration takes.
fn built<'a>(
    builds: &FootprintBuilds,
    title: &str,
    of: fn(&FootprintBuild) -> &FootprintTotals,
) -> Block<'a> {
    let name = |build: &FootprintBuild| build.configuration.join(", ");
    let mut columns = vec![
        words(title.to_lowercase(), name).on(Medium::Terminal),
        words("configuration", name).on(Medium::Page),
    ];
    columns.extend(sums(move |build| {
        let sums = of(build);
        [sums.text, sums.data, sums.bss, sums.dec()]
    }));
    columns.push(size("largest frame (B)", |build: &FootprintBuild| {
        build.stack_at_least
    }));
    Block::Table(Sheet::new(title, &builds.builds, columns))
}

/// Text, data, bss and their sum.
fn sums<'a, R>(
    of: impl Fn(&R) -> [ByteCount; 4] + Copy + 'a,
) -> impl Iterator<Item = Column<'a, R>> {
    let heads = ["text (B)", "data (B)", "bss (B)", "total (B)"];
    let heads = heads.into_iter().enumerate();
    heads.map(move |(at, head)| size(head, move |row: &R| of(row)[at]))
}

fn size<'a, R>(head: &str, of: impl Fn(&R) -> ByteCount + 'a) -> Column<'a, R> {
    column(head, move |row| bytes(of(row)))
}

fn change<'a, R>(of: impl Fn(&R) -> [ByteCount; 2] + 'a) -> Column<'a, R> {
    words("change (B)", move |row| {
        let [a, b] = of(row);
        signed(ByteCountChange::between(a, b))
    })
}

fn on_terminal(block: Block<'_>) -> Block<'_> {
    Block::Only(TERMINAL, vec![block])
}

/// How to see what one screen leaves out.
fn how_to_see_more<'a>(view: FootprintView) -> Option<Block<'a>> {
    let more = "`--depth 3` shows what is in the sections, `--verbose` everything, `-o FILE.html` everything as a page";
    (view == FootprintView::SCREEN).then(|| on_terminal(Block::fact("more", more)))
}

fn tree_of<'a>(tree: Sheet) -> Block<'a> {
    on_terminal(Block::Table(tree))
}

fn cards(totals: &FootprintTotals) -> Vec<(&'static str, String)> {
    let all = [
        ("flash", totals.flash),
        ("RAM", totals.ram),
        ("text", totals.text),
        ("data", totals.data),
        ("bss", totals.bss),
    ];
    let shown = all.map(|(name, size)| (name, format!("{} B", size.get())));
    shown.into()
}

fn budgeted(one: &FootprintBudget) -> Block<'_> {
    let (tone, label) = if one.met {
        (Tone::Plain, "budget")
    } else {
        (Tone::Alarm, "exceeded")
    };
    Block::toned(tone, label, budget(one))
}

/// A treemap of the page.
fn drawn<'a>(
    at: usize,
    title: String,
    size: ByteCount,
    items: impl Fn() -> Vec<treemap::Item> + 'a,
) -> Block<'a> {
    Block::Drawn(Box::new(move |_| {
        drawing::drawn(&format!("region-{at}"), &title, size, &items())
    }))
}

fn listed<'a>(title: &'static str, all: &[FootprintFile]) -> Block<'a> {
    let each = all
        .iter()
        .map(|one| format!("{}, {} B", file(one), one.length.get()));
    let list = Block::List {
        label: title,
        items: each.collect(),
        most: 0,
    };
    Block::Only(PAGE, vec![list])
}

fn groups(footprint: &Footprint) -> [Block<'_>; 2] {
    let whole = footprint.totals;
    let columns = vec![
        words("group", |group: &FootprintGroup| group.name.clone()),
        words("pattern", |group: &FootprintGroup| {
            group.pattern.clone().unwrap_or_else(|| "–".to_owned())
        })
        .on(Medium::Page),
        size("flash (B)", |group: &FootprintGroup| group.totals.flash),
        words("share of flash", move |group: &FootprintGroup| {
            share(group.totals.flash, whole.flash)
        }),
        size("RAM (B)", |group: &FootprintGroup| group.totals.ram),
        words("share of RAM", move |group: &FootprintGroup| {
            share(group.totals.ram, whole.ram)
        }),
        column("parts", |group: &FootprintGroup| {
            Cell::count(Some(group.parts))
        }),
    ];
    apart(Sheet::new("Groups", &footprint.groups, columns))
}

/// A table after an empty line; without rows neither.
fn apart<'a>(sheet: Sheet) -> [Block<'a>; 2] {
    if sheet.rows.is_empty() {
        return [const { Block::Only(PAGE, Vec::new()) }; 2];
    }
    [Block::Gap, Block::Table(sheet)]
}

fn largest_parts(footprint: &Footprint, view: FootprintView) -> [Block<'_>; 2] {
    let found = largest::largest(footprint, view.rows.max(MAX_ROWS));
    let columns = vec![
        words("largest parts", |leaf: &largest::Leaf<'_>| {
            leaf.name.to_owned()
        }),
        size("size (B)", |leaf: &largest::Leaf<'_>| leaf.size),
        words("memory", |leaf: &largest::Leaf<'_>| {
            leaf.region.name.clone()
        })
        .on(Medium::Page),
        words("section", |leaf: &largest::Leaf<'_>| {
            leaf.section.name.clone()
        }),
        words("of", largest::Leaf::owner),
        words("is a", |leaf: &largest::Leaf<'_>| leaf.kind.as_str()).on(Medium::Page),
        words("from", |leaf: &largest::Leaf<'_>| leaf.source.as_str()).on(Medium::Page),
    ];
    let table = Sheet::new("Largest parts", &found, columns);
    apart(table.at_most(most(view)))
}

fn stack_use(stack: &StackUse, view: FootprintView) -> [Block<'_>; 3] {
    let columns = vec![
        words("largest frames", |of: &FunctionStack| of.name.clone()),
        size("frame (B)", |of: &FunctionStack| of.frame),
        words("size is", |of: &FunctionStack| of.growth.as_str()),
    ];
    [
        Block::Gap,
        Block::fact("stack", stack_sentence(stack)),
        Block::Table(Sheet::new("Stack frames", &stack.functions, columns).at_most(most(view))),
    ]
}

fn run_time(memory: &RunTimeMemory) -> [Block<'_>; 3] {
    let columns = vec![
        words("pool", |pool: &RunTimePool| pool.name.clone()),
        column("static (B)", |pool: &RunTimePool| {
            let set_aside = pool.set_aside.as_ref();
            set_aside.map_or_else(|| Cell::text("–"), |of| bytes(of.size))
        }),
        size("capacity (B)", |pool: &RunTimePool| pool.capacity),
        size("peak (B)", |pool: &RunTimePool| pool.peak),
        words("share", |pool: &RunTimePool| {
            share(pool.peak, pool.capacity)
        }),
        column("none free", |pool: &RunTimePool| {
            Cell::count(Some(pool.failures))
        }),
    ];
    let about = format!(
        "{}; static is what the build sets aside, capacity what the stack counts as its own",
        run_time_sentence(memory)
    );
    [
        Block::Gap,
        Block::fact("at run time", about),
        Block::Table(Sheet::new("Memory at run time", &memory.pools, columns)),
    ]
}

/// A part that changed, by its path.
type Changed<'a> = (String, &'a FootprintChange);

fn largest_changes(difference: &FootprintDifference) -> Sheet {
    let mut rows: Vec<Changed<'_>> = Vec::new();
    for region in &difference.regions {
        smallest(region, &mut Vec::new(), &mut rows);
    }
    rows.sort_by_key(|(_, change)| std::cmp::Reverse(change.change.magnitude()));
    rows.truncate(MAX_ROWS);
    let columns = vec![
        words("part", |row: &Changed<'_>| row.0.clone()),
        size("A (B)", |row: &Changed<'_>| row.1.a),
        size("B (B)", |row: &Changed<'_>| row.1.b),
        words("change (B)", |row: &Changed<'_>| signed(row.1.change)),
        words("is a", |row: &Changed<'_>| match row.1.kind {
            ChangeKind::Part(node) => node.as_str(),
            ChangeKind::Region => "memory",
            ChangeKind::Section(_) => "section",
        }),
    ];
    Sheet::new("Largest changes", &rows, columns)
}

/// The parts that changed and have none that did, with their paths.
fn smallest<'a>(
    change: &'a FootprintChange,
    above: &mut Vec<&'a str>,
    rows: &mut Vec<Changed<'a>>,
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

fn group_changes(difference: &FootprintDifference) -> [Block<'_>; 2] {
    let columns = vec![
        words("group", |group: &GroupChange| group.name.clone()),
        size("flash A (B)", |group: &GroupChange| group.a.flash),
        size("flash B (B)", |group: &GroupChange| group.b.flash),
        change(|group: &GroupChange| [group.a.flash, group.b.flash]),
        size("RAM A (B)", |group: &GroupChange| group.a.ram),
        size("RAM B (B)", |group: &GroupChange| group.b.ram),
        change(|group: &GroupChange| [group.a.ram, group.b.ram]),
    ];
    let mut table = Sheet::new("Groups", &difference.groups, columns);
    for (row, group) in table.rows.iter_mut().zip(&difference.groups) {
        let flash = ByteCountChange::between(group.a.flash, group.b.flash);
        let ram = ByteCountChange::between(group.a.ram, group.b.ram);
        row.tone = tone(flash.get().saturating_add(ram.get()));
    }
    apart(table)
}
