use super::*;
use crate::testing::write;
use linerate_model::condition::CoreSet;
use linerate_sys::host_files::HostFiles;

/// A host of two cores with what a virtual machine lacks.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let cpu = "sys/devices/system/cpu";
    let nic = "sys/class/net/eth0";
    for (path, text) in [
        (format!("{cpu}/online"), "0-1\n"),
        (format!("{cpu}/isolated"), "\n"),
        (format!("{cpu}/nohz_full"), "(null)\n"),
        (format!("{cpu}/cpufreq/boost"), "1\n"),
        (
            format!("{cpu}/cpufreq/policy0/scaling_governor"),
            "schedutil\n",
        ),
        (
            format!("{cpu}/cpufreq/policy0/scaling_available_governors"),
            "performance schedutil \n",
        ),
        (
            format!("{cpu}/cpufreq/policy0/scaling_cur_freq"),
            "1200000\n",
        ),
        (
            format!("{cpu}/cpufreq/policy0/cpuinfo_max_freq"),
            "3600000\n",
        ),
        (format!("{cpu}/cpuidle/current_driver"), "intel_idle\n"),
        (format!("{cpu}/cpu1/cpuidle/state0/name"), "C6\n"),
        (format!("{cpu}/cpu1/cpuidle/state0/latency"), "133\n"),
        (format!("{cpu}/cpu1/cpuidle/state0/disable"), "0\n"),
        (format!("{cpu}/cpu0/topology/thread_siblings_list"), "0-1\n"),
        (format!("{cpu}/cpu1/topology/thread_siblings_list"), "0-1\n"),
        ("sys/devices/system/node/node0/cpulist".to_owned(), "0-1\n"),
        ("sys/devices/system/node/node0/distance".to_owned(), "10\n"),
        ("proc/stat".to_owned(), "cpu  10 0 10 75 0 0 0 5 0 0\n"),
        (
            "proc/interrupts".to_owned(),
            "           CPU0       CPU1\n 38:  4  1  PCI-MSIX  1-edge  eth0-rx-0\n",
        ),
        ("proc/irq/38/smp_affinity_list".to_owned(), "0-1\n"),
        ("proc/irq/38/effective_affinity_list".to_owned(), "1\n"),
        ("proc/17/comm".to_owned(), "irqbalance\n"),
        ("proc/sys/net/core/rmem_max".to_owned(), "212992\n"),
        (
            "proc/sys/net/ipv4/tcp_rmem".to_owned(),
            "4096\t131072\t6291456\n",
        ),
        ("etc/tuned/active_profile".to_owned(), "balanced\n"),
        (format!("{nic}/mtu"), "1500\n"),
        (format!("{nic}/speed"), "10000\n"),
        (format!("{nic}/device/numa_node"), "0\n"),
    ] {
        write(root.path(), path, text);
    }
    root
}

fn scope(root: &tempfile::TempDir) -> Scope {
    Scope {
        interface: Some("eth0".to_owned()),
        beside: Vec::new(),
        root: HostFiles::new(root.path()),
    }
}

#[test]
fn what_the_files_of_a_host_tell_is_known() {
    let root = tree();
    let seen = condition(&scope(&root), Some(1));
    assert_eq!(seen.cores, Ok(CoreSet::from_iter([0, 1])));
    let clocks = seen.clocks.unwrap();
    assert_eq!(
        (clocks[0].governor.as_str(), clocks[0].now_hz),
        ("schedutil", Some(1_200_000_000))
    );
    assert_eq!(clocks[0].offered, ["performance", "schedutil"]);
    assert_eq!(seen.boost, Ok(true));
    let states = seen.idle_states.unwrap();
    assert_eq!(
        (states.len(), states[0].core, states[0].exit_us),
        (1, 1, 133)
    );
    assert_eq!(
        (seen.isolated, seen.tickless),
        (Ok(CoreSet::default()), Ok(CoreSet::default()))
    );
    let interrupts = seen.interrupts.unwrap();
    assert_eq!(
        (interrupts[0].number, interrupts[0].name.as_str()),
        (38, "eth0-rx-0")
    );
    assert_eq!(interrupts[0].effective, Some(CoreSet::from_iter([1])));
    assert_eq!(seen.irqbalance, Ok(true));
    assert_eq!(seen.siblings.unwrap().len(), 1);
    assert_eq!(seen.nodes.unwrap()[0].distances, [10]);
    assert_eq!(seen.nic_node, Ok(Some(0)));
    assert!((seen.stolen.unwrap().get() - 0.05).abs() < 1e-9);
    assert_eq!(
        seen.sysctl["net.ipv4.tcp_rmem"],
        Ok("4096 131072 6291456".to_owned())
    );
    assert_eq!(seen.mtu_bytes, Ok(1500));
    assert_eq!(seen.link_speed.unwrap().bps(), 10_000_000_000);
    assert_eq!(seen.tuned, Ok(Some("balanced".to_owned())));
}

#[test]
fn what_only_the_running_kernel_tells_is_unknown_with_the_reason() {
    let root = tree();
    let seen = condition(&scope(&root), None);
    let reasons = [
        seen.coalescing.unwrap_err(),
        seen.rings.unwrap_err(),
        seen.offloads.unwrap_err(),
        seen.qdisc.unwrap_err(),
        seen.firewall.unwrap_err(),
        seen.wake_limit_us.unwrap_err(),
        seen.busy.unwrap_err(),
    ];
    for reason in reasons {
        assert!(reason.contains("live host"), "{reason}");
    }
}

#[test]
fn an_empty_host_has_a_reason_for_everything_and_garbage_gives_no_value() {
    let root = tempfile::tempdir().unwrap();
    let seen = condition(&scope(&root), None);
    for reason in [
        seen.cores.unwrap_err(),
        seen.clocks.unwrap_err(),
        seen.boost.unwrap_err(),
        seen.idle_states.unwrap_err(),
        seen.interrupts.unwrap_err(),
        seen.irqbalance.unwrap_err(),
        seen.stolen.unwrap_err(),
        seen.clock.unwrap_err(),
        seen.mtu_bytes.unwrap_err(),
    ] {
        assert!(!reason.is_empty());
    }
    assert_eq!(seen.tuned, Ok(None));
    let root = tree();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-4294967295\n"),
        ("proc/irq/38/smp_affinity_list", "all\n"),
        (
            "sys/devices/system/cpu/cpu1/cpuidle/state0/latency",
            "soon\n",
        ),
        ("proc/stat", "cpu  1 2 3\n"),
    ] {
        std::fs::write(root.path().join(path), text).unwrap();
    }
    let seen = condition(&scope(&root), None);
    assert!(seen.cores.is_err() && seen.interrupts.is_err());
    assert!(seen.idle_states.is_err() && seen.stolen.is_err());
}

#[test]
fn the_running_host_is_read_without_failing() {
    let seen = condition(&Scope::live(Some("lo".to_owned())), None);
    assert!(seen.cores.is_ok());
    assert!(seen.stolen.is_ok());
    assert!(seen.busy.is_ok(), "{:?}", seen.busy);
    assert!(seen.offloads.is_ok(), "{:?}", seen.offloads);
}
