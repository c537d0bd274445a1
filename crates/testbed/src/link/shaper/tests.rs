use super::*;
use crate::link::{Outage, PacketList};
use linerate_model::{BitRate, Ratio};
use proptest::prelude::*;

const FRAME_BYTES: u32 = 1514;
const MBIT: u64 = 1_000_000;

fn at(micros: u64) -> MonoInstant {
    MonoInstant::from_nanos(micros * 1000)
}

fn shaper(config: LinkConfig) -> Shaper {
    config.check(1500).unwrap();
    Shaper::new(config, FRAME_BYTES, 42)
}

fn rate(mbit: u64) -> BitRate {
    BitRate::from_bps(mbit * MBIT)
}

/// A tag is beyond the MTU of a link, and of one that is cut.
#[test]
fn a_tag_does_not_make_a_frame_too_long() {
    let config = LinkConfig {
        mtu_cut_bytes: Some(1000),
        ..LinkConfig::default()
    };
    let mut shaper = Shaper::new(config, 1514, 1);
    let mut arrive = |length, tag| {
        let frame = Frame {
            tag,
            ..data(0, length)
        };
        shaper.arrive(at(0), frame)
    };
    assert_eq!(arrive(1014, 0), Verdict::Taken);
    assert_eq!(arrive(1018, 4), Verdict::Taken);
    assert_eq!(arrive(1018, 0), Verdict::Dropped);
    assert_eq!(arrive(1019, 4), Verdict::Dropped);
    assert_eq!(arrive(1519, 4), Verdict::Dropped);
    let counted = shaper.counters().data;
    assert_eq!(counted.dropped_by_mtu_cut, PacketCount::new(2));
    assert_eq!(counted.oversize, PacketCount::new(1));
}

fn data(handle: u32, length: u32) -> Frame {
    Frame {
        handle,
        length,
        tag: 0,
        class: FrameClass::Data,
    }
}

fn list(text: &str) -> PacketList {
    text.parse().unwrap()
}

/// Lets `count` data packets of 1000 bytes arrive `gap` µs apart, numbered by handle from 1.
fn offer(shaper: &mut Shaper, count: u32, gap: u64) -> Vec<Verdict> {
    (1..=count)
        .map(|n| shaper.arrive(at(u64::from(n) * gap), data(n, 1000)))
        .collect()
}

/// Everything that leaves until `end`, in order.
fn drain(shaper: &mut Shaper, end: MonoInstant) -> Vec<Departure> {
    std::iter::from_fn(|| shaper.depart(end)).collect()
}

fn handles(departures: &[Departure]) -> Vec<u32> {
    departures
        .iter()
        .map(|departure| departure.handle)
        .collect()
}

/// The counters add up: nothing appears or vanishes without a reason.
fn assert_balanced(shaper: &Shaper) {
    let counters = shaper.counters();
    let [data, other] = [counters.data, counters.other];
    let entered = data.arrived.get() + other.arrived.get() + data.duplicated.get();
    let left = data.forwarded.get() + other.forwarded.get();
    let dropped = data.dropped().get() + other.dropped().get();
    assert_eq!(
        entered,
        left + dropped + counters.in_flight.get(),
        "{counters:?}"
    );
}

#[test]
fn a_perfect_wire_passes_frames_at_once() {
    let mut shaper = shaper(LinkConfig::default());
    assert_eq!(shaper.arrive(at(7), data(1, 1514)), Verdict::Taken);
    assert_eq!(shaper.next_departure(), Some(at(7)));
    let departure = shaper.depart(at(7)).unwrap();
    assert_eq!((departure.at, departure.last), (at(7), Copies::Last));
    assert_eq!(shaper.next_departure(), None);
    assert_balanced(&shaper);
}

#[test]
fn nothing_leaves_before_its_time() {
    let mut shaper = shaper(LinkConfig {
        delay: Duration::from_micros(10),
        ..LinkConfig::default()
    });
    shaper.arrive(at(5), data(1, 100));
    assert_eq!(shaper.depart(MonoInstant::from_nanos(14_999)), None);
    assert_eq!(shaper.depart(at(15)).unwrap().at, at(15));
}

