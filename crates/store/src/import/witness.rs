//! What the witnesses of a test say of the same figures: its summary, its intervals, its connections and its counters.
//!
//! A format hands them over as they are ([`DirectionFigures`](super::test_builder::Way)). Here they are compared, once for all
//! formats. Where two contradict each other beyond their rounding the figure in question becomes an interval of both,
//! if they are close, and else unknown; in a test that was ended early, and in one whose summary counts an omitted
//! start, the intervals are what was measured. Each time the run says so.
//!
//! Invariant: no figure comes out that no witness told, and none that another one denies.

use super::rounded::bytes_in_words;
use super::{Coverage, Flow, Rounded, Row, Series, Totals, TrafficTest, exact};
use linerate_model::spec::{Direction, Transport};

/// Share by which two witnesses may differ for an interval that holds both to be of use.
const NEAR: f64 = 0.02;
/// Share of an interval that may be missing between two: the tools cut them by timers.
const SLACK: f64 = 0.05;
/// Share of an interval from which on a tool would not have left out the last one.
const LAST: f64 = 0.5;
/// Datagrams by which counts may differ however few there are: some tools count the last one on one side only.
const FEW: f64 = 2.0;
/// What is counted of segments.
const RETRANSMISSIONS: &str = "retransmissions";
/// More than half of the last digit of a time of two decimals, in seconds.
const DIGIT: f64 = 0.006;
/// Most doubts of one kind about one side that are told one by one.
const MAX_TOLD: usize = 3;
/// Largest payload of a datagram in IPv4 and IPv6 without jumbograms, in bytes.
const MAX_PAYLOAD: f64 = 65_527.0;

/// What a test tells of how its figures are to be compared.
struct Terms {
    transport: Transport,
    coverage: Coverage,
    is_early: bool,
    omits_start: bool,
    payload: Option<u64>,
}

/// One end of one direction.
struct Side<'a> {
    name: String,
    totals: &'a mut Option<Totals>,
    rows: &'a mut Series,
    /// The sum of what is told of each stream, where there is another one.
    streams: Option<Totals>,
    /// What the intervals say where the summary is not believed.
    instead: Option<Rounded>,
    doubts: Vec<String>,
    /// What is not there, but makes no figure unknown.
    notes: Vec<String>,
}

/// Compares what the witnesses of a test say, takes back what they contradict, and says so.
pub(super) fn examine(test: &mut TrafficTest) {
    let terms = Terms {
        transport: test.transport,
        coverage: test.coverage,
        is_early: test.interrupted.is_some(),
        omits_start: test.omits_start,
        payload: test.payload_bytes,
    };
    intended(test);
    let is_duplex = test.flows.len() > 1;
    for flow in &mut test.flows {
        let way = if is_duplex {
            match flow.direction {
                Direction::Reverse => "reverse ".to_owned(),
                Direction::Duplex | Direction::Forward => "forward ".to_owned(),
            }
        } else {
            String::new()
        };
        let (doubts, notes) = examine_flow(flow, &terms, &way);
        test.doubts.extend(doubts);
        test.notes.extend(notes);
    }
}

/// No sender that is paced sends more than was asked of it, nor does more arrive: then the command is not the test's, or
/// was cut.
fn intended(test: &mut TrafficTest) {
    /// Share by which headers and bursts may be counted in.
    const MOST: f64 = 1.1;
    let rate = |flow: &Flow| {
        let totals = [flow.sent, flow.received].into_iter().flatten();
        let mut of_intervals = [&flow.sent_rows, &flow.received_rows].into_iter();
        let mut rates = totals.filter_map(|totals| totals.bps);
        let bps = rates
            .next()
            .or_else(|| of_intervals.find_map(|rows| mean_rate(rows)))?;
        Some(bps.low / f64::from(flow.streams.max(1)))
    };
    let carried = test.flows.iter().filter_map(rate).fold(0.0, f64::max);
    let Some(asked) = test.intended.as_mut() else {
        return;
    };
    if let Some(bps) = asked.bps.take_if(|bps| carried > MOST * bps.high) {
        test.doubts.push(format!(
            "the intended load is unknown: the command asks for {:.0} bit/s per stream, which carried {carried:.0} bit/s",
            bps.value
        ));
    }
}

