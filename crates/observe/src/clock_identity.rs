//! Identity of this process's clock: two ends that read the same clock need no estimate of their offset.

use crate::blind::{Salt, blind, salted, unsalted};
use linerate_model::one_way::ClockIdentity;
use linerate_sys::host_files::HostFiles;

/// Identity of the clock of this process, with its known resolution; `None` if the system does not report its boot id.
///
/// `CLOCK_MONOTONIC` is common to all processes of a running kernel, except those in another time namespace, which may
/// see an offset. Where a kernel has no time namespaces, its boot id is enough.
pub(crate) fn clock_identity(resolution_ns: u64) -> Option<ClockIdentity> {
    identity(&HostFiles::live(), resolution_ns)
}

fn identity(host: &HostFiles, resolution_ns: u64) -> Option<ClockIdentity> {
    let boot = host.boot_id()?;
    let space = host.link("proc/self/ns/time");
    let space = space.map_or_else(|_| String::new(), |link| link.display().to_string());
    Some(ClockIdentity {
        domain: blind("clock", &format!("{boot} {space}")),
        resolution_ns,
    })
}

/// Hides which clock it is, as the boot is [hidden](crate::hide).
pub(crate) fn hide_clock(clock: &mut ClockIdentity, salt: Salt) {
    clock.domain = salted(&clock.domain, salt);
}

/// Writes a peer's `clock`, if it is this process's own, as it is written of this process.
pub fn recognise_clock(clock: &mut ClockIdentity) {
    let own = || Some(clock_identity(clock.resolution_ns)?.domain);
    if let Some(own) = unsalted(&clock.domain, own) {
        clock.domain = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_boot_and_time_namespace_read_one_clock() {
        let of = |boot: &str, space: &str| {
            let root = tempfile::tempdir().unwrap();
            let proc = root.path().join("proc");
            std::fs::create_dir_all(proc.join("sys/kernel/random")).unwrap();
            std::fs::create_dir_all(proc.join("self/ns")).unwrap();
            std::fs::write(proc.join("sys/kernel/random/boot_id"), boot).unwrap();
            std::os::unix::fs::symlink(space, proc.join("self/ns/time")).unwrap();
            identity(&HostFiles::new(root.path()), 1)
        };
        assert_eq!(of("a\n", "time:[1]"), of("a\n", "time:[1]"));
        assert_ne!(of("a\n", "time:[1]"), of("a\n", "time:[2]"));
        assert_ne!(of("a\n", "time:[1]"), of("b\n", "time:[1]"));
        assert_eq!(of("\n", "time:[1]"), None);
        assert_eq!(
            identity(&HostFiles::new(std::path::Path::new("/no-such-root")), 1),
            None
        );
    }

    #[test]
    fn who_shows_no_key_recognises_its_own_clock_and_no_other() {
        let own = clock_identity(1).unwrap();
        let hidden = |domain: &str, salt: Salt| {
            let mut clock = own.clone();
            domain.clone_into(&mut clock.domain);
            hide_clock(&mut clock, salt);
            clock
        };
        let mut here = hidden(&own.domain, [1; 8]);
        assert!(!here.domain.contains(&own.domain));
        assert_ne!(here, hidden(&own.domain, [2; 8]));
        recognise_clock(&mut here);
        assert_eq!(here, own);
        let mut there = hidden(&blind("clock", "another"), [1; 8]);
        let before = there.clone();
        recognise_clock(&mut there);
        assert_eq!(there, before);
    }
}
