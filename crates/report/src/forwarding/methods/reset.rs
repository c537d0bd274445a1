//! Reset.

use super::super::Row;
use super::{Found, found};
use crate::document::Sheet;
use crate::figures::{float, nanos};
use crate::table::{Cell, column, words};
use linerate_model::run::ResetTime;
use std::time::Duration;

/// One reset.
struct Line<'a> {
    name: &'a str,
    number: u64,
    test: &'a ResetTime,
}

pub(super) fn sheet(rows: &[Row<'_>]) -> Option<Sheet> {
    let resets = found!(rows, Reset);
    let lines: Vec<Line<'_>> = (resets.iter())
        .flat_map(|reset| {
            let tests = (1..).zip(&reset.result.tests);
            tests.map(|(number, test)| Line {
                name: &reset.name,
                number,
                test,
            })
        })
        .collect();
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.to_owned()),
        column("reset", |line: &Line<'_>| Cell::count(Some(line.number))),
        words("reset time by loss", |line: &Line<'_>| {
            time(line.test.by_loss)
        }),
        words("by time stamps", |line: &Line<'_>| {
            line.test.by_stamps.map_or_else(|| "–".to_owned(), time)
        }),
        column("lost", |line: &Line<'_>| {
            Cell::count(Some(line.test.lost.get()))
        }),
        column("of them in the longest gap", |line: &Line<'_>| {
            Cell::count(line.test.lost_in_gap.map(linerate_model::PacketCount::get))
        }),
    ];
    (!lines.is_empty()).then(|| Sheet::new("Reset time (RFC 6201)", &lines, columns))
}

fn time(time: Duration) -> String {
    nanos(time.as_secs_f64() * 1e9)
}

/// Mean of those that are known.
fn mean(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let all: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    let mean = all.iter().sum::<f64>() / float(all.len() as u64);
    Duration::try_from_secs_f64(mean).ok()
}

pub(super) fn outcome(rows: &[Row<'_>]) -> Option<String> {
    let resets = found!(rows, Reset);
    let Found { name, result } = resets.first()?;
    let tests = || result.tests.iter();
    let by_loss = mean(tests().map(|test| test.by_loss))?;
    let stamps = mean(tests().filter_map(|test| test.by_stamps));
    let by_stamps = stamps.map_or_else(String::new, |stamps| {
        format!(", {} by time stamps", time(stamps))
    });
    Some(format!(
        "a reset takes {} by frame loss{by_stamps} (mean of {}, {name} frames)",
        time(by_loss),
        result.tests.len()
    ))
}
