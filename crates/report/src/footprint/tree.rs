//! The tree of a terminal: memories, their sections, what is in them.

use super::{FootprintView, bytes, section, share, signed};
use crate::document::{Look, Most, Sheet, SheetRow, Tone};
use crate::table::Cell;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    ChangeKind, Footprint, FootprintChange, FootprintDifference, FootprintNode, FootprintRegion,
};

/// A table that is being filled level by level.
struct Tree {
    view: FootprintView,
    rows: Vec<SheetRow>,
}

impl Tree {
    const fn new(view: FootprintView) -> Self {
        let rows = Vec::new();
        Self { view, rows }
    }

    fn push(&mut self, level: usize, tone: Tone, cells: Vec<Cell>) {
        self.rows.push(SheetRow { cells, level, tone });
    }

    fn sheet(self, heads: &[&str]) -> Sheet {
        Sheet {
            title: String::new(),
            heads: heads
                .iter()
                .map(|head| ((*head).to_owned(), None))
                .collect(),
            rows: self.rows,
            look: Look::Open,
            most: Most::ALL,
        }
    }

    fn region(&mut self, region: &FootprintRegion) {
        let whole = region.size;
        self.push(
            0,
            Tone::Plain,
            vec![
                Cell::text(super::region(region)),
                bytes(whole),
                Cell::text(""),
                Cell::text("memory"),
                Cell::text(""),
            ],
        );
        if self.view.depth == 0 {
            return;
        }
        for one in region.sections.iter().take(self.view.rows) {
            let name = section(&one.name, one.place);
            let what = ["section", one.source.as_str()];
            self.part(1, name, one.size, whole, what);
            self.parts(2, &one.parts, whole);
        }
        let left = region.sections.iter().skip(self.view.rows);
        self.rest(1, left.map(|section| section.size), whole);
    }

    fn part(
        &mut self,
        level: usize,
        name: String,
        size: ByteCount,
        whole: ByteCount,
        [kind, source]: [&str; 2],
    ) {
        let shown = [name, share(size, whole), kind.to_owned(), source.to_owned()];
        let [name, share, kind, source] = shown.map(Cell::text);
        let cells = vec![name, bytes(size), share, kind, source];
        self.push(level, Tone::Plain, cells);
    }

    fn parts(&mut self, level: usize, parts: &[FootprintNode], whole: ByteCount) {
        if level > self.view.depth {
            return;
        }
        for one in parts.iter().take(self.view.rows) {
            let what = [one.kind.as_str(), one.source.as_str()];
            self.part(level, one.name.clone(), one.size, whole, what);
            self.parts(level + 1, &one.parts, whole);
        }
        let left = parts.iter().skip(self.view.rows);
        self.rest(level, left.map(|part| part.size), whole);
    }

    /// One row for what is not shown.
    fn rest(&mut self, level: usize, sizes: impl Iterator<Item = ByteCount>, whole: ByteCount) {
        let sizes: Vec<u64> = sizes.map(ByteCount::get).collect();
        if !sizes.is_empty() {
            let sum = ByteCount::new(sizes.iter().copied().fold(0, u64::saturating_add));
            let name = format!("… {} more", sizes.len());
            self.part(level, name, sum, whole, ["", ""]);
        }
    }

    fn changes(&mut self, level: usize, all: &[FootprintChange]) {
        if level > self.view.depth {
            return;
        }
        for one in all.iter().take(self.view.rows) {
            let (name, what) = match one.kind {
                ChangeKind::Part(node) => (one.name.clone(), node.as_str()),
                ChangeKind::Region => (one.name.clone(), "memory"),
                ChangeKind::Section(place) => (section(&one.name, place), "section"),
            };
            let known = |size: ByteCount| match size.get() {
                0 => Cell::text("–"),
                _ => bytes(size),
            };
            let cells = vec![
                Cell::text(name),
                known(one.a),
                known(one.b),
                Cell::text(signed(one.change)),
                Cell::text(what),
            ];
            self.push(level, tone(one.change.get()), cells);
            self.changes(level + 1, &one.parts);
        }
        let left = all.iter().skip(self.view.rows);
        let changes: Vec<i64> = left.map(|one| one.change.get()).collect();
        if !changes.is_empty() {
            let sum = changes.iter().copied().fold(0, i64::saturating_add);
            let sign = if sum > 0 { "+" } else { "" };
            let change = format!("{sign}{sum}").replace('-', "−");
            let name = format!("… {} more", changes.len());
            let cells = [name, String::new(), String::new(), change, String::new()];
            self.push(level, tone(sum), cells.map(Cell::text).into());
        }
    }
}

/// Growth is red.
pub(super) const fn tone(change: i64) -> Tone {
    match change {
        0 => Tone::Plain,
        1.. => Tone::Alarm,
        _ => Tone::Good,
    }
}

/// The tree that `fill` makes, narrowed until it fits.
fn fitting(view: FootprintView, fill: impl Fn(&mut Tree)) -> Tree {
    let mut narrowest = Tree::new(view);
    for view in view.narrower() {
        narrowest = Tree::new(view);
        fill(&mut narrowest);
        if narrowest.rows.len() <= view.lines {
            break;
        }
    }
    narrowest
}

/// What is where, down to the depth of `view`.
pub(super) fn of_footprint(footprint: &Footprint, view: FootprintView) -> Sheet {
    let tree = fitting(view, |tree| {
        for region in &footprint.regions {
            tree.region(region);
        }
    });
    tree.sheet(&["memory, section, part", "B", "share", "is a", "from"])
}

/// What changed, down to the depth of `view`.
pub(super) fn of_difference(difference: &FootprintDifference, view: FootprintView) -> Sheet {
    let tree = fitting(view, |tree| {
        for region in &difference.regions {
            tree.changes(0, std::slice::from_ref(region));
        }
    });
    tree.sheet(&["memory, section, part", "A", "B", "change", "is a"])
}
