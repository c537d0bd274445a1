//! A treemap as data: nested boxes whose areas are sizes.
//!
//! # References
//! - M. Bruls, K. Huizing, J. van Wijk, “Squarified Treemaps”, 2000

use crate::figures::{clean, float};
use linerate_model::footprint::{
    ByteCountChange, FootprintChange, FootprintNode, FootprintRegion, NodeKind,
};
use std::cmp::Ordering;

/// Width of the drawing, in units of its own.
pub(super) const WIDTH: f64 = 1000.0;
/// Height of the drawing.
pub(super) const HEIGHT: f64 = 480.0;
/// Room for the name of a box with parts.
const HEAD: f64 = 15.0;
/// Room around parts.
const EDGE: f64 = 1.5;
/// Boxes with a side shorter than this are not drawn: nobody can see or point at them.
const MIN_SIDE: f64 = 2.0;
/// Most boxes of a drawing, so that a page stays quick.
const MAX_BOXES: usize = 4000;

/// What is drawn: a size, what it is made of, and how it is said.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) name: String,
    /// What is said of it.
    pub(super) note: String,
    pub(super) size: u64,
    pub(super) tint: Tint,
    pub(super) parts: Vec<Self>,
}

/// What the colour of a box says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tint {
    /// The n-th of several side by side.
    Nth(usize),
    /// Fill, and what nobody claims.
    Nobody,
    /// Grew: by more than a quarter, or by less.
    Grew(Strength),
    /// Shrank: by more than a quarter, or by less.
    Shrank(Strength),
    /// As large as before.
    Same,
}

/// How much something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// By at most a quarter of what it was.
    Little,
    /// By more, or it came or went.
    Much,
}

impl Tint {
    /// The class of the style sheet.
    pub(super) const fn class(self) -> &'static str {
        const SEVERAL: [&str; 8] = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
        match self {
            Self::Nth(at) => SEVERAL[at % SEVERAL.len()],
            Self::Nobody => "tn",
            Self::Grew(Strength::Little) => "tg",
            Self::Grew(Strength::Much) => "tgg",
            Self::Shrank(Strength::Little) => "ts",
            Self::Shrank(Strength::Much) => "tss",
            Self::Same => "te",
        }
    }
}

/// The sections of a memory.
pub(super) fn of_region(region: &FootprintRegion) -> Vec<Item> {
    let sections = region.sections.iter().enumerate();
    sections
        .map(|(at, section)| {
            let name = super::section(&section.name, section.place);
            Item {
                note: note(&name, section.size, region, section.source.as_str()),
                name: clean(&name),
                size: section.size.get(),
                tint: Tint::Nth(at),
                parts: of_nodes(&section.parts, &name, Tint::Nth(at), region),
            }
        })
        .collect()
}

fn of_nodes(
    nodes: &[FootprintNode],
    above: &str,
    tint: Tint,
    region: &FootprintRegion,
) -> Vec<Item> {
    let each = nodes.iter().enumerate();
    each.map(|(at, node)| {
        let path = format!("{above} / {}", node.name);
        let tint = match node.kind {
            NodeKind::Fill | NodeKind::Unclaimed => Tint::Nobody,
            // Neighbours are told apart; what is inside them is as they are.
            NodeKind::Crate | NodeKind::Object | NodeKind::SourcePath => Tint::Nth(at),
            NodeKind::Archive | NodeKind::InputSection | NodeKind::Stack | NodeKind::Symbol => tint,
        };
        Item {
            note: note(&path, node.size, region, node.source.as_str()),
            name: clean(&node.name),
            size: node.size.get(),
            tint,
            parts: of_nodes(&node.parts, &path, tint, region),
        }
    })
    .collect()
}

fn note(
    path: &str,
    size: linerate_model::ByteCount,
    region: &FootprintRegion,
    from: &str,
) -> String {
    let share = super::share(size, region.size);
    clean(&format!(
        "{path} · {} B · {share} of {} · {from}",
        size.get(),
        region.name
    ))
}

/// What changed in a memory: the area is the larger of both sizes, the colour how it changed.
pub(super) fn of_changes(changes: &[FootprintChange], above: &str) -> Vec<Item> {
    changes
        .iter()
        .map(|change| {
            let path = if above.is_empty() {
                change.name.clone()
            } else {
                format!("{above} / {}", change.name)
            };
            let by = super::signed(change.change);
            Item {
                name: clean(&format!("{} {by}", change.name)),
                note: clean(&format!(
                    "{path} · {by} B · {} B before, {} B now",
                    change.a.get(),
                    change.b.get()
                )),
                size: change.a.get().max(change.b.get()),
                tint: tint(change.a.get(), change.change),
                parts: of_changes(&change.parts, &path),
            }
        })
        .collect()
}

fn tint(before: u64, change: ByteCountChange) -> Tint {
    let strength = if change.magnitude().get() > before / 4 {
        Strength::Much
    } else {
        Strength::Little
    };
    match change.get().cmp(&0) {
        Ordering::Greater => Tint::Grew(strength),
        Ordering::Less => Tint::Shrank(strength),
        Ordering::Equal => Tint::Same,
    }
}

/// A rectangle of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    fn is_visible(self) -> bool {
        self.width >= MIN_SIDE && self.height >= MIN_SIDE
    }

    /// What is left for parts: below the name, if that fits.
    fn inside(self) -> Self {
        let head = if self.height > 3.0 * HEAD && self.width > 40.0 {
            HEAD
        } else {
            EDGE
        };
        Self {
            x: self.x + EDGE,
            y: self.y + head,
            width: (self.width - 2.0 * EDGE).max(0.0),
            height: (self.height - head - EDGE).max(0.0),
        }
    }
}

