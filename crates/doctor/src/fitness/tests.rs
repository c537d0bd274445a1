use super::*;
use linerate_model::condition::{
    self as seen, ClockPolicy, ClockSource, CoreSet, IdleState, Interrupt, Node, RootQdisc,
};
use linerate_model::{BitRate, Ratio};
use std::collections::{BTreeMap, BTreeSet};

fn cores(text: &str) -> CoreSet {
    CoreSet::parse(text).unwrap()
}

fn sysctls(values: &[(&str, &str)]) -> BTreeMap<String, ReadResult<String>> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), Ok((*value).to_owned()));
    values.iter().map(own).collect()
}

/// A host on which nothing is to be found.
#[expect(clippy::too_many_lines, reason = "one value, spelled out")]
fn good() -> Condition {
    Condition {
        core: Some(3),
        interface: Ok("eth0".to_owned()),
        cores: Ok(cores("0-3")),
        clocks: Ok(vec![ClockPolicy {
            number: 0,
            governor: "performance".to_owned(),
            offered: vec!["performance".to_owned(), "schedutil".to_owned()],
            now_hz: Some(3_600_000_000),
            max_hz: Some(3_600_000_000),
        }]),
        boost: Ok(false),
        idle_states: Ok(vec![IdleState {
            core: 0,
            state: 1,
            name: "C1".to_owned(),
            exit_us: 2,
            is_allowed: true,
        }]),
        wake_limit_us: Ok(2_000_000_000),
        isolated: Ok(cores("3")),
        tickless: Ok(cores("3")),
        interrupts: Ok(vec![interrupt(38, "0", Some("0"))]),
        irqbalance: Ok(false),
        coalescing: Ok(seen::Coalescing {
            is_adaptive: false,
            rx_usecs: 0,
            rx_frames: 1,
        }),
        rings: Ok(seen::Rings {
            rx: 1024,
            rx_max: 4096,
            tx: 512,
            tx_max: 512,
        }),
        offloads: Ok(seen::Offloads {
            generic_receive: true,
            generic_segmentation: true,
            large_receive: false,
            receive_checksum: true,
            tcp_segmentation: true,
            transmit_checksum: true,
        }),
        qdisc: Ok(RootQdisc {
            kind: "pfifo_fast".to_owned(),
            is_default: true,
        }),
        firewall: Ok(seen::Firewall::default()),
        nic_node: Ok(Some(0)),
        nodes: Ok(vec![node(0, "0-3", [10, 21]), node(1, "4-7", [21, 10])]),
        siblings: Ok(Vec::new()),
        stolen: Ok(Ratio::ZERO),
        busy: Ok(Ratio::clamped(0.02)),
        clock: Ok(ClockSource {
            current: "tsc".to_owned(),
            available: vec!["tsc".to_owned(), "hpet".to_owned()],
            reading_ns: Some(24),
        }),
        sysctl: sysctls(&[
            ("kernel.kptr_restrict", "0"),
            ("kernel.numa_balancing", "0"),
            ("kernel.perf_event_paranoid", "-1"),
            ("net.core.busy_poll", "50"),
            ("net.core.busy_read", "50"),
            ("net.core.default_qdisc", "fq_codel"),
            ("net.core.rmem_max", "16777216"),
            ("net.core.wmem_max", "16777216"),
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ]),
        mtu_bytes: Ok(1500),
        link_speed: Ok(BitRate::from_bps(10_000_000_000)),
        tuned: Ok(Some("network-latency".to_owned())),
        tracing: Ok(seen::Tracing {
            has_types: true,
            tracer: None,
            is_privileged: false,
        }),
    }
}

fn interrupt(number: u32, allowed: &str, effective: Option<&str>) -> Interrupt {
    Interrupt {
        number,
        name: format!("eth0-{number}"),
        allowed: cores(allowed),
        effective: effective.map(cores),
    }
}

