//! The intervals of a document.

use super::value::Object;
use crate::import::intervals::Intervals;
use crate::import::{Rounded, Row, Series};
use std::collections::BTreeMap;

/// The intervals of a document, all streams of a direction together.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// By whether the end that printed them sent; before 3.7 it does not say.
    sides: BTreeMap<Option<bool>, Intervals>,
    /// Some are of an omitted start.
    pub(super) omits: bool,
    pub(super) has_any: bool,
}

impl Sums {
    /// Takes a member of a list of intervals.
    pub(super) fn add(&mut self, interval: &Object) {
        self.has_any = true;
        let mut sums: BTreeMap<Option<bool>, Row> = BTreeMap::new();
        for stream in interval.objects("streams") {
            if stream.flag("omitted") == Some(true) {
                self.omits = true;
                continue;
            }
            let Some(row) = row(stream) else { continue };
            // Streams are read one after another: their intervals are a little apart.
            sums.entry(stream.flag("sender"))
                .and_modify(|sum| {
                    sum.add(&row);
                    sum.start = either(sum.start, row.start);
                    sum.end = either(sum.end, row.end);
                })
                .or_insert(row);
        }
        for (side, row) in sums {
            self.sides.entry(side).or_default().add(&row);
        }
    }

    /// The intervals of each side.
    pub(super) fn finish(self) -> Vec<(Option<bool>, Series)> {
        let sides = self.sides.into_iter();
        sides.map(|(side, rows)| (side, rows.finish())).collect()
    }
}

fn row(stream: &Object) -> Option<Row> {
    let (start, mut end) = (time(stream, "start")?, time(stream, "end")?);
    if let Some(seconds) = stream.figure("seconds") {
        // The first interval after an omitted start is longer than its bounds say.
        let whole = start.plus(seconds);
        (end.low, end.high) = (end.low.min(whole.low), end.high.max(whole.high));
    }
    Some(Row {
        line: stream.line,
        start,
        end,
        bytes: stream.figure("bytes")?,
        bps: stream.figure("bits_per_second")?,
        datagrams: stream.count("packets"),
        lost: stream.count("lost_packets"),
        is_wrapped: stream.is_negative("packets"),
        jitter: jitter(stream),
        retransmitted: stream.count("retransmits"),
        cwnd: stream.figure("snd_cwnd").filter(|cwnd| cwnd.value > 0.0),
        srtt: stream
            .figure("rtt")
            .filter(|rtt| rtt.value > 0.0)
            .map(|micros| micros.scaled(1e-6)),
    })
}

/// The first time, with an interval that holds both.
fn either(a: Rounded, b: Rounded) -> Rounded {
    Rounded {
        value: a.value,
        low: a.low.min(b.low),
        high: a.high.max(b.high),
    }
}

/// A time within the test. iperf3 reads its clock in microseconds.
pub(super) fn time(object: &Object, key: &str) -> Option<Rounded> {
    let seconds = object.figure(key)?;
    Some(Rounded {
        value: seconds.value,
        low: (seconds.low - 1e-6).max(0.0),
        high: seconds.high + 1e-6,
    })
}

pub(super) fn jitter(object: &Object) -> Option<Rounded> {
    Some(object.figure("jitter_ms")?.scaled(1e-3))
}
