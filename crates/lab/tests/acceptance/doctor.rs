//! `doctor --apply` and `--restore` on the real kernel, in a network namespace: queueing discipline, sysctls of
//! the namespace, and interrupt coalescing of a device that has it (a tap).
//!
//! Only checks whose settings belong to the namespace are made, so the machine itself is not touched. Compared
//! is what `tc` and the kernel's own files show, not what linerate read.

use linerate_doctor::{Action, DoctorPlan, doctor};
use linerate_model::doctor::{ChangeMade, ChangeResult, Examination};
use linerate_model::knob::CoalescingPart;
use linerate_sys::ethtool::Ethtool;
use linerate_sys::host_files::HostFiles;
use linerate_sys::netlink::InterfaceName;
use linerate_testbed::{HostId, Link, TwoHosts};
use linerate_testkit::namespaces::not_run;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

const TCP_RMEM: &str = "/proc/sys/net/ipv4/tcp_rmem";

/// Runs `work` on a host of its own whose interface is eth0.
fn on_a_host(work: impl FnOnce(&Path) + Send + 'static) {
    let hosts = TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap();
    let inside = move || {
        let dir = tempfile::tempdir().unwrap();
        work(&dir.path().join("undo.jsonl"));
    };
    let thread = hosts.host(HostId::A).spawn("doctor", inside).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
    hosts.close().unwrap();
}

fn run(command: &str) -> String {
    let words: Vec<_> = command.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.unwrap_or_else(|error| not_run(format!("{command}: {error}")));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn examine(undo: &Path, interface: &str, only: &str, action: Action) -> Examination {
    let plan = DoctorPlan {
        root: HostFiles::new(Path::new("/")),
        interface: Some(interface.to_owned()),
        core: None,
        only: vec![only.to_owned()],
        action,
        force: false,
        undo: undo.to_owned(),
        jitter: None,
    };
    doctor(&plan, &AtomicBool::new(false)).unwrap()
}

#[track_caller]
fn all(result: ChangeResult, changes: &[ChangeMade]) {
    assert!(!changes.is_empty());
    assert!(
        changes.iter().all(|made| made.result == result),
        "{changes:?}"
    );
}

/// Applies, sees that `show` changed, restores, and sees that it is as it was.
fn there_and_back(undo: &Path, interface: &str, only: &str, show: impl Fn() -> String) {
    let before = show();
    all(
        ChangeResult::Changed,
        &examine(undo, interface, only, Action::Apply).changes,
    );
    assert_ne!(show(), before);
    assert!(undo.exists());
    all(
        ChangeResult::Restored,
        &examine(undo, interface, only, Action::Restore).changes,
    );
    assert_eq!(show(), before);
    assert!(!undo.exists());
}

/// Kind, handle and parameters.
fn qdisc() -> String {
    run("tc -d qdisc show dev eth0 root")
}

pub(crate) fn a_queueing_discipline_with_its_parameters_comes_back() {
    on_a_host(|undo| {
        // Kinds that every kernel has.
        run("tc qdisc add dev eth0 root handle 77: pfifo limit 123");
        there_and_back(undo, "eth0", "qdisc", qdisc);
        // A handle that the kernel chooses.
        run("tc qdisc replace dev eth0 root bfifo limit 45678");
        there_and_back(undo, "eth0", "qdisc", qdisc);
    });
}

pub(crate) fn a_sysctl_of_the_namespace_comes_back() {
    on_a_host(|undo| {
        std::fs::write(TCP_RMEM, "4096 87380 200000").unwrap();
        let show = || std::fs::read_to_string(TCP_RMEM).unwrap();
        let before = show();
        let applied = examine(undo, "eth0", "buffers", Action::Apply);
        let ours = |made: &&ChangeMade| made.knob.to_string().contains("tcp_rmem");
        let made = applied.changes.iter().find(ours).unwrap();
        assert_eq!(made.result, ChangeResult::Changed, "{made:?}");
        assert!(show().ends_with("\t6291456\n"), "{}", show());
        examine(undo, "eth0", "buffers", Action::Restore);
        assert_eq!(show(), before);
        assert!(!undo.exists());
    });
}

pub(crate) fn coalescing_comes_back() {
    on_a_host(|undo| {
        if !Path::new("/dev/net/tun").exists() {
            not_run("this machine has no /dev/net/tun, so no device here has coalescing");
        }
        run("ip tuntap add dev tap0 mode tap");
        let name = InterfaceName::new("tap0").unwrap();
        let ethtool = Ethtool::new().unwrap();
        let frames = CoalescingPart::RxFrames;
        ethtool.set_coalescing(&name, frames, 48).unwrap();
        let show = || {
            Ethtool::new()
                .unwrap()
                .coalescing(&name, frames)
                .unwrap()
                .to_string()
        };
        there_and_back(undo, "tap0", "coalescing", show);
        assert_eq!(ethtool.coalescing(&name, frames).unwrap(), 48);
    });
}

pub(crate) fn chains_of_a_firewall_are_seen() {
    on_a_host(|undo| {
        let fine = examine(undo, "eth0", "firewall", Action::Look);
        let said = serde_json::to_string(&fine.checks).unwrap();
        assert!(said.contains("\"fine\""), "{said}");
        run("nft add table inet filter");
        run("nft add chain inet filter input { type filter hook input priority 0 ; }");
        run("nft add chain inet filter beside");
        let found = examine(undo, "eth0", "firewall", Action::Look);
        let said = serde_json::to_string(&found.checks).unwrap();
        assert!(
            said.contains("chains of nftables: inet filter input"),
            "{said}"
        );
    });
}
