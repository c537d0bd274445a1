use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A trial of whole seconds, from the rates of its intervals in Mbit/s and what else each says.
fn trial(
    transport: &str,
    seconds: f64,
    rates: &[f64],
    each: impl Fn(usize, f64) -> Value,
) -> Trial {
    let length = seconds / rates.iter().map(|_| 1.0).sum::<f64>();
    let mut start = 0.0;
    let intervals: Vec<Value> = rates
        .iter()
        .enumerate()
        .map(|(at, rate)| {
            let mut interval = each(at, *rate);
            interval["start_s"] = json!(start);
            start += length;
            interval["end_s"] = json!(start);
            interval
        })
        .collect();
    let work = if transport == "tcp" {
        "byte-stream"
    } else {
        "datagrams"
    };
    serde_json::from_value(json!({
        "index": 0, "origin": "measured", "work": work, "transport": transport, "direction": "forward", "valid": true,
        "duration_s": seconds, "payload_bytes": 1448, "intervals": intervals
    }))
    .unwrap()
}

fn mega(rate: f64) -> Value {
    json!(BitRate::from_f64(rate * 1e6).bps())
}

/// Datagrams at `offered` Mbit/s.
fn datagrams(offered: f64, seconds: f64, rates: &[f64]) -> Trial {
    trial(
        "udp",
        seconds,
        rates,
        |_, rate| json!({ "offered_bps": mega(offered), "received_bps": mega(rate) }),
    )
}

/// Segments that are sent again in the intervals from `lossy` on, and round-trip times of 10 ms before and `after` ms.
fn stream(rates: &[f64], lossy: usize, after: Option<u64>) -> Trial {
    trial("tcp", rates.iter().map(|_| 1.0).sum(), rates, |at, rate| {
        let is_after = at >= lossy;
        let mut interval = json!({
            "offered_bps": mega(rate), "received_bps": mega(rate),
            "retransmitted_segments": if is_after { 20 } else { 0 }
        });
        if let Some(after) = after {
            interval["srtt_ns"] = json!(if is_after { after } else { 10 } * 1_000_000);
        }
        interval
    })
}

const FALLS: &[f64] = &[100.0, 100.0, 100.0, 60.0, 50.0, 50.0, 50.0, 50.0];

#[test]
fn a_bucket_of_datagrams_has_its_rate_its_size_and_its_time() {
    let found = find(&datagrams(100.0, 8.0, FALLS)).unwrap();
    assert_eq!(found.full_rate.bps(), 100_000_000);
    assert_eq!(found.rate.bps(), 50_000_000);
    // Three seconds at 50 Mbit/s above its rate, and one at 10.
    assert_eq!(found.held.get(), 20_000_000);
    assert_eq!(found.empty_at, Duration::from_millis(3200));
    assert_eq!(found.excess, Excess::Unknown);
}

#[test]
fn a_log_of_the_receiver_alone_shows_it_by_what_was_lost() {
    let lossy = |_, rate: f64| {
        json!({
            "received_bps": mega(rate), "total_packets": 1000,
            "lost_packets": BitRate::from_f64((100.0 - rate) * 10.0).bps()
        })
    };
    assert!(find(&trial("udp", 8.0, FALLS, lossy)).is_some());
    // The same fall of what arrived without a loss is the sender's.
    let whole = |_, rate: f64| json!({ "received_bps": mega(rate), "total_packets": 1000, "lost_packets": 0 });
    assert_eq!(find(&trial("udp", 8.0, FALLS, whole)), None);
}

#[test]
fn delays_tell_a_policer_from_a_queue() {
    let rates = [FALLS, &[50.0; 8]].concat();
    let mut value = serde_json::to_value(datagrams(100.0, 16.0, &rates)).unwrap();
    for (median, excess) in [(50_000, Excess::Dropped), (40_000_000, Excess::Queued)] {
        value["delay"] =
            json!({ "of": "pdv", "min_ns": 1000, "p50_ns": median, "p99_ns": 60_000_000 });
        let trial: Trial = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(find(&trial).unwrap().excess, excess);
    }
}

#[test]
fn drops_at_an_end_are_no_bucket() {
    let mut value = serde_json::to_value(datagrams(100.0, 8.0, FALLS)).unwrap();
    value["ledger"] = json!([
        { "place": "receiver-socket", "packets": 900, "source": "its socket" },
        { "place": "network", "packets": 100, "source": "the rest" }
    ]);
    let trial: Trial = serde_json::from_value(value).unwrap();
    assert_eq!(find(&trial), None);
}

