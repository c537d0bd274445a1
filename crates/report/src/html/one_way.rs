//! One-way delays with their error, and delay variation from packet to packet.

use super::trials::trial_column;
use crate::charts::trial_name;
use crate::figures::{Unit, float};
use crate::page::{self, heading};
use crate::table::{Cell, Table, column};
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

fn one_way(run: &Run) -> Table {
    let mut table = Table::new([
        "Trial",
        "Way",
        "Smallest (µs)",
        "p50 (µs)",
        "p99 (µs)",
        "Largest (µs)",
        "Error at most (µs)",
        "Of it asymmetry (µs)",
        "Clocks' offset (µs)",
        "Skew (ppm)",
        "Clocks",
    ]);
    for trial in &run.trials {
        let Some(known) = trial.one_way() else {
            continue;
        };
        let ways = [
            ("sender to receiver", known.forward.as_ref()),
            ("receiver to sender", known.backward.as_ref()),
        ];
        for (way, delay) in ways {
            if let Some(delay) = delay {
                table.push(row(run, trial, way, (known, delay)));
            }
        }
        if let Some(missing) = &known.missing {
            let mut row = vec![Cell::text(trial_name(run, trial))];
            row.resize_with(table.columns.len() - 1, Cell::unknown);
            row.push(Cell::text(missing));
            table.push(row);
        }
    }
    table
}

fn row(run: &Run, trial: &Trial, way: &str, (known, delay): (&OneWay, &Delay)) -> Vec<Cell> {
    let clock = known.clock.as_ref();
    let of = |get: fn(&ClockRelation) -> Option<f64>| clock.and_then(get);
    let micros = |ns: Option<f64>| Cell::number(ns, Unit::MICROS);
    let time = |ns: Option<u64>| micros(ns.map(float));
    vec![
        Cell::text(trial_name(run, trial)),
        Cell::text(way),
        time(delay.min_ns),
        time(delay.p50_ns),
        time(delay.p99_ns),
        time(delay.max_ns),
        micros(of(|clock| Some(float(clock.uncertainty_ns)))),
        clock.and_then(|clock| clock.asymmetry_ns).map_or_else(
            || Cell::text("none"),
            |ns| Cell::number(Some(float(ns)), Unit::MICROS),
        ),
        micros(of(|clock| Some(words::signed(clock.offset_ns)))),
        Cell::number(of(|clock| Some(clock.skew_ppm)), Unit::PLAIN),
        Cell::text(clock.map_or("", |clock| words::clock_method(clock.method))),
    ]
}

fn variation(run: &Run) -> Table {
    type Told<'a> = (&'a Trial, &'a Ipdv);
    let known = run.trials.iter();
    let known: Vec<Told<'_>> = known.filter_map(|t| Some((t, t.ipdv()?))).collect();
    let micros = |head: &str, get: fn(&Ipdv) -> i64| {
        column(head, move |(_, ipdv): &Told<'_>| {
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
        column("Pairs", |(_, ipdv): &Told<'_>| {
            Cell::count(Some(ipdv.count))
        }),
        column("RFC 3550 jitter (µs)", |(trial, _): &Told<'_>| {
            Cell::time(trial.rtp_jitter_ns(), Unit::MICROS)
        }),
    ];
    Table::from_rows(&known, columns)
}
