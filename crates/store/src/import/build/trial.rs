//! One direction of one test as a trial.

use crate::import::merge::Merged;
use crate::import::rounded::note;
use crate::import::{Flow, Joined, Rounded, Row, Totals, TrafficTest, command, exact, whole};
use linerate_model::run::{
    ByteStreamResult, CpuSide, CpuSummary, DatagramsResult, Packets, TcpSummary, Trial,
    TrialInterval, TrialWork, UnitCounts,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, Interval, PacketCount, PacketRate, Quantity, Ratio};
use std::time::Duration;

/// One trial per direction. Their indices are set later.
pub(super) fn trials(test: &Merged) -> Vec<Trial> {
    test.flows.iter().map(|flow| trial(test, flow)).collect()
}

/// The trials of all tests of a run, which say of those that ended early that they did; of a test alone its run says it.
pub(super) fn all(group: &[Merged]) -> Vec<Trial> {
    let of_test = |test: &Merged| {
        let mut trials = trials(test);
        let early = test.main.interrupted.as_ref().filter(|_| group.len() > 1);
        if let Some(reason) = early {
            for trial in &mut trials {
                trial.reasons.push(format!("ended early: {reason}"));
            }
        }
        trials
    };
    group.iter().flat_map(of_test).collect()
}

fn trial(test: &Merged, flow: &Flow) -> Trial {
    let main = &test.main;
    let work: TrialWork = match main.transport {
        Transport::Udp => {
            let received = flow.received.as_ref();
            let jitter = received.and_then(|row| row.jitter.as_ref());
            DatagramsResult {
                rtp_jitter_ns: jitter.and_then(|seconds| whole((seconds.value * 1e9).round())),
                ..DatagramsResult::default()
            }
            .into()
        }
        Transport::Tcp => ByteStreamResult {
            tcp: tcp(test, flow),
            ..ByteStreamResult::default()
        }
        .into(),
    };
    let mut trial = Trial::from_log(0, main.transport, flow.direction, work);
    trial.streams = Some(flow.streams).filter(|streams| *streams > 0);
    trial.payload_bytes = main.payload_bytes.map(ByteCount::new);
    intended(&mut trial, test, flow);
    rates(&mut trial, flow);
    if main.transport == Transport::Udp {
        packets(&mut trial, flow);
    }
    trial.intervals = intervals(flow);
    trial.cpu = cpu(main, flow.direction);
    let server = test.server.iter().flat_map(|server| &server.notes);
    trial
        .reasons
        .extend(main.notes.iter().chain(server).cloned());
    trial.reasons.extend(joined(flow));
    super::dedup(&mut trial.reasons);
    trial
}

/// What to say of intervals that are not those of the log.
fn joined(flow: &Flow) -> Option<String> {
    let width = flow.sent_rows.width().max(flow.received_rows.width());
    (width > 1).then(|| {
        format!(
            "the log has more intervals than are kept: up to {width} of them are one here, whose window, round-trip \
             time and jitter are those at its end"
        )
    })
}

/// The intended load of a test's first direction: orders the trials of a curve.
pub(super) fn intended_load(test: &Merged) -> Option<BitRate> {
    trials(test).first().and_then(|trial| trial.intended_load)
}

/// The file's name without folders and without its endings, which are words: `256M.client.log` is `256M`, and
/// `iperf3-3.16.log` is `iperf3-3.16`.
pub(super) fn stem(file: &str) -> &str {
    let mut name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    while let Some((rest, ending)) = name.rsplit_once('.')
        && !rest.is_empty()
        && ending.chars().all(|c| c.is_ascii_alphabetic())
    {
        name = rest;
    }
    name
}

fn intended(trial: &mut Trial, test: &Merged, flow: &Flow) {
    let stem = stem(&test.main.origin.file);
    // A log that lost its command line may be named after it.
    let named = || command::rate_argument(stem.trim_start_matches('0'), 1000.0);
    let per_stream = match &test.main.intended {
        Some(intended) => {
            trial.label = Some(intended.label.clone());
            intended.bps
        }
        None if trial.transport == Transport::Udp && stem.ends_with(char::is_alphabetic) => {
            let named = named();
            if named.is_some() {
                trial.reasons.push(format!(
                    "the log shows no command line: the intended load is taken from the file name {stem}"
                ));
                trial.label = Some(stem.trim_start_matches('0').to_owned());
            }
            named.map(Rounded::exact)
        }
        None => None,
    };
    if trial
        .label
        .as_deref()
        .is_none_or(|label| label == "unpaced")
    {
        trial.label = Some(stem.to_owned());
    }
    let Some(bps) = per_stream.map(|bps| bps.scaled(f64::from(flow.streams.max(1)))) else {
        return;
    };
    trial.intended_load = Some(BitRate::from_f64(bps.value));
    note(trial, Quantity::IntendedLoad, bps);
}

