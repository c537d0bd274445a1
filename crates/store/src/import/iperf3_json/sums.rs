//! The intervals of a document.

use super::value::{Object, Value};
use crate::import::intervals::Intervals;
use crate::import::{Rounded, Row, Series};
use std::collections::BTreeMap;

/// The intervals of a document, all streams of a direction together.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// By whether the end that printed them sent; before 3.7 it does not say.
    sides: BTreeMap<Option<bool>, Intervals>,
    /// The figures that those of a side have.
    columns: BTreeMap<Option<bool>, [bool; 4]>,
    /// Some are of an omitted start.
    pub(super) omits: bool,
    pub(super) has_any: bool,
    /// Lines of streams' intervals that lack figures, or have others than their sum.
    pub(super) doubtful: Vec<usize>,
}

impl Sums {
    /// Takes a member of a list of intervals.
    pub(super) fn add(&mut self, interval: &Object) {
        self.has_any = true;
        let mut sums: BTreeMap<Option<bool>, Row> = BTreeMap::new();
        let mut bytes = Rounded::exact(0.0);
        for stream in interval.objects("streams") {
            if stream.flag("omitted") == Some(true) {
                self.omits = true;
                continue;
            }
            let Some(row) = row(stream) else {
                self.doubtful.push(stream.line);
                continue;
            };
            let side = stream.flag("sender");
            let columns = self.columns.entry(side).or_insert_with(|| row.columns());
            if *columns != row.columns() {
                self.doubtful.push(stream.line);
            }
            bytes = bytes.plus(row.bytes);
            // Streams are read one after another: their intervals are a little apart.
            sums.entry(side)
                .and_modify(|sum| {
                    sum.add(&row);
                    sum.start = sum.start.spanning(row.start);
                    sum.end = sum.end.spanning(row.end);
                })
                .or_insert(row);
        }
        let is_omitted = sums.is_empty();
        let named = ["sum", "sum_bidir_reverse"].into_iter();
        let told = named.flat_map(|name| interval.all(name));
        let told = told.filter_map(|sum| match sum {
            Value::Object(sum) => sum.figure("bytes"),
            _ => None,
        });
        let differs = |told: Rounded| !bytes.agrees(told);
        if !is_omitted && told.reduce(Rounded::plus).is_some_and(differs) {
            self.doubtful.push(interval.line);
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
        is_misprinted: false,
        jitter: jitter(stream),
        retransmitted: stream.count("retransmits"),
        cwnd: stream.figure("snd_cwnd").filter(|cwnd| cwnd.value > 0.0),
        srtt: stream
            .figure("rtt")
            .filter(|rtt| rtt.value > 0.0)
            .map(|micros| micros.scaled(1e-6)),
    })
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
