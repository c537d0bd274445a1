//! What methods beside the search for the throughput found: a table each, a chart where one tells more, a sentence.

mod addresses;
mod back_to_back;
mod critical_load;
mod flow_cost;
mod loss_curve;
mod reset;
mod soak;

use super::Row;
use crate::chart::Chart;
use crate::document::Sheet;
use crate::figures::Unit;
use linerate_model::PacketRate;
use linerate_model::run::MethodResult;

/// What one method found in one row.
struct Found<'a, T> {
    /// The row's name.
    name: String,
    result: &'a T,
}

/// What a method found in each row that has it.
fn of<'a, T>(rows: &'a [Row<'a>], pick: fn(&MethodResult) -> Option<&T>) -> Vec<Found<'a, T>> {
    let all = rows.iter().flat_map(|row| {
        let found = row.found.methods.iter().filter_map(pick);
        found.map(|result| Found {
            name: row.name(),
            result,
        })
    });
    all.collect()
}

/// A point of what a method found, of one row.
struct Line<'a, P> {
    name: &'a str,
    point: &'a P,
}

/// All points, row by row.
fn lines<'a, T, P>(all: &'a [Found<'a, T>], points: fn(&T) -> &[P]) -> Vec<Line<'a, P>> {
    let lines = all.iter().flat_map(|found| {
        points(found.result).iter().map(|point| Line {
            name: &found.name,
            point,
        })
    });
    lines.collect()
}

/// What one method found of all rows.
macro_rules! found {
    ($rows:expr, $kind:ident) => {
        $crate::forwarding::methods::of::<linerate_model::run::$kind>($rows, |found| match found {
            linerate_model::run::MethodResult::$kind(found) => Some(found),
            _ => None,
        })
    };
}
use found;

/// The table of each method.
pub(super) fn sheets(rows: &[Row<'_>], unit: Unit) -> Vec<Sheet> {
    let all = [
        back_to_back::sheet(rows, unit),
        loss_curve::sheet(rows, unit),
        reset::sheet(rows),
        soak::sheet(rows, unit),
        critical_load::sheet(rows, unit),
        flow_cost::sheet(rows, unit),
        addresses::table_sheet(rows),
        addresses::rate_sheet(rows),
    ];
    all.into_iter().flatten().collect()
}

/// The chart of each method that has one.
pub(super) fn charts(rows: &[Row<'_>], unit: Unit) -> Vec<Chart> {
    let all = [
        loss_curve::chart(rows, unit),
        soak::chart(rows),
        critical_load::chart(rows, unit),
        flow_cost::chart(rows),
    ];
    all.into_iter().flatten().collect()
}

/// What each method found, in a few words, of the first row that has it.
pub(super) fn outcome(rows: &[Row<'_>], unit: Unit) -> Vec<String> {
    let all = [
        back_to_back::outcome(rows),
        loss_curve::outcome(rows, unit),
        reset::outcome(rows),
        soak::outcome(rows),
        critical_load::outcome(rows, unit),
        flow_cost::outcome(rows),
        addresses::table_outcome(rows),
        addresses::rate_outcome(rows),
    ];
    all.into_iter().flatten().collect()
}

/// The highest rate that a method found, for the unit of all.
pub(super) fn rate(found: &MethodResult) -> PacketRate {
    match found {
        MethodResult::AddressTable(found) => found.taught_rate,
        MethodResult::LearningRate(found) => {
            let known = found.learned_all.or(found.missed_some);
            known.unwrap_or(PacketRate::from_pps(0.0))
        }
        MethodResult::BackToBack(found) => found.burst_rate,
        MethodResult::CriticalLoad(found) => found.mean,
        MethodResult::FlowCost(found) => {
            let rates = found.points.iter().map(|point| point.received.pps());
            PacketRate::from_pps(rates.fold(0.0, f64::max))
        }
        MethodResult::LossCurve(found) => found.full,
        MethodResult::Reset(found) => found.load,
        MethodResult::Soak(found) => found.intended,
    }
}