/// Doubts and notes.
fn examine_flow(flow: &mut Flow, terms: &Terms, way: &str) -> (Vec<String>, Vec<String>) {
    let Flow {
        sent,
        received,
        sent_rows,
        received_rows,
        sent_streams,
        received_streams,
        streams,
        ..
    } = flow;
    let side = |end: &str, totals, rows, streams: &Option<Totals>| Side {
        name: format!("{way}{end}"),
        totals,
        rows,
        streams: *streams,
        instead: None,
        doubts: Vec::new(),
        notes: Vec::new(),
    };
    let mut sender = side("sender", sent, sent_rows, sent_streams);
    let mut receiver = side("receiver", received, received_rows, received_streams);
    for side in [&mut sender, &mut receiver] {
        side.examine(terms);
    }
    let stated = terms.payload.map(|bytes| Rounded::exact(exact(bytes)));
    let length = stated.or_else(|| sender.size());
    for side in [&mut sender, &mut receiver] {
        side.sizes(length);
    }
    if terms.transport == Transport::Tcp {
        sender.conserve(receiver.instead);
        receiver.conserve(sender.instead);
        if !terms.omits_start {
            deliver(&mut sender, &mut receiver, *streams);
        }
    }
    sender.doubts.append(&mut receiver.doubts);
    sender.notes.append(&mut receiver.notes);
    (sender.doubts, sender.notes)
}

/// TCP delivers all that it sends and nothing else. What did not arrive at the end of a test is in the windows and the
/// buffers of its streams: of two ends that differ by more the one without intervals is not believed, else neither.
fn deliver<'a>(sender: &mut Side<'a>, receiver: &mut Side<'a>, streams: u16) {
    /// Windows that may be on their way: the largest one may have been between two intervals.
    const WINDOWS: f64 = 3.0;
    /// The default limits of Linux for a connection's buffers, in bytes: 4 MiB at the sender, 6 MiB at the receiver.
    const BUFFERS: f64 = 10.0 * 1024.0 * 1024.0;
    let told = |side: &Side<'_>| side.totals.as_ref().and_then(|totals| totals.bytes);
    let (Some(sent), Some(arrived)) = (told(sender), told(receiver)) else {
        return;
    };
    let (all, those) = (bytes_in_words(sent.value), bytes_in_words(arrived.value));
    let window = sender.rows.readings().cwnd.largest();
    let most = window.map(|window| f64::from(streams.max(1)) * (WINDOWS * window + BUFFERS));
    let why = if arrived.low > sent.high && !is_near(sent, arrived) {
        format!("{those} arrived of {all} that were sent")
    } else if let Some(most) = most.filter(|most| sent.low - arrived.high > *most) {
        format!(
            "{those} arrived of {all} that were sent, and with the windows of its intervals no more than {} can have \
             been on their way",
            bytes_in_words(most)
        )
    } else {
        return;
    };
    let has_rows = [sender.rows.is_empty(), receiver.rows.is_empty()].map(|is_empty| !is_empty);
    for (side, is_witnessed) in [
        (sender, has_rows == [true, false]),
        (receiver, has_rows == [false, true]),
    ] {
        if let Some(totals) = side.totals.as_mut().filter(|_| !is_witnessed) {
            (totals.bytes, totals.bps) = (None, None);
            side.doubt(&format!("bytes and rate are unknown: {why}"));
        }
    }
}

/// Whether intervals follow each other from the beginning to the end of `seconds`.
pub(super) fn covers(rows: &[Row], seconds: Rounded, coverage: Coverage) -> bool {
    gaps(rows, seconds, coverage).is_empty()
}

