//! Which runs of a study measure which cells of a published table.

use crate::plan::{Cell, PublishedLevel, PublishedMap, PublishedQuantity, StudyPlan};
use linerate_analysis::published::{Levels, Measured, PublishedCell, PublishedTable, Statistic};
use linerate_analysis::repetition::{OfRun, units};
use linerate_analysis::statistics::Unit;
use linerate_model::quantity::QuantityUnit;
use linerate_model::run::{Delay, DelayOf, GoalResult, Run, RunKind, Trial};
use linerate_model::spec::Direction;
use linerate_model::units::float;
use linerate_model::{BitRate, ByteCount, PacketCount};
use std::time::Duration;

/// What `runs`, parts of studies of `plan`, tell of each cell of the table.
pub(super) fn measured(table: &PublishedTable, plan: &StudyPlan, runs: &[&Run]) -> Vec<Measured> {
    let one = |cell: &PublishedCell| {
        let found = plan_cell(&cell.levels, plan)?;
        values(cell, plan, found, runs)
    };
    table.cells.iter().map(one).collect()
}

/// What of a plan measures a published cell.
#[derive(Debug, Clone, Copy)]
struct Source<'a> {
    cell: &'a Cell,
    /// Trials of this direction only.
    direction: Option<Direction>,
    /// What of a run is compared; by the plan or the unit of the table if absent.
    quantity: Option<PublishedQuantity>,
}

