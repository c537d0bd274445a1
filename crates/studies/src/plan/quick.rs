//! `[quick]`: the short form of a plan, for a first look and for tests.

use super::{File, StudyPlan};
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
    defaults: BTreeMap<Spanned<String>, Spanned<toml::Value>>,
    #[serde(default)]
    factors: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<toml::Value>>>>,
}

impl Quick {
    /// Makes of `file` its short form. Budget and control are the whole plan's alone: cells that they name may be gone.
    pub(super) fn shorten(self, file: &mut File) {
        if let Some(repetitions) = self.repetitions {
            file.study.repetitions = repetitions;
        }
        file.study.budget = None;
        file.study.precision = None;
        file.study.control = None;
        for (key, value) in self.defaults {
            file.factors.remove(&key);
            // The old key would stay with its own place in the file.
            file.defaults.remove(&key);
            file.defaults.insert(key, value);
        }
        for (key, levels) in self.factors {
            file.defaults.remove(&key);
            file.factors.remove(&key);
            file.factors.insert(key, levels);
        }
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