/// The times of which there is no interval, in seconds.
fn gaps(rows: &[Row], seconds: Rounded, coverage: Coverage) -> Vec<(f64, f64)> {
    let mut sorted: Vec<_> = rows.iter().map(|row| (row.start, row.end)).collect();
    sorted.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
    let Some((start, end)) = sorted.first().copied() else {
        return Vec::new();
    };
    let width = end.value - start.value;
    let mut gaps = Vec::new();
    let mut reached = Rounded::exact(0.0);
    for (start, end) in sorted {
        if start.low > reached.high + SLACK * width {
            gaps.push((reached.value, start.value));
        }
        if end.value > reached.value {
            reached = end;
        }
    }
    let is_open = match coverage {
        // A last one about as long as the others is missing.
        Coverage::ButLast => seconds.value > reached.value + LAST * width,
        // Both are of one clock.
        Coverage::Timed | Coverage::Whole => {
            seconds.value > reached.value + DIGIT || seconds.low > reached.high
        }
    };
    if is_open {
        gaps.push((reached.value, seconds.value));
    }
    gaps
}

/// Whether an interval's bytes, time and rate agree.
pub(super) fn row_agrees(row: &Row) -> bool {
    rate_agrees(row.bytes, row.end.minus(row.start), row.bps)
}

/// Whether `bytes` in `seconds` can be `bps`. A time that may be zero contradicts nothing.
fn rate_agrees(bytes: Rounded, seconds: Rounded, bps: Rounded) -> bool {
    seconds.low <= 0.0 || bps.times(seconds).agrees(bytes.scaled(8.0))
}

/// The mean rate of intervals, in bit/s.
fn mean_rate(rows: &[Row]) -> Option<Rounded> {
    let lasting = |row: &Row| row.end.value - row.start.value;
    let seconds: f64 = rows.iter().map(lasting).sum();
    let weighed = rows.iter().map(|row| row.bps.scaled(lasting(row)));
    let sum = weighed.reduce(Rounded::plus)?;
    (seconds > 0.0).then(|| sum.scaled(seconds.recip()))
}

/// The bytes of a test: where they are not told, those of its rate.
fn moved(totals: &Totals) -> Option<Rounded> {
    let of_rate = || Some(totals.bps?.times(totals.seconds).scaled(0.125));
    totals.bytes.or_else(of_rate)
}

/// Of two figures that agree the one that is rounded less.
fn narrower(a: Rounded, b: Option<Rounded>) -> Rounded {
    let width = |figure: Rounded| figure.high - figure.low;
    let other = b.filter(|b| a.agrees(*b) && width(*b) < width(a));
    other.unwrap_or(a)
}

fn is_near(a: Rounded, b: Rounded) -> bool {
    (a.value - b.value).abs() <= NEAR * a.value.max(b.value)
}

fn bytes(figure: Rounded) -> String {
    format!("{:.0} B", figure.value)
}

