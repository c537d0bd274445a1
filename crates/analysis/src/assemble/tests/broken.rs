//! Trials of tests that broke off, or whose times cannot be told.

use super::*;

#[test]
fn a_time_of_day_that_was_set_is_said_with_what_it_spoils() {
    let mut receiver = report(Side::Receiver, 100, 1000);
    received(&mut receiver).is_sender_clock_set = true;
    let trial = udp(Some(report(Side::Sender, 100, 1000)), Some(receiver));
    let said = trial.reasons.join("; ");
    assert!(
        trial.valid && said.contains("time of day of the sender's host"),
        "{said}"
    );
}

#[test]
fn a_test_that_broke_off_keeps_what_an_end_counted() {
    let spec = TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(11_584_000)));
    let made = broken_off(&spec, Duration::from_secs(4));
    assert_eq!(made.stop, Stop::After(Duration::from_secs(4)));
    let sender = Some(report(Side::Sender, 500, 1000));
    let trial = trial(2, &made, Direction::Forward, sender, None);
    assert_eq!(trial.sent_bytes, Some(ByteCount::new(500_000)));
    assert_eq!(trial.index, 2);
}
