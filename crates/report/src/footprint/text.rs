//! What a terminal shows of a footprint.

use super::lines::{Ink, Page, Row};
use super::{
    budget, files, growth, kind, largest, region, run_time_cells, run_time_columns,
    run_time_sentence, section, share, signed, source, stack_sentence, totals,
};
use crate::text::Style;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    ByteCountChange, ChangeKind, Footprint, FootprintBudget, FootprintBuilds, FootprintChange,
    FootprintContent, FootprintDifference, FootprintNode, FootprintRegion, FootprintTotals,
};

/// How much of the tree is shown; the documents have all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FootprintView {
    /// Levels below a memory region: 1 shows sections.
    pub depth: usize,
    /// Rows below each part, and of the lists.
    pub rows: usize,
}

impl FootprintView {
    /// All of it.
    pub const ALL: Self = Self {
        depth: usize::MAX,
        rows: usize::MAX,
    };
}

/// The footprint in at most `width` columns.
pub fn footprint_text(
    content: &FootprintContent,
    view: FootprintView,
    width: usize,
    style: Style,
) -> String {
    let mut page = Page::new(width, style);
    match content {
        FootprintContent::Builds(builds) => of_builds(&mut page, builds),
        FootprintContent::Difference(difference) => of_difference(&mut page, difference, view),
        FootprintContent::Footprint(footprint) => of_footprint(&mut page, footprint, view),
    }
    page.finish()
}

fn of_footprint(page: &mut Page, footprint: &Footprint, view: FootprintView) {
    page.line(Ink::Head, &totals(&footprint.totals));
    page.labelled(Ink::Plain, "files", &files(&footprint.files));
    notes(page, &footprint.notes);
    budgets(page, &footprint.budgets);
    page.gap();
    let mut rows = vec![Row::head(&[
        "memory, section, part",
        "B",
        "share",
        "is a",
        "from",
    ])];
    for one in &footprint.regions {
        let cells = [
            region(one),
            number(one.size),
            String::new(),
            "memory".to_owned(),
            String::new(),
        ];
        rows.push(Row::new(0, cells));
        sections(&mut rows, one, view);
    }
    page.table(&rows);
    groups(page, footprint);
    largest_parts(page, footprint, view);
    stack_use(page, footprint, view);
    run_time(page, footprint);
}

fn sections(rows: &mut Vec<Row>, region: &FootprintRegion, view: FootprintView) {
    for one in region
        .sections
        .iter()
        .filter(|_| view.depth > 0)
        .take(view.rows)
    {
        let cells = [
            section(&one.name, one.place),
            number(one.size),
            share(one.size, region.size),
            "section".to_owned(),
            source(one.source).to_owned(),
        ];
        rows.push(Row::new(1, cells));
        parts(rows, &one.parts, (2, region.size), view);
    }
    let left = region
        .sections
        .iter()
        .skip(view.rows)
        .map(|section| section.size);
    rest(rows, 1, left.filter(|_| view.depth > 0), region.size);
}

fn parts(
    rows: &mut Vec<Row>,
    parts: &[FootprintNode],
    (level, whole): (usize, ByteCount),
    view: FootprintView,
) {
    if level > view.depth {
        return;
    }
    for one in parts.iter().take(view.rows) {
        let cells = [
            one.name.clone(),
            number(one.size),
            share(one.size, whole),
            kind(one.kind).to_owned(),
            source(one.source).to_owned(),
        ];
        rows.push(Row::new(level, cells));
        self::parts(rows, &one.parts, (level + 1, whole), view);
    }
    rest(
        rows,
        level,
        parts.iter().skip(view.rows).map(|part| part.size),
        whole,
    );
}

/// One row for what is not shown.
fn rest(
    rows: &mut Vec<Row>,
    level: usize,
    sizes: impl Iterator<Item = ByteCount>,
    whole: ByteCount,
) {
    let sizes: Vec<u64> = sizes.map(ByteCount::get).collect();
    if !sizes.is_empty() {
        let sum = ByteCount::new(sizes.iter().copied().fold(0, u64::saturating_add));
        let cells = [
            format!("… {} more", sizes.len()),
            number(sum),
            share(sum, whole),
        ];
        rows.push(Row::new(level, cells));
    }
}