#[test]
fn serialisation_takes_the_frame_and_its_overhead() {
    // (1226 + 24) bytes = 10 000 bits = 1 ms at 10 Mbit/s.
    let mut shaper = shaper(LinkConfig {
        rate: Some(rate(10)),
        ..LinkConfig::default()
    });
    shaper.arrive(at(0), data(1, 1226));
    shaper.arrive(at(0), data(2, 1226));
    shaper.arrive(at(5000), data(3, 1226));
    let out: Vec<_> = drain(&mut shaper, at(10_000))
        .iter()
        .map(|d| d.at)
        .collect();
    assert_eq!(out, [at(1000), at(2000), at(6000)]);
}

#[test]
fn late_calls_do_not_lower_the_rate() {
    let mut shaper = shaper(LinkConfig {
        rate: Some(rate(10)),
        ..LinkConfig::default()
    });
    shaper.arrive(at(0), data(1, 1226));
    shaper.arrive(at(0), data(2, 1226));
    assert_eq!(shaper.depart(at(1900)).unwrap().at, at(1000));
    assert_eq!(shaper.next_departure(), Some(at(2000)));
}

#[test]
fn a_queue_takes_its_bytes_and_no_more() {
    let mut shaper = shaper(LinkConfig {
        rate: Some(rate(1)),
        queue_bytes: ByteCount::new(3000),
        ..LinkConfig::default()
    });
    let verdicts = offer(&mut shaper, 5, 0);
    let taken = verdicts.iter().filter(|v| **v == Verdict::Taken).count();
    assert_eq!(taken, 3);
    let counters = shaper.counters();
    assert_eq!(counters.data.dropped_by_queue, PacketCount::new(2));
    assert_eq!(counters.max_queue, ByteCount::new(3000));
    // The first frame's last bit is out after 8.192 ms: there is room again, not before.
    assert_eq!(shaper.arrive(at(8191), data(9, 1000)), Verdict::Dropped);
    assert_eq!(shaper.arrive(at(8192), data(9, 1000)), Verdict::Taken);
    assert_balanced(&shaper);
}

#[test]
fn frames_under_way_after_the_line_take_no_room_in_the_queue() {
    let mut shaper = shaper(LinkConfig {
        rate: Some(rate(100)),
        queue_bytes: ByteCount::new(1514),
        delay: Duration::from_secs(1),
        ..LinkConfig::default()
    });
    // 1024 bytes take 81.92 µs; one arrives each 100 µs.
    assert!(
        offer(&mut shaper, 100, 100)
            .iter()
            .all(|v| *v == Verdict::Taken)
    );
    assert_eq!(shaper.counters().in_flight, PacketCount::new(100));
}

#[test]
fn the_drop_list_names_data_packets_and_no_others() {
    let mut shaper = shaper(LinkConfig {
        drop: list("1, 3-4"),
        ..LinkConfig::default()
    });
    let other = Frame {
        class: FrameClass::Other,
        ..data(99, 60)
    };
    assert_eq!(shaper.arrive(at(0), other), Verdict::Taken);
    let verdicts = offer(&mut shaper, 5, 1);
    let taken: Vec<_> = verdicts.iter().map(|v| *v == Verdict::Taken).collect();
    assert_eq!(taken, [false, true, false, false, true]);
    assert_eq!(shaper.counters().data.dropped_by_list, PacketCount::new(3));
    assert_eq!(shaper.counters().other.arrived, PacketCount::new(1));
}

#[test]
fn frames_longer_than_the_link_allows_are_dropped_and_counted() {
    let mut shaper = shaper(LinkConfig::default());
    assert_eq!(
        shaper.arrive(at(0), data(1, FRAME_BYTES + 1)),
        Verdict::Dropped
    );
    assert_eq!(shaper.counters().data.oversize, PacketCount::new(1));
}

#[test]
fn a_duplicate_keeps_its_bytes_until_the_copy_has_left() {
    let mut shaper = shaper(LinkConfig {
        duplicate_list: list("2"),
        ..LinkConfig::default()
    });
    offer(&mut shaper, 3, 1);
    let out = drain(&mut shaper, at(10));
    assert_eq!(handles(&out), [1, 2, 2, 3]);
    let last: Vec<_> = out.iter().map(|d| d.last).collect();
    assert_eq!(
        last,
        [Copies::Last, Copies::More, Copies::Last, Copies::Last]
    );
    assert_eq!(shaper.counters().data.duplicated, PacketCount::new(1));
    assert_balanced(&shaper);
}

