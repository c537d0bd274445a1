//! Kernel options: which a profile needs, and how the kernel was built.

use super::Profile;
use serde::Serialize;
use std::collections::BTreeMap;

linerate_model::named_enum! {
    /// State of a kernel option.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum OptionState {
        /// Built in (`=y`).
        Present = "present",
        /// Module, loaded on demand (`=m`).
        Module = "module",
        /// Not built.
        Absent = "absent",
    }
}

/// A kernel option that a profile needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelOption {
    /// Its name without `CONFIG_`.
    pub name: &'static str,
    /// The profile that wants it.
    pub profile: &'static str,
    /// Its state in the kernel.
    pub state: OptionState,
}

/// State of the options that `profiles` need in a kernel built with `config`, which has the format of `.config`, as
/// Debian ships it beside its kernels and in `/proc/config.gz`.
pub fn kernel_options(profiles: &[&'static Profile], config: &str) -> Vec<KernelOption> {
    let set = set(config);
    let wanted = profiles.iter().flat_map(|profile| {
        let name = profile.name;
        profile.options().map(move |option| (name, option))
    });
    wanted
        .map(|(profile, name)| KernelOption {
            name,
            profile,
            state: match set.get(name) {
                Some(&"y") => OptionState::Present,
                Some(&"m") => OptionState::Module,
                _ => OptionState::Absent,
            },
        })
        .collect()
}

/// Options that are set; the others are comments, or missing.
fn set(config: &str) -> BTreeMap<&str, &str> {
    let lines = config.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
        Some((name, value.trim()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static PROFILE: Profile = Profile {
        name: "p",
        summary: "Some.",
        packages: &[],
        fragment: "# Some\nCONFIG_BPF=y\nCONFIG_BPF_SYSCALL=y\nCONFIG_VETH=y\nCONFIG_HZ=y\nCONFIG_NET=y\n",
    };

    #[test]
    fn an_option_is_present_a_module_or_absent() {
        let config =
            "CONFIG_BPF=y\n# CONFIG_BPF_SYSCALL is not set\nCONFIG_VETH=m\nCONFIG_HZ=250\n";
        let options = kernel_options(&[&PROFILE], config);
        let states: Vec<_> = options.iter().map(|o| (o.name, o.state)).collect();
        assert_eq!(
            states,
            [
                ("BPF", OptionState::Present),
                ("BPF_SYSCALL", OptionState::Absent),
                ("VETH", OptionState::Module),
                ("HZ", OptionState::Absent),
                ("NET", OptionState::Absent),
            ]
        );
    }

    #[test]
    fn a_longer_name_is_another_option() {
        let options = kernel_options(&[&PROFILE], "CONFIG_BPF_JIT=y\nCONFIG_NETDEVICES=y\n");
        assert!(options.iter().all(|o| o.state == OptionState::Absent));
    }
}