#[test]
fn a_sender_that_slows_down_is_no_bucket() {
    let slower = |_, rate: f64| json!({ "offered_bps": mega(rate), "received_bps": mega(rate) });
    assert_eq!(find(&trial("udp", 8.0, FALLS, slower)), None);
}

#[test]
fn a_bucket_of_tcp_is_told_from_an_end_that_slows_down() {
    let policed = find(&stream(FALLS, 3, Some(10))).unwrap();
    assert_eq!(policed.excess, Excess::Dropped);
    assert_eq!(policed.held.get(), 20_000_000);
    assert_eq!(
        find(&stream(FALLS, 3, Some(40))).unwrap().excess,
        Excess::Queued
    );
    assert_eq!(
        find(&stream(FALLS, 3, None)).unwrap().excess,
        Excess::Unknown
    );
    // Nothing is lost and nothing waits: a reader, a writer or a busy host.
    assert_eq!(find(&stream(FALLS, 8, Some(10))), None);
}

#[test]
fn slow_starts_outages_ramps_and_noise_are_no_buckets() {
    for rates in [
        // A slow start, also one that overshoots for a moment.
        &[5.0, 40.0, 90.0, 94.0, 94.0, 94.0, 94.0, 94.0][..],
        &[5.0, 120.0, 94.0, 94.0, 94.0, 94.0, 94.0, 94.0],
        // An outage, amid and to the end.
        &[94.0, 94.0, 94.0, 0.0, 0.0, 0.0, 94.0, 94.0, 94.0],
        &[94.0, 94.0, 94.0, 94.0, 0.0, 0.0, 0.0, 0.0],
        // A rate that comes back, and one that falls twice.
        &[94.0, 94.0, 94.0, 50.0, 50.0, 50.0, 50.0, 94.0, 94.0],
        &[90.0, 90.0, 90.0, 60.0, 60.0, 60.0, 30.0, 30.0, 30.0],
        // A slow fall.
        &[100.0, 93.0, 86.0, 79.0, 72.0, 65.0, 58.0, 51.0, 44.0],
        // A busy host, by turns.
        &[94.0, 60.0, 90.0, 55.0, 94.0, 50.0, 80.0, 52.0],
        // Steady.
        &[94.0; 12],
        // An end.
        &[94.0, 94.0, 94.0, 94.0, 94.0, 94.0, 94.0, 20.0],
    ] {
        assert_eq!(find(&stream(rates, 0, Some(10))), None, "{rates:?}");
        let seconds = rates.iter().map(|_| 1.0).sum();
        assert_eq!(find(&datagrams(130.0, seconds, rates)), None, "{rates:?}");
    }
}

#[test]
fn a_slow_start_before_the_bucket_counts_in_no_rate() {
    let rates = [
        5.0, 60.0, 100.0, 100.0, 100.0, 100.0, 50.0, 50.0, 50.0, 50.0,
    ];
    let found = find(&stream(&rates, 6, Some(40))).unwrap();
    assert_eq!(found.full_rate.bps(), 100_000_000);
    assert_eq!(found.rate.bps(), 50_000_000);
}

proptest! {
    /// Whatever the rates, the size, the lengths of intervals and the noise: what is found is what was built.
    #[test]
    fn any_bucket_is_found(
        rate in 1.0..500.0_f64,
        factor in 1.6..20.0_f64,
        empty_at in 5.2..20.0_f64,
        noise in prop::collection::vec(-0.02..0.02_f64, 40),
    ) {
        let full = rate * factor;
        let rates: Vec<f64> = (0..40)
            .map(f64::from)
            .zip(&noise)
            .map(|(at, noise)| {
                let part = (empty_at - at).clamp(0.0, 1.0);
                (full * part + rate * (1.0 - part)) * (1.0 + noise)
            })
            .collect();
        let found = find(&datagrams(full, 40.0, &rates)).unwrap();
        let held = (full - rate) * 1e6 * empty_at / 8.0;
        prop_assert!((found.held.as_f64() / held - 1.0).abs() < 0.1, "{found:?}");
        prop_assert!((found.rate.as_f64() / (rate * 1e6) - 1.0).abs() < 0.03, "{found:?}");
        prop_assert!((found.empty_at.as_secs_f64() - empty_at).abs() < 0.6, "{found:?}");
    }

    /// Noise around one rate has none.
    #[test]
    fn no_bucket_is_found_in_noise(
        rates in prop::collection::vec(60.0..100.0_f64, 30..60),
    ) {
        let seconds = rates.iter().map(|_| 1.0).sum();
        prop_assert_eq!(find(&datagrams(150.0, seconds, &rates)), None);
    }
}
