//! What limited the runs of a study.

use crate::figures::clean;
use crate::words;
use linerate_model::run::{Confidence, Limit, Run, Verdict};
use std::collections::BTreeMap;

/// A limit by its name; nothing limits a round trip by its kind either.
pub(crate) fn limit_name(limit: &Limit) -> String {
    match (limit.is_none() || limit.is_round_trip(), limit.is_unknown()) {
        (true, _) => NONE.to_owned(),
        (_, true) => UNKNOWN.to_owned(),
        _ => clean(limit.name()),
    }
}

const NONE: &str = "none";
const UNKNOWN: &str = "not identified";

/// The limit that most of some runs found, and how many did of those that looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommonLimit {
    pub(crate) name: String,
    count: usize,
    of: usize,
    /// No run is sure of it.
    is_weak: bool,
}

impl CommonLimit {
    /// `None` where most found none, or none looked.
    pub(crate) fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Self> {
        let mut tally: BTreeMap<String, Vec<&Verdict>> = BTreeMap::new();
        for verdict in runs.into_iter().filter_map(|run| run.verdict.as_ref()) {
            let name = limit_name(&verdict.limit);
            tally.entry(name).or_default().push(verdict);
        }
        let of = tally.values().map(Vec::len).sum();
        let (name, verdicts) = tally.into_iter().max_by_key(|(_, all)| all.len())?;
        let is_weak = |verdict: &&Verdict| verdict.confidence == Confidence::Weak;
        (name != NONE).then(|| Self {
            is_weak: name != UNKNOWN && verdicts.iter().all(is_weak),
            count: verdicts.len(),
            name,
            of,
        })
    }

    /// `the receiver's CPU (4 of 5, weak)`; without what goes without saying.
    pub(crate) fn words(&self) -> String {
        let count = (self.count < self.of).then(|| format!("{} of {}", self.count, self.of));
        let weak = self.is_weak.then(|| "weak".to_owned());
        let beside: Vec<String> = count.into_iter().chain(weak).collect();
        if beside.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, beside.join(", "))
        }
    }
}

/// The runs of a cell.
pub(crate) fn runs_of<'a>(parts: &'a [Run], cell: &'a str) -> impl Iterator<Item = &'a Run> {
    parts.iter().filter(move |part| part.is_of_cell(cell))
}

/// In how many of some cells each limit was found: `the receiver's CPU in 3 cells, none in 1`. `None` where no run looked
/// for one.
pub(crate) fn cells_by_limit<'a>(
    parts: &[Run],
    cells: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if parts.iter().all(|part| part.verdict.is_none()) {
        return None;
    }
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut free = 0;
    for cell in cells {
        match CommonLimit::of(runs_of(parts, cell)) {
            Some(limit) => *tally.entry(limit.name).or_default() += 1,
            None => free += 1,
        }
    }
    let mut limits: Vec<_> = tally.into_iter().collect();
    limits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if free > 0 {
        limits.push((NONE.to_owned(), free));
    }
    let counted = limits.iter().enumerate().map(|(index, (name, count))| {
        let cells = if index == 0 {
            words::counted(*count, "cell")
        } else {
            count.to_string()
        };
        format!("{name} in {cells}")
    });
    let said: Vec<String> = counted.collect();
    (!said.is_empty()).then(|| said.join(", "))
}