fn groups(page: &mut Page, footprint: &Footprint) {
    if footprint.groups.is_empty() {
        return;
    }
    page.gap();
    let mut rows = vec![Row::head(&[
        "group", "flash B", "share", "RAM B", "share", "parts",
    ])];
    for group in &footprint.groups {
        let sums = &group.totals;
        let cells = [
            group.name.clone(),
            number(sums.flash),
            share(sums.flash, footprint.totals.flash),
            number(sums.ram),
            share(sums.ram, footprint.totals.ram),
            group.parts.to_string(),
        ];
        rows.push(Row::new(0, cells));
    }
    page.table(&rows);
}

fn largest_parts(page: &mut Page, footprint: &Footprint, view: FootprintView) {
    let found = largest::largest(footprint, view.rows);
    if found.is_empty() {
        return;
    }
    page.gap();
    let mut rows = vec![Row::head(&["largest parts", "B", "section", "of"])];
    for leaf in found {
        let cells = [
            leaf.name.to_owned(),
            number(leaf.size),
            leaf.section.name.clone(),
            leaf.owner(),
        ];
        rows.push(Row::new(0, cells));
    }
    page.table(&rows);
}

fn stack_use(page: &mut Page, footprint: &Footprint, view: FootprintView) {
    let Some(stack) = &footprint.stack_use else {
        return;
    };
    page.gap();
    page.labelled(Ink::Plain, "stack", &stack_sentence(stack));
    let mut rows = vec![Row::head(&["largest frames", "B", "size is"])];
    for function in stack.functions.iter().take(view.rows) {
        let cells = [
            function.name.clone(),
            number(function.frame),
            growth(function.growth).to_owned(),
        ];
        rows.push(Row::new(0, cells));
    }
    page.table(&rows);
}

fn run_time(page: &mut Page, footprint: &Footprint) {
    for memory in &footprint.run_time {
        page.gap();
        page.labelled(Ink::Plain, "at run time", &run_time_sentence(memory));
        let mut rows = vec![Row::head(&run_time_columns())];
        let cells = memory.pools.iter().map(run_time_cells);
        rows.extend(cells.map(|cells| Row::new(0, cells)));
        page.table(&rows);
    }
}

fn notes(page: &mut Page, notes: &[String]) {
    for (at, note) in notes.iter().enumerate() {
        page.labelled(Ink::Plain, if at == 0 { "note" } else { "" }, note);
    }
}

fn budgets(page: &mut Page, budgets: &[FootprintBudget]) {
    for one in budgets {
        let (ink, label) = if one.met {
            (Ink::Plain, "budget")
        } else {
            (Ink::More, "exceeded")
        };
        page.labelled(ink, label, &budget(one));
    }
}

fn of_difference(page: &mut Page, difference: &FootprintDifference, view: FootprintView) {
    let (a, b) = (&difference.a.totals, &difference.b.totals);
    let by = |a, b| signed(ByteCountChange::between(a, b));
    page.line(
        Ink::Head,
        &format!(
            "B against A: flash {} B, RAM {} B",
            by(a.flash, b.flash),
            by(a.ram, b.ram)
        ),
    );
    for (label, side) in [("A", &difference.a), ("B", &difference.b)] {
        page.labelled(
            Ink::Plain,
            label,
            &format!("{}: {}", files(&side.files), totals(&side.totals)),
        );
    }
    notes(page, &difference.notes);
    budgets(page, &difference.budgets);
    page.gap();
    let mut rows = vec![Row::head(&[
        "memory, section, part",
        "A",
        "B",
        "change",
        "is a",
    ])];
    for region in &difference.regions {
        changes(&mut rows, std::slice::from_ref(region), 0, view);
    }
    page.table(&rows);
    if !difference.groups.is_empty() {
        page.gap();
        let mut rows = vec![Row::head(&[
            "group", "flash A", "flash B", "change", "RAM A", "RAM B", "change",
        ])];
        for group in &difference.groups {
            rows.push(group_row(&group.name, &group.a, &group.b));
        }
        page.table(&rows);
    }
}

