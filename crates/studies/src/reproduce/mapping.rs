//! Which runs of a study measure which cells of a published table.

use crate::plan::{Cell, PublishedLevel, PublishedMap, PublishedQuantity, StudyPlan};
use linerate_analysis::published::{
    Levels, Measured, PublishedCell, PublishedTable, Quantity, Statistic,
};
use linerate_analysis::repetition::{OfRun, units};
use linerate_analysis::statistics::Unit;
use linerate_model::run::{Delay, DelayOf, Run, RunKind, Trial};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, ByteCount};

/// What `runs`, parts of studies of `plan`, tell of each cell of the table.
pub(super) fn measured(table: &PublishedTable, plan: &StudyPlan, runs: &[&Run]) -> Vec<Measured> {
    let one = |cell: &PublishedCell| {
        let found = plan_cell(&cell.levels, plan);
        let values = found.and_then(|found| values(cell, plan, found, runs));
        match values {
            Ok(values) => Measured { values, why: None },
            Err(why) => Measured {
                values: Vec::new(),
                why: Some(why),
            },
        }
    };
    table.cells.iter().map(one).collect()
}

/// What of a plan measures a published cell.
#[derive(Debug, Clone, Copy)]
struct Source<'a> {
    cell: &'a Cell,
    /// Trials of this direction only.
    direction: Option<Direction>,
}

/// The one cell of the plan that measures a published one, and which of its trials do.
fn plan_cell<'a>(levels: &Levels, plan: &'a StudyPlan) -> Result<Source<'a>, String> {
    let map = &plan.published;
    let mut fitting: Vec<&Cell> = plan.cells.iter().collect();
    let mut direction = None;
    for (factor, level) in levels {
        match map.only.get(factor) {
            Some(only) if only == level => continue,
            Some(only) => return Err(format!("the plan measures {factor} = {only} only")),
            None => {}
        }
        match map.level(factor, level) {
            None => return Err(format!("the plan names no trials of {factor} = {level}")),
            Some(PublishedLevel::Trials(way)) => {
                direction = Some(way);
                fitting.retain(|cell| cell.test.has(way));
            }
            Some(PublishedLevel::Setting(setting, value)) => {
                if !fitting
                    .iter()
                    .any(|cell| cell.settings.contains_key(setting))
                {
                    return Err(format!(
                        "the plan does not set {setting}, which {factor} would be"
                    ));
                }
                fitting.retain(|cell| has(cell, setting, value));
            }
        }
        if fitting.is_empty() {
            return Err("no cell of the plan has these levels".to_owned());
        }
    }
    match fitting[..] {
        [cell] => Ok(Source { cell, direction }),
        _ => Err(format!(
            "{} cells of the plan have these levels",
            fitting.len()
        )),
    }
}

/// Whether a setting of a cell has one of the values, which have `|` between them.
fn has(cell: &Cell, setting: &str, values: &str) -> bool {
    let own = cell.settings.get(setting);
    own.is_some_and(|own| values.split('|').any(|value| is_same(own, value)))
}

/// Whether two texts are the same level: `1000M` is `1G`, `64K` is `65536`.
fn is_same(own: &str, wanted: &str) -> bool {
    let rate = |text: &str| text.parse::<BitRate>().ok();
    let size = |text: &str| text.parse::<ByteCount>().ok();
    let equal = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    own == wanted
        || equal(rate(own).map(BitRate::bps), rate(wanted).map(BitRate::bps))
        || equal(
            size(own).map(ByteCount::get),
            size(wanted).map(ByteCount::get),
        )
}

/// A value for each valid run of a cell of the plan, in the base unit of the published one.
fn values(
    published: &PublishedCell,
    plan: &StudyPlan,
    Source { cell, direction }: Source<'_>,
    runs: &[&Run],
) -> Result<Vec<f64>, String> {
    let quantity = quantity(published, &plan.published)?;
    let of_cell = runs.iter().filter(|run| {
        let place = run.config.place.as_ref();
        place.is_some_and(|place| place.cell == cell.label)
    });
    let seen: Vec<OfRun<'_>> = of_cell
        .filter_map(|run| Some((run.instance.as_ref(), value(run, quantity, direction)?)))
        .collect();
    // Runs of one start of the peer's program are one observation where there are several starts.
    let values = Unit::values(&units(&seen).units);
    if values.is_empty() {
        return Err(format!(
            "no valid run of the cell \"{}\" tells it",
            cell.label
        ));
    }
    Ok(values)
}

