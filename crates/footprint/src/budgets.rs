//! Limits on the size of a build.

use crate::error::FootprintError;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    BudgetOn, ByteCountChange, Footprint, FootprintBudget, FootprintTotals,
};

/// A limit on a total, a region or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// What is limited.
    pub name: String,
    /// The limit.
    pub limit: ByteCount,
    /// Whether it limits the size or its growth.
    pub on: BudgetOn,
}

type Total = (&'static str, fn(&FootprintTotals) -> ByteCount);

const TOTALS: &[Total] = &[
    ("flash", |totals| totals.flash),
    ("ram", |totals| totals.ram),
    ("text", |totals| totals.text),
    ("data", |totals| totals.data),
    ("bss", |totals| totals.bss),
    ("stacks", |totals| totals.stacks),
];

/// The largest stack frame, where frames are known.
const FRAME: &str = "frame";

/// Checks the budgets against `footprint`, and those of growth against its growth from `base`.
pub(crate) fn check(
    budgets: &[Budget],
    footprint: &Footprint,
    base: Option<&Footprint>,
) -> Result<Vec<FootprintBudget>, FootprintError> {
    let judge = |budget: &Budget| {
        let used = used(footprint, &budget.name).ok_or_else(|| FootprintError::Budget {
            name: budget.name.clone(),
            known: known(footprint),
        })?;
        let before = match (budget.on, base) {
            (BudgetOn::Size, _) => ByteCount::default(),
            (BudgetOn::Growth, Some(base)) => used_before(base, &budget.name),
            (BudgetOn::Growth, None) => {
                return Err(FootprintError::Growth {
                    name: budget.name.clone(),
                });
            }
        };
        let used = ByteCountChange::between(before, used);
        Ok(FootprintBudget {
            name: budget.name.clone(),
            limit: budget.limit,
            on: budget.on,
            used,
            met: used <= ByteCountChange::between(ByteCount::default(), budget.limit),
        })
    };
    budgets.iter().map(judge).collect()
}

/// Bytes in the base, where the item may be missing.
fn used_before(base: &Footprint, name: &str) -> ByteCount {
    used(base, name).unwrap_or_default()
}

/// Bytes used: of a total, else of a region, else of a group.
fn used(footprint: &Footprint, name: &str) -> Option<ByteCount> {
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    if let Some((_, total)) = TOTALS.iter().find(|(total, _)| is(total)) {
        return Some(total(&footprint.totals));
    }
    let region = footprint
        .regions
        .iter()
        .find(|region| is(&region.name))
        .map(|region| region.size);
    let group = || {
        let group = footprint.groups.iter().find(|group| is(&group.name))?;
        let totals = group.totals;
        Some(ByteCount::new(
            totals.dec().get().saturating_add(totals.stacks.get()),
        ))
    };
    let frame = || {
        footprint
            .stack_use
            .as_ref()
            .filter(|_| is(FRAME))
            .map(|stack| stack.at_least)
    };
    region.or_else(group).or_else(frame)
}

fn known(footprint: &Footprint) -> String {
    let totals = TOTALS.iter().map(|(name, _)| *name);
    let regions = footprint.regions.iter().map(|region| region.name.as_str());
    let groups = footprint.groups.iter().map(|group| group.name.as_str());
    let frame = footprint.stack_use.iter().map(|_| FRAME);
    let mut names: Vec<&str> = Vec::new();
    for name in totals.chain(regions).chain(groups).chain(frame) {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    names.join(", ")
}