fn group_row(name: &str, a: &FootprintTotals, b: &FootprintTotals) -> Row {
    let (flash, ram) = (
        ByteCountChange::between(a.flash, b.flash),
        ByteCountChange::between(a.ram, b.ram),
    );
    let cells = [
        name.to_owned(),
        number(a.flash),
        number(b.flash),
        signed(flash),
        number(a.ram),
        number(b.ram),
        signed(ram),
    ];
    Row::new(0, cells).ink(ink(flash.get().saturating_add(ram.get())))
}

fn changes(rows: &mut Vec<Row>, all: &[FootprintChange], level: usize, view: FootprintView) {
    if level > view.depth {
        return;
    }
    for one in all.iter().take(view.rows) {
        let (name, what) = match one.kind {
            ChangeKind::Part(node) => (one.name.clone(), kind(node)),
            ChangeKind::Region => (one.name.clone(), "memory"),
            ChangeKind::Section(place) => (section(&one.name, place), "section"),
        };
        let known = |size: ByteCount| {
            if size.get() == 0 {
                "–".to_owned()
            } else {
                number(size)
            }
        };
        let cells = [
            name,
            known(one.a),
            known(one.b),
            signed(one.change),
            what.to_owned(),
        ];
        rows.push(Row::new(level, cells).ink(ink(one.change.get())));
        changes(rows, &one.parts, level + 1, view);
    }
    let left = all.iter().skip(view.rows);
    let (count, sum) = left.fold((0_usize, 0_i64), |(count, sum), one| {
        (count + 1, sum.saturating_add(one.change.get()))
    });
    if count > 0 {
        let sign = if sum > 0 { "+" } else { "" };
        let cells = [
            format!("… {count} more"),
            String::new(),
            String::new(),
            format!("{sign}{sum}").replace('-', "−"),
        ];
        rows.push(Row::new(level, cells).ink(ink(sum)));
    }
}

const fn ink(change: i64) -> Ink {
    match change {
        0 => Ink::Plain,
        1.. => Ink::More,
        _ => Ink::Less,
    }
}

fn of_builds(page: &mut Page, builds: &FootprintBuilds) {
    let what = format!(
        "{} {} for {} ({})",
        builds.stack, builds.version, builds.target, builds.compiler
    );
    page.line(Ink::Head, &what);
    notes(page, &builds.notes);
    for (title, totals) in [
        (
            "the stack alone, as an archive",
            (|build| build.archive)
                as fn(&linerate_model::footprint::FootprintBuild) -> FootprintTotals,
        ),
        ("linked program around it", |build| build.image),
    ] {
        page.gap();
        let mut rows = vec![Row::head(&[
            title,
            "text",
            "data",
            "bss",
            "total",
            "frame ≥",
        ])];
        for build in &builds.builds {
            let sums = totals(build);
            let figures = [
                sums.text,
                sums.data,
                sums.bss,
                sums.dec(),
                build.stack_at_least,
            ]
            .map(number);
            rows.push(Row::new(
                0,
                std::iter::once(build.configuration.join(", ")).chain(figures),
            ));
        }
        page.table(&rows);
    }
    page.gap();
    let mut rows = vec![Row::head(&["published", "text", "data", "bss", "total"])];
    for row in &builds.published {
        let figures = [row.text, row.data, row.bss, row.total].map(number);
        let name = format!("{}, scenario {}", row.stack, row.scenario);
        rows.push(Row::new(0, std::iter::once(name).chain(figures)));
    }
    page.table(&rows);
}

fn number(size: ByteCount) -> String {
    size.get().to_string()
}
