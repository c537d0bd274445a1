//! `[series.NAME]`: cells that vary factors of their own. Without any, all cells are one series without a name.

use super::cell::{Cell, Level, Peers, Shared, key};
use super::{ControlChoice, File, MAX_RUNS, Places, StudyPlan};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::run::StudyPlace;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// One value of each setting.
pub(super) type Values = BTreeMap<Spanned<String>, Spanned<toml::Value>>;
/// Levels of each setting.
pub(super) type Factors = BTreeMap<Spanned<String>, Spanned<Vec<Spanned<toml::Value>>>>;
/// By their names.
pub(super) type Tables = BTreeMap<Spanned<String>, Table>;

/// A series as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    title: Option<String>,
    #[serde(default)]
    pub(super) defaults: Values,
    #[serde(default)]
    pub(super) factors: Factors,
}

/// Cells of a plan that vary the same factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSeries {
    /// Its name; `None` where the plan has no series.
    pub name: Option<String>,
    /// What it is about.
    pub title: Option<String>,
    /// What it varies, with the number of levels.
    pub factors: Vec<(String, usize)>,
}

impl PlanSeries {
    /// A factor as it is called among those of all series: `tcp: direction`.
    pub fn named(&self, factor: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}: {factor}"),
            None => factor.to_owned(),
        }
    }
}

impl StudyPlan {
    /// Leaves out every series but those of these names; none of them stands for all.
    pub fn keep_series(&mut self, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let known = self
            .series
            .iter()
            .filter_map(|series| series.name.as_deref());
        let known: Vec<&str> = known.collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let has = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let name = name.escape_debug();
            let message = format!("--series {name}: the plan has no such series; it has {has}");
            return Err(Failure::new(ExitCode::Usage, message));
        }
        let is_kept = |name: Option<&String>| name.is_some_and(|name| names.contains(name));
        let control = self.control().map(|cell| cell.label.clone());
        self.series.retain(|series| is_kept(series.name.as_ref()));
        self.cells
            .retain(|cell| is_kept(cell.settings.get(StudyPlace::SERIES)));
        if let ControlChoice::Cell(_) = self.control {
            // One that is left out is no control.
            let at = self
                .cells
                .iter()
                .position(|cell| Some(&cell.label) == control.as_ref());
            self.control = at.map_or(ControlChoice::Usual, ControlChoice::Cell);
        }
        Ok(())
    }
}

/// A series, while its cells are made.
struct Grid<'a> {
    name: Option<&'a str>,
    title: Option<&'a String>,
    /// The later overrule the earlier.
    defaults: Vec<&'a Values>,
    factors: &'a Factors,
}

/// Every series in the order of the file, and the cells of all.
pub(super) fn read(
    file: &File,
    peers: &Peers,
    place: Places<'_>,
) -> Result<(Vec<PlanSeries>, Vec<Cell>)> {
    let (mut series, mut all) = (Vec::new(), Vec::new());
    for grid in grids(file, place)? {
        all.extend(grid.cells(peers, place)?);
        if all.len() > MAX_RUNS {
            let why = format!("more than {MAX_RUNS} cells in all series");
            return Err(place.fail(None, &why));
        }
        let factors = grid.factors.iter();
        series.push(PlanSeries {
            name: grid.name.map(str::to_owned),
            title: grid.title.cloned(),
            factors: factors
                .map(|(key, levels)| (key.get_ref().clone(), levels.get_ref().len()))
                .collect(),
        });
    }
    Ok((series, all))
}

fn grids<'a>(file: &'a File, place: Places<'_>) -> Result<Vec<Grid<'a>>> {
    if file.series.is_empty() {
        return Ok(vec![Grid {
            name: None,
            title: None,
            defaults: vec![&file.defaults],
            factors: &file.factors,
        }]);
    }
    if let Some(key) = file.factors.keys().next() {
        let why = format!(
            "factors: a plan with series has factors in each of them; move {} to [series.NAME.factors]",
            key.get_ref().escape_debug()
        );
        return Err(place.fail(Some(key.span().start), &why));
    }
    let mut tables: Vec<_> = file.series.iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    let grid = |(name, table): (&'a Spanned<String>, &'a Table)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.get_ref().is_empty() || !name.get_ref().chars().all(is_plain) {
            let why = format!(
                "series \"{}\": a name has letters, digits, \"-\", \"_\" and \".\"",
                name.get_ref().escape_debug()
            );
            return Err(place.fail(Some(name.span().start), &why));
        }
        Ok(Grid {
            name: Some(name.get_ref()),
            title: table.title.as_ref(),
            defaults: vec![&file.defaults, &table.defaults],
            factors: &table.factors,
        })
    };
    tables.into_iter().map(grid).collect()
}