#[test]
fn a_copy_that_does_not_fit_is_not_made() {
    let mut shaper = shaper(LinkConfig {
        rate: Some(rate(1)),
        queue_bytes: ByteCount::new(1600),
        duplicate: Ratio::new(1.0).unwrap(),
        ..LinkConfig::default()
    });
    shaper.arrive(at(0), data(1, 1000));
    assert_eq!(shaper.counters().data.duplicated, PacketCount::new(0));
    assert_eq!(shaper.counters().data.dropped(), PacketCount::new(0));
    assert_eq!(drain(&mut shaper, at(1_000_000)).len(), 1);
}

#[test]
fn a_packet_moved_back_is_overtaken_by_as_many_as_asked() {
    let mut shaper = shaper(LinkConfig {
        reorder_list: list("2"),
        displacement: 3,
        ..LinkConfig::default()
    });
    offer(&mut shaper, 6, 1);
    assert_eq!(handles(&drain(&mut shaper, at(10))), [1, 3, 4, 5, 2, 6]);
    assert_eq!(shaper.counters().data.reordered, PacketCount::new(1));
}

#[test]
fn neighbours_moved_back_keep_their_order() {
    let mut shaper = shaper(LinkConfig {
        reorder_list: list("2, 3"),
        ..LinkConfig::default()
    });
    offer(&mut shaper, 5, 1);
    assert_eq!(handles(&drain(&mut shaper, at(10))), [1, 4, 2, 3, 5]);
    assert_eq!(shaper.counters().data.reordered, PacketCount::new(2));
}

#[test]
fn a_packet_that_nobody_overtakes_goes_on_and_is_not_reordered() {
    let mut shaper = shaper(LinkConfig {
        reorder_list: list("3"),
        reorder_wait: Duration::from_micros(50),
        ..LinkConfig::default()
    });
    offer(&mut shaper, 3, 1);
    assert_eq!(handles(&drain(&mut shaper, at(52))), [1, 2]);
    assert_eq!(shaper.next_departure(), Some(at(53)));
    assert_eq!(handles(&drain(&mut shaper, at(53))), [3]);
    assert_eq!(shaper.counters().data.reordered, PacketCount::new(0));
    assert_balanced(&shaper);
}

#[test]
fn dropped_packets_overtake_nobody() {
    let mut shaper = shaper(LinkConfig {
        reorder_list: list("1"),
        drop: list("2"),
        ..LinkConfig::default()
    });
    offer(&mut shaper, 4, 1);
    assert_eq!(handles(&drain(&mut shaper, at(10))), [3, 1, 4]);
}

#[test]
fn jitter_spreads_the_delay_over_its_range_and_never_reorders() {
    let mut shaper = shaper(LinkConfig {
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(2),
        ..LinkConfig::default()
    });
    // Far enough apart that no packet waits for another.
    offer(&mut shaper, 1000, 10_000);
    let out = drain(&mut shaper, at(20_000_000));
    assert!(out.is_sorted_by_key(|departure| departure.at));
    let delays: Vec<u64> = out
        .iter()
        .map(|d| d.at.as_nanos() - u64::from(d.handle) * 10_000_000)
        .collect();
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!((8_000_000..8_050_000).contains(least), "{least}");
    assert!((11_950_000..=12_000_000).contains(most), "{most}");
    // Seed fixed: 10 ms +- 4 standard errors of 2 ms / sqrt(3) / sqrt(1000).
    let mean = delays.iter().sum::<u64>() / 1000;
    assert!((9_854_000..10_146_000).contains(&mean), "{mean}");
}

#[test]
fn close_packets_stay_in_order_under_jitter() {
    let mut shaper = shaper(LinkConfig {
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(10),
        ..LinkConfig::default()
    });
    offer(&mut shaper, 500, 1);
    let out = drain(&mut shaper, at(1_000_000));
    assert_eq!(handles(&out), (1..=500).collect::<Vec<_>>());
    assert_eq!(shaper.counters().data.reordered, PacketCount::new(0));
}

