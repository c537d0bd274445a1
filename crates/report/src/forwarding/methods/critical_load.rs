//! Critical load.

use super::super::{Row, number};
use super::{Found, found};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::document::Sheet;
use crate::figures::{Unit, percent, significant};
use crate::table::{Cell, Table, column, words};
use linerate_model::PacketRate;
use linerate_model::run::{CriticalLoad, LoadPlace};

type Line<'a> = Found<'a, CriticalLoad>;

pub(super) fn sheet(rows: &[Row<'_>], unit: Unit) -> Option<Sheet> {
    let lines = found!(rows, CriticalLoad);
    let rate = |name: &str, of: fn(&CriticalLoad) -> PacketRate| {
        words(
            format!("{name}, {}", unit.symbol()),
            move |line: &Line<'_>| number(of(line.result), unit),
        )
    };
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.clone()),
        words("target loss", |line: &Line<'_>| percent(line.result.target)),
        words(
            format!("critical load, {}", unit.symbol()),
            move |line: &Line<'_>| mean(line.result, unit),
        ),
        rate("stretch", |found| found.stretch),
        rate("erf", |found| found.erf),
        column("trials", |line: &Line<'_>| {
            Cell::count(u64::try_from(line.result.trials.len()).ok())
        }),
        column("sent", |line: &Line<'_>| {
            Cell::count(Some(line.result.frames()[0].get()))
        }),
        column("lost", |line: &Line<'_>| {
            Cell::count(Some(line.result.frames()[1].get()))
        }),
    ];
    let title = "Critical load: the target's share is lost on average (PLRsearch)";
    (!lines.is_empty()).then(|| Sheet::new(title, &lines, columns))
}

/// Mean ± standard deviation to the digits that it leaves, or the end of the loads that were searched.
fn mean(found: &CriticalLoad, unit: Unit) -> String {
    let [mean, deviation] = [found.mean, found.deviation].map(|rate| unit.of(rate.pps()));
    // As many decimals as two digits of the deviation have.
    let needed = mean.log10().floor() - deviation.log10().floor() + 2.0;
    let digits = (4..9).find(|digits| f64::from(*digits) >= needed);
    match found.place {
        LoadPlace::Above => format!("≥ {}", significant(mean, 4)),
        LoadPlace::Below => format!("< {}", significant(mean, 4)),
        LoadPlace::Within => format!(
            "{} ± {}",
            significant(mean, digits.unwrap_or(9)),
            significant(deviation, 2)
        ),
    }
}

/// The estimate after each trial, with what the trial offered and lost.
pub(super) fn chart(rows: &[Row<'_>], unit: Unit) -> Option<Chart> {
    let lines = found!(rows, CriticalLoad);
    let series = lines.iter().enumerate().map(|(at, line)| {
        let points = (1_u32..)
            .zip(&line.result.trials)
            .filter_map(|(nth, trial)| {
                let said = format!("{} of {} frames lost", trial.lost, trial.sent);
                Some(Point::new(f64::from(nth), unit.of(trial.mean.pps()))?.note(said))
            });
        Series::new(line.name.clone(), rank(at), Shape::Line, points)
    });
    let mut table = Table::new([
        "Frame".to_owned(),
        format!("Offered ({})", unit.symbol()),
        "Sent".to_owned(),
        "Lost".to_owned(),
        format!("Critical load ({})", unit.symbol()),
        format!("Standard deviation ({})", unit.symbol()),
    ]);
    for (line, trial) in lines.iter().flat_map(|line| {
        let trials = line.result.trials.iter();
        trials.map(move |trial| (line, trial))
    }) {
        let rate = |rate: PacketRate| Cell::number(Some(rate.pps()), unit);
        table.push(vec![
            Cell::text(line.name.clone()),
            rate(trial.offered),
            Cell::count(Some(trial.sent.get())),
            Cell::count(Some(trial.lost.get())),
            rate(trial.mean),
            rate(trial.deviation),
        ]);
    }
    (!lines.is_empty()).then(|| Chart {
        id: "forwarding-critical-load".to_owned(),
        title: "Critical load, as known after each trial".to_owned(),
        caption: outcome(rows, unit)
            .map_or_else(String::new, |said| crate::charts::capital(&said) + "."),
        x: Axis::new("Trial", "", Scale::Linear),
        y: Axis::new("Critical load", unit.symbol(), Scale::Linear),
        series: series.collect(),
        table,
        ..Chart::default()
    })
}

pub(super) fn outcome(rows: &[Row<'_>], unit: Unit) -> Option<String> {
    let lines = found!(rows, CriticalLoad);
    let Line { name, result } = lines.first()?;
    Some(format!(
        "loses {} of {name} on average at {} {}",
        percent(result.target),
        mean(result, unit),
        unit.symbol()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Ratio;

    #[test]
    fn a_mean_has_the_digits_that_its_deviation_leaves() {
        let said = |mean: f64, deviation: f64, place| {
            let [mean, deviation] = [mean, deviation].map(PacketRate::from_pps);
            let found = CriticalLoad {
                target: Ratio::clamped(1e-7),
                mean,
                deviation,
                stretch: mean,
                erf: mean,
                place,
                trials: Vec::new(),
            };
            super::mean(&found, Unit::for_frames(1e6))
        };
        let within = |mean, deviation| said(mean, deviation, LoadPlace::Within);
        assert_eq!(within(123_456.78, 1.26), "123.4568 ± 0.0013");
        assert_eq!(within(123_456.78, 9_000.0), "123.5 ± 9");
        assert_eq!(within(123_456.78, 0.0), "123.45678 ± 0");
        assert_eq!(said(1e6, 0.0, LoadPlace::Above), "≥ 1000");
        assert_eq!(said(1e3, 0.0, LoadPlace::Below), "< 1");
    }
}