fn node(number: u32, list: &str, distances: [u32; 2]) -> Node {
    Node {
        number,
        cores: cores(list),
        distances: distances.to_vec(),
    }
}

/// A host as it comes, with everything to be found.
#[expect(clippy::too_many_lines, reason = "one value, spelled out")]
fn bad() -> Condition {
    Condition {
        core: Some(5),
        cores: Ok(cores("0-7")),
        clocks: Ok(vec![ClockPolicy {
            governor: "schedutil".to_owned(),
            now_hz: Some(1_200_000_000),
            ..good().clocks.unwrap().remove(0)
        }]),
        boost: Ok(true),
        idle_states: Ok(vec![IdleState {
            core: 5,
            state: 3,
            name: "C6".to_owned(),
            exit_us: 133,
            is_allowed: true,
        }]),
        isolated: Ok(CoreSet::default()),
        tickless: Err("no such file".to_owned()),
        interrupts: Ok(vec![
            interrupt(38, "0-7", Some("2")),
            interrupt(39, "5", Some("5")),
        ]),
        irqbalance: Ok(true),
        coalescing: Ok(seen::Coalescing {
            is_adaptive: true,
            rx_usecs: 50,
            rx_frames: 0,
        }),
        rings: Ok(seen::Rings {
            rx: 256,
            rx_max: 4096,
            tx: 256,
            tx_max: 4096,
        }),
        offloads: Ok(seen::Offloads::default()),
        qdisc: Ok(RootQdisc {
            kind: "fq_codel".to_owned(),
            is_default: true,
        }),
        firewall: Ok(seen::Firewall {
            chains: vec!["inet filter input".to_owned()],
            legacy_tables: Vec::new(),
            tracked_connections: Some(12),
        }),
        siblings: Ok(vec![cores("1,5")]),
        stolen: Ok(Ratio::clamped(0.03)),
        busy: Ok(Ratio::clamped(0.76)),
        clock: Ok(ClockSource {
            current: "hpet".to_owned(),
            available: vec!["tsc".to_owned(), "hpet".to_owned()],
            reading_ns: Some(1_100),
        }),
        sysctl: sysctls(&[
            ("kernel.kptr_restrict", "1"),
            ("kernel.numa_balancing", "1"),
            ("kernel.perf_event_paranoid", "2"),
            ("net.core.busy_poll", "0"),
            ("net.core.busy_read", "0"),
            ("net.core.default_qdisc", "fq_codel"),
            ("net.core.rmem_max", "212992"),
            ("net.core.wmem_max", "212992"),
            ("net.ipv4.tcp_rmem", "4096 131072 200000"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ]),
        mtu_bytes: Ok(1420),
        tuned: Ok(Some("balanced".to_owned())),
        ..good()
    }
}

fn outcome(id: &str, condition: &Condition) -> CheckOutcome {
    examine(condition, &[id.to_owned()]).remove(0).outcome
}

fn finding(id: &str, condition: &Condition) -> Finding {
    match outcome(id, condition) {
        CheckOutcome::Found { finding } => finding,
        other => panic!("{id}: {other:?}"),
    }
}

/// The settings of a finding: what, and to which value.
fn settings(id: &str, condition: &Condition) -> Vec<(String, String)> {
    let settings = finding(id, condition).settings;
    let said = settings.into_iter().map(|s| (s.knob.to_string(), s.value));
    said.collect()
}

fn pair(knob: &str, value: &str) -> (String, String) {
    (knob.to_owned(), value.to_owned())
}

#[test]
fn names_are_unique_and_kebab_case_and_summaries_are_sentences() {
    let ids: BTreeSet<_> = ALL.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), ALL.len());
    for check in ALL {
        let id = check.id;
        assert!(
            id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{id}"
        );
        assert!(check.summary.ends_with('.'), "{id}");
    }
}