fn rates(trial: &mut Trial, flow: &Flow) {
    let bps = |side: &Option<Totals>| side.as_ref().and_then(|totals| totals.bps);
    let bytes = |side: &Option<Totals>| side.as_ref().and_then(|totals| totals.bytes);
    let mut noted = |key, figure: Option<Rounded>| {
        if let Some(figure) = figure {
            note(trial, key, figure);
        }
        figure
    };
    let offered = noted(Quantity::OfferedRate, bps(&flow.sent));
    let sent = noted(Quantity::SentBytes, bytes(&flow.sent));
    let carried = noted(Quantity::ReceivedRate, bps(&flow.received));
    let received = noted(Quantity::ReceivedBytes, bytes(&flow.received));
    let rate = |figure: Option<Rounded>| figure.map(|figure| BitRate::from_f64(figure.value));
    (trial.offered_load, trial.received_rate) = (rate(offered), rate(carried));
    trial.sent_bytes = sent.and_then(count);
    trial.received_bytes = received.and_then(count);
    if let Some(totals) = flow.sent.as_ref().or(flow.received.as_ref()) {
        trial.duration = Some(seconds(totals.seconds));
        note(trial, Quantity::Duration, totals.seconds);
    }
}

fn count(bytes: Rounded) -> Option<ByteCount> {
    whole(bytes.value.round()).map(ByteCount::new)
}

fn seconds(figure: Rounded) -> Duration {
    Duration::try_from_secs_f64(figure.value).unwrap_or(Duration::MAX)
}

/// A receiver may count the last packets, which only say the end.
const MORE: f64 = 1.1;

/// Datagram accounting: exact counts, but the tools do not see everything.
fn packets(trial: &mut Trial, flow: &Flow) {
    let sent = flow.sent.as_ref().and_then(|sent| sent.datagrams);
    let seen = flow
        .received
        .as_ref()
        .and_then(|r| Some((r.datagrams?, r.lost?)));
    let arrived = flow.received.as_ref().and_then(|received| received.arrived);
    let received = arrived.or_else(|| seen.and_then(|(total, lost)| total.checked_sub(lost)));
    let counted = sent
        .zip(received)
        .map(|(sent, received)| sent.checked_sub(received));
    let lost = match (counted, seen) {
        (Some(None), _) => {
            trial.reasons.push(
                "more datagrams were received than sent: duplicates, which the tool does not tell"
                    .to_owned(),
            );
            None
        }
        (Some(lost), _) => lost,
        (None, Some((_, lost))) => {
            trial.reasons.push(
                "only the receiver counted: datagrams lost after the last one received are not seen"
                    .to_owned(),
            );
            Some(lost)
        }
        (None, None) => None,
    };
    let whole = sent.or_else(|| seen.map(|(total, _)| total));
    let ratio = lost.zip(whole).filter(|(_, whole)| *whole > 0);
    let packets = Packets {
        sent: sent.map(PacketCount::new),
        received: received.map(PacketCount::new),
        lost: lost.map(PacketCount::new),
        duplicated: None,
        reordered: None,
        loss_ratio: ratio.map(|(lost, whole)| Ratio::from_parts(lost, whole)),
    };
    let bytes = |side: &Option<Totals>| side.as_ref().and_then(|totals| totals.bytes);
    let more = bytes(&flow.sent).zip(bytes(&flow.received));
    if more.is_some_and(|(sent, received)| received.low > sent.high * MORE) {
        trial.reasons.push(
            "more bytes were received than sent: duplicates, or figures of two tests".to_owned(),
        );
    }
    let mut counts = packet_rates(trial, flow, sent, received);
    counts.packets = Some(packets).filter(|packets| *packets != Packets::default());
    if let Some(all) = trial.counts_mut() {
        *all = counts;
    }
    if let (Some(sent), Some((total, seen_lost)), Some(lost)) = (sent, seen, lost) {
        tail(trial, sent, total, seen_lost, lost);
    }
    old_receiver(trial, flow);
    doubtful(trial, flow);
}

