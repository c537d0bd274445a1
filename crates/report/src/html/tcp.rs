//! What held TCP back: shares of time, what its windows allow, RFC 6349, retransmissions, bufferbloat.

use super::{figure, heading};
use crate::charts::{tcp_finding, trial_name};
use crate::figures::{UNKNOWN, Unit, float, nanos};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::run::{Run, TcpSummary, Trial};
use linerate_model::tcp::{BLOAT_FACTOR, BLOAT_RISE, TcpQueueing, TcpWait};
use linerate_model::{BitRate, ByteCount, Ratio};
use maud::{Markup, html};

/// Nothing without a trial whose time was split.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    let known: Vec<(&Trial, &TcpSummary)> = run
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.tcp()?)))
        .filter(|(_, tcp)| tcp.shares.is_some() || tcp.rfc6349.is_some())
        .collect();
    html! {
        @if !known.is_empty() {
            (heading(level, None, "TCP: what held it back"))
            @for (trial, tcp) in known.iter().take(SHOWN) {
                p {
                    @if known.len() > 1 { (trial_name(run, trial)) ": " }
                    @if let Some(shares) = &tcp.shares { (tcp_finding(shares)) " " }
                    (tcp.queueing.as_ref().map_or_else(String::new, bufferbloat))
                }
            }
            (folded("Shares of the time", &known, &shares(run, &known)))
            (folded("Rate against what each window allows", &known, &windows(run, &known)))
            (folded("RFC 6349", &known, &rfc6349(run, &known)))
            (folded("Retransmissions", &known, &retransmissions(run, &known)))
        }
    }
}

/// Trials that are told in words.
const SHOWN: usize = 4;

type Known<'a> = [(&'a Trial, &'a TcpSummary)];

fn folded(name: &str, known: &Known<'_>, table: &Table) -> Markup {
    html! {
        details open[known.len() <= SHOWN] {
            summary { (name) }
            div.scroll tabindex="0" role="group" aria-label=(name) { (figure::table(table, name)) }
        }
    }
}

/// One sentence with the threshold.
pub(crate) fn bufferbloat(queueing: &TcpQueueing) -> String {
    let time = |ns: u64| nanos(float(ns));
    let verdict = if queueing.bloated {
        "Bufferbloat"
    } else {
        "No bufferbloat"
    };
    let rise = queueing.loaded_ns.saturating_sub(queueing.idle_ns);
    format!(
        "{verdict}: RTT {} under load, {} at best, {:.1} times and {} longer (threshold: {BLOAT_FACTOR:.0} times and {} ms).",
        time(queueing.loaded_ns),
        time(queueing.idle_ns),
        queueing.factor,
        time(rise),
        BLOAT_RISE.as_millis()
    )
}

fn percent(share: Option<Ratio>) -> Cell {
    Cell::number(share.map(Ratio::get), Unit::PERCENT)
}

fn kib(size: Option<ByteCount>) -> Cell {
    Cell::number(size.map(|size| float(size.get())), Unit::KIB)
}

fn shares(run: &Run, known: &Known<'_>) -> Table {
    let waits = TcpWait::ALL
        .iter()
        .map(|wait| format!("{} (%)", words::tcp_wait(*wait)));
    let mut table = Table::new(["Trial".to_owned()].into_iter().chain(waits));
    for (trial, tcp) in known {
        let Some(shares) = tcp.shares else { continue };
        let cells = TcpWait::ALL
            .iter()
            .map(|wait| percent(Some(shares.of(*wait))));
        let name = Cell::text(trial_name(run, trial));
        table.push([name].into_iter().chain(cells).collect());
    }
    table
}

fn windows(run: &Run, known: &Known<'_>) -> Table {
    let rates = known.iter().flat_map(|(trial, tcp)| {
        let windows = tcp.windows.unwrap_or_default();
        [trial.received_rate, windows.congestion_window_rate]
    });
    let largest = rates.flatten().map(BitRate::as_f64).fold(0.0, f64::max);
    let unit = Unit::for_rate(largest);
    let rate = |rate: Option<BitRate>| Cell::number(rate.map(BitRate::as_f64), unit);
    let symbol = unit.symbol();
    let mut table = Table::new([
        "Trial".to_owned(),
        format!("Received ({symbol}, L4 payload)"),
        format!("Congestion window / RTT ({symbol})"),
        format!("Receiver's window / RTT ({symbol})"),
        format!("Send buffer / RTT ({symbol}, upper bound)"),
        "Receiver's window, largest (KiB)".to_owned(),
        "Send buffer (KiB)".to_owned(),
    ]);
    for (trial, tcp) in known {
        let windows = tcp.windows.unwrap_or_default();
        table.push(vec![
            Cell::text(trial_name(run, trial)),
            rate(trial.received_rate),
            rate(windows.congestion_window_rate),
            rate(windows.receiver_window_rate),
            rate(windows.send_buffer_rate),
            kib(windows.receiver_window_bytes),
            kib(windows.send_buffer_bytes),
        ]);
    }
    table
}

fn rfc6349(run: &Run, known: &Known<'_>) -> Table {
    let rates = known.iter().filter_map(|(_, tcp)| tcp.rfc6349?.bottleneck);
    let unit = Unit::for_rate(rates.map(BitRate::as_f64).fold(0.0, f64::max));
    let mut table = Table::new([
        "Trial".to_owned(),
        "TCP efficiency (%)".to_owned(),
        "Buffer delay (%)".to_owned(),
        "Transfer time, actual / ideal".to_owned(),
        format!("Bottleneck ({}, L4 payload)", unit.symbol()),
        "Bottleneck taken from".to_owned(),
        "Bandwidth-delay product (KiB)".to_owned(),
    ]);
    for (trial, tcp) in known {
        let metrics = tcp.rfc6349.unwrap_or_default();
        table.push(vec![
            Cell::text(trial_name(run, trial)),
            percent(metrics.efficiency_ratio),
            Cell::number(metrics.buffer_delay_ratio, Unit::PERCENT),
            Cell::number(metrics.transfer_time_ratio, Unit::PLAIN),
            Cell::number(metrics.bottleneck.map(BitRate::as_f64), unit),
            Cell::text(
                metrics
                    .bottleneck_from
                    .map_or(UNKNOWN, words::bottleneck_from),
            ),
            kib(metrics.bdp_bytes),
        ]);
    }
    table
}

fn retransmissions(run: &Run, known: &Known<'_>) -> Table {
    let mut table = Table::new([
        "Trial",
        "Segments sent",
        "Retransmitted",
        "Needless (DSACK)",
        "Needless (%)",
        "Reordering seen",
        "Timeouts",
        "Needless timeouts (whole host)",
        "Time in timeouts (ms)",
        "ECN marks",
    ]);
    for (trial, tcp) in known {
        let counts = tcp.retransmissions.unwrap_or_default();
        table.push(vec![
            Cell::text(trial_name(run, trial)),
            Cell::count(counts.sent),
            Cell::count(counts.segments),
            Cell::count(counts.needless),
            percent(counts.needless_share()),
            Cell::count(counts.reordering_seen),
            Cell::count(counts.timeouts),
            Cell::count(counts.needless_timeouts),
            Cell::number(counts.timeout_ns.map(float), Unit::MILLIS),
            Cell::count(counts.marked),
        ]);
    }
    table
}
