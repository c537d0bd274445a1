//! What tells cells and their figures apart: factors, levels, names of quantiles.

use std::collections::BTreeMap;

/// Factors of a cell, and its level of each.
pub type Levels = BTreeMap<String, String>;

/// The percent of `p99.9` or `median`.
pub(super) fn quantile(name: &str) -> Option<f64> {
    if name == "median" {
        return Some(50.0);
    }
    let percent = name.strip_prefix('p')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}

/// A cell's levels: `ip = ipv4, stack = lwip`.
pub fn label(levels: &Levels) -> String {
    if levels.is_empty() {
        return "all".to_owned();
    }
    let named = levels
        .iter()
        .map(|(factor, level)| format!("{factor} = {level}"));
    named.collect::<Vec<_>>().join(", ")
}