/// The intervals of counts of which two witnesses have two.
fn doubtful(trial: &mut Trial, flow: &Flow) {
    let off_by = |side: &Option<Totals>| side.as_ref().map_or(0, |totals| totals.off_by);
    let (sent_off, received_off) = (off_by(&flow.sent), off_by(&flow.received));
    let Some(packets) = trial.packets().copied() else {
        return;
    };
    let both = sent_off.saturating_add(received_off);
    let counts = [
        (Quantity::SentPackets, packets.sent, sent_off),
        (Quantity::ReceivedPackets, packets.received, received_off),
        (Quantity::LostPackets, packets.lost, both),
    ];
    for (quantity, count, off) in counts {
        let Some(count) = count.map(PacketCount::get).filter(|_| off > 0) else {
            continue;
        };
        let known = trial.rounding(quantity);
        let (low, high) = (
            exact(count.saturating_sub(off)),
            exact(count.saturating_add(off)),
        );
        let interval = Interval::new(
            known.map_or(low, |known| known.low.min(low)),
            known.map_or(high, |known| known.high.max(high)),
        );
        trial.set_rounding(quantity, Some(interval));
    }
}

/// The receiver stops counting when the sender says that it is done: what is still on its way then
/// is in neither count.
fn tail(trial: &mut Trial, sent: u64, total: u64, seen_lost: u64, lost: u64) {
    if seen_lost >= lost {
        return;
    }
    if total == 0 {
        trial.reasons.push(format!(
            "the receiver counted none of the {sent} datagrams sent"
        ));
        return;
    }
    let between = |scale: f64| Interval::new(exact(seen_lost) / scale, exact(lost) / scale);
    trial.set_rounding(Quantity::LostPackets, Some(between(1.0)));
    trial.set_rounding(Quantity::LossRatio, Some(between(exact(sent))));
    let missing = match sent.saturating_sub(total) {
        1 => "the last one was lost or still on its way".to_owned(),
        count => format!("the last {count} were lost or still on their way"),
    };
    trial.reasons.push(format!(
        "the receiver accounts for {total} of the {sent} datagrams sent: {missing} when it stopped counting"
    ));
}

fn packet_rates(
    trial: &mut Trial,
    flow: &Flow,
    sent: Option<u64>,
    received: Option<u64>,
) -> UnitCounts {
    let mut counts = UnitCounts::default();
    let rate = |count: Option<u64>, totals: Option<&Totals>| {
        let seconds = totals?.seconds;
        let packets = exact(count?);
        (seconds.low > 0.0).then(|| Rounded {
            value: packets / seconds.value,
            low: packets / seconds.high,
            high: packets / seconds.low,
        })
    };
    if let Some(pps) = rate(sent, flow.sent.as_ref()) {
        counts.offered_packet_rate = Some(PacketRate::from_pps(pps.value));
        note(trial, Quantity::OfferedPacketRate, pps);
    }
    if let Some(pps) = rate(received, flow.received.as_ref()) {
        counts.received_packet_rate = Some(PacketRate::from_pps(pps.value));
        note(trial, Quantity::ReceivedPacketRate, pps);
    }
    counts
}

/// iperf3 up to 3.1 prints what was sent and the share that was lost: the rest was received.
fn old_receiver(trial: &mut Trial, flow: &Flow) {
    let Some((sent, received)) = flow.sent.as_ref().zip(flow.received.as_ref()) else {
        return;
    };
    let (None, Some(bps), Some(total), Some(lost)) =
        (received.bps, sent.bps, received.datagrams, received.lost)
    else {
        return;
    };
    if total > 0 && lost <= total {
        let rate = bps.scaled(exact(total - lost) / exact(total));
        trial.received_rate = Some(BitRate::from_f64(rate.value));
        note(trial, Quantity::ReceivedRate, rate);
    }
}

/// The CPU use of the tool's one thread, on the side of the traffic that each end is.
fn cpu(test: &TrafficTest, direction: Direction) -> Option<CpuSummary> {
    let [own, other] = test.thread_load.map(|load| {
        load.map(|load| CpuSide {
            thread_ratio: Some(Ratio::clamped(load)),
            ..CpuSide::default()
        })
    });
    let (sender, receiver) = if test.sends(direction) {
        (own, other)
    } else {
        (other, own)
    };
    let summary = CpuSummary { sender, receiver };
    (summary != CpuSummary::default()).then_some(summary)
}

