//! Entering the user namespace in which testbeds can be made without privileges.

use crate::{Result, TestbedError};
use linerate_sys::netns::{
    UserNamespaceError, enter_user_and_net_namespace, has_admin_capability, sysctl,
};

/// Moves this process into a new user namespace and network namespace, in which it may create hosts and links. Call it
/// first in `main`: it works only before any thread starts.
///
/// Where user namespaces are forbidden but the process may create network namespaces (real root), it stays where it is.
pub fn enter_user_namespace() -> Result<()> {
    match enter_user_and_net_namespace() {
        Ok(()) => Ok(()),
        Err(UserNamespaceError::Threads) => Err(TestbedError::Threads),
        Err(UserNamespaceError::Unshare(_)) if has_admin_capability() => Ok(()),
        Err(error) => Err(TestbedError::Unavailable {
            who: "an ordinary user",
            why: with_cause(&error),
            remedy: remedy(sysctl),
        }),
    }
}

fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Which setting forbids user namespaces, by the sysctls from `read`.
fn remedy(read: impl Fn(&str) -> Option<String>) -> String {
    let settings: Vec<String> = SWITCHES
        .iter()
        .filter(|(name, forbids, _)| read(name).as_deref() == Some(forbids))
        .map(|(name, _, wanted)| format!("sysctl -w {name}={wanted}"))
        .collect();
    if settings.is_empty() {
        return "in a container, allow unshare (seccomp) or run as root with CAP_SYS_ADMIN".into();
    }
    format!("as root: {}; or run as root", settings.join(" && "))
}

/// Sysctl, the value that forbids unprivileged user namespaces, and one that allows them.
const SWITCHES: [(&str, &str, &str); 3] = [
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_that_is_off_is_named() {
        let text = remedy(|name| {
            let off = name == "kernel.unprivileged_userns_clone";
            Some(if off { "0" } else { "31000" }.to_owned())
        });
        assert_eq!(
            text,
            "as root: sysctl -w kernel.unprivileged_userns_clone=1; or run as root"
        );
    }

    #[test]
    fn without_a_switch_a_container_is_likely() {
        assert!(remedy(|_| None).contains("container"));
    }
}