impl<'a> Grid<'a> {
    /// Every combination of levels over the defaults.
    fn cells(&self, peers: &Peers, place: Places<'_>) -> Result<Vec<Cell>> {
        let defaults = self.defaults(place)?;
        let mut combinations = vec![Vec::new()];
        for (name, levels) in self.factors {
            let key = key(name, place)?;
            let at = Some(levels.span().start);
            if levels.get_ref().is_empty() {
                let why = format!("{key}: give at least one level");
                return Err(place.fail(at, &why));
            }
            if combinations.len().saturating_mul(levels.get_ref().len()) > MAX_RUNS {
                let why = format!("{key}: more than {MAX_RUNS} cells");
                return Err(place.fail(at, &why));
            }
            combinations = cross(&combinations, key, levels.get_ref());
        }
        let shared = Shared {
            series: self.name,
            defaults: &defaults,
            peers,
            place,
        };
        let mut made = Vec::with_capacity(combinations.len());
        let mut seen = BTreeSet::new();
        for levels in &combinations {
            let cell = shared.cell(levels)?;
            if !seen.insert(cell.label.clone()) {
                let why = format!(
                    "two cells are called \"{}\": remove one of their levels",
                    cell.label
                );
                return Err(place.fail(None, &why));
            }
            made.push(cell);
        }
        Ok(made)
    }

    fn defaults(&self, place: Places<'_>) -> Result<Vec<Level<'a>>> {
        let mut defaults: Vec<Level<'a>> = Vec::new();
        for (name, value) in self.defaults.iter().copied().flatten() {
            let key = key(name, place)?;
            defaults.retain(|other| other.key != key);
            defaults.push(Level { key, value });
        }
        Ok(defaults)
    }
}

/// Each of `before` with each of these levels.
fn cross<'a>(
    before: &[Vec<Level<'a>>],
    key: &'static str,
    levels: &'a [Spanned<toml::Value>],
) -> Vec<Vec<Level<'a>>> {
    let extended = |cell: &Vec<Level<'a>>, value| {
        let mut cell = cell.clone();
        cell.push(Level { key, value });
        cell
    };
    before
        .iter()
        .flat_map(|cell| levels.iter().map(move |value| extended(cell, value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{HEAD, plan, refused};
    use crate::run::Test;
    use linerate_model::spec::{Pace, Transport};

    /// Two series, of which the short form has one.
    const SERIES: &str = "[defaults]\nkind = \"udp\"\nrate = \"1M\"\ntime = \"2s\"\n\
     [series.tcp]\ntitle = \"both roles\"\n[series.tcp.defaults]\nkind = \"tcp\"\nrate = \"max\"\n\
     [series.tcp.factors]\ndirection = [\"forward\", \"reverse\"]\n\
     [series.one]\n[series.load.factors]\nrate = [\"1M\", \"2M\", \"4M\"]\n\
     [quick.defaults]\ntime = \"1s\"\n[quick.series.load.factors]\nrate = [\"8M\"]\n";

    #[test]
    fn some_series_are_measured_without_the_others() {
        let mut plan = plan(&format!("control = \"series = load, rate = 2M\"\n{SERIES}"));
        plan.keep_series(&[]).unwrap();
        assert_eq!(plan.cells.len(), 6);
        plan.keep_series(&["load".to_owned()]).unwrap();
        assert_eq!((plan.cells.len(), plan.series.len()), (3, 1));
        assert_eq!(plan.control().unwrap().label, "series = load, rate = 2M");
        let error = plan.keep_series(&["tcp".to_owned()]).unwrap_err();
        assert_eq!(error.code, ExitCode::Usage);
        assert!(error.message.contains("it has load"), "{error}");
    }

    #[test]
    fn each_series_has_cells_of_its_own_factors_over_all_defaults() {
        let plan = plan(SERIES);
        let labels: Vec<_> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "series = tcp, direction = forward",
                "series = tcp, direction = reverse",
                "series = one",
                "series = load, rate = 1M",
                "series = load, rate = 2M",
                "series = load, rate = 4M",
            ]
        );
        let test = |cell: usize| match &plan.cells[cell].test {
            Test::Single(spec) => (spec.transport(), spec.pace()),
            other => panic!("{other:?}"),
        };
        assert_eq!(test(0), (Transport::Tcp, Pace::Unpaced));
        assert_eq!(test(2), (Transport::Udp, Pace::At("1M".parse().unwrap())));
        let settings = plan.settings();
        let named: Vec<_> = settings
            .series
            .iter()
            .map(|series| (series.name.as_str(), series.title.as_deref()))
            .collect();
        assert_eq!(
            named,
            [("tcp", Some("both roles")), ("one", None), ("load", None)]
        );
        let quick = plan.into_quick().unwrap();
        let labels: Vec<_> = quick.cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(labels, ["series = load, rate = 8M"]);
        assert_eq!(quick.cells[0].settings["time"], "1s");
    }

    #[test]
    fn series_that_are_wrong_are_refused() {
        for (rest, words) in [
            (
                "[factors]\npayload = [64]\n[series.a]\n",
                &["line 4", "[series.NAME.factors]", "payload"][..],
            ),
            ("[series.\"a, b\"]\n", &["line 3", "a, b", "letters"]),
            ("[series.a]\nfactor = 1\n", &["line 4", "factor"]),
            (
                "[series.a.defaults]\nkind = \"tcp\"\n[quick.series.b]\n",
                &["line 5", "[series.b]"],
            ),
        ] {
            refused(&format!("{HEAD}{rest}"), words);
        }
    }
}