/// The one cell of the plan that measures a published one, and which of its trials do.
fn plan_cell<'a>(levels: &Levels, plan: &'a StudyPlan) -> Result<Source<'a>, String> {
    let map = &plan.published;
    let mut fitting: Vec<&Cell> = plan.cells.iter().collect();
    let (mut direction, mut quantity) = (None, None);
    for (factor, level) in levels {
        match map.only.get(factor) {
            Some(only) if only == level => continue,
            Some(only) => return Err(format!("the plan measures {factor} = {only} only")),
            None => {}
        }
        match map.level(factor, level) {
            None => {
                let what = "names no trials and no quantity of";
                return Err(format!("the plan {what} {factor} = {level}"));
            }
            Some(PublishedLevel::Trials(way)) => {
                direction = Some(way);
                fitting.retain(|cell| cell.test.has(way));
            }
            Some(PublishedLevel::Quantity(wanted)) => quantity = Some(wanted),
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
        [cell] => Ok(Source {
            cell,
            direction,
            quantity,
        }),
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
    source: Source<'_>,
    runs: &[&Run],
) -> Result<Vec<f64>, String> {
    let Source { cell, .. } = source;
    let reading = Reading {
        quantity: match source.quantity {
            Some(quantity) => quantity,
            None => quantity(published, &plan.published)?,
        },
        direction: source.direction,
        published_time: plan.published.time,
    };
    if reading.is_count() && reading.published_time.is_none() {
        return Err("counts depend on how long a test is: the plan's [published] must say time = \"...\", that of a published one".to_owned());
    }
    let of_cell = runs.iter().filter(|run| run.is_of_cell(&cell.label));
    let seen: Vec<OfRun<'_>> = of_cell
        .filter_map(|run| Some((run.instance.as_ref(), reading.of_run(run)?)))
        .collect();
    // Runs of one start of the peer's program are one observation where there are several starts.
    let values = Unit::values(&units(&seen).units);
    if values.is_empty() {
        let mut of_cell = runs.iter().filter(|run| run.is_of_cell(&cell.label));
        if let Some(rate) = of_cell.find_map(|run| reading.at_least(run)) {
            return Err(format!(
                "no search of the cell \"{}\" found a load that the path refused: it carries {rate} at least, and how much \
                 more is not known",
                cell.label
            ));
        }
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
    match (cell.unit.of, cell.statistic) {
        (QuantityUnit::BitRate, _) => Ok(PublishedQuantity::Received),
        (QuantityUnit::Nanoseconds, Statistic::Median) => Ok(PublishedQuantity::RoundTripMedian),
        (QuantityUnit::Nanoseconds, _) => Ok(PublishedQuantity::RoundTripMean),
        (QuantityUnit::Plain, _) if cell.unit.name == "percent" => {
            Ok(PublishedQuantity::LossPercent)
        }
        _ => Err(format!(
            "linerate measures nothing in the unit \"{}\"",
            cell.unit.name
        )),
    }
}

/// What is read of a run.
#[derive(Debug, Clone, Copy)]
struct Reading {
    quantity: PublishedQuantity,
    /// Of trials of this direction only.
    direction: Option<Direction>,
    /// That counts are given for.
    published_time: Option<Duration>,
}

impl Reading {
    /// Whether it grows with the time of a test.
    const fn is_count(self) -> bool {
        matches!(
            self.quantity,
            PublishedQuantity::LostDatagrams | PublishedQuantity::SentDatagrams
        )
    }

    /// One run's value: the mean over its valid trials.
    fn of_run(self, run: &Run) -> Option<f64> {
        if run.kind() == RunKind::Saturate {
            let goal = self.goal(run)?;
            // Where the path refused no load, the throughput is the sender's.
            goal.refused_load()?;
            return Some(goal.conditional_throughput?.as_f64());
        }
        let is_meant = |trial: &&Trial| self.direction.is_none_or(|meant| trial.direction == meant);
        let trials: Vec<_> = run.trials.iter().filter(is_meant).collect();
        let first = trials.first()?.direction;
        if trials.iter().any(|trial| trial.direction != first) {
            // Both directions of a duplex test are two quantities.
            return None;
        }
        let valid = trials.into_iter().filter(|trial| trial.valid);
        let values: Vec<f64> = valid.filter_map(|trial| self.of_trial(trial)).collect();
        let count = float(values.len() as u64);
        (count > 0.0).then(|| values.iter().sum::<f64>() / count)
    }

    /// The strictest goal of a search.
    fn goal(self, run: &Run) -> Option<&GoalResult> {
        let goals = run.goals().first();
        goals.filter(|_| self.quantity == PublishedQuantity::Received)
    }

    /// What the path of a search carries at least, if the path refused nothing.
    fn at_least(self, run: &Run) -> Option<BitRate> {
        let goal = self.goal(run)?;
        goal.lower_bound.filter(|_| goal.refused_load().is_none())
    }

    fn of_trial(self, trial: &Trial) -> Option<f64> {
        match self.quantity {
            PublishedQuantity::Received => trial.received_rate.map(BitRate::as_f64),
            PublishedQuantity::LossPercent => trial.loss_ratio().map(|loss| loss.get() * 100.0),
            PublishedQuantity::LostDatagrams => self.count(trial, trial.packets()?.lost?),
            PublishedQuantity::SentDatagrams => self.count(trial, trial.packets()?.sent?),
            PublishedQuantity::HalfRoundTripMean => {
                Some(round_trip(trial.delay()?, Middle::Mean)? / 2.0)
            }
            PublishedQuantity::HalfRoundTripMedian => {
                Some(round_trip(trial.delay()?, Middle::Median)? / 2.0)
            }
            PublishedQuantity::RoundTripMean => round_trip(trial.delay()?, Middle::Mean),
            PublishedQuantity::RoundTripMedian => round_trip(trial.delay()?, Middle::Median),
        }
    }

    /// What a published test would have counted at the trial's rate.
    fn count(self, trial: &Trial, packets: PacketCount) -> Option<f64> {
        let seconds = trial.duration?.as_secs_f64();
        let published = self.published_time?.as_secs_f64();
        (seconds > 0.0).then(|| packets.as_f64() / seconds * published)
    }
}

/// What stands for many round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Middle {
    Mean,
    Median,
}

/// A whole round trip in nanoseconds.
fn round_trip(delay: &Delay, middle: Middle) -> Option<f64> {
    let value = match middle {
        Middle::Mean => delay.mean_ns,
        Middle::Median => delay.p50_ns.map(float),
    }?;
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
    use linerate_model::Ratio;
    use linerate_model::run::{DatagramsResult, Packets, RunWork, StudyPlace, Tool};
    use linerate_model::spec::Transport;
    use std::path::Path;

    /// A plan of `plans/` and its table.
    fn published(study: &str) -> (StudyPlan, PublishedTable) {
        let file = format!("{}/../../plans/{study}", env!("CARGO_MANIFEST_DIR"));
        let plan = StudyPlan::read(Path::new(&format!("{file}.toml"))).unwrap();
        let plan = StudyPlan::clone(&plan);
        let table = read_table(Path::new(&format!("{file}.csv"))).unwrap();
        (plan, table)
    }

    #[test]
    fn the_plans_of_the_published_studies_measure_the_cells_that_they_say() {
        for (study, cells) in [
            ("hifive-unleashed", 90),
            ("lwip-zephyr-rt1170", 48),
            ("onload-sfnt-pingpong", 32),
        ] {
            let (plan, table) = published(study);
            let found = table
                .cells
                .iter()
                .filter_map(|cell| plan_cell(&cell.levels, &plan).ok());
            let mut read: Vec<String> = found
                .map(|of| format!("{} {:?} {:?}", of.cell.label, of.direction, of.quantity))
                .collect();
            assert_eq!(read.len(), cells, "{study}");
            read.sort();
            read.dedup();
            assert_eq!(
                read.len(),
                cells,
                "{study}: two cells of the table are one figure of the plan"
            );
        }
    }

    /// A run of the cell "direction = forward, rate = 256M" of the series `load`.
    fn run_of_2_s(sent: u64, lost: u64) -> Run {
        let mut work = DatagramsResult::default();
        work.counts.packets = Some(Packets {
            sent: Some(PacketCount::new(sent)),
            received: Some(PacketCount::new(sent - lost)),
            lost: Some(PacketCount::new(lost)),
            duplicated: None,
            reordered: None,
            loss_ratio: Some(Ratio::from_parts(lost, sent)),
        });
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.duration = Some(Duration::from_secs(2));
        trial.received_rate = Some(BitRate::from_bps(180_000_000));
        let mut run = Run::new("run", RunKind::Udp, Tool::unversioned("linerate"));
        run.trials = vec![trial];
        run
    }

    #[test]
    fn the_figures_of_one_test_are_rows_of_the_table_and_counts_are_of_its_time() {
        let (mut plan, table) = published("hifive-unleashed");
        let at = |metric: &str| {
            let wanted = [
                ("direction", "board-receives"),
                ("target", "256M"),
                ("metric", metric),
            ];
            let has = |cell: &&PublishedCell| {
                let mut levels = wanted.iter();
                levels.all(|(factor, level)| cell.levels.get(*factor).is_some_and(|is| is == level))
            };
            table.cells.iter().position(|cell| has(&cell)).unwrap()
        };
        let label = {
            let of = plan_cell(&table.cells[at("loss")].levels, &plan).unwrap();
            of.cell.label.clone()
        };
        let mut runs = [run_of_2_s(44_000, 11_000), run_of_2_s(44_200, 11_050)];
        for (run, repetition) in runs.iter_mut().zip(1..) {
            run.config.place = Some(StudyPlace {
                cell: label.clone(),
                repetition,
            });
        }
        let runs: Vec<&Run> = runs.iter().collect();
        let values = |plan: &StudyPlan, metric: &str| {
            measured(&table, plan, &runs)[at(metric)].clone().unwrap()
        };
        assert_eq!(values(&plan, "received"), [180e6, 180e6]);
        assert_eq!(values(&plan, "loss"), [25.0, 25.0]);
        assert_eq!(values(&plan, "datagrams"), [220_000.0, 221_000.0]);
        assert_eq!(values(&plan, "lost"), [55_000.0, 55_250.0]);
        plan.published.time = None;
        let unknown = &measured(&table, &plan, &runs)[at("lost")];
        assert!(unknown.as_ref().unwrap_err().contains("time ="));
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

    /// A search that ended at `bounded_by`, between 3 and 4 Mbit/s.
    fn search(bounded_by: &str) -> Run {
        let goal = serde_json::json!({
            "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": 3_000_000, "upper_bound_bps": 4_000_000,
            "conditional_throughput_bps": 3_000_000, "reached": true, "bounded_by": bounded_by, "width_ratio": 0.25,
            "trials": 9, "time_s": 9.0
        });
        let mut run = Run::new("run", RunKind::Saturate, Tool::unversioned("linerate"));
        if let RunWork::Saturate { goals, .. } = &mut run.work {
            goals.push(serde_json::from_value(goal).unwrap());
        }
        run
    }

    #[test]
    fn the_throughput_of_a_search_that_its_sender_ended_is_no_value() {
        let reading = Reading {
            quantity: PublishedQuantity::Received,
            direction: None,
            published_time: None,
        };
        assert_eq!(reading.of_run(&search("loss")), Some(3e6));
        assert_eq!(reading.at_least(&search("loss")), None);
        for by_test in ["sender", "limit"] {
            let run = search(by_test);
            assert_eq!(reading.of_run(&run), None, "{by_test}");
            assert_eq!(reading.at_least(&run), Some(BitRate::from_bps(3_000_000)));
        }
    }
}
