//! Settings that a single protocol has.

use std::collections::BTreeMap;

/// A setting of one protocol's servers, which `linerate serve` takes as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Kebab-case, unique among all protocols' settings and options; the option's name without `--`.
    pub name: &'static str,
    /// Placeholder of its value in help, in capitals.
    pub value: &'static str,
    /// One line for help, with the default.
    pub help: &'static str,
}

/// Values by the names of their settings, as the user wrote them.
pub type SettingValues = BTreeMap<String, String>;