impl Side<'_> {
    fn examine(&mut self, terms: &Terms) {
        self.intervals();
        self.possible();
        self.rate();
        self.connections();
        let is_whole = self.lacks(terms.coverage);
        self.sums(terms, is_whole);
    }

    fn doubt(&mut self, what: &str) {
        let name = &self.name;
        self.doubts.push(format!("{name}: {what}"));
    }

    /// Each interval by itself.
    fn intervals(&mut self) {
        let wrong = self.rows.iter().filter(|row| !row_agrees(row));
        let told: Vec<_> = wrong
            .map(|row| {
                let seconds = row.end.value - row.start.value;
                format!(
                    "{} in {seconds:.2} s (line {}) are not {:.0} bit/s",
                    bytes(row.bytes),
                    row.line,
                    row.bps.value
                )
            })
            .collect();
        self.tell("an interval contradicts itself", &told);
        let is_counted = |row: &Row| row.lost.zip(row.datagrams).is_none_or(|(l, all)| l <= all);
        let is_odd = |row: &Row| row.is_wrapped || row.is_misprinted || !is_counted(row);
        let odd = self.rows.iter().filter(|row| is_odd(row));
        let odd: Vec<_> = odd.map(|row| format!("line {}", row.line)).collect();
        if !odd.is_empty() {
            self.rows.change(|row| {
                if is_odd(row) {
                    row.datagrams = None;
                }
            });
            self.tell("counters of datagrams went wrong in intervals", &odd);
        }
    }

    /// Names the first of these, and how many more there are.
    fn tell(&mut self, what: &str, found: &[String]) {
        let more = found.len().saturating_sub(MAX_TOLD);
        if found.is_empty() {
            return;
        }
        let mut all = found[..found.len() - more].join(", ");
        if more > 0 {
            all = format!("{all} and {more} more");
        }
        self.doubt(&format!("{what}: {all}"));
    }

    /// Counters that cannot be: negative ones, those at the end of their bits, more lost than there were.
    fn possible(&mut self) {
        const LIMITS: [u64; 2] = [i32::MAX as u64, u32::MAX as u64];
        let Some(totals) = self.totals.as_mut() else {
            return;
        };
        let stands = totals.datagrams.filter(|count| LIMITS.contains(count));
        let is_more = totals.lost.zip(totals.datagrams).filter(|(l, all)| l > all);
        let odd_share = totals
            .lost
            .zip(totals.datagrams)
            .filter(|_| totals.is_misprinted);
        let why = match (totals.is_wrapped, stands, is_more, odd_share) {
            (true, ..) => "the summary's is negative".to_owned(),
            (_, Some(count), ..) => {
                format!("the summary's stands at {count}, the end of its bits")
            }
            (_, _, Some((lost, all)), _) => format!("the summary has {lost} lost of {all}"),
            (.., Some((lost, all))) => {
                format!("the summary has {lost} lost of {all}, and another share beside them")
            }
            _ => return,
        };
        (totals.datagrams, totals.lost) = (None, None);
        let lost = self.rows.iter().filter_map(|row| row.lost);
        let seen = lost.fold(0, u64::saturating_add);
        let least = if seen > 0 {
            format!("; the intervals have {seen} lost, which is the least")
        } else {
            String::new()
        };
        self.doubt(&format!(
            "how many datagrams there were and were lost is unknown: of the counters {why}{least}"
        ));
    }

    /// The summary's bytes, time and rate.
    fn rate(&mut self) {
        let Some(totals) = self.totals.as_mut() else {
            return;
        };
        let Some(moved) = totals.bytes else {
            return;
        };
        let Some(bps) = totals.bps else {
            totals.bps = moved.per(totals.seconds);
            return;
        };
        if rate_agrees(moved, totals.seconds, bps) {
            return;
        }
        let said = format!(
            "{} in {:.2} s are not {:.0} bit/s",
            bytes(moved),
            totals.seconds.value,
            bps.value
        );
        let by_time = moved.per(totals.seconds);
        if let Some(other) = by_time.filter(|other| is_near(bps, *other)) {
            totals.bps = Some(bps.spanning(other));
            self.doubt(&format!("the rate lies between two figures: {said}"));
        } else {
            (totals.bytes, totals.bps) = (None, None);
            self.doubt(&format!("bytes and rate are unknown: {said}"));
        }
    }

    /// Says of which times there is no interval; whether there are none of these.
    fn lacks(&mut self, coverage: Coverage) -> bool {
        let Some(totals) = self.totals.as_ref() else {
            return false;
        };
        let gaps = gaps(self.rows, totals.seconds, coverage);
        // Of others the summary does not tell the bytes: those of UDP's sender tell nothing of the receiver.
        let is_told = totals.bytes.is_some() || totals.bps.is_some();
        // A moment that the digits do not show is no time without an interval.
        let shown = gaps.iter().filter_map(|(from, to)| {
            let (from, to) = (format!("{from:.2}"), format!("{to:.2}"));
            (from != to).then(|| format!("{from} to {to} s"))
        });
        let found: Vec<_> = shown.collect();
        if is_told && !found.is_empty() {
            let name = &self.name;
            self.notes.push(format!(
                "{name}: the log has no interval from {}",
                found.join(", ")
            ));
        } else {
            const ALONE: &str =
                "bytes and rate are unknown, since only intervals have them and there is none from";
            self.tell(ALONE, &found);
        }
        !self.rows.is_empty() && gaps.is_empty()
    }

    /// The summary against the sum of the intervals.
    fn sums(&mut self, terms: &Terms, is_whole: bool) {
        let (Some(totals), Some(first)) = (self.totals.as_ref(), self.rows.first()) else {
            return;
        };
        let last = self.rows.iter().map(|row| row.end);
        let last = last.reduce(|a, b| if b.value > a.value { b } else { a });
        let end = last.unwrap_or(first.end);
        // A tool may leave out the last interval.
        let is_full = is_whole && end.minus(first.start).agrees(totals.seconds);
        let is_equal = is_full && terms.coverage == Coverage::Whole;
        let others = &self.rows[1..];
        let sum = others
            .iter()
            .fold(first.bytes, |all, row| all.plus(row.bytes));
        if let Some(moved) = moved(totals) {
            let is_less = !is_equal && sum.low < moved.high && (!is_full || is_near(moved, sum));
            let is_possible = moved.agrees(sum) || is_less;
            if !is_possible {
                self.replace(
                    terms,
                    moved,
                    sum,
                    is_whole.then_some(end.minus(first.start)),
                );
            }
        }
        self.counts(terms, is_equal, is_whole);
    }

    /// What becomes of bytes and rate where the intervals have others. `seconds`: these are over the whole test.
    fn replace(&mut self, terms: &Terms, moved: Rounded, sum: Rounded, seconds: Option<Rounded>) {
        let Some(totals) = self.totals.as_mut() else {
            return;
        };
        let said = format!(
            "the summary has {}, the intervals {}",
            bytes(moved),
            bytes(sum)
        );
        let is_more = moved.value > sum.value;
        let of_intervals = match seconds {
            Some(seconds) if terms.is_early || terms.omits_start && is_more => {
                let bps = sum
                    .per(seconds)
                    .map(|bps| narrower(bps, mean_rate(self.rows)));
                bps.map(|bps| (seconds, bps))
            }
            _ => None,
        };
        if let Some((seconds, bps)) = of_intervals {
            let why = if terms.is_early {
                "the test was ended before its summary was made"
            } else {
                "the summary counts the omitted start too"
            };
            (totals.seconds, totals.bytes, totals.bps) = (seconds, Some(sum), Some(bps));
            self.instead = Some(sum);
            self.doubt(&format!(
                "bytes and rate are those of the intervals, since {why}: {said}"
            ));
        } else if is_near(moved, sum) {
            totals.bytes = Some(moved.spanning(sum));
            let other = moved.spanning(sum).per(totals.seconds);
            totals.bps = totals
                .bps
                .zip(other)
                .map(|(bps, other)| bps.spanning(other));
            self.doubt(&format!("bytes and rate lie between two figures: {said}"));
        } else {
            (totals.bytes, totals.bps) = (None, None);
            self.instead = seconds.map(|_| sum);
            self.doubt(&format!("bytes and rate are unknown: {said}"));
        }
    }

    /// Counters of the summary against those of the intervals.
    fn counts(&mut self, terms: &Terms, is_equal: bool, is_whole: bool) {
        let of = |of: fn(&Row) -> Option<u64>| {
            let mut counts = self.rows.iter().map(of);
            counts.try_fold(0, |sum: u64, count| sum.checked_add(count?))
        };
        let sums = [
            ("datagrams", of(|row| row.datagrams)),
            ("lost datagrams", of(|row| row.lost)),
            (RETRANSMISSIONS, of(|row| row.retransmitted)),
        ];
        for (what, sum) in sums {
            let total = self.slot(what).and_then(|slot| *slot);
            let Some((sum, total)) = sum.zip(total) else {
                continue;
            };
            if sum == total || !is_equal && sum < total {
                continue;
            }
            let said = format!("the summary has {total}, the intervals {sum}");
            let off_by = sum.abs_diff(total);
            let is_near = exact(off_by) <= FEW + NEAR * exact(sum.max(total));
            if is_near && what != RETRANSMISSIONS && !terms.is_early {
                if let Some(totals) = self.totals.as_mut() {
                    totals.off_by = totals.off_by.max(off_by);
                }
                self.doubt(&format!("{what} are between two counts: {said}"));
                continue;
            }
            let is_measured = terms.is_early && is_whole;
            if let Some(slot) = self.slot(what) {
                *slot = is_measured.then_some(sum);
            }
            self.doubt(&if is_measured {
                format!("{what} are those of the intervals, since the test was ended before its summary was made: {said}")
            } else {
                format!("{what} are unknown: {said}")
            });
        }
    }

    fn slot(&mut self, what: &str) -> Option<&mut Option<u64>> {
        let totals = self.totals.as_mut()?;
        Some(match what {
            "datagrams" => &mut totals.datagrams,
            "lost datagrams" => &mut totals.lost,
            _ => &mut totals.retransmitted,
        })
    }

    /// The tool's sum over streams against what it says of each.
    fn connections(&mut self) {
        let Some((totals, streams)) = self.totals.as_mut().zip(self.streams) else {
            return;
        };
        let mut said = Vec::new();
        if let Some((sum, all)) = totals
            .bytes
            .zip(streams.bytes)
            .filter(|(a, b)| !a.agrees(*b))
        {
            said.push(format!(
                "bytes and rate are unknown: the sum over streams has {}, the streams {}",
                bytes(sum),
                bytes(all)
            ));
            (totals.bytes, totals.bps) = (None, None);
        }
        for (what, slot, all) in [
            ("datagrams", &mut totals.datagrams, streams.datagrams),
            ("lost datagrams", &mut totals.lost, streams.lost),
            (
                RETRANSMISSIONS,
                &mut totals.retransmitted,
                streams.retransmitted,
            ),
        ] {
            if let Some((sum, all)) = slot.zip(all).filter(|(a, b)| a != b) {
                *slot = None;
                said.push(format!(
                    "{what} are unknown: the sum over streams has {sum}, the streams {all}"
                ));
            }
        }
        for what in &said {
            self.doubt(what);
        }
    }

    /// The payload of a sender's datagrams, which is that of all of them, in bytes.
    fn size(&self) -> Option<Rounded> {
        let totals = self.totals.as_ref()?;
        // Beside losses of the other end the bytes may be those that it received.
        let is_own = totals.lost.is_none_or(|lost| lost == 0);
        let count = totals.datagrams.filter(|count| *count > 0 && is_own)?;
        Some(totals.bytes?.scaled(exact(count).recip()))
    }

    /// Datagrams of a size that is known, or of any that is possible, against the bytes.
    fn sizes(&mut self, payload: Option<Rounded>) {
        let Some(totals) = self.totals.as_mut() else {
            return;
        };
        let moved = |totals: &Totals| totals.datagrams?.checked_sub(totals.lost.unwrap_or(0));
        let (Some(carried), Some(count)) = (totals.bytes, totals.arrived.or_else(|| moved(totals)))
        else {
            return;
        };
        let of = |payload: Rounded| payload.scaled(exact(count));
        let is_possible = match payload.map(of) {
            Some(all) => carried.agrees(all) || is_near(carried, all),
            None => carried.low <= exact(count) * MAX_PAYLOAD,
        };
        if !is_possible {
            (totals.datagrams, totals.lost, totals.arrived) = (None, None, None);
            self.doubt(&format!(
                "how many datagrams there were and were lost is unknown: {count} cannot have carried {}",
                bytes(carried)
            ));
        }
    }

    /// TCP delivers what it sends: a sum that the other end's intervals deny is none of the same time.
    fn conserve(&mut self, other: Option<Rounded>) {
        let Some((totals, other)) = self.totals.as_mut().zip(other) else {
            return;
        };
        let moved = moved(totals).filter(|_| self.rows.is_empty());
        if let Some(moved) =
            moved.filter(|moved| moved.value > other.value && !is_near(*moved, other))
        {
            (totals.bytes, totals.bps) = (None, None);
            self.doubt(&format!(
                "bytes and rate are unknown: the summary has {}, the other end's intervals {}",
                bytes(moved),
                bytes(other)
            ));
        }
    }
}