fn tcp(test: &Merged, flow: &Flow) -> Option<TcpSummary> {
    let Joined { cwnd, srtt } = flow.sent_rows.readings();
    let rounded = |value: f64| whole(value.round());
    let summary = TcpSummary {
        retransmitted_segments: flow.sent.as_ref().and_then(|sent| sent.retransmitted),
        cwnd_mean_bytes: cwnd.mean().and_then(rounded).map(ByteCount::new),
        cwnd_max_bytes: cwnd.largest().and_then(rounded).map(ByteCount::new),
        srtt_mean_ns: srtt.mean().and_then(|seconds| rounded(seconds * 1e9)),
        congestion_control: test.main.congestion_control.clone(),
        smss_bytes: test
            .main
            .smss_bytes
            .filter(|_| test.main.sends(flow.direction)),
        ..TcpSummary::default()
    };
    (summary != TcpSummary::default()).then_some(summary)
}

/// Share of an interval by which the two ends' bounds may differ and still be one interval.
const BOUNDS_TOLERANCE: f64 = 0.01;

/// Both sides' intervals on one time scale: together where their bounds agree, else one by one.
fn intervals(flow: &Flow) -> Vec<TrialInterval> {
    let is_alone = flow.received_rows.is_empty();
    let mut sent: Vec<_> = flow.sent_rows.iter().collect();
    sent.sort_by(|a, b| a.start.value.total_cmp(&b.start.value));
    let mut all: Vec<_> = sent.iter().map(|row| sender(row, is_alone)).collect();
    for row in flow.received_rows.iter() {
        // Two ends do not cut their intervals at quite the same moment.
        let slack = BOUNDS_TOLERANCE * (row.end.value - row.start.value);
        let wide = |time: Rounded| Rounded {
            value: time.value,
            low: time.low - slack,
            high: time.high + slack,
        };
        let (start, end) = (wide(row.start), wide(row.end));
        let first = sent.partition_point(|sent| sent.start.high < start.low);
        let near = sent[first..]
            .iter()
            .take_while(|sent| sent.start.low <= start.high)
            .position(|sent| sent.start.agrees(start) && sent.end.agrees(end));
        if let Some(offset) = near {
            receiver(&mut all[first + offset], row);
        } else {
            let mut interval = bounds(row);
            receiver(&mut interval, row);
            all.push(interval);
        }
    }
    all.sort_by_key(|interval| (interval.start, interval.end));
    all
}

fn bounds(row: &Row) -> TrialInterval {
    TrialInterval {
        start: seconds(row.start),
        end: seconds(row.end),
        ..TrialInterval::default()
    }
}

fn sender(row: &Row, is_alone: bool) -> TrialInterval {
    TrialInterval {
        offered_load: Some(BitRate::from_f64(row.bps.value)),
        cwnd_bytes: row.cwnd.and_then(count),
        srtt_ns: row.srtt.and_then(|rtt| whole((rtt.value * 1e9).round())),
        retransmitted_segments: row.retransmitted,
        total_packets: row.datagrams.filter(|_| is_alone).map(PacketCount::new),
        ..bounds(row)
    }
}

fn receiver(interval: &mut TrialInterval, row: &Row) {
    interval.received_rate = Some(BitRate::from_f64(row.bps.value));
    interval.lost_packets = row.lost.map(PacketCount::new);
    interval.total_packets = row.datagrams.map(PacketCount::new);
}

/// What readers of the whole run should know about these figures.
pub(super) fn notes(trials: &[Trial]) -> Vec<String> {
    let mut notes = Vec::new();
    if trials
        .iter()
        .any(|trial| trial.rounding(Quantity::LostPackets).is_some())
    {
        notes.push(
            "sent and received datagrams are counted over slightly different times: `lost` is sent \
             minus received, its rounding interval begins at what the receiver saw missing"
                .to_owned(),
        );
    }
    if trials.iter().any(|trial| trial.packets().is_some()) {
        notes.push(
            "this log does not report duplicates and reordering; a duplicate may hide a loss"
                .to_owned(),
        );
    }
    if trials
        .iter()
        .any(|trial| trial.direction == Direction::Reverse)
        && trials
            .iter()
            .any(|trial| trial.direction == Direction::Forward)
    {
        notes.push("both directions ran at the same time".to_owned());
    }
    notes
}
