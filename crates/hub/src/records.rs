//! Pure: the rows of a run document.

use linerate_model::BitRate;
use linerate_model::run::{Run, Trial};
use linerate_model::units::float;

/// Place of trials that are the run's own and of none of its parts.
const OWN: i32 = -1;

/// The row of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrialRow {
    /// Seconds since 1970, of its part or else of its run.
    pub(crate) started: i64,
    pub(crate) part: i32,
    pub(crate) trial: i32,
    pub(crate) kind: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) sender: Option<String>,
    pub(crate) receiver: Option<String>,
    pub(crate) repetition: Option<i32>,
    pub(crate) valid: bool,
    pub(crate) duration_s: Option<f64>,
    pub(crate) intended_bps: Option<f64>,
    pub(crate) offered_bps: Option<f64>,
    pub(crate) received_bps: Option<f64>,
    pub(crate) loss_ratio: Option<f64>,
    pub(crate) delay_p50_ns: Option<f64>,
    pub(crate) delay_p99_ns: Option<f64>,
    pub(crate) limit_id: Option<String>,
}

/// When a run started, seconds since 1970.
///
/// # Errors
///
/// The document does not say.
pub(crate) fn started(run: &Run) -> Result<i64, String> {
    let started = run.started.as_ref().map(linerate_model::WallTime::as_unix);
    started.ok_or_else(|| {
        format!(
            "{}: it does not say when it started, so no row can be made of it",
            run.id
        )
    })
}

/// One row for each trial of a run and of its parts.
///
/// # Errors
///
/// The document does not say when it started.
pub(crate) fn rows(run: &Run) -> Result<Vec<TrialRow>, String> {
    let begun = started(run)?;
    let mut rows = Vec::new();
    of_run(run, OWN, begun, &mut rows);
    for (place, part) in run.parts().iter().enumerate() {
        let begun = started(part).unwrap_or(begun);
        of_run(part, number(place), begun, &mut rows);
    }
    Ok(rows)
}

/// How a run ended, in a word.
pub(crate) const fn status(run: &Run) -> &'static str {
    run.status.as_str()
}

/// What measured a run, and its version.
pub(crate) fn tool(run: &Run) -> String {
    match &run.tool.version {
        Some(version) => format!("{} {version}", run.tool.name),
        None => run.tool.name.clone(),
    }
}

fn of_run(run: &Run, part: i32, started: i64, rows: &mut Vec<TrialRow>) {
    let place = run.config.place.as_ref();
    let ends = place.and_then(|place| place.cell.split_once(" → "));
    for (at, trial) in run.trials.iter().enumerate() {
        rows.push(TrialRow {
            started,
            part,
            trial: number(at),
            kind: run.kind().as_str(),
            direction: trial.direction.as_str(),
            sender: ends.map(|(sender, _)| sender.to_owned()),
            receiver: ends.map(|(_, receiver)| receiver.to_owned()),
            repetition: place.and_then(|place| i32::try_from(place.repetition).ok()),
            valid: trial.valid,
            duration_s: trial.duration.map(|time| time.as_secs_f64()),
            intended_bps: trial.intended_load.map(BitRate::as_f64),
            offered_bps: trial.offered_load.map(BitRate::as_f64),
            received_bps: trial.received_rate.map(BitRate::as_f64),
            loss_ratio: loss(trial),
            delay_p50_ns: quantile(trial, 0.5),
            delay_p99_ns: quantile(trial, 0.99),
            limit_id: run
                .verdict
                .as_ref()
                .map(|verdict| verdict.limit.id().to_owned()),
        });
    }
}

fn loss(trial: &Trial) -> Option<f64> {
    let ratio = trial.packets()?.loss_ratio?;
    ratio.get().is_finite().then(|| ratio.get())
}

fn quantile(trial: &Trial, q: f64) -> Option<f64> {
    trial.delay()?.quantile_ns(q).map(float)
}

/// Documents of more than 2³¹ parts are not read.
fn number(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::WallTime;
    use linerate_model::run::{
        ByteStreamResult, Config, RunKind, RunWork, StudyPlace, Tool, TrialWork,
    };
    use linerate_model::spec::{Direction, Transport};

    fn part(cell: &str, started: i64, rates: &[u64]) -> Run {
        let mut run = Run::new("part", RunKind::Tcp, Tool::linerate("1"));
        run.started = WallTime::from_unix(started);
        run.config = Config {
            place: Some(StudyPlace {
                cell: cell.to_owned(),
                repetition: 2,
            }),
            ..Config::default()
        };
        for (index, rate) in (0..).zip(rates) {
            let work = TrialWork::ByteStream(Box::<ByteStreamResult>::default());
            let mut trial = Trial::new(index, Transport::Tcp, Direction::Forward, work);
            trial.received_rate = Some(BitRate::from_bps(*rate));
            run.trials.push(trial);
        }
        run
    }

    #[test]
    fn every_trial_of_every_part_has_one_row_with_a_key_of_its_own() {
        let mut run = Run::new("r", RunKind::Study, Tool::linerate("1"));
        run.started = WallTime::from_unix(1000);
        let parts = vec![part("a → b", 1001, &[5]), part("b → a", 1002, &[6, 7])];
        *run.parts_mut().unwrap() = parts;
        assert!(matches!(run.work, RunWork::Study { .. }));
        let rows = rows(&run).unwrap();
        let keys: Vec<_> = rows.iter().map(|row| (row.part, row.trial)).collect();
        assert_eq!(keys, [(0, 0), (1, 0), (1, 1)]);
        assert_eq!(rows[2].sender.as_deref(), Some("b"));
        assert_eq!(rows[2].receiver.as_deref(), Some("a"));
        assert_eq!((rows[2].started, rows[2].repetition), (1002, Some(2)));
        assert_eq!(rows[2].received_bps, Some(7.0));
    }

    #[test]
    fn a_document_without_a_time_has_no_rows() {
        let run = Run::new("r", RunKind::Study, Tool::linerate("1"));
        assert!(rows(&run).unwrap_err().contains("when it started"));
    }
}
