//! A protocol from the registry, or with its own settings.

use crate::session::PeerKind;
use crate::settings::SettingValues;
use std::ops::Deref;
use std::sync::Arc;

/// A protocol of [`ALL`](crate::ALL), or one with its own settings.
#[derive(Clone)]
pub enum Protocol {
    /// With default settings.
    Listed(&'static dyn PeerKind),
    /// With its own settings.
    Set(Arc<dyn PeerKind>),
}

impl Protocol {
    /// Applies those of `values` that are settings of `kind`'s servers; the error says which value is invalid and what
    /// to do.
    pub fn with(kind: &'static dyn PeerKind, values: &SettingValues) -> Result<Self, String> {
        let settings = kind.about().settings;
        let own = |name: &String| settings.iter().any(|known| known.name == *name);
        let own: SettingValues = values
            .iter()
            .filter(|(name, _)| own(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if own.is_empty() {
            return Ok(Self::Listed(kind));
        }
        kind.with_settings(&own).map(Self::Set)
    }
}

impl Deref for Protocol {
    type Target = dyn PeerKind;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Listed(kind) => *kind,
            Self::Set(kind) => kind.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Setting;
    use linerate_model::BitRate;
    use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
    use std::collections::BTreeSet;
    use std::time::Duration;

    fn all() -> impl Iterator<Item = &'static Setting> {
        crate::ALL.iter().flat_map(|kind| kind.about().settings)
    }

    #[test]
    fn names_are_unique_kebab_case_and_explained() {
        let names: BTreeSet<_> = all().map(|setting| setting.name).collect();
        assert_eq!(names.len(), all().count());
        for setting in all() {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(setting.name.chars().all(fits), "{setting:?}");
            assert!(!setting.help.is_empty() && !setting.help.contains('\n'));
        }
    }

    #[test]
    fn a_protocol_takes_its_own_settings_only() {
        let values: SettingValues = all()
            .map(|setting| (setting.name.to_owned(), String::new()))
            .collect();
        for kind in crate::ALL {
            let set = Protocol::with(*kind, &values);
            match set {
                Ok(Protocol::Listed(_)) => {
                    assert!(kind.about().settings.is_empty(), "{}", kind.id());
                }
                Ok(Protocol::Set(_)) | Err(_) => {
                    assert!(!kind.about().settings.is_empty(), "{}", kind.id());
                }
            }
            let plain = Protocol::with(*kind, &SettingValues::new());
            assert_eq!(plain.ok().map(|plain| plain.id()), Some(kind.id()));
        }
    }

    #[test]
    fn no_other_tool_counts_connections() {
        for kind in crate::ALL {
            let refused = kind.check(&TestSpec::tcp_crr()).err();
            assert_eq!(refused.is_some(), kind.about().is_foreign, "{}", kind.id());
            let why = refused.unwrap_or_else(|| "`linerate serve`".to_owned());
            assert!(why.contains("`linerate serve`"), "{why}");
        }
    }

    #[test]
    fn a_protocol_takes_the_times_that_a_test_is_fitted_with() {
        let whole = Duration::from_secs(1);
        for base in [
            TestSpec::tcp_bulk(),
            TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(1_000_000))),
        ] {
            for direction in [Direction::Forward, Direction::Reverse] {
                for (warm_up, time) in [(0, 200), (500, 1000), (500, 200)] {
                    let test = |warm_up, time| TestSpec {
                        direction,
                        warm_up,
                        stop: Stop::After(time),
                        ..base.clone()
                    };
                    let (warm_up, time) =
                        (Duration::from_millis(warm_up), Duration::from_millis(time));
                    for kind in crate::ALL {
                        let fitted = kind.fitted(test(warm_up, time));
                        let Stop::After(longer) = fitted.stop else {
                            panic!("{}: {fitted:?}", kind.id());
                        };
                        assert!(fitted.warm_up >= warm_up && longer >= time, "{}", kind.id());
                        assert!(fitted.warm_up <= whole && longer <= whole, "{}", kind.id());
                        let most = if warm_up.is_zero() { warm_up } else { whole };
                        let takes_any = kind.check(&test(most, whole));
                        assert_eq!(kind.check(&fitted), takes_any, "{}", kind.id());
                    }
                }
            }
        }
    }
}