#[test]
fn every_check_is_in_the_guide() {
    let text = include_str!("../../../../docs/guide/doctor.md");
    for check in ALL {
        assert!(
            text.contains(&format!("| `{}` |", check.id)),
            "{}",
            check.id
        );
    }
}

#[test]
fn every_check_passes_a_good_host_finds_a_bad_one_and_passes_nothing_unseen() {
    let unknown = Condition::unknown("it is dark");
    for check in ALL {
        let id = check.id;
        let good = outcome(id, &good());
        assert!(matches!(good, CheckOutcome::Fine { .. }), "{id}: {good:?}");
        let finding = finding(id, &bad());
        for text in [&finding.now, &finding.cost, &finding.set] {
            assert!(!text.is_empty(), "{id}: {finding:?}");
        }
        let unseen = outcome(id, &unknown);
        assert!(
            matches!(unseen, CheckOutcome::NotChecked { .. }),
            "{id}: {unseen:?}"
        );
    }
}

#[test]
fn the_worst_comes_first_and_what_was_not_checked_before_what_is_well() {
    let mut host = bad();
    host.mtu_bytes = Ok(1500);
    host.tuned = Err("dark".to_owned());
    let checked = examine(&host, &[]);
    assert_eq!(checked.len(), ALL.len());
    assert!(checked.is_sorted_by_key(|check| rank(&check.outcome)));
    assert!(
        matches!(&checked[0].outcome, CheckOutcome::Found { finding } if finding.severity == Severity::High)
    );
    let last: Vec<_> = checked
        .iter()
        .rev()
        .take(2)
        .map(|check| check.id.as_str())
        .collect();
    assert_eq!(last, ["mtu", "tuned"]);
}

#[test]
fn idle_states_that_a_process_forbids_cost_nothing() {
    let mut host = bad();
    assert!(finding("c-states", &host).cost.contains("133 µs"));
    assert_eq!(
        settings("c-states", &host),
        [pair("ban on idle state 3 of core 5", "1")]
    );
    host.wake_limit_us = Ok(0);
    assert!(
        matches!(outcome("c-states", &host), CheckOutcome::Fine { now } if now.contains("cpu_dma_latency"))
    );
    host.wake_limit_us = Err("only root".to_owned());
    finding("c-states", &host);
}

#[test]
fn a_slow_core_s_cost_is_the_ratio_of_its_frequencies() {
    let cost = finding("governor", &bad()).cost;
    assert!(
        cost.contains("33 %") && cost.contains("3.0 times"),
        "{cost}"
    );
    assert_eq!(
        settings("governor", &bad()),
        [pair("governor of cpufreq policy 0", "performance")]
    );
    let mut host = bad();
    host.clocks.as_mut().unwrap()[0].offered = vec!["schedutil".to_owned()];
    assert_eq!(
        settings("governor", &host),
        [],
        "nothing that the kernel does not offer"
    );
}

#[test]
fn interrupts_stay_where_they_are_unless_that_core_is_to_measure() {
    let settings = settings("irq-affinity", &bad());
    assert_eq!(
        settings,
        [
            pair("cores of interrupt 38", "2"),
            pair("cores of interrupt 39", "0")
        ]
    );
    let mut host = bad();
    host.isolated = Ok(cores("0-1"));
    let elsewhere = self::settings("irq-affinity", &host);
    assert_eq!(
        elsewhere[1],
        pair("cores of interrupt 39", "2"),
        "never on an isolated core"
    );
    host.interrupts = Ok(Vec::new());
    assert!(matches!(
        outcome("irq-affinity", &host),
        CheckOutcome::NotChecked { .. }
    ));
}

#[test]
fn coalescing_is_switched_off_before_its_time_is_set_and_never_to_no_interrupt_at_all() {
    assert_eq!(
        settings("coalescing", &bad()),
        [
            pair("coalescing adaptive-rx of eth0", "0"),
            pair("coalescing rx-usecs of eth0", "0")
        ]
    );
    let mut host = good();
    host.coalescing = Ok(seen::Coalescing {
        rx_frames: 64,
        ..seen::Coalescing::default()
    });
    assert_eq!(
        settings("coalescing", &host),
        [pair("coalescing rx-frames of eth0", "1")]
    );
}

