use super::*;
use crate::testing::host_with;
use linerate_model::facts::Facts;
use proptest::prelude::*;
use std::fmt::Write as _;

const TWO_CORES: &str = "\
cpu  18340 10 4474 268756 1593 7 41 35 3 2
cpu0 8543 4 1934 136002 127 3 6 14 1 1
cpu1 9797 6 2540 132754 1466 4 35 21 2 1
intr 123456 0 9 0 0
ctxt 654321
btime 1700000000
softirq 1 2 3
";

fn parsed(text: &str, hertz: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    parse(text, hertz, &mut snapshot);
    snapshot
}

#[test]
fn ticks_become_nanoseconds_for_host_and_cores() {
    let values = parsed(TWO_CORES, 100).values;
    assert_eq!(values[CPU_USER_NS], 18_340 * 10_000_000);
    // Time of niced programs counts as idle, and is known by itself.
    assert_eq!(values[CPU_NICE_NS], 10 * 10_000_000);
    assert_eq!(values[CPU_IDLE_NS], (10 + 268_756 + 1593) * 10_000_000);
    assert_eq!(values[CPU_STEAL_NS], 35 * 10_000_000);
    assert_eq!(values["cpu.1.softirq_ns"], 35 * 10_000_000);
    assert_eq!(values["cpu.0.irq_ns"], 3 * 10_000_000);
    assert_eq!(values[CPU_INTERRUPTS], 123_456);
    assert_eq!(values[CPU_CONTEXT_SWITCHES], 654_321);
    assert!(!values.contains_key("cpu.2.user_ns"));
}

#[test]
fn another_tick_gives_other_nanoseconds() {
    let values = parsed(TWO_CORES, 1000).values;
    assert_eq!(values[CPU_SYSTEM_NS], 4474 * 1_000_000);
}

#[test]
fn many_cores_are_all_there() {
    let mut text = String::from("cpu  0 0 0 0 0 0 0 0 0 0\n");
    for core in 0..128 {
        writeln!(text, "cpu{core} {core} 0 0 0 0 0 0 0 0 0").unwrap();
    }
    let values = parsed(&text, 100).values;
    assert_eq!(values["cpu.127.user_ns"], 127 * 10_000_000);
    assert_eq!(values.len(), 129 * PARTS.len() + 1);
}

#[test]
fn an_old_kernel_lacks_columns_and_says_so() {
    let snapshot = parsed("cpu 10 20 30 40\nctxt 5\n", 100);
    assert_eq!(snapshot.values[CPU_IDLE_NS], (20 + 40) * 10_000_000);
    for signal in [CPU_IRQ_NS, CPU_SOFTIRQ_NS, CPU_STEAL_NS, CPU_INTERRUPTS] {
        assert!(snapshot.missing.contains_key(signal), "{signal}");
    }
}

#[test]
fn a_count_too_large_for_nanoseconds_is_missing() {
    let snapshot = parsed(&format!("cpu {} 0 1 1\n", u64::MAX), 100);
    assert!(snapshot.missing.contains_key(CPU_USER_NS));
    assert_eq!(snapshot.values[CPU_SYSTEM_NS], 10_000_000);
}

#[test]
fn a_cut_or_empty_file_makes_everything_missing() {
    for text in ["", "cpu  1 2 3 4 5 6 7 8", "\0\0\0", "cpu\n", "cpu x\n"] {
        let snapshot = parsed(text, 100);
        assert_eq!(snapshot.values.len(), 0, "{text:?}");
        assert_eq!(snapshot.missing.len(), PARTS.len() + 3, "{text:?}");
    }
}

#[test]
fn a_kernel_without_a_tick_is_no_division_by_zero() {
    assert!(!parsed(TWO_CORES, 0).values.contains_key(CPU_USER_NS));
}

fn facts_of(files: &[(&str, &str)]) -> Facts {
    let (_root, scope) = host_with(files);
    let mut facts = Facts::default();
    (COLLECTOR.facts)(&HostView::new(&scope), &mut facts);
    facts
}

#[test]
fn the_model_is_found_on_every_architecture() {
    let tree = "sys/devices/system/cpu/cpu0/of_node/compatible";
    let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("proc/cpuinfo", "model\t\t: 1\nmodel name\t: AMD EPYC\n")],
            "AMD EPYC",
        ),
        (
            &[(
                "proc/cpuinfo",
                "hart\t: 1\nisa\t: rv64imafdc\nmmu\t: sv39\nuarch\t: sifive,u54-mc\n",
            )],
            "sifive,u54-mc",
        ),
        (
            &[("proc/cpuinfo", "hart\t: 1\nisa\t: rv64imafdc\n")],
            "rv64imafdc",
        ),
        (
            &[("proc/cpuinfo", arm), (tree, "arm,cortex-a72\0")],
            "arm,cortex-a72",
        ),
        (&[("proc/cpuinfo", arm)], "Arm implementer 0x41 part 0xd08"),
    ];
    for (files, model) in cases {
        assert_eq!(facts_of(files).cpu_model.as_deref(), Some(*model));
    }
    assert_eq!(facts_of(&[]).cpu_model, None);
}

#[test]
fn cores_are_counted_and_isolated_ones_named() {
    let facts = facts_of(&[
        (PATH, TWO_CORES),
        ("sys/devices/system/cpu/isolated", "2-3\n"),
        ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
    ]);
    assert_eq!(facts.cores_online, Some(2));
    assert_eq!(facts.cores_isolated.as_deref(), Some("2-3"));
    assert_eq!(facts.cores_nohz_full, None);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        text in "\\PC*",
        lines in "((cpu|cpu[0-9]{0,12}|intr|ctxt) ?[0-9 x-]{0,60}\n){0,8}",
        hertz in 0_u64..2000,
    ) {
        for text in [&text, &lines] {
            let snapshot = parsed(text, hertz);
            for part in PARTS {
                let (values, missing) = (&snapshot.values, &snapshot.missing);
                let signal = part.host_signal;
                prop_assert!(values.contains_key(signal) || missing.contains_key(signal));
            }
        }
    }
}
