//! Whether a log's figures agree with each other within their rounding.

use super::warnings::Warnings;
use super::{Flow, LatencyTest, Rounded, Row, Totals, TrafficTest, exact};

/// Compares intervals with totals, and rates with bytes and time.
pub(super) fn test(test: &TrafficTest, warnings: &mut Warnings) {
    for flow in &test.flows {
        let Flow {
            sent,
            received,
            sent_rows,
            received_rows,
            ..
        } = flow;
        for (side, totals, rows) in [
            ("sender", sent, sent_rows),
            ("receiver", received, received_rows),
        ] {
            let found = rows
                .iter()
                .filter(|row| !row_agrees(row))
                .map(|row| {
                    format!(
                        "line {}: {:.4e} bytes in {:.3} s are not {:.4e} bit/s",
                        row.line,
                        row.bytes.value,
                        row.end.value - row.start.value,
                        row.bps.value
                    )
                })
                .chain(
                    totals
                        .iter()
                        .flat_map(|totals| side_agrees(totals, rows, test.prints_last_interval)),
                );
            for problem in found {
                warnings.push(format!(
                    "{}: test at line {}, {side}: {problem}",
                    test.origin.file, test.origin.line
                ));
            }
        }
    }
}

/// Whether an interval's bytes, time and rate agree.
pub(super) fn row_agrees(row: &Row) -> bool {
    rate_agrees(row.bytes, row.end.minus(row.start), row.bps)
}

/// Whether `bytes` in `seconds` can be `bps`. A time that may be zero contradicts nothing.
fn rate_agrees(bytes: Rounded, seconds: Rounded, bps: Rounded) -> bool {
    seconds.low <= 0.0 || bps.times(seconds).agrees(bytes.scaled(8.0))
}

fn side_agrees(totals: &Totals, rows: &[Row], is_whole: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if let (Some(bytes), Some(bps)) = (totals.bytes, totals.bps)
        && !rate_agrees(bytes, totals.seconds, bps)
    {
        problems.push(format!(
            "the summary's {:.4e} bytes in {:.3} s are not {:.4e} bit/s",
            bytes.value, totals.seconds.value, bps.value
        ));
    }
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return problems;
    };
    // Intervals that do not cover the whole test have another sum.
    if !last.end.minus(first.start).agrees(totals.seconds) {
        return problems;
    }
    let sum = rows[1..]
        .iter()
        .fold(first.bytes, |sum, row| sum.plus(row.bytes));
    // A tool may leave out the last interval.
    let is_possible = |bytes: &Rounded| bytes.agrees(sum) || !is_whole && sum.low < bytes.high;
    if let Some(bytes) = totals.bytes.filter(|bytes| !is_possible(bytes)) {
        problems.push(format!(
            "the intervals' {:.5e} bytes are not the summary's {:.5e}",
            sum.value, bytes.value
        ));
    }
    let sum = |of: fn(&Row) -> Option<u64>| {
        rows.iter()
            .try_fold(0, |sum: u64, row| sum.checked_add(of(row)?))
    };
    for (what, total, of) in [
        ("datagrams", totals.datagrams, sum(|row| row.datagrams)),
        ("lost datagrams", totals.lost, sum(|row| row.lost)),
        (
            "retransmissions",
            totals.retransmitted,
            sum(|row| row.retransmitted),
        ),
    ] {
        if let (Some(total), Some(of)) = (total, of)
            && (of > total || is_whole && of < total)
        {
            problems.push(format!(
                "the intervals' {of} {what} are not the summary's {total}"
            ));
        }
    }
    problems
}

/// Whether each line's quantiles are in order.
pub(super) fn latency(test: &LatencyTest, warnings: &mut Warnings) {
    for trial in &test.trials {
        let Some(delay) = trial.delay() else { continue };
        let (Some(min), Some(max)) = (delay.min_ns, delay.max_ns) else {
            continue;
        };
        let quantiles = [delay.p50_ns, delay.p90_ns, delay.p99_ns, delay.p999_ns];
        let ordered = quantiles.iter().flatten().is_sorted();
        let inside = quantiles.iter().flatten().all(|q| (min..=max).contains(q));
        // The tools print whole numbers.
        let mean = delay
            .mean_ns
            .is_none_or(|mean| (exact(min) - 1.0..=exact(max) + 1.0).contains(&mean));
        if !(ordered && inside && mean) {
            warnings.push(format!(
                "{}: test at line {}, {}: minimum, mean, quantiles and maximum are not in order",
                test.origin.file,
                test.origin.line,
                trial.label.as_deref().unwrap_or("?")
            ));
        }
    }
}
