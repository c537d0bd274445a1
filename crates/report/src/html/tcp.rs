//! What held TCP back: shares of time, what its windows allow, RFC 6349, retransmissions, bufferbloat.

use super::trials::trial_column;
use crate::charts::{tcp_finding, which};
use crate::figures::{UNKNOWN, Unit};
use crate::page::{folded, heading};
use crate::table::{Cell, Table, column, words};
use linerate_model::BitRate;
use linerate_model::run::{Run, TcpSummary, Trial};
use linerate_model::tcp::{BottleneckFrom, TcpRetransmissions, TcpWait, TcpWindows};
use maud::{Markup, html};

/// Nothing without a trial whose time was split.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    let known: Vec<(&Trial, &TcpSummary)> = run
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.tcp()?)))
        .filter(|(_, tcp)| tcp.shares.is_some() || tcp.rfc6349.is_some())
        .collect();
    let is_short = known.len() <= SHOWN;
    html! {
        @if !known.is_empty() {
            (heading(level, None, "TCP: what held it back"))
            @for (trial, tcp) in known.iter().take(SHOWN) {
                p {
                    (which(run, trial, known.len()))
                    @if let Some(finding) = tcp_finding(tcp) { (finding) " " }
                    (tcp.queueing.as_ref().map_or_else(String::new, crate::words::bufferbloat))
                }
            }
            (folded(&shares(run, &known), "Shares of the time", "Shares of the time", is_short))
            (folded(&windows(run, &known), "Rate against what each window allows", "Rate against what each window allows", is_short))
            (folded(&rfc6349(run, &known), "RFC 6349", "RFC 6349", is_short))
            (folded(&retransmissions(run, &known), "Retransmissions", "Retransmissions", is_short))
        }
    }
}

/// Trials that are told in words.
const SHOWN: usize = 4;

type TcpTrials<'a> = [TcpTrial<'a>];

/// A trial and its TCP.
type TcpTrial<'a> = (&'a Trial, &'a TcpSummary);

fn shares(run: &Run, known: &TcpTrials<'_>) -> Table {
    let split = known.iter().filter(|(_, tcp)| tcp.shares.is_some());
    let mut columns = vec![trial_column(run)];
    columns.extend(TcpWait::ALL.iter().map(|wait| {
        column(format!("{wait} (%)"), |(_, tcp): &TcpTrial<'_>| {
            Cell::percent(tcp.shares.map(|shares| shares.of(*wait)))
        })
    }));
    Table::from_columns(&split.copied().collect::<Vec<_>>(), columns)
}

fn windows(run: &Run, known: &TcpTrials<'_>) -> Table {
    let of = |(_, tcp): &TcpTrial<'_>| tcp.windows.unwrap_or_default();
    let rates = known.iter().flat_map(|row| {
        let carried = row.0.received_rate;
        [carried, of(row).congestion_window_rate]
    });
    let largest = rates.flatten().map(BitRate::as_f64).fold(0.0, f64::max);
    let unit = Unit::for_rate(largest);
    let symbol = unit.symbol();
    let rate = |head: String, get: fn(&TcpWindows) -> Option<BitRate>| {
        column(head, move |row| Cell::rate(get(&of(row)), unit))
    };
    let columns = [
        trial_column(run),
        column(
            format!("Received ({symbol}, L4 payload)"),
            |row: &TcpTrial<'_>| Cell::rate(row.0.received_rate, unit),
        ),
        rate(format!("Congestion window / RTT ({symbol})"), |of| {
            of.congestion_window_rate
        }),
        rate(format!("Receiver's window / RTT ({symbol})"), |of| {
            of.receiver_window_rate
        }),
        rate(format!("Send buffer / RTT ({symbol}, upper bound)"), |of| {
            of.send_buffer_rate
        }),
        column("Receiver's window, largest (KiB)", |row| {
            Cell::kib(of(row).receiver_window_bytes)
        }),
        column("Send buffer (KiB)", |row| {
            Cell::kib(of(row).send_buffer_bytes)
        }),
    ];
    Table::from_rows(known, columns)
}

fn rfc6349(run: &Run, known: &TcpTrials<'_>) -> Table {
    let of = |(_, tcp): &TcpTrial<'_>| tcp.rfc6349.unwrap_or_default();
    let rates = known.iter().filter_map(|row| of(row).bottleneck);
    let unit = Unit::for_rate(rates.map(BitRate::as_f64).fold(0.0, f64::max));
    let columns = [
        trial_column(run),
        column("TCP efficiency (%)", |row| {
            Cell::percent(of(row).efficiency_ratio)
        }),
        column("Buffer delay (%)", |row| {
            Cell::number(of(row).buffer_delay_ratio, Unit::PERCENT)
        }),
        column("Transfer time, actual / ideal", |row| {
            Cell::number(of(row).transfer_time_ratio, Unit::PLAIN)
        }),
        column(
            format!("Bottleneck ({}, L4 payload)", unit.symbol()),
            |row| Cell::rate(of(row).bottleneck, unit),
        ),
        words("Bottleneck taken from", |row| {
            of(row)
                .bottleneck_from
                .map_or(UNKNOWN, BottleneckFrom::as_str)
        }),
        column("Bandwidth-delay product (KiB)", |row| {
            Cell::kib(of(row).bdp_bytes)
        }),
    ];
    Table::from_rows(known, columns)
}

fn retransmissions(run: &Run, known: &TcpTrials<'_>) -> Table {
    let of = |(_, tcp): &TcpTrial<'_>| tcp.retransmissions.unwrap_or_default();
    let count = |head: &str, get: fn(&TcpRetransmissions) -> Option<u64>| {
        column(head, move |row| Cell::count(get(&of(row))))
    };
    let columns = [
        trial_column(run),
        count("Segments sent", |of| of.sent),
        count("Retransmitted", |of| of.segments),
        count("Needless (DSACK)", |of| of.needless),
        column("Needless (%)", |row| {
            Cell::percent(of(row).needless_share())
        }),
        count("Reordering seen", |of| of.reordering_seen),
        count("Timeouts", |of| of.timeouts),
        count("Needless timeouts (whole host)", |of| of.needless_timeouts),
        column("Time in timeouts (ms)", |row| {
            Cell::time(of(row).timeout_ns, Unit::MILLIS)
        }),
        count("ECN marks", |of| of.marked),
    ];
    Table::from_rows(known, columns)
}