#[test]
fn the_fate_of_a_packet_depends_on_seed_and_number_alone() {
    let lossy = LinkConfig {
        loss: Ratio::new(0.2).unwrap(),
        ..LinkConfig::default()
    };
    let plain = offer(&mut shaper(lossy.clone()), 1000, 1);
    let mut busy = shaper(LinkConfig {
        duplicate: Ratio::new(0.3).unwrap(),
        reorder: Ratio::new(0.1).unwrap(),
        delay: Duration::from_millis(5),
        jitter: Duration::from_millis(5),
        ..lossy.clone()
    });
    for _ in 0..17 {
        let other = Frame {
            class: FrameClass::Other,
            ..data(0, 60)
        };
        busy.arrive(at(0), other);
    }
    assert_eq!(offer(&mut busy, 1000, 1), plain);
    let mut another = Shaper::new(lossy, FRAME_BYTES, 43);
    assert_ne!(offer(&mut another, 1000, 1), plain);
}

#[test]
fn a_reset_repeats_lists_and_chance_and_forgets_what_was_in_flight() {
    let mut shaper = shaper(LinkConfig {
        loss: Ratio::new(0.2).unwrap(),
        drop: list("7"),
        delay: Duration::from_secs(1),
        ..LinkConfig::default()
    });
    let first = offer(&mut shaper, 200, 1);
    shaper.reset();
    assert_eq!(shaper.counters(), DirectionCounters::default());
    assert_eq!(offer(&mut shaper, 200, 1), first);
    let out = drain(&mut shaper, at(9_000_000));
    let forwarded = shaper.counters().data.forwarded.get();
    assert_eq!(out.len() as u64, 2 * forwarded);
    assert_balanced(&shaper);
}

#[test]
fn a_new_configuration_is_for_frames_that_come_after_it() {
    let mut shaper = shaper(LinkConfig {
        delay: Duration::from_micros(100),
        ..LinkConfig::default()
    });
    shaper.arrive(at(0), data(1, 100));
    shaper.reconfigure(LinkConfig {
        drop: list("2"),
        ..LinkConfig::default()
    });
    assert_eq!(shaper.arrive(at(1), data(2, 100)), Verdict::Dropped);
    assert_eq!(shaper.arrive(at(2), data(3, 100)), Verdict::Taken);
    let out = drain(&mut shaper, at(100));
    assert_eq!(handles(&out), [1, 3]);
    assert_eq!(out[1].at, at(100), "it does not overtake");
}

proptest! {
    #[test]
    fn under_backlog_the_rate_is_exact_within_a_packet(
        bps in 1_000_000_u64..2_000_000_000,
        lengths in prop::collection::vec(60_u32..=1514, 2..400),
    ) {
        let mut shaper = shaper(LinkConfig {
            rate: Some(BitRate::from_bps(bps)),
            queue_bytes: ByteCount::new(1 << 30),
            ..LinkConfig::default()
        });
        for (handle, length) in (0..).zip(&lengths) {
            shaper.arrive(at(0), data(handle, *length));
        }
        let out = drain(&mut shaper, at(u64::MAX / 1000));
        let bits: u64 = lengths.iter().map(|length| u64::from(length + 24) * 8).sum();
        let exact = u128::from(bits) * 1_000_000_000 / u128::from(bps);
        let end = u128::from(out.last().unwrap().at.as_nanos());
        prop_assert!(end.abs_diff(exact) <= 1, "{end} against {exact} ns");
    }

    #[test]
    fn whatever_happens_the_counters_add_up(
        seed: u64,
        (loss, duplicate, reorder) in (0.0..1.0, 0.0..1.0, 0.0..1.0),
        (displacement, queue, rated) in (1_u32..5, 1514_u64..20_000, any::<bool>()),
        frames in prop::collection::vec((0_u64..400, 60_u32..1600, any::<bool>()), 1..300),
    ) {
        let config = LinkConfig {
            rate: rated.then(|| BitRate::from_bps(50 * MBIT)),
            queue_bytes: ByteCount::new(queue),
            loss: Ratio::clamped(loss),
            duplicate: Ratio::clamped(duplicate),
            reorder: Ratio::clamped(reorder),
            drop: list("3, 50-60"),
            displacement,
            delay: Duration::from_micros(300),
            jitter: Duration::from_micros(300),
            ..LinkConfig::default()
        };
        let mut shaper = Shaper::new(config, FRAME_BYTES, seed);
        let (mut now, mut taken, mut freed, mut last) = (0, 0, 0, at(0));
        for (handle, (gap, length, is_data)) in (0..).zip(frames) {
            now += gap;
            let class = if is_data { FrameClass::Data } else { FrameClass::Other };
            let frame = Frame { handle, length, tag: 0, class };
            taken += u32::from(shaper.arrive(at(now), frame) == Verdict::Taken);
            while let Some(departure) = shaper.depart(at(now)) {
                prop_assert!(departure.at >= last);
                last = departure.at;
                freed += u32::from(departure.last == Copies::Last);
            }
            assert_balanced(&shaper);
        }
        let rest = drain(&mut shaper, at(now + 100_000_000));
        freed += u32::try_from(rest.iter().filter(|d| d.last == Copies::Last).count()).unwrap();
        prop_assert_eq!(taken, freed, "every handle is given back once");
        prop_assert_eq!(shaper.counters().in_flight, PacketCount::new(0));
        prop_assert!(!rated || shaper.counters().max_queue.get() <= queue);
        assert_balanced(&shaper);
    }
}

