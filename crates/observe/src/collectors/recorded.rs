//! Boards as their `/proc` and `/sys` show them. The trees are written after the device trees, drivers and logs of the
//! boards, not copied from one: no board is at hand.

use crate::observer::Observer;
use crate::testing::tree;
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::sample::Snapshot;
use linerate_model::{BitRate, ByteCount};

const UNLEASHED: &str = include_str!("recorded/hifive-unleashed.txt");
const UNMATCHED: &str = include_str!("recorded/hifive-unmatched.txt");
const EMULATED: &str = include_str!("recorded/sifive-u.txt");

fn seen(recorded: &str) -> (Facts, Snapshot) {
    let (_root, scope) = tree(recorded, "eth0");
    let observer = Observer::new(scope);
    (
        observer.facts(),
        observer.snapshot(MonoInstant::from_nanos(1)),
    )
}

fn list(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_hifive_unleashed_tells_what_it_is() {
    let (facts, snapshot) = seen(UNLEASHED);
    assert_eq!(facts.board.as_deref(), Some("SiFive HiFive Unleashed A00"));
    let tree = [
        "sifive,hifive-unleashed-a00",
        "sifive,fu540-c000",
        "sifive,fu540",
    ];
    assert_eq!(facts.device_tree, Some(list(&tree)));
    assert_eq!(facts.isa.as_deref(), Some("rv64imafdc"));
    assert_eq!(facts.cpu_model.as_deref(), Some("sifive,u54-mc"));
    assert_eq!(facts.cores_online, Some(4));
    assert_eq!(facts.memory_bytes, Some(ByteCount::new(8_144_148 * 1024)));
    assert_eq!(facts.kernel_release.as_deref(), Some("5.3.7"));
    assert_eq!(facts.virtualisation.as_deref(), Some("none seen"));
    assert_eq!(facts.emulated, None);

    assert_eq!(facts.cpu_governor.as_deref(), Some("userspace"));
    assert_eq!(facts.cpu_frequency_driver.as_deref(), Some("cpufreq-dt"));
    assert_eq!(facts.cpu_frequency_hz, Some(999_999_000));
    assert_eq!(facts.cpu_frequency_max_hz, Some(1_400_000_000));
    let steps = [350_000_000, 700_000_000, 999_999_000, 1_400_000_000];
    assert_eq!(facts.cpu_frequency_steps_hz.as_deref(), Some(&steps[..]));

    assert_eq!(facts.interface.as_deref(), Some("eth0"));
    assert_eq!(facts.driver.as_deref(), Some("macb"));
    assert_eq!(facts.link_speed_bps, Some(BitRate::from_bps(1_000_000_000)));
    assert_eq!(facts.link_duplex.as_deref(), Some("full"));
    assert_eq!(facts.phy_id.as_deref(), Some("0x00070771"));
    assert_eq!(facts.phy_interface.as_deref(), Some("gmii"));
    assert_eq!(facts.phy_driver.as_deref(), Some("Microsemi VSC8541 SyncE"));
    let leds = [
        "d1: heartbeat, on",
        "d2: none, off",
        "d3: none, off",
        "d4: mmc0, off",
    ];
    assert_eq!(facts.leds, Some(list(&leds)));
    let tracers = Some(list(&[
        "function_graph",
        "wakeup_rt",
        "wakeup",
        "function",
        "nop",
    ]));
    assert_eq!(facts.kernel_tracers, tracers);

    assert_eq!(snapshot.values["link.carrier_changes"], 2);
    assert_eq!(snapshot.values["nic.rx_crc_errors"], 0);
    assert_eq!(snapshot.values["phy.mdio_errors"], 3);
    assert_eq!(snapshot.values["link.speed_bps"], 1_000_000_000);
    assert_eq!(snapshot.values["cpu.frequency_hz"], 999_999_000);
    // The board has no sensor that its kernel drives.
    assert_eq!(facts.thermal_sensors, None);
    let missing = &snapshot.missing["thermal.hottest_millicelsius"];
    assert!(missing.contains("no sensor"), "{missing}");
}

#[test]
fn the_same_board_behind_a_link_of_100_mbit_s_says_so() {
    let slower = UNLEASHED
        .replace("net/eth0/speed\n1000", "net/eth0/speed\n100")
        .replace("rx_crc_errors\n0", "rx_crc_errors\n17");
    let (facts, snapshot) = seen(&slower);
    assert_eq!(facts.link_speed_bps, Some(BitRate::from_bps(100_000_000)));
    assert_eq!(snapshot.values["nic.rx_crc_errors"], 17);
}

#[test]
fn a_board_with_sensors_tells_its_hottest_one() {
    let (facts, snapshot) = seen(UNMATCHED);
    assert_eq!(facts.board.as_deref(), Some("SiFive HiFive Unmatched A00"));
    assert_eq!(facts.thermal_sensors, Some(list(&["tmp451"])));
    assert_eq!(snapshot.values["thermal.hottest_millicelsius"], 58_625);
    assert_eq!(
        facts.isa.as_deref(),
        Some("rv64imafdc_zicntr_zicsr_zifencei_zihpm_zca_zcd")
    );
    assert_eq!(facts.phy_driver.as_deref(), Some("Microsemi VSC8541 SyncE"));
}

#[test]
fn an_emulated_board_has_no_frequency_no_led_and_another_phy() {
    let (facts, snapshot) = seen(EMULATED);
    assert_eq!(facts.board.as_deref(), Some("SiFive HiFive Unleashed A00"));
    assert_eq!(facts.emulated.as_deref(), Some("sifive_u on QEMU 7.2.22"));
    assert_eq!((facts.cpu_frequency_hz, &facts.leds), (None, &None));
    assert_eq!(facts.phy_driver.as_deref(), Some("Marvell 88E1111"));
    assert_eq!(facts.link_speed_bps, Some(BitRate::from_bps(100_000_000)));
    assert!(snapshot.missing.contains_key("cpu.frequency_hz"));
}

#[test]
fn an_interface_without_a_phy_says_what_it_lacks() {
    let without = UNLEASHED.replace(
        "=> sys/class/net/eth0/phydev",
        "=> sys/class/net/eth0/nothing",
    );
    let (facts, snapshot) = seen(&without);
    assert_eq!((facts.phy_id, facts.phy_driver), (None, None));
    let missing = &snapshot.missing["phy.mdio_errors"];
    assert!(missing.contains("has no PHY"), "{missing}");
    assert_eq!(snapshot.values["link.carrier_changes"], 2);
}
