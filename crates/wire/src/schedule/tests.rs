use super::*;
use proptest::prelude::*;

const START: MonoInstant = MonoInstant::from_nanos(1_000_000);

fn at(nanos: u64) -> MonoInstant {
    START.after(Duration::from_nanos(nanos))
}

/// 1000 bytes at 8 Mbit/s: one slot per millisecond.
fn millisecond_slots() -> Schedule {
    let rate = 8_000_000;
    Schedule::new(START, rate, 1000, Duration::from_micros(100), 64).unwrap()
}

#[test]
fn slots_are_due_at_their_time_and_not_before() {
    let mut schedule = millisecond_slots();
    let late = Duration::ZERO;
    assert_eq!(schedule.due(START), Due::Now { count: 1, late });
    schedule.served(START, 1);
    assert_eq!(schedule.due(at(999_999)), Due::Wait(at(1_000_000)));
    assert_eq!(schedule.due(at(1_000_000)), Due::Now { count: 1, late });
}

#[test]
fn deadlines_do_not_drift() {
    let rate = 999_999_937;
    let schedule = Schedule::new(START, rate, 1448, Duration::from_micros(100), 64).unwrap();
    let day = 86_400 * 999_999_937_u128 / (1448 * 8);
    let deadline = schedule.deadline(u64::try_from(day).unwrap());
    let error = deadline
        .saturating_since(START)
        .as_nanos()
        .abs_diff(86_400_000_000_000);
    assert!(error < 12_000, "{error} ns after a day");
}

#[test]
fn a_batch_covers_at_most_its_window_and_capacity() {
    let batch = |mbps: u64, capacity| {
        let rate = mbps * 1_000_000;
        let window = Duration::from_micros(100);
        let mut schedule = Schedule::new(START, rate, 1250, window, capacity).unwrap();
        match schedule.due(START) {
            Due::Now { count, .. } => count,
            Due::Wait(_) => unreachable!(),
        }
    };
    assert_eq!(batch(1, 64), 1);
    assert_eq!(batch(1000, 64), 10);
    assert_eq!(batch(10_000, 64), 64);
    assert_eq!(batch(10_000, 8), 8);
}

#[test]
fn a_short_delay_is_made_up_slot_by_slot() {
    let mut schedule = millisecond_slots();
    schedule.served(START, 1);
    let now = at(4_500_000);
    let late = Duration::from_micros(3500);
    assert_eq!(schedule.due(now), Due::Now { count: 1, late });
    schedule.served(now, 1);
    let tolerated = at(5_300_000 - TOLERANCE_NS);
    assert_eq!(schedule.due(now), Due::Wait(tolerated), "no burst");
    assert_eq!(schedule.skipped(), 0);
}

#[test]
fn a_stall_is_skipped_and_counted() {
    let mut schedule = millisecond_slots();
    schedule.served(START, 1);
    let now = at(25_000_000);
    assert!(matches!(schedule.due(now), Due::Now { count: 1, .. }));
    assert_eq!(schedule.skipped(), 24);
    schedule.served(now, 1);
    assert_eq!(schedule.due(now), Due::Wait(at(26_000_000)));
}

#[test]
fn a_stall_that_is_made_up_for_is_no_burst() {
    let mut schedule = millisecond_slots().catching_up(Duration::from_millis(100));
    schedule.served(START, 1);
    let mut now = at(25_000_000);
    let mut sent = 1;
    while now < at(200_000_000) {
        match schedule.due(now) {
            Due::Now { count, .. } => {
                schedule.served(now, count);
                sent += count;
            }
            Due::Wait(until) => now = until,
        }
        // At 1.25 times the rate from the stall's end on.
        let since = now.saturating_since(at(25_000_000)).as_nanos();
        assert!(
            u128::from(sent) <= 3 + (since + u128::from(TOLERANCE_NS)) / 800_000,
            "{sent} after {since} ns"
        );
    }
    assert_eq!((sent, schedule.skipped()), (200, 0));
}

