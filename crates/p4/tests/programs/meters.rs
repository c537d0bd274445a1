//! Meters over time: colours are those of RFC 2698 at the packet's time, of packets and of bytes.

use crate::program::{Run, ipv4};
use linerate_p4::{Bucket, Entity, Entry, Match, MeterConfig, UpdateKind};

const SECOND: u64 = 1_000_000_000;
const GREEN: u8 = 0x28;
const YELLOW: u8 = 0x30;

fn config(committed: u64, peak: u64, burst: u64) -> MeterConfig {
    let bucket = |rate| Bucket { rate, burst };
    MeterConfig {
        committed: bucket(committed),
        peak: bucket(peak),
        excess: 0,
    }
}

/// A switch that forwards one customer, whose direct meter is this.
fn customer(meter: Option<MeterConfig>) -> Run {
    let mut run = Run::new("meter");
    let send = run.call("ingress.customer", &[&[1]]);
    let source = vec![Match::Exact(vec![10, 0, 0, 1])];
    let entry = Entry {
        meter,
        ..run.entry("ingress.customers", source, send)
    };
    run.write(UpdateKind::Insert, Entity::Entry(entry), 0);
    run
}

fn limit_port(run: &mut Run, port: usize, config: MeterConfig) {
    let array = run.array("ingress.port_rate");
    let cell = Entity::Meter {
        array,
        index: port,
        config: Some(config),
    };
    run.write(UpdateKind::Modify, cell, 0);
}

/// Packets of each mark, and those that were dropped, of as many as come in a time at equal distances.
fn marks(run: &mut Run, port: u32, packets: u64, start: u64, time: u64) -> [u64; 3] {
    let mut found = [0; 3];
    for at in 0..packets {
        let sent = run.send(
            port,
            &ipv4([10, 0, 0, 1], [10, 0, 0, 2], 100),
            start + at * time / packets,
        );
        match sent.first().map(|(_, bytes)| bytes[15]) {
            Some(GREEN) => found[0] += 1,
            Some(YELLOW) => found[1] += 1,
            None => found[2] += 1,
            Some(other) => panic!("marked {other:#04x}"),
        }
    }
    found
}

#[test]
fn packets_are_marked_by_the_rates_of_their_port() {
    let mut run = customer(None);
    limit_port(&mut run, 3, config(100, 300, 10));
    // 1000 packets/s for 10 s: 100/s of them green, 300/s not red, and the ten that each bucket began with.
    let [green, yellow, red] = marks(&mut run, 3, 10_000, 0, 10 * SECOND);
    assert!((1009..=1010).contains(&green), "{green}");
    assert!((3009..=3010).contains(&(green + yellow)), "{yellow}");
    assert_eq!(green + yellow + red, 10_000);
    // Another port has no limit.
    assert_eq!(marks(&mut run, 4, 100, 10 * SECOND, 1), [100, 0, 0]);
}

#[test]
fn bytes_are_marked_by_the_rates_of_their_entry() {
    // Packets have 114 bytes: at 1140 bytes/s ten a second are green.
    let mut run = customer(Some(config(1140, 2280, 114)));
    let [green, yellow, red] = marks(&mut run, 0, 1000, 0, 10 * SECOND);
    assert!((100..=101).contains(&green), "{green}");
    assert!((99..=101).contains(&yellow), "{yellow}");
    assert_eq!(green + yellow + red, 1000);
}

#[test]
fn below_the_committed_rate_all_is_green_and_a_burst_is_what_the_buckets_hold() {
    let mut run = customer(None);
    limit_port(&mut run, 0, config(100, 100, 20));
    assert_eq!(marks(&mut run, 0, 990, 0, 10 * SECOND), [990, 0, 0]);
    // Ten idle seconds fill the buckets and no more.
    assert_eq!(marks(&mut run, 0, 50, 20 * SECOND, 1), [20, 0, 30]);
}

#[test]
fn the_worse_colour_wins_and_a_modified_meter_begins_anew() {
    let mut run = customer(Some(config(114, 1_000_000, 1_000)));
    limit_port(&mut run, 0, config(1_000, 1_000, 1_000));
    // Eight packets of 114 bytes are in the burst of bytes.
    let [green, yellow, red] = marks(&mut run, 0, 20, 0, 1);
    assert_eq!((green, yellow + red), (8, 12));
    limit_port(&mut run, 0, config(1, 1, 1));
    assert_eq!(
        marks(&mut run, 0, 20, 2 * SECOND, 1)[2],
        19,
        "the port's own meter is red after one"
    );
}
