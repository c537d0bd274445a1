//! `[quick]`: the short form of a plan, for a first look and for tests.

use super::series::{Factors, Values};
use super::{File, Places, StudyPlan};
use linerate_model::exit::{ExitCode, Failure};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// What the short form of a plan has in the place of what the whole one has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    repetitions: Option<Spanned<u32>>,
    #[serde(default)]
    defaults: Values,
    #[serde(default)]
    factors: Factors,
    #[serde(default)]
    series: BTreeMap<Spanned<String>, QuickSeries>,
}

/// What the short form of a series has in the place of what the whole one has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickSeries {
    #[serde(default)]
    defaults: Values,
    #[serde(default)]
    factors: Factors,
}

impl Quick {
    /// Makes of `file` its short form: of its series those that it names, if it names any. Budget and control are the whole
    /// plan's alone: cells that they name may be gone.
    pub(super) fn shorten(self, file: &mut File, place: Places<'_>) -> Result<(), Failure> {
        if let Some(repetitions) = self.repetitions {
            file.study.repetitions = repetitions;
        }
        file.study.budget = None;
        file.study.precision = None;
        file.study.control = None;
        if !self.series.is_empty() {
            file.series.retain(|name, _| self.series.contains_key(name));
        }
        for (name, short) in self.series {
            let Some(series) = file.series.get_mut(&name) else {
                let why = format!(
                    "quick: there is no [series.{}]",
                    name.get_ref().escape_debug()
                );
                return Err(place.fail(Some(name.span().start), &why));
            };
            replace(
                &mut series.defaults,
                &mut series.factors,
                short.defaults,
                short.factors,
            );
        }
        replace(
            &mut file.defaults,
            &mut file.factors,
            self.defaults,
            self.factors,
        );
        Ok(())
    }
}

/// Puts values and levels into the place of those of the same settings, whichever they were.
fn replace(defaults: &mut Values, factors: &mut Factors, values: Values, levels: Factors) {
    for (key, value) in values {
        factors.remove(&key);
        // The old key would stay with its own place in the file.
        defaults.remove(&key);
        defaults.insert(key, value);
    }
    for (key, levels) in levels {
        defaults.remove(&key);
        factors.remove(&key);
        factors.insert(key, levels);
    }
}

impl StudyPlan {
    /// Its short form.
    pub fn into_quick(self) -> Result<Self, Failure> {
        self.quick.map(|quick| *quick).ok_or_else(|| {
            let message =
                "--quick: the plan has no [quick] section, which says what its short form measures";
            Failure::new(ExitCode::Plan, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{HEAD, plan, refused};

    #[test]
    fn the_short_form_has_levels_of_its_own_and_no_cell_that_it_does_not_name() {
        let plan = StudyPlan::parse(
        "[study]\ntitle = \"t\"\nhost = \"10.0.0.2\"\nrepetitions = 5\ncontrol = \"payload = 100, rate = 2M\"\n\
         [defaults]\nkind = \"udp\"\ntime = \"2s\"\n[factors]\nrate = [\"1M\", \"2M\"]\npayload = [100, 200]\n\
         [quick]\nrepetitions = 1\n[quick.defaults]\npayload = 300\n[quick.factors]\nrate = [\"4M\", \"8M\", \"16M\"]",
    )
    .unwrap();
        assert_eq!((plan.cells.len(), plan.repetitions), (4, 5));
        let whole = plan.time();
        let quick = plan.into_quick().unwrap();
        let labels: Vec<_> = quick.cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(labels, ["rate = 4M", "rate = 8M", "rate = 16M"]);
        assert_eq!(quick.cells[0].settings["payload"], "300");
        assert_eq!((quick.title.as_str(), quick.runs()), ("t, quick", 3));
        assert!(quick.control().is_none() && quick.time() < whole);
    }

    #[test]
    fn a_short_form_that_is_wrong_or_missing_is_refused() {
        let text = format!(
            "{HEAD}[defaults]\nkind = \"udp\"\nrate = \"1M\"\n[quick.factors]\nrates = [\"1M\"]"
        );
        refused(&text, &[", line 7: ", "rates"]);
        let error = plan("[defaults]\nkind = \"tcp\"").into_quick().unwrap_err();
        assert_eq!(error.code, ExitCode::Plan);
        assert!(error.message.contains("[quick]"), "{error}");
    }
}