/// What is compared, by the plan or the unit of the table.
fn quantity(cell: &PublishedCell, map: &PublishedMap) -> Result<PublishedQuantity, String> {
    if let Some(quantity) = map.quantity {
        return Ok(quantity);
    }
    match (cell.unit.quantity, cell.statistic) {
        (Quantity::Rate, _) => Ok(PublishedQuantity::Received),
        (Quantity::Time, Statistic::Median) => Ok(PublishedQuantity::RoundTripMedian),
        (Quantity::Time, _) => Ok(PublishedQuantity::RoundTripMean),
        (Quantity::Number, _) if cell.unit.name == "percent" => Ok(PublishedQuantity::LossPercent),
        (Quantity::Memory | Quantity::Number, _) => Err(format!(
            "linerate measures nothing in the unit \"{}\"",
            cell.unit.name
        )),
    }
}

/// One run's value: the mean over its valid trials, of this direction if one is given.
fn value(run: &Run, quantity: PublishedQuantity, direction: Option<Direction>) -> Option<f64> {
    if run.kind() == RunKind::Saturate {
        let strictest = run
            .goals()
            .first()
            .filter(|_| quantity == PublishedQuantity::Received);
        return Some(strictest?.conditional_throughput?.as_f64());
    }
    let is_meant = |trial: &&Trial| direction.is_none_or(|meant| trial.direction == meant);
    let trials: Vec<_> = run.trials.iter().filter(is_meant).collect();
    let first = trials.first()?.direction;
    if trials.iter().any(|trial| trial.direction != first) {
        // Both directions of a duplex test are two quantities.
        return None;
    }
    let valid = trials.into_iter().filter(|trial| trial.valid);
    let values: Vec<f64> = valid
        .filter_map(|trial| of_trial(trial, quantity))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of trials")]
    let count = values.len() as f64;
    (count > 0.0).then(|| values.iter().sum::<f64>() / count)
}

fn of_trial(trial: &Trial, quantity: PublishedQuantity) -> Option<f64> {
    match quantity {
        PublishedQuantity::Received => trial.received_rate.map(BitRate::as_f64),
        PublishedQuantity::LossPercent => trial.loss_ratio().map(|loss| loss.get() * 100.0),
        PublishedQuantity::HalfRoundTripMean => Some(round_trip(trial.delay()?, false)? / 2.0),
        PublishedQuantity::HalfRoundTripMedian => Some(round_trip(trial.delay()?, true)? / 2.0),
        PublishedQuantity::RoundTripMean => round_trip(trial.delay()?, false),
        PublishedQuantity::RoundTripMedian => round_trip(trial.delay()?, true),
    }
}

/// A whole round trip in nanoseconds: its median or its mean.
fn round_trip(delay: &Delay, is_median: bool) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "delays of less than a hundred days"
    )]
    let median = delay.p50_ns.map(|ns| ns as f64);
    let value = if is_median { median } else { delay.mean_ns }?;
    match delay.of {
        DelayOf::RoundTrip => Some(value),
        DelayOf::HalfRoundTrip => Some(value * 2.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::read_table;
    use std::path::Path;

    #[test]
    fn the_plans_of_the_published_studies_measure_the_cells_that_they_say() {
        for (study, cells) in [
            ("hifive-unleashed", 24),
            ("lwip-zephyr-rt1170", 48),
            ("onload-sfnt-pingpong", 32),
        ] {
            let file = format!("{}/../../plans/{study}", env!("CARGO_MANIFEST_DIR"));
            let plan = StudyPlan::read(Path::new(&format!("{file}.toml"))).unwrap();
            let table = read_table(Path::new(&format!("{file}.csv"))).unwrap();
            let found = table
                .cells
                .iter()
                .filter_map(|cell| plan_cell(&cell.levels, &plan).ok());
            let mut labels: Vec<_> = found
                .map(|source| (&source.cell.label, source.direction))
                .collect();
            assert_eq!(labels.len(), cells, "{study}");
            labels
                .sort_by_key(|(label, direction)| (*label, *direction == Some(Direction::Forward)));
            labels.dedup();
            assert_eq!(
                labels.len(),
                cells,
                "{study}: two cells of the table are one of the plan"
            );
        }
    }

    #[test]
    fn levels_are_the_same_as_texts_rates_or_sizes() {
        for (own, wanted) in [
            ("1G", "1000M"),
            ("64K", "65536"),
            ("udp", "udp"),
            ("max", "max"),
        ] {
            assert!(is_same(own, wanted), "{own} {wanted}");
        }
        for (own, wanted) in [("1G", "1M"), ("tcp", "udp"), ("max", "1G")] {
            assert!(!is_same(own, wanted), "{own} {wanted}");
        }
    }
}
