//! What entries cost, by how they match, how many there are, how many masks they have, and which of them is hit.

use super::super::draft::Draft;
use super::super::parts::{Direct, Kind, TableDraft};
use super::super::rules::scattered;
use super::super::{Family, Published, Scale};
use super::{Build, linear};
use crate::exec::Match;

const TABLE: &str = "entries";
/// Keys that packets draw from where entries do not say how many.
const KEYS: u32 = 4096;
/// The key of packets that are all the same.
const KEY: u32 = 0xaaaa_aaaa;

fn table(draft: &mut Draft, kind: Kind) {
    sized(draft, kind, 0);
}

/// A table with room for so many entries.
fn sized(draft: &mut Draft, kind: Kind, entries: u32) {
    draft.table(TableDraft {
        name: TABLE.to_owned(),
        kind,
        size: entries.next_power_of_two().max(131_072),
        direct: Direct::Nothing,
    });
}

fn bytes(value: u32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// As many entries of one mask; packets hit each of them alike.
fn entries(draft: &mut Draft, level: u32, kind: Kind) {
    draft.keys(level);
    sized(draft, kind, level);
    for at in 0..level {
        let value = bytes(scattered(at));
        let key = match kind {
            Kind::Exact => Match::Exact(value),
            Kind::Lpm => Match::Lpm { value, prefix: 24 },
            Kind::Range | Kind::Ternary => Match::Ternary {
                value,
                mask: vec![0xff, 0xff, 0xff, 0],
            },
        };
        draft.entry(TABLE, key, 1);
    }
}

const DECADES: &[u32] = &[1, 10, 100, 1_000, 10_000, 100_000];

const fn many(id: &'static str, cycles: u32, build: Build) -> Family {
    Family {
        id,
        unit: "tenfold of entries, each hit alike",
        levels: DECADES,
        scale: Scale::Decades,
        published: Some(Published {
            cycles,
            at: "1000 entries",
        }),
        build,
    }
}

pub(super) const EXACT: Family = many("entries-exact", 74, |draft, level| {
    entries(draft, level, Kind::Exact);
});
pub(super) const LPM: Family = many("entries-lpm", 323, |draft, level| {
    entries(draft, level, Kind::Lpm);
});
pub(super) const TERNARY: Family = many("entries-ternary", 162, |draft, level| {
    entries(draft, level, Kind::Ternary);
});

pub(super) const RANGES: Family = Family {
    id: "entries-range",
    unit: "range beside the one that is hit",
    levels: &[1, 4, 16, 64, 256, 1024],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        draft.keys(KEYS);
        table(draft, Kind::Range);
        let width = u32::MAX / level;
        for at in 0..level {
            let (low, last) = (at * width, at + 1 == level);
            let high = if last { u32::MAX } else { low + (width - 1) };
            draft.entry(
                TABLE,
                Match::Range {
                    low: bytes(low),
                    high: bytes(high),
                },
                1,
            );
        }
    },
};

pub(super) const PREFIXES: Family = Family {
    id: "prefix-lengths",
    unit: "prefix length, the shortest is hit",
    levels: &[1, 2, 4, 8, 16, 32],
    scale: Scale::Linear,
    published: Some(Published {
        cycles: 461,
        at: "10 lengths",
    }),
    build: |draft, level| {
        draft.key(KEY);
        table(draft, Kind::Lpm);
        for prefix in 1..=level {
            // All but the shortest differ from the key in their last bit.
            let differs = if prefix == 1 { 0 } else { 1 << (32 - prefix) };
            let mask = u32::MAX << (32 - prefix);
            draft.entry(
                TABLE,
                Match::Lpm {
                    value: bytes((KEY ^ differs) & mask),
                    prefix,
                },
                0,
            );
        }
    },
};

/// As many masks, one entry each, of falling priority; the one at this place alone matches.
fn masks(draft: &mut Draft, level: u32, hit: Option<u32>) {
    draft.key(KEY);
    table(draft, Kind::Ternary);
    for at in 0..level {
        let mask = !(1_u32 << at);
        let differs = if hit == Some(at) {
            0
        } else {
            1 << ((at + 1) % 32)
        };
        let key = Match::Ternary {
            value: bytes((KEY ^ differs) & mask),
            mask: bytes(mask),
        };
        draft.entry(TABLE, key, (level - at).into());
    }
}

const fn of_masks(
    id: &'static str,
    unit: &'static str,
    cycles: Option<u32>,
    build: Build,
) -> Family {
    Family {
        levels: &[1, 2, 4, 8, 16, 32],
        ..linear(id, unit, Published::of(cycles, "10 masks"), build)
    }
}

pub(super) const MASKS_FIRST: Family = of_masks(
    "masks-first",
    "ternary mask, the first entry is hit",
    None,
    |draft, level| masks(draft, level, Some(0)),
);
pub(super) const MASKS_LAST: Family = of_masks(
    "masks-last",
    "ternary mask, the last entry is hit",
    Some(375),
    |draft, level| {
        masks(draft, level, Some(level - 1));
    },
);
pub(super) const MASKS_NONE: Family = of_masks(
    "masks-none",
    "ternary mask, no entry is hit",
    None,
    |draft, level| masks(draft, level, None),
);
