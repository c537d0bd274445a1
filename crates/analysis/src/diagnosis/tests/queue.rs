//! A queue shows in the spacing of what it lets out.

use super::searches::search;
use super::{at_half, datagrams, likeliest, trial};
use crate::diagnosis::queue::{Queue, queue};
use linerate_model::run::Trial;
use linerate_model::{BitRate, PacketCount};
use serde_json::json;
use std::time::Duration;

/// Datagrams every 1 / `overload` of the time that one takes to leave a queue with room for twenty, or, without one, that
/// are dropped as a policer drops them: the interarrival jitter (RFC 3550 §6.4.1) of what got through, as a multiple of
/// that time.
fn jitter_after(overload: f64, is_queued: bool) -> f64 {
    let (mut free_at, mut tokens, mut last, mut jitter) = (0.0_f64, 1.0_f64, None, 0.0_f64);
    for number in 0..4000 {
        let sent = f64::from(number) / overload;
        let arrived = if is_queued {
            if free_at - sent > 20.0 {
                continue;
            }
            free_at = free_at.max(sent) + 1.0;
            free_at
        } else {
            tokens = (tokens + overload.recip()).min(10.0);
            if tokens < 1.0 {
                continue;
            }
            tokens -= 1.0;
            sent
        };
        let transit = arrived - sent;
        if let Some(last) = last.replace(transit) {
            jitter += ((transit - last).abs() - jitter) / 16.0;
        }
    }
    jitter
}

/// A trial of which 10 Mbit/s arrived, with this jitter in packet times, of a receiver that knows no delay.
fn overloaded(overload: f64, jitter: f64) -> Trial {
    let packet = Duration::from_secs_f64(1448.0 * 8.0 / 10e6);
    let jitter = u64::try_from(packet.mul_f64(jitter).as_nanos()).unwrap();
    let more = json!({
        "work": "datagrams", "streams": 1, "offered_bps": BitRate::from_f64(overload * 10e6), "rtp_jitter_ns": jitter
    });
    serde_json::from_value(trial("udp", 10.0, &more)).unwrap()
}

/// At half the load nothing waits: what is left is the host's.
const HOST: f64 = 0.02;

#[test]
fn a_queue_shows_in_the_spacing_of_what_it_lets_out() {
    let half = overloaded(1.0, HOST);
    for percent in (116..=174).step_by(2) {
        let overload = f64::from(percent) / 100.0;
        let trial = overloaded(overload, jitter_after(overload, true) + HOST);
        assert_eq!(queue(&trial, Some(&half)), Queue::Standing, "{overload}");
        // As much may be the host's, for all that one trial tells.
        assert_eq!(queue(&trial, None), Queue::Unclear, "{overload}");
        assert_eq!(queue(&trial, Some(&trial)), Queue::Unclear, "{overload}");
        let trial = overloaded(overload, jitter_after(overload, false) + HOST);
        assert_eq!(queue(&trial, Some(&half)), Queue::None, "{overload}");
        assert_eq!(queue(&trial, None), Queue::None, "{overload}");
    }
}

#[test]
fn where_a_queue_leaves_the_spacing_as_it_was_nothing_is_said() {
    let half = overloaded(1.0, HOST);
    // Every second or third datagram gets through, or nearly all do.
    for overload in [1.02, 2.0, 3.0, 6.0] {
        for is_queued in [true, false] {
            let trial = overloaded(overload, jitter_after(overload, is_queued) + HOST);
            assert_eq!(queue(&trial, Some(&half)), Queue::Unclear, "{overload}");
        }
    }
}

#[test]
fn jitter_far_above_what_a_queue_makes_is_not_one() {
    let half = overloaded(1.0, HOST);
    let trial = overloaded(1.5, 1.0);
    assert_eq!(queue(&trial, Some(&half)), Queue::Unclear);
}

#[test]
fn several_streams_share_departures() {
    let half = overloaded(1.0, HOST);
    let mut trial = overloaded(1.5, 0.33);
    trial.streams = Some(2);
    assert_eq!(queue(&trial, Some(&half)), Queue::Unclear);
}

/// An iperf3 that receives says neither where datagrams were lost nor how long they took.
#[test]
fn a_link_is_told_from_a_policer_before_a_foreign_receiver() {
    let likeliest_with = |jitter_ns: u64| {
        let of = |lost: u64, jitter_ns: u64| {
            json!({
                "streams": 1, "rtp_jitter_ns": jitter_ns,
                "packets": {"sent": 9000, "received": 9000 - lost, "lost": lost,
                            "loss_ratio": PacketCount::new(lost).as_f64() / 9000.0}
            })
        };
        let mut run = search();
        run.trials = vec![datagrams(94.0, &of(3000, jitter_ns)).trial];
        run.probes = vec![
            datagrams(94.0, &of(3000, jitter_ns)),
            at_half(datagrams(47.0, &of(0, 4_000))),
        ];
        likeliest(&run)
    };
    // Of packets that take 123 µs.
    assert_eq!(likeliest_with(41_000), "link");
    assert_eq!(likeliest_with(5_000), "policer");
}
