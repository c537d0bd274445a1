//! Purpose of an image: packages, and the kernel options that they need.
//!
//! The options of a profile are the kernel fragment of the Yocto layer `meta-linerate`, so that there is one list.

use std::collections::BTreeSet;

/// A list of packages and kernel options.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence for help.
    pub summary: &'static str,
    /// Debian packages, without their dependencies.
    pub(crate) packages: &'static [&'static str],
    /// A kernel fragment: lines `CONFIG_X=y`.
    pub(crate) fragment: &'static str,
}

/// Every profile. A new one is an entry here, and its fragment.
pub(crate) static ALL: &[Profile] = &[
    Profile {
        name: "measure",
        summary: "Programs that measure networks, and what they need of the kernel.",
        packages: &[
            "ethtool",
            "iperf",
            "iperf3",
            "iproute2",
            "iputils-ping",
            "linuxptp",
            "nuttcp",
            "procps",
            "rt-tests",
            "stress-ng",
            "sysstat",
            "tcpdump",
        ],
        fragment: include_str!(
            "../../../../yocto/meta-linerate/recipes-kernel/linux/files/measure.cfg"
        ),
    },
    Profile {
        name: "tracing",
        summary: "ftrace, kprobes, BPF, perf and latency tracers.",
        packages: &["bpftool", "bpftrace", "linux-perf", "strace", "trace-cmd"],
        fragment: include_str!(
            "../../../../yocto/meta-linerate/recipes-kernel/linux/files/tracing.cfg"
        ),
    },
];

impl Profile {
    /// The names of all profiles.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|profile| profile.name).collect()
    }

    /// The profile with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|profile| profile.name == name)
    }

    /// Its kernel options, in the fragment's order, without `CONFIG_`.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static str> {
        self.fragment.lines().filter_map(wanted)
    }
}

/// The option on a line of a fragment.
fn wanted(line: &str) -> Option<&str> {
    let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    matches!(value, "y" | "m").then_some(name)
}

/// Packages of several profiles, without duplicates.
pub(crate) fn packages<'a>(profiles: &[&'static Profile], more: &'a [String]) -> Vec<&'a str> {
    let own = profiles.iter().flat_map(|profile| profile.packages);
    let all: BTreeSet<&str> = own
        .copied()
        .chain(more.iter().map(String::as_str))
        .collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_fragment_is_a_comment_or_an_option_and_none_is_there_twice() {
        for profile in ALL {
            let mut seen = BTreeSet::new();
            for line in profile.fragment.lines() {
                let is_comment = line.is_empty() || line.starts_with("# ");
                assert!(
                    is_comment || wanted(line).is_some(),
                    "{}: {line}",
                    profile.name
                );
                assert!(
                    is_comment || seen.insert(line),
                    "{}: {line} twice",
                    profile.name
                );
            }
            assert!(profile.summary.ends_with('.'), "{}", profile.name);
            assert_eq!(Profile::find(profile.name), Some(profile));
        }
        assert_eq!(Profile::find("none"), None);
    }

    #[test]
    fn packages_of_several_profiles_are_there_once() {
        let both = [&ALL[0], &ALL[1]];
        let more = ["iperf3".to_owned(), "mtr-tiny".to_owned()];
        let all = packages(&both, &more);
        assert!(all.contains(&"iperf3") && all.contains(&"linux-perf"));
        assert!(all.contains(&"mtr-tiny"));
        let once: BTreeSet<_> = all.iter().collect();
        assert_eq!(once.len(), all.len());
    }
}
