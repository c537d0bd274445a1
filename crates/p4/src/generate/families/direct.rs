//! What a table costs more with a direct counter, a direct meter, an action profile or a selector: of sixteen exact tables
//! as many have it.

use super::super::draft::Draft;
use super::super::parts::{Direct, Kind, TableDraft};
use super::super::rules::{Rule, RuleAction};
use super::super::{Family, Published};
use super::externs::RATE;
use super::pipeline::{key, matching};
use super::{Build, linear};

const TABLES: u32 = 16;
/// Members of a profile, all in the group where there is a selector.
const MEMBERS: u32 = 8;
const GROUP: u32 = 1;

fn tables(draft: &mut Draft, level: u32, direct: Direct) {
    draft.scalar("colour", 32);
    key(draft);
    for at in 0..TABLES {
        let name = format!("t{at}");
        let direct = if at < level { direct } else { Direct::Nothing };
        draft.table(TableDraft {
            name: name.clone(),
            kind: Kind::Exact,
            size: 16,
            direct,
        });
        let profile = draft.arrays.profiles.len().saturating_sub(1);
        let mut members = |group| {
            draft.rules.push(Rule::Members {
                profile,
                count: MEMBERS,
                group,
            });
        };
        let does = match direct {
            Direct::Profile => {
                members(None);
                RuleAction::Member(1)
            }
            Direct::Selector => {
                members(Some(GROUP));
                RuleAction::Group(GROUP)
            }
            Direct::Counter | Direct::Meter | Direct::Nothing => {
                RuleAction::Action(super::super::parts::HIT, Vec::new())
            }
        };
        let meter = (direct == Direct::Meter).then_some(RATE);
        draft.rule(&name, matching(Kind::Exact), 0, does, meter);
    }
}

const fn family(id: &'static str, unit: &'static str, cycles: u32, build: Build) -> Family {
    linear(id, unit, Published::of(Some(cycles), "1 table"), build)
}

pub(super) const COUNTER: Family = family(
    "direct-counter",
    "direct counter of a table",
    20,
    |draft, level| {
        tables(draft, level, Direct::Counter);
    },
);
pub(super) const METER: Family = family(
    "direct-meter",
    "direct meter of a table",
    210,
    |draft, level| {
        tables(draft, level, Direct::Meter);
    },
);
pub(super) const PROFILE: Family = family(
    "action-profile",
    "action profile of a table",
    55,
    |draft, level| {
        tables(draft, level, Direct::Profile);
    },
);
pub(super) const SELECTOR: Family = family(
    "action-selector",
    "selector (crc16, 8 members)",
    312,
    |draft, level| {
        tables(draft, level, Direct::Selector);
    },
);
