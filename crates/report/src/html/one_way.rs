//! One-way delays with their error, and delay variation from packet to packet.

use super::trials::trial_column;
use crate::figures::{UNKNOWN, Unit, float};
use crate::page::{self, heading};
use crate::table::{Cell, Table, column, words as text};
use crate::words;
use linerate_model::one_way::{ClockRelation, Ipdv, OneWay};
use linerate_model::run::{Delay, Run, Trial};
use maud::{Markup, html};

/// Up to this many rows are shown at once; more are behind a click.
const SHOWN: usize = 6;

/// Nothing without a trial that tells of either.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    let one_way = one_way(run);
    let variation = variation(run);
    html! {
        @if !one_way.rows.is_empty() {
            (heading(level, None, "One-way delay"))
            (scroll(&one_way, "One-way delay"))
        }
        @if !variation.rows.is_empty() {
            (heading(level, None, "Delay variation"))
            (scroll(&variation, "Delay variation"))
            p { "The jitter of RFC 3550 is a smoothed mean of the last packets: shown only for comparison with tools that have nothing else." }
        }
    }
}

fn scroll(table: &Table, name: &str) -> Markup {
    let is_short = table.rows.len() <= SHOWN;
    page::folded(table, name, &format!("{name} in figures"), is_short)
}

/// A trial, the way of its packets, and their delays; or without these, why they are not known.
type DirectionDelay<'a> = (&'a Trial, (&'static str, &'a OneWay, Option<&'a Delay>));

fn one_way(run: &Run) -> Table {
    let told = run.trials.iter().filter_map(|t| Some((t, t.one_way()?)));
    let ways = told.flat_map(|(trial, told)| {
        let forward = told.forward.as_ref();
        let backward = told.backward.as_ref();
        let ways = [
            forward.map(|delay| ("sender to receiver", told, Some(delay))),
            backward.map(|delay| ("receiver to sender", told, Some(delay))),
            told.missing.as_ref().map(|_| (UNKNOWN, told, None)),
        ];
        ways.into_iter().flatten().map(move |way| (trial, way))
    });
    let time = |head: &str, get: fn(&Delay) -> Option<u64>| {
        column(head, move |(_, (.., delay)): &DirectionDelay<'_>| {
            Cell::time(delay.and_then(get), Unit::MICROS)
        })
    };
    let clock = |head: &str, unit: Unit, get: fn(&ClockRelation) -> f64| {
        column(head, move |(_, (_, told, _)): &DirectionDelay<'_>| {
            Cell::number(told.clock.as_ref().map(get), unit)
        })
    };
    let columns = [
        trial_column(run),
        text("DirectionDelay", |(_, (way, ..)): &DirectionDelay<'_>| *way),
        time("Smallest (µs)", |delay| delay.min_ns),
        time("p50 (µs)", |delay| delay.p50_ns),
        time("p99 (µs)", |delay| delay.p99_ns),
        time("Largest (µs)", |delay| delay.max_ns),
        clock("Error at most (µs)", Unit::MICROS, |clock| {
            float(clock.uncertainty_ns)
        }),
        column(
            "Of it asymmetry (µs)",
            |(_, (_, told, _)): &DirectionDelay<'_>| {
                let clock = told.clock.as_ref();
                clock.map_or_else(Cell::unknown, |clock| match clock.asymmetry_ns {
                    None => Cell::text("none"),
                    known => Cell::time(known, Unit::MICROS),
                })
            },
        ),
        clock("Clocks' offset (µs)", Unit::MICROS, |clock| {
            words::signed(clock.offset_ns)
        }),
        clock("Skew (ppm)", Unit::PLAIN, |clock| clock.skew_ppm),
        text("Clocks", |(_, (_, told, delay)): &DirectionDelay<'_>| {
            let clock = told.clock.as_ref().filter(|_| delay.is_some());
            let missing = told.missing.as_deref().unwrap_or_default();
            clock.map_or(missing, |clock| clock.method.as_str())
        }),
    ];
    Table::from_rows(&ways.collect::<Vec<_>>(), columns)
}

fn variation(run: &Run) -> Table {
    type IpdvTrial<'a> = (&'a Trial, &'a Ipdv);
    let known = run.trials.iter();
    let known: Vec<IpdvTrial<'_>> = known.filter_map(|t| Some((t, t.ipdv()?))).collect();
    let micros = |head: &str, get: fn(&Ipdv) -> i64| {
        column(head, move |(_, ipdv): &IpdvTrial<'_>| {
            Cell::number(Some(words::signed(get(ipdv))), Unit::MICROS)
        })
    };
    let columns = [
        trial_column(run),
        micros("IPDV p1 (µs)", |ipdv| ipdv.p01_ns),
        micros("IPDV p50 (µs)", |ipdv| ipdv.p50_ns),
        micros("IPDV p99 (µs)", |ipdv| ipdv.p99_ns),
        micros("IPDV smallest (µs)", |ipdv| ipdv.min_ns),
        micros("IPDV largest (µs)", |ipdv| ipdv.max_ns),
        column("Pairs", |(_, ipdv): &IpdvTrial<'_>| {
            Cell::count(Some(ipdv.count))
        }),
        column("RFC 3550 jitter (µs)", |(trial, _): &IpdvTrial<'_>| {
            Cell::time(trial.rtp_jitter_ns(), Unit::MICROS)
        }),
    ];
    Table::from_rows(&known, columns)
}
