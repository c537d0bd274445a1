//! A server's own output, read: what its receivers of datagrams took in each of its reporting intervals.
//!
//! Its results tell sums only. Each line of its output has the numbers that a stream got past in an interval and how many of
//! them were missing, so the intervals tell when datagrams were lost. Output that contradicts the sums is not used: it may be
//! cut, or be of a version that counts otherwise.

use super::params::as_count;
use linerate_model::sample::{EndpointReport, IntervalCount};
use linerate_model::spec::{Direction, MAX_DURATION, Side, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Lines that a server may print in a test whose output is asked for, at one a second for each stream: half an hour of one.
/// One that prints ten times a second, in JSON of 400 bytes each, stays below the bound on its results.
const MAX_LINES: u64 = 1800;

/// Whether the server's output is worth its length: it receives datagrams, in a test that is not long.
pub(super) fn is_worth_it(spec: &TestSpec) -> bool {
    let seconds = crate::moves::whole_time(spec).as_secs();
    let streams = u64::from(spec.streams) * u64::from(spec.direction.ways());
    let lines = seconds.saturating_mul(streams);
    spec.transport() == Transport::Udp && spec.direction != Direction::Reverse && lines <= MAX_LINES
}

/// Adds to the receivers among `reports` what the server's output in `results` tells of their intervals; `own` are the
/// reports of this end's senders.
pub(super) fn add_intervals(
    results: &Value,
    spec: &TestSpec,
    own: &[EndpointReport],
    reports: &mut [EndpointReport],
) {
    let report = reports
        .iter_mut()
        .find(|report| report.side == Side::Receiver);
    let Some(report) = report.filter(|_| spec.transport() == Transport::Udp) else {
        return;
    };
    let lanes = lanes(rows(results));
    if lanes.len() != report.streams.len() {
        return;
    }
    let sender = own.iter().find(|report| report.side == Side::Sender);
    for (stream, rows) in report.streams.iter_mut().zip(lanes) {
        let came = rows.iter().filter(|row| !row.is_omitted).map(Row::received);
        if came.fold(0, u64::saturating_add) != stream.packets.get() {
            continue;
        }
        // With `-i 0` a server tells of one interval, which says no more than the sum.
        let is_sum = |row: &Row| row.end.saturating_sub(row.start) > spec.interval * 2;
        if rows.len() == 1 && rows.iter().all(is_sum) {
            continue;
        }
        let same = sender.and_then(|own| own.streams.iter().find(|s| s.index == stream.index));
        let before = same.map_or(0, |own| {
            own.work.omitted().unwrap_or_default().packets.get()
        });
        stream.intervals = intervals(&rows, before, spec);
        // The server's clock goes on until it hears of the end.
        let sent_for = same.map_or(Duration::MAX, |own| own.duration);
        let is_after = |last: &mut IntervalCount| last.start + spec.interval / 2 > sent_for;
        while let Some(last) = stream.intervals.pop_if(is_after) {
            if last.packets.get() > 0 {
                stream.intervals.push(last);
                break;
            }
        }
    }
}

/// What one receiving stream took in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    id: u64,
    start: Duration,
    end: Duration,
    /// Numbers that it got past.
    numbers: u64,
    /// Of them missing; negative where more came late than went missing.
    missing: i64,
    is_omitted: bool,
}

impl Row {
    fn received(&self) -> u64 {
        self.numbers
            .saturating_add_signed(self.missing.saturating_neg())
    }
}

fn rows(results: &Value) -> Vec<Row> {
    if let Some(text) = results.get("server_output_text").and_then(Value::as_str) {
        return text.lines().filter_map(from_line).collect();
    }
    let intervals = results.pointer("/server_output_json/intervals");
    let intervals = intervals.and_then(Value::as_array).into_iter().flatten();
    let streams = intervals.filter_map(|interval| interval.get("streams")?.as_array());
    streams.flatten().filter_map(from_json).collect()
}