#[test]
fn what_resets_the_link_or_weakens_something_takes_the_user_s_word() {
    for id in ["rings", "busy-poll", "tracing"] {
        let settings = finding(id, &bad()).settings;
        assert!(!settings.is_empty(), "{id}");
        assert!(settings.iter().all(|s| s.consent == Consent::Named), "{id}");
    }
    // 256 frames of 1538 bytes at 10 Gbit/s.
    assert!(finding("rings", &bad()).cost.contains("315 µs"));
}

#[test]
fn a_discipline_is_replaced_only_if_it_can_be_put_back() {
    let mut host = bad();
    let plain = [pair("queueing discipline of eth0", "pfifo_fast")];
    assert_eq!(settings("qdisc", &host), plain);
    let with = |kind: &str, is_default| {
        let mut host = bad();
        host.qdisc = Ok(RootQdisc {
            kind: kind.to_owned(),
            is_default,
        });
        host
    };
    assert_eq!(settings("qdisc", &with("fq_codel", false)), plain);
    assert_eq!(settings("qdisc", &with("pfifo", false)), plain);
    assert_eq!(settings("qdisc", &with("fq", false)), []);
    assert_eq!(settings("qdisc", &with("mq", true)), []);
    let netem = finding("qdisc", &with("netem", false));
    assert_eq!((netem.severity, netem.settings.len()), (Severity::High, 0));
    host.qdisc = with("mq", true).qdisc;
    host.sysctl.insert(
        "net.core.default_qdisc".to_owned(),
        Ok("pfifo_fast".to_owned()),
    );
    assert!(matches!(outcome("qdisc", &host), CheckOutcome::Fine { .. }));
}

#[test]
fn small_buffers_keep_their_other_numbers_and_hidden_ones_are_not_passed() {
    let said = settings("buffers", &bad());
    assert!(
        said.contains(&pair("sysctl net.core.rmem_max", "16777216")),
        "{said:?}"
    );
    assert!(
        said.contains(&pair("sysctl net.ipv4.tcp_rmem", "4096 131072 6291456")),
        "{said:?}"
    );
    assert_eq!(said.len(), 3);
    // 212 992 bytes at 10 Gbit/s; 200 000 bytes in 10 ms.
    let cost = finding("buffers", &bad()).cost;
    assert!(
        cost.contains("170 µs") && cost.contains("160 Mbit/s"),
        "{cost}"
    );
    let mut host = good();
    host.sysctl
        .insert("net.core.rmem_max".to_owned(), Err("hidden".to_owned()));
    assert!(
        matches!(outcome("buffers", &host), CheckOutcome::NotChecked { missing } if missing == "hidden")
    );
}

#[test]
fn the_core_s_distance_from_the_interface_is_told() {
    let finding = finding("numa", &bad());
    assert!(finding.now.contains("distance 21"), "{}", finding.now);
    assert_eq!(finding.severity, Severity::Medium);
    let mut host = good();
    host.nodes.as_mut().unwrap().truncate(1);
    host.nic_node = Err("dark".to_owned());
    assert!(
        matches!(outcome("numa", &host), CheckOutcome::Fine { .. }),
        "one node needs no more"
    );
}

#[test]
fn one_who_may_see_all_needs_no_setting_and_a_running_tracer_is_high() {
    let mut host = bad();
    host.tracing.as_mut().unwrap().is_privileged = true;
    assert!(matches!(
        outcome("tracing", &host),
        CheckOutcome::Fine { .. }
    ));
    host.tracing.as_mut().unwrap().tracer = Some("function".to_owned());
    assert_eq!(finding("tracing", &host).severity, Severity::High);
}
