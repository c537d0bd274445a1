//! The size of the datagrams, where the figures leave only one that is possible.

use crate::import::merge::Merged;
use crate::import::{Row, Totals, exact, whole};
use linerate_model::run::Trial;
use linerate_model::spec::Transport;
use linerate_model::{ByteCount, Interval, PacketCount, Quantity};

/// Finds the payload of all tests of a curve that do not state it, and what follows from it: exact
/// byte counts. Returns what to say about it.
///
/// Every figure of bytes over a known number of datagrams leaves an interval for the size; tests
/// whose commands do not set a size share the tool's default for the path.
pub(super) fn fill(trials: &mut [Trial], group: &[Merged]) -> Vec<String> {
    let mut notes = Vec::new();
    if group[0].main.transport != Transport::Udp {
        return notes;
    }
    if let Some(bytes) = only_size(group) {
        notes.push(format!(
            "datagrams carry {bytes} bytes: the only size that all printed transfers and counts allow"
        ));
        for trial in trials.iter_mut() {
            trial
                .payload_bytes
                .get_or_insert_with(|| ByteCount::new(bytes));
        }
    }
    for trial in trials {
        exact_bytes(trial);
    }
    notes
}

/// The one whole number of bytes that every figure allows; `None` if there are none or several.
fn only_size(group: &[Merged]) -> Option<u64> {
    let mut possible = Interval::new(0.0, f64::MAX);
    for test in group
        .iter()
        .filter(|test| test.main.payload_bytes.is_none())
    {
        for flow in &test.flows {
            for size in [&flow.sent, &flow.received]
                .into_iter()
                .flatten()
                .filter_map(of_totals)
            {
                narrow(&mut possible, size);
            }
            for size in flow
                .sent_rows
                .iter()
                .chain(flow.received_rows.iter())
                .filter_map(of_row)
            {
                narrow(&mut possible, size);
            }
        }
    }
    let (first, last) = (possible.low.ceil(), possible.high.floor());
    // The largest datagram of IPv4.
    let is_one = first.total_cmp(&last).is_eq() && first <= 65_507.0;
    is_one.then(|| whole(first)).flatten()
}

fn narrow(possible: &mut Interval, size: Interval) {
    possible.low = possible.low.max(size.low);
    possible.high = possible.high.min(size.high);
}

fn of_totals(totals: &Totals) -> Option<Interval> {
    size(totals.bytes?.interval(), totals.datagrams, totals.lost)
}

fn of_row(row: &Row) -> Option<Interval> {
    size(row.bytes.interval(), row.datagrams, row.lost)
}

fn size(bytes: Interval, datagrams: Option<u64>, lost: Option<u64>) -> Option<Interval> {
    let moved = datagrams?.checked_sub(lost.unwrap_or(0))?;
    (moved > 0).then(|| Interval::new(bytes.low / exact(moved), bytes.high / exact(moved)))
}

/// Replaces rounded byte counts by exact ones where the datagrams are counted and their size known.
fn exact_bytes(trial: &mut Trial) {
    let Some(payload) = trial.payload_bytes else {
        return;
    };
    let Some(packets) = trial.packets().copied() else {
        return;
    };
    let of = |count: PacketCount| count.get().checked_mul(payload.get()).map(ByteCount::new);
    let is_vague =
        |bytes: Option<ByteCount>, quantity| bytes.is_none() || trial.rounding(quantity).is_some();
    let sent = is_vague(trial.sent_bytes, Quantity::SentBytes);
    let received = is_vague(trial.received_bytes, Quantity::ReceivedBytes);
    if let Some(bytes) = packets.sent.and_then(of).filter(|_| sent) {
        trial.sent_bytes = Some(bytes);
        trial.set_rounding(Quantity::SentBytes, None);
    }
    if let Some(bytes) = packets.received.and_then(of).filter(|_| received) {
        trial.received_bytes = Some(bytes);
        trial.set_rounding(Quantity::ReceivedBytes, None);
    }
}