/// `[  5][RX-S]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.011 ms  0/8 (0%)  (omitted)`, after whatever prefix; a
/// line that ends with its role is the sum of a whole test.
fn from_line(line: &str) -> Option<Row> {
    let line = line.replace(['[', ']'], " ");
    let mut words = line.split_whitespace().rev().peekable();
    let is_omitted = words.next_if_eq(&"(omitted)").is_some();
    let _share = words.next_if(|word| word.starts_with('(') && word.ends_with("%)"))?;
    let (missing, numbers) = words.next()?.split_once('/')?;
    let times = words
        .find(|word| *word == "sec")
        .and_then(|_| words.next())?;
    let (start, end) = times.split_once('-')?;
    words.next_if_eq(&"RX-S");
    Some(Row {
        id: words.next()?.parse().ok()?,
        start: seconds(start.parse().ok()?)?,
        end: seconds(end.parse().ok()?)?,
        numbers: numbers.parse().ok()?,
        missing: missing.parse().ok()?,
        is_omitted,
    })
}

/// A stream of an interval; that of a sender has no count of missing datagrams.
fn from_json(entry: &Value) -> Option<Row> {
    let time = |key: &str| seconds(entry.get(key)?.as_f64()?);
    Some(Row {
        id: as_count(entry.get("socket")?)?,
        start: time("start")?,
        end: time("end")?,
        numbers: as_count(entry.get("packets")?)?,
        missing: entry.get("lost_packets")?.as_i64()?,
        is_omitted: entry.get("omitted").and_then(Value::as_bool) == Some(true),
    })
}

/// A time within a test; `None` of one that no test has.
fn seconds(seconds: f64) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok();
    time.filter(|time| *time <= MAX_DURATION.saturating_mul(2))
}

/// The rows of each stream, in the order in which the streams first stand.
fn lanes(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut lanes: Vec<Vec<Row>> = Vec::new();
    let mut places = BTreeMap::new();
    for row in rows {
        let place = *places.entry(row.id).or_insert(lanes.len());
        let Some(lane) = lanes.get_mut(place) else {
            lanes.push(vec![row]);
            continue;
        };
        // Up to 3.1 nothing else marks the sum of the whole test.
        let is_sum = |last: &Row| !last.is_omitted && row.start < last.end;
        if !lane.last().is_some_and(is_sum) {
            lane.push(row);
        }
    }
    lanes
}

/// Counted intervals of a stream, none much shorter than the test's own but the last; its numbers count from `before` on.
fn intervals(rows: &[Row], before: u64, spec: &TestSpec) -> Vec<IntervalCount> {
    let length = |one: &IntervalCount| one.end.saturating_sub(one.start);
    let mut all: Vec<IntervalCount> = Vec::new();
    let mut reached = 0_u64;
    for row in rows {
        reached = reached.saturating_add(row.numbers);
        if row.is_omitted {
            continue;
        }
        let next = count(row, reached.saturating_sub(before), spec);
        let is_short = |last: &&mut IntervalCount| length(last) + length(&next) / 2 < spec.interval;
        match all.last_mut().filter(is_short) {
            Some(last) => join(last, &next),
            None => all.push(next),
        }
    }
    all
}

fn count(row: &Row, reached: u64, spec: &TestSpec) -> IntervalCount {
    IntervalCount {
        start: row.start,
        end: row.end,
        bytes: ByteCount::new(row.received().saturating_mul(spec.payload().get())),
        packets: PacketCount::new(row.received()),
        next_expected: Some(reached),
    }
}

