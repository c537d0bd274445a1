//! Ways to wait for a message, by name: a wait mode of the traffic threads on a datapath.

use linerate_engine::datapaths;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{DatapathChoice, TestSpec, Transport, WaitMode};
use std::fmt;
use std::str::FromStr;

/// A mode that has a name.
#[derive(Debug, Clone)]
pub struct NamedMode {
    /// Its name: `spin`.
    pub name: &'static str,
    /// One sentence for help.
    pub summary: &'static str,
    /// The mode.
    pub mode: Mode,
}

/// How both ends of a ping-pong wait for the next message, and through what it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    label: String,
    wait: WaitMode,
    datapath: DatapathChoice,
}

impl Mode {
    /// Every mode of every datapath, in the order of help and reports.
    pub fn known() -> impl Iterator<Item = NamedMode> {
        datapaths::ALL.iter().flat_map(|kind| {
            let id = kind.id();
            kind.modes().into_iter().map(move |def| NamedMode {
                name: def.name,
                summary: def.summary,
                mode: Self::named(id, &def),
            })
        })
    }

    fn named(id: &str, def: &datapaths::ModeDef) -> Self {
        let param = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Self {
            label: def.name.to_owned(),
            wait: def.wait,
            datapath: DatapathChoice {
                id: id.to_owned(),
                params: def.params.iter().map(param).collect(),
            },
        }
    }

    /// The mode of a test; one that has no name is called after its parts.
    pub(crate) fn from_spec(spec: &TestSpec) -> Self {
        let same = |mode: &Self| mode.wait == spec.wait && mode.datapath == spec.datapath;
        let known = Self::known().map(|known| known.mode).find(same);
        known.unwrap_or_else(|| Self {
            label: format!("{}, {}", spec.datapath.id, spec.wait),
            wait: spec.wait,
            datapath: spec.datapath.clone(),
        })
    }

    /// Refuses a mode that this host lacks the means for, before anything is measured. The peer says of
    /// itself when it is asked.
    pub(crate) fn check_host(&self) -> Result<(), Failure> {
        let kind = datapaths::find(&self.datapath.id);
        let kind = kind.map_err(|error| Failure::new(ExitCode::Usage, error.to_string()))?;
        match kind.availability() {
            datapaths::Availability::Available => Ok(()),
            datapaths::Availability::Missing { why, remedy } => {
                let message = format!("--wait {self}: {why}; {remedy}");
                Err(Failure::new(ExitCode::HostLacks, message))
            }
        }
    }

    /// Its name on the command line and in labels of trials.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// How the traffic threads wait.
    pub const fn wait(&self) -> WaitMode {
        self.wait
    }

    /// What messages go through.
    pub const fn datapath(&self) -> &DatapathChoice {
        &self.datapath
    }
}

impl Default for Mode {
    /// What a ping-pong does unless it is told otherwise.
    fn default() -> Self {
        Self::from_spec(&TestSpec::ping_pong(Transport::Udp))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl FromStr for Mode {
    type Err = Failure;

    /// `block`, `spin`, `busy-poll`, or the name of a mode of another datapath.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let known = Self::known().find(|known| known.name == text);
        known.map(|known| known.mode).ok_or_else(|| {
            let names: Vec<_> = Self::known().map(|known| known.name).collect();
            let message = format!("--wait {text}: known are {}", names.join(", "));
            Failure::new(ExitCode::Usage, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_mode() {
        let names: Vec<_> = Mode::known().map(|known| known.name).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        for known in Mode::known() {
            assert_eq!(known.name.parse::<Mode>().unwrap(), known.mode);
            assert!(known.summary.ends_with('.'), "{known:?}");
        }
        let error = "doze".parse::<Mode>().unwrap_err();
        assert!(error.message.contains("block, spin, busy-poll"), "{error}");
    }

    #[test]
    fn a_test_knows_its_mode() {
        let mut spec = TestSpec::ping_pong(Transport::Udp);
        spec.wait = WaitMode::Spin;
        assert_eq!(Mode::from_spec(&spec).label(), "spin");
        spec.datapath.id = "loopback".to_owned();
        assert_eq!(Mode::from_spec(&spec).label(), "loopback, spin");
    }
}