/// A late sender that stands still after each batch, as while the batch leaves, sends what it could have sent meanwhile, and no
/// more than that.
#[test]
fn a_late_sender_makes_use_of_the_time_in_which_a_batch_left() {
    const GAP: u64 = 1000;
    let mut schedule = Schedule::new(START, 8_000_000_000, 1000, Duration::ZERO, 1).unwrap();
    let start = 5_000_000;
    let (mut now, mut sent) = (start, 0);
    while now < start + 2_000_000 {
        match schedule.due(at(now)) {
            Due::Now { count, .. } => {
                schedule.served(at(now), count);
                sent += count;
                // Each takes 100 ns to make, and 40 of them 20 µs to leave.
                now += if sent % 40 == 0 { 20_000 } else { 100 };
            }
            Due::Wait(until) => now = until.as_nanos() - START.as_nanos(),
        }
        let most = (now - start + TOLERANCE_NS) / (GAP * 4 / 5) + 1;
        assert!(sent <= most, "{sent} of {most} at {now}");
    }
    // At 1.25 times the rate, in spite of all that standing still.
    assert!(sent >= 2_000_000 / (GAP * 4 / 5) - 40, "{sent}");
}

#[test]
fn slow_slots_are_not_skipped_for_being_a_little_late() {
    let rate = 8000;
    let mut schedule = Schedule::new(START, rate, 1000, Duration::from_micros(100), 64).unwrap();
    schedule.served(START, 1);
    assert!(matches!(schedule.due(at(1_020_000_000)), Due::Now { .. }));
    assert_eq!(schedule.skipped(), 0);
}

#[test]
fn no_rate_is_no_schedule() {
    let window = Duration::from_micros(100);
    assert!(Schedule::new(START, 0, 1000, window, 1).is_none());
    assert!(Schedule::new(START, 1, 0, window, 1).is_none());
}

proptest! {
    #[test]
    fn every_slot_is_served_or_skipped_once(
        delays in prop::collection::vec(0_u64..30_000_000, 1..200),
        mbps in 1_u64..2000,
    ) {
        let rate = mbps * 1_000_000;
        let mut schedule = Schedule::new(START, rate, 1448, Duration::from_micros(100), 64).unwrap();
        let (mut now, mut served) = (START, 0);
        for delay in delays {
            match schedule.due(now) {
                Due::Wait(until) => now = until,
                Due::Now { count, .. } => {
                    served += count;
                    schedule.served(now, count);
                }
            }
            prop_assert_eq!(schedule.next_slot(), served + schedule.skipped());
            // No error adds up.
            let weight = u128::from(schedule.next_slot()) * 1448 * 8_000_000_000;
            let offset = u64::try_from(weight / u128::from(rate)).unwrap();
            prop_assert_eq!(schedule.next_due(), at(offset));
            let next = schedule.next_slot();
            let later = schedule.next_due().after(Duration::from_nanos(1));
            prop_assert_eq!(schedule.slots_before(schedule.next_due()), next);
            prop_assert!(schedule.slots_before(later) > next);
            now = now.after(Duration::from_nanos(delay % 50_000 * u64::from(delay % 7 == 0)));
        }
        let ahead = u64::try_from(65 * 1448 * 8_000_000_000_u128 / u128::from(rate)).unwrap();
        prop_assert!(schedule.next_due() <= now.after(Duration::from_nanos(ahead)));
    }

    #[test]
    fn counting_slots_inverts_the_deadline(slot in 0_u64..1_000_000_000, bps in 1000_u64..400_000_000_000) {
        let schedule = Schedule::new(START, bps, 64, Duration::ZERO, 1).unwrap();
        let deadline = schedule.deadline(slot);
        let offset = u128::from(slot) * 64 * 8_000_000_000 / u128::from(bps);
        prop_assert_eq!(u128::from(deadline.as_nanos()), u128::from(START.as_nanos()) + offset);
        prop_assume!(deadline < MonoInstant::from_nanos(u64::MAX / 2));
        prop_assert!(schedule.slots_before(deadline) <= slot);
        prop_assert!(schedule.slots_before(deadline.after(Duration::from_nanos(1))) > slot);
    }
}

#[test]
fn what_is_given_up_is_counted() {
    let mut schedule = millisecond_slots();
    schedule.give_up_before(at(5_000_000));
    assert_eq!(schedule.skipped(), 5);
    assert_eq!(schedule.next_due(), at(5_000_000));
}
