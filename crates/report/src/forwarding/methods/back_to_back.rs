//! Back-to-back frames.

use super::super::{Row, number};
use super::{Found, found};
use crate::document::Sheet;
use crate::figures::{Unit, nanos, significant};
use crate::table::{Cell, column, words};
use linerate_model::PacketCount;
use linerate_model::run::BackToBack;
use std::time::Duration;

type Line<'a> = Found<'a, BackToBack>;

pub(super) fn sheet(rows: &[Row<'_>], unit: Unit) -> Option<Sheet> {
    let lines = found!(rows, BackToBack);
    let extreme = |of: fn(&[PacketCount]) -> Option<&PacketCount>| {
        move |line: &Line<'_>| Cell::count(of(&line.result.bursts).map(|frames| frames.get()))
    };
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.clone()),
        words("longest burst, frames", |line: &Line<'_>| {
            frames(line.result)
        }),
        column("min", extreme(|bursts| bursts.iter().min())),
        column("max", extreme(|bursts| bursts.iter().max())),
        column("tests", |line: &Line<'_>| {
            Cell::count(Some(line.result.mean_frames.n))
        }),
        words(
            format!("burst rate, {}", unit.symbol()),
            move |line: &Line<'_>| number(line.result.burst_rate, unit),
        ),
        words("implied buffer", |line: &Line<'_>| {
            time(Some(line.result.implied_buffer))
        }),
        words("corrected buffer", |line: &Line<'_>| {
            if line.result.is_unbounded() {
                return "none shows".to_owned();
            }
            time(line.result.corrected_buffer)
        }),
        words("frames held", |line: &Line<'_>| match held(line.result) {
            Some(frames) => significant(frames, 4),
            None => "–".to_owned(),
        }),
    ];
    let title = "Back-to-back frames: longest burst without loss (RFC 9004)";
    (!lines.is_empty()).then(|| Sheet::new(title, &lines, columns))
}

/// Frames that the device held; `None` where no buffer shows.
fn held(found: &BackToBack) -> Option<f64> {
    found.corrected_frames.filter(|_| !found.is_unbounded())
}

/// The mean with its interval: `66.1 ± 0.4`.
fn frames(found: &BackToBack) -> String {
    let mean = &found.mean_frames;
    let point = significant(mean.point, 4);
    if found.is_unbounded() {
        return format!("≥ {point}");
    }
    match mean.interval {
        Some(interval) => {
            let half = (interval.high - interval.low) / 2.0;
            format!("{point} ± {}", significant(half, 2))
        }
        None => point,
    }
}

fn time(time: Option<Duration>) -> String {
    time.map_or_else(|| "–".to_owned(), |time| nanos(time.as_secs_f64() * 1e9))
}

pub(super) fn outcome(rows: &[Row<'_>]) -> Option<String> {
    let lines = found!(rows, BackToBack);
    let Line {
        name,
        result: found,
    } = lines.first()?;
    if found.is_unbounded() {
        let longest = found.longest_tried;
        return Some(format!(
            "forwards bursts of {longest} frames of {name} without loss: no buffer shows"
        ));
    }
    let few = match found.mean_frames.n {
        50.. => String::new(),
        tests => format!("; {tests} tests of 50"),
    };
    let buffer = found.corrected_buffer.map_or_else(String::new, |buffer| {
        format!(": a buffer of {}", time(Some(buffer)))
    });
    Some(format!(
        "the longest burst without loss is {} frames of {name}{buffer} (corrected, RFC 9004{few})",
        frames(found)
    ))
}
