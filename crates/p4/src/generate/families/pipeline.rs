//! What tables in series cost, by how they match: each has one entry, which is hit.

use super::super::draft::{Draft, Pipeline};
use super::super::parts::{Direct, Kind, TableDraft};
use super::super::terms::{condition, constant, field};
use super::super::{Family, Published};
use super::{Build, linear};
use crate::exec::Match;

const KEY: u32 = 0x0a01_0203;

/// The entry that matches the key in every kind of table.
pub(super) fn matching(kind: Kind) -> Match {
    let value = KEY.to_be_bytes().to_vec();
    match kind {
        Kind::Exact => Match::Exact(value),
        Kind::Lpm => Match::Lpm { value, prefix: 24 },
        Kind::Range => Match::Range {
            low: vec![0x0a, 0, 0, 0],
            high: vec![0x0a, 0xff, 0xff, 0xff],
        },
        Kind::Ternary => Match::Ternary {
            value,
            mask: vec![0xff, 0xff, 0, 0xff],
        },
    }
}

/// The key that [`matching`] matches, in the packet.
pub(super) fn key(draft: &mut Draft) {
    draft.key(KEY);
}

fn tables(draft: &mut Draft, level: u32, kind: Kind) {
    key(draft);
    for at in 0..level {
        let name = format!("t{at}");
        draft.table(TableDraft {
            name: name.clone(),
            kind,
            size: 16,
            direct: Direct::Nothing,
        });
        draft.entry(&name, matching(kind), 1);
    }
}

const fn family(id: &'static str, unit: &'static str, cycles: Option<u32>, build: Build) -> Family {
    Family {
        levels: &[0, 1, 2, 4, 8, 16, 32],
        ..linear(id, unit, Published::of(cycles, "1 entry"), build)
    }
}

pub(super) const EXACT: Family = family(
    "pipeline-exact",
    "exact table with one entry",
    Some(53),
    |draft, level| tables(draft, level, Kind::Exact),
);
pub(super) const LPM: Family = family(
    "pipeline-lpm",
    "lpm table with one entry",
    Some(32),
    |draft, level| tables(draft, level, Kind::Lpm),
);
pub(super) const TERNARY: Family = family(
    "pipeline-ternary",
    "ternary table with one entry",
    Some(159),
    |draft, level| {
        tables(draft, level, Kind::Ternary);
    },
);
pub(super) const RANGE: Family = family(
    "pipeline-range",
    "range table with one entry",
    None,
    |draft, level| tables(draft, level, Kind::Range),
);

pub(super) const CONDITIONS: Family = family(
    "conditions",
    "condition that does not hold",
    None,
    |draft, level| {
        key(draft);
        for at in 0..level {
            draft.condition(
                Pipeline::Ingress,
                condition("==", &field("key", "value"), &constant(1)),
            );
            draft.statement(Pipeline::Ingress, &format!("never{at}"), []);
        }
    },
);