/// A box that is drawn.
pub(super) struct Tile<'a> {
    pub(super) item: &'a Item,
    pub(super) area: Area,
    pub(super) level: usize,
}

/// The boxes of all items, outer ones before inner ones.
pub(super) fn tiles(items: &[Item]) -> Vec<Tile<'_>> {
    let whole = Area {
        x: 0.0,
        y: 0.0,
        width: WIDTH,
        height: HEIGHT,
    };
    let mut drawn = Vec::new();
    // Level by level, so that the limit cuts the smallest parts and not the last sections.
    let mut row = vec![(items, whole)];
    let mut level = 0;
    while !row.is_empty() {
        let mut below = Vec::new();
        for (items, area) in row {
            for (item, area) in squarified(items, area) {
                if !area.is_visible() || drawn.len() >= MAX_BOXES {
                    continue;
                }
                drawn.push(Tile { item, area, level });
                if !item.parts.is_empty() {
                    below.push((item.parts.as_slice(), area.inside()));
                }
            }
        }
        row = below;
        level += 1;
    }
    drawn
}

/// Divides an area among items, in boxes as square as rows of them allow.
fn squarified(items: &[Item], area: Area) -> Vec<(&Item, Area)> {
    let mut sorted: Vec<&Item> = items.iter().filter(|item| item.size > 0).collect();
    sorted.sort_by_key(|item| std::cmp::Reverse(item.size));
    let whole: f64 = sorted.iter().map(|item| float(item.size)).sum();
    let scale = area.width * area.height / whole.max(1.0);
    let mut placed = Vec::new();
    let (mut rest, mut left) = (sorted.as_slice(), area);
    while !rest.is_empty() && left.width > 0.0 && left.height > 0.0 {
        let side = left.width.min(left.height);
        let count = row_length(rest, side, scale);
        let (row, others) = rest.split_at(count);
        left = place(row, left, scale, &mut placed);
        rest = others;
    }
    placed
}

/// How many items a row along `side` takes before its boxes become less square.
fn row_length(items: &[&Item], side: f64, scale: f64) -> usize {
    let mut sum = 0.0;
    let mut before = f64::INFINITY;
    let largest = items.first().map_or(0.0, |item| float(item.size) * scale);
    for (at, item) in items.iter().enumerate() {
        let area = float(item.size) * scale;
        let with: f64 = sum + area;
        let square = with * with;
        let worst = (side * side * largest / square).max(square / (side * side * area));
        if worst > before {
            return at.max(1);
        }
        before = worst;
        sum = with;
    }
    items.len()
}

/// Places a row along the shorter side; what is left of the area.
fn place<'a>(row: &[&'a Item], area: Area, scale: f64, placed: &mut Vec<(&'a Item, Area)>) -> Area {
    let sum: f64 = row.iter().map(|item| float(item.size) * scale).sum();
    let is_tall = area.width >= area.height;
    let side = area.width.min(area.height);
    let depth = (sum / side).min(area.width.max(area.height));
    let mut at = 0.0;
    for item in row {
        let length = side * float(item.size) * scale / sum;
        placed.push((
            *item,
            if is_tall {
                Area {
                    x: area.x,
                    y: area.y + at,
                    width: depth,
                    height: length,
                }
            } else {
                Area {
                    x: area.x + at,
                    y: area.y,
                    width: length,
                    height: depth,
                }
            },
        ));
        at += length;
    }
    if is_tall {
        Area {
            x: area.x + depth,
            width: (area.width - depth).max(0.0),
            ..area
        }
    } else {
        Area {
            y: area.y + depth,
            height: (area.height - depth).max(0.0),
            ..area
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(size: u64, parts: Vec<Item>) -> Item {
        Item {
            name: "x".to_owned(),
            note: String::new(),
            size,
            tint: Tint::Same,
            parts,
        }
    }

    #[test]
    fn areas_are_sizes_and_nothing_lies_over_another() {
        let items: Vec<_> = [6, 6, 4, 3, 2, 2, 1]
            .map(|size| item(size, Vec::new()))
            .into();
        let area = Area {
            x: 10.0,
            y: 20.0,
            width: 600.0,
            height: 400.0,
        };
        let placed = squarified(&items, area);
        assert_eq!(placed.len(), items.len());
        let unit = 600.0 * 400.0 / 24.0;
        for (item, area) in &placed {
            let size = area.width * area.height;
            assert!((size - float(item.size) * unit).abs() < 1e-6, "{area:?}");
            let ratio = (area.width / area.height).max(area.height / area.width);
            assert!(ratio < 3.0, "{area:?}");
        }
        for (at, (_, a)) in placed.iter().enumerate() {
            for (_, b) in &placed[at + 1..] {
                let apart = a.x + a.width <= b.x + 1e-6
                    || b.x + b.width <= a.x + 1e-6
                    || a.y + a.height <= b.y + 1e-6
                    || b.y + b.height <= a.y + 1e-6;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn parts_are_inside_their_whole_and_sizes_may_be_anything() {
        let inner = (1..2000).map(|size| item(size, Vec::new())).collect();
        let items = [
            item(u64::MAX, vec![item(0, Vec::new()), item(3, inner)]),
            item(1, Vec::new()),
            item(0, Vec::new()),
        ];
        let tiles = tiles(&items);
        assert!(tiles.len() <= MAX_BOXES);
        for tile in &tiles {
            let area = tile.area;
            assert!(
                area.x >= 0.0 && area.x + area.width <= WIDTH + 1e-6,
                "{area:?}"
            );
            assert!(
                area.y >= 0.0 && area.y + area.height <= HEIGHT + 1e-6,
                "{area:?}"
            );
        }
        assert!(tiles.iter().any(|tile| tile.level == 2));
        assert!(super::tiles(&[]).is_empty());
    }
}