fn join(last: &mut IntervalCount, next: &IntervalCount) {
    last.end = next.end;
    last.bytes = ByteCount::new(last.bytes.get().saturating_add(next.bytes.get()));
    last.packets = PacketCount::new(last.packets.get().saturating_add(next.packets.get()));
    last.next_expected = next.next_expected;
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::sample::{DatagramSender, Omitted, PeerStream, StreamReport};
    use linerate_model::spec::Pace;
    use serde_json::json;

    fn udp(streams: u16) -> TestSpec {
        TestSpec {
            streams,
            interval: Duration::from_secs(1),
            ..TestSpec::udp_datagrams(Pace::Unpaced).with_payload(ByteCount::new(1000))
        }
    }

    /// A stream of each of these totals.
    fn receiver(totals: &[u64]) -> Vec<EndpointReport> {
        let stream = |(index, total): (u16, &u64)| {
            let counts = (ByteCount::new(total * 1000), PacketCount::new(*total));
            StreamReport::new(index, PeerStream::default()).with_counts(counts.0, counts.1)
        };
        let streams = (0..).zip(totals).map(stream).collect();
        vec![EndpointReport::of_streams(Side::Receiver, streams)]
    }

    /// A sender of three seconds whose warm-up had so many datagrams.
    fn sender(warm_up: u64) -> Vec<EndpointReport> {
        let work = DatagramSender {
            omitted: Some(Omitted {
                packets: PacketCount::new(warm_up),
                missing: PacketCount::default(),
            }),
            ..DatagramSender::default()
        };
        let stream = StreamReport {
            duration: Duration::from_secs(3),
            ..StreamReport::new(0, work)
        };
        vec![EndpointReport::of_streams(Side::Sender, vec![stream])]
    }

    /// Start and end in milliseconds, what came, and the number after the highest.
    type IntervalRow = (u128, u128, u64, Option<u64>);

    fn added(
        results: &Value,
        spec: &TestSpec,
        own: &[EndpointReport],
        totals: &[u64],
    ) -> Vec<Vec<IntervalRow>> {
        let mut reports = receiver(totals);
        add_intervals(results, spec, own, &mut reports);
        let of_stream = |stream: &StreamReport| {
            let row = |one: &IntervalCount| {
                assert_eq!(one.bytes.get(), one.packets.get() * 1000);
                (
                    one.start.as_millis(),
                    one.end.as_millis(),
                    one.packets.get(),
                    one.next_expected,
                )
            };
            stream.intervals.iter().map(row).collect()
        };
        reports[0].streams.iter().map(of_stream).collect()
    }

    fn text(lines: &[&str]) -> Value {
        json!({"server_output_text": lines.join("\n")})
    }

    const SILENT: [&str; 5] = [
        "Accepted connection from 10.9.0.1, port 42230",
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams",
        "[  5]   0.00-1.00   sec  97.7 KBytes   800 Kbits/sec  0.011 ms  0/100 (0%)  ",
        "[  5]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec  0.011 ms  0/0 (0%)  ",
        "[  5]   2.00-3.00   sec  48.8 KBytes   400 Kbits/sec  0.011 ms  149/199 (75%)  ",
    ];

    #[test]
    fn the_lines_of_a_server_tell_when_nothing_came() {
        let silent = [
            (0, 1000, 100, Some(100)),
            (1000, 2000, 0, Some(100)),
            (2000, 3000, 50, Some(299)),
        ];
        let of = |last: &[&str]| {
            added(
                &text(&[&SILENT[..], last].concat()),
                &udp(1),
                &sender(0),
                &[150],
            )
        };
        assert_eq!(of(&[]), [silent]);
        // Until it hears of the end; then the sum, which up to 3.1 is not marked.
        let end = "[  5]   3.00-3.15   sec  0.00 Bytes  0.00 bits/sec  0.011 ms  0/0 (nan%)  ";
        assert_eq!(
            of(&[
                end,
                "[  5]   0.00-3.15   sec  0.00 Bytes  0.00 bits/sec  0.011 ms  149/299 (50%)  "
            ]),
            [silent]
        );
        assert_eq!(
            of(&[
                end,
                "[  5]   0.00-3.15   sec   146 KBytes   398 Kbits/sec  0.011 ms  149/299 (50%)  receiver"
            ]),
            [silent]
        );
        // What a queue let through after the end is part of it.
        let late = "[  5]   3.00-3.15   sec  9.77 KBytes   533 Kbits/sec  0.011 ms  -1/0 (0%)  ";
        let with_late = added(
            &text(&[&SILENT[..], &[late]].concat()),
            &udp(1),
            &sender(0),
            &[151],
        );
        assert_eq!(with_late[0][3], (3000, 3150, 1, Some(299)));
    }

    #[test]
    fn output_that_contradicts_the_sums_or_tells_no_intervals_is_not_used() {
        assert_eq!(added(&text(&SILENT), &udp(1), &sender(0), &[151]), [[]]);
        assert_eq!(
            added(&text(&SILENT), &udp(2), &sender(0), &[150, 0]),
            [vec![], vec![]]
        );
        assert_eq!(added(&json!({}), &udp(1), &sender(0), &[150]), [[]]);
        // Of a server that was started with `-i 0`.
        let sum = "[  5]   0.00-3.15   sec   146 KBytes   398 Kbits/sec  0.011 ms  149/299 (50%)  ";
        assert_eq!(added(&text(&[sum]), &udp(1), &sender(0), &[150]), [[]]);
    }

    #[test]
    fn a_hostile_servers_times_and_streams_are_bounded() {
        let far = "[  5]   0.00-18446744073709549568   sec  0.00 Bytes  0.00 bits/sec  0.011 ms  0/100 (0%)  ";
        let ends = [far, far, SILENT[2]];
        assert_eq!(
            added(&text(&ends), &udp(1), &sender(0), &[100]),
            [[(0, 1000, 100, Some(100))]]
        );
        // As many streams as fit the bound on results: none is looked for among all others.
        let line = |id: u32| format!("[{id}] 0-1 sec 0/1 (0%)");
        let lines: Vec<String> = (0..300_000).map(line).collect();
        assert_eq!(
            lanes(rows(&json!({"server_output_text": lines.join("\n")}))).len(),
            300_000
        );
    }

    #[test]
    fn streams_are_told_apart_from_each_other_from_sums_and_from_what_the_server_sends() {
        let lines = [
            "Sun Nov 29 09:05:15 2026 [  5][RX-S]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.011 ms  1/9 (11%)  ",
            "Sun Nov 29 09:05:15 2026 [  6][RX-S]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.003 ms  0/7 (0%)  ",
            "Sun Nov 29 09:05:15 2026 [SUM][RX-S]   0.00-1.00   sec   512 KBytes  4.19 Mbits/sec  0.007 ms  1/16 (0%)  ",
            "Sun Nov 29 09:05:15 2026 [  9][TX-S]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec            8  ",
        ];
        let both = added(&text(&lines), &udp(2), &sender(0), &[8, 7]);
        assert_eq!(both, [[(0, 1000, 8, Some(9))], [(0, 1000, 7, Some(7))]]);
    }

    #[test]
    fn datagrams_of_the_warm_up_are_numbered_with_the_others_and_not_counted() {
        let lines = [
            "[  5]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.011 ms  0/100 (0%)  (omitted)",
            "[  5]   0.00-1.00   sec   256 KBytes  2.10 Mbits/sec  0.011 ms  0/90 (0%)  ",
        ];
        // This end had ended its warm-up two datagrams before.
        let warm = added(&text(&lines), &udp(1), &sender(98), &[90]);
        assert_eq!(warm, [[(0, 1000, 90, Some(92))]]);
    }

    #[test]
    fn shorter_intervals_are_joined_to_those_of_the_test_in_json_too() {
        let tenth = |at: u64| {
            let second = |tenths| Duration::from_millis(tenths * 100).as_secs_f64();
            let (start, end) = (second(at), second(at + 1));
            let stream = json!({"socket": 5, "start": start, "end": end, "bytes": 9000, "packets": 10,
                "lost_packets": 1, "omitted": false, "sender": false});
            let sending = json!({"socket": 6, "start": start, "end": end, "bytes": 9000, "packets": 10, "sender": true});
            json!({"streams": [stream, sending]})
        };
        let intervals: Vec<Value> = (0..25).map(tenth).collect();
        let results = json!({"server_output_json": {"intervals": intervals}});
        let joined = added(&results, &udp(1), &sender(0), &[225]);
        assert_eq!(
            joined,
            [[
                (0, 1000, 90, Some(100)),
                (1000, 2000, 90, Some(200)),
                (2000, 2500, 45, Some(250))
            ]]
        );
    }

    #[test]
    fn the_output_of_a_server_is_asked_for_where_it_receives_datagrams_and_stays_short() {
        let lasting = |seconds, spec| TestSpec {
            stop: linerate_model::spec::Stop::After(Duration::from_secs(seconds)),
            ..spec
        };
        assert!(is_worth_it(&lasting(1800, udp(1))));
        assert!(!is_worth_it(&lasting(1801, udp(1))));
        assert!(!is_worth_it(&lasting(1800, udp(2))));
        assert!(!is_worth_it(&lasting(8, TestSpec::tcp_bulk())));
        let way = |direction| TestSpec {
            direction,
            ..lasting(901, udp(1))
        };
        assert!(is_worth_it(&way(Direction::Forward)));
        assert!(!is_worth_it(&way(Direction::Duplex)));
        assert!(!is_worth_it(&way(Direction::Reverse)));
    }
}