#[test]
fn a_black_hole_swallows_long_packets_and_counts_them() {
    let mut shaper = shaper(LinkConfig {
        mtu_cut_bytes: Some(1000),
        ..LinkConfig::default()
    });
    // An IP packet of 1000 bytes is a frame of 1014.
    assert_eq!(shaper.arrive(at(1), data(1, 1014)), Verdict::Taken);
    assert_eq!(shaper.arrive(at(2), data(2, 1015)), Verdict::Dropped);
    assert_eq!(handles(&drain(&mut shaper, at(3))), [1]);
    assert_eq!(shaper.counters().data.dropped_by_mtu_cut.get(), 1);
    assert_balanced(&shaper);
}

#[test]
fn a_link_that_fails_again_and_again_loses_what_comes_meanwhile() {
    let mut shaper = shaper(LinkConfig {
        outage: Some(Outage {
            every: Duration::from_micros(100),
            length: Duration::from_micros(30),
        }),
        ..LinkConfig::default()
    });
    let arrivals = [(1, 29), (2, 30), (3, 99), (4, 100), (5, 129), (6, 130)];
    let verdicts = arrivals.map(|(handle, micros)| shaper.arrive(at(micros), data(handle, 1000)));
    let (dropped, taken) = (Verdict::Dropped, Verdict::Taken);
    assert_eq!(verdicts, [dropped, taken, taken, dropped, dropped, taken]);
    assert_eq!(handles(&drain(&mut shaper, at(200))), [2, 3, 6]);
    assert_eq!(shaper.counters().data.dropped_by_outage.get(), 3);
    assert_balanced(&shaper);
}

#[test]
fn a_policer_passes_a_bucket_at_once_and_drops_the_rest() {
    let mut shaper = shaper(LinkConfig {
        police: true,
        ..LinkConfig::with_rate(rate(8), ByteCount::new(3000))
    });
    // 8 Mbit/s are 1 byte per µs: three frames of 1000 bytes fit, and 976 µs later nearly one more.
    let verdicts = offer(&mut shaper, 5, 1);
    assert_eq!(
        verdicts.iter().filter(|v| **v == Verdict::Taken).count(),
        3,
        "{verdicts:?}"
    );
    let departures = drain(&mut shaper, at(3));
    assert_eq!(handles(&departures), [1, 2, 3]);
    assert!(departures.iter().all(|departure| departure.at <= at(3)));
    assert_eq!(shaper.arrive(at(1100), data(6, 1000)), Verdict::Taken);
    assert_eq!(shaper.counters().data.dropped_by_queue.get(), 2);
    drain(&mut shaper, at(10_000));
    assert_balanced(&shaper);
}
