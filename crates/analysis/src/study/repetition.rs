//! How often the peer's program was started and built for a study.

use super::Runs;
use crate::repetition::units;
use linerate_model::run::{Instance, Repetition, RepetitionLevel, Run};
use std::collections::BTreeSet;

/// `None` where a run does not tell its start, or there is none.
pub(super) fn repetition(cells: &[&str], runs: &Runs<'_>) -> Option<Repetition> {
    let all = || cells.iter().flat_map(|cell| runs.of_cell(cell));
    let instances: Option<Vec<&Instance>> = all().map(|run| run.instance.as_ref()).collect();
    let instances = instances.filter(|all| !all.is_empty())?;
    let starts: BTreeSet<_> = instances.iter().map(|one| &one.start).collect();
    let builds: Option<BTreeSet<_>> = instances.iter().map(|one| one.build.as_ref()).collect();
    let levels = cells.iter().map(|cell| level(runs.of_cell(cell)));
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some(Repetition {
        builds: builds.map(|builds| count(builds.len())),
        starts: count(starts.len()),
        runs: count(instances.len()),
        level: levels.min().unwrap_or_default(),
    })
}

/// What the runs of a cell are repeated on.
pub(super) fn level(runs: &[&Run]) -> RepetitionLevel {
    let of = runs.iter().map(|run| (run.instance.as_ref(), 0.0));
    units(&of.collect::<Vec<_>>()).level
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::random::Random;
    use linerate_model::run::{
        ByteStreamResult, CellEstimate, EffectVerdict, RunKind, StartId, StudyFindings, StudyPlace,
        Tool, Trial,
    };
    use linerate_model::spec::{Direction, Transport};

    const CELLS: [&str; 4] = [
        "ip = v4, stack = lwip",
        "ip = v4, stack = kernel",
        "ip = v6, stack = lwip",
        "ip = v6, stack = kernel",
    ];
    /// Standard deviations of the logarithms from start to start, and from run to run of one.
    const DEVIATIONS: (f64, f64) = (0.03, 0.01);
    const STARTS: usize = 5;
    const RUNS: usize = 4;

    /// Which cells a start is of.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Starts {
        /// Each of one: a stack that is started for it.
        OfCell,
        /// Each of all cells: a server that stays up for some rounds. It draws both cells of a version of IP alike.
        OfAll,
    }

    fn run(cell: &str, start: &str, repetition: usize, rate: f64) -> Run {
        let (transport, way) = (Transport::Tcp, Direction::Forward);
        let mut trial = Trial::new(0, transport, way, ByteStreamResult::default());
        trial.received_rate = Some(BitRate::from_f64(rate));
        let mut run = Run::new("part", RunKind::Tcp, Tool::unversioned("linerate"));
        run.trials = vec![trial];
        run.instance = Some(Instance {
            start: StartId::new(start),
            build: None,
        });
        run.config.place = Some(StudyPlace {
            cell: cell.to_owned(),
            repetition: u32::try_from(repetition).unwrap(),
        });
        run
    }

    /// A study in which no factor does anything: 100 Mbit/s in every cell.
    fn study(random: &mut Random, starts: Starts) -> Vec<Run> {
        let mut parts = Vec::new();
        for start in 0..STARTS {
            let drawn: Vec<f64> = (0..CELLS.len())
                .map(|_| DEVIATIONS.0 * random.normal())
                .collect();
            for (at, cell) in CELLS.iter().enumerate() {
                let (name, by) = match starts {
                    Starts::OfCell => (format!("{cell} {start}"), drawn[at]),
                    Starts::OfAll => (start.to_string(), drawn[at / 2]),
                };
                for of_start in 0..RUNS {
                    let log = by + DEVIATIONS.1 * random.normal();
                    let repetition = start * RUNS + of_start + 1;
                    parts.push(run(cell, &name, repetition, 1e8 * log.exp()));
                }
            }
        }
        parts
    }

    /// How often intervals contain the truth, and how often an effect is shown that is none.
    #[derive(Debug, Default)]
    struct Tally {
        means: u32,
        mains: u32,
        interactions: u32,
        alarms: u32,
    }

    impl Tally {
        fn add(&mut self, parts: &[Run]) {
            let found = findings(CELLS, None, parts);
            let holds = |interval: Option<linerate_model::Interval>, truth: f64| {
                u32::from(interval.unwrap().contains(truth))
            };
            let first: &CellEstimate = &crate::estimates(CELLS, parts)[0];
            self.means += holds(first.estimate.interval, 1e8);
            let ip = &found.main_effects[0];
            assert_eq!(ip.of.factor, "ip");
            self.mains += holds(ip.effect.estimate.interval, 1.0);
            let both = &found.interactions[0].effect;
            self.interactions += holds(both.estimate.interval, 1.0);
            self.alarms += u32::from(is_any_shown(&found));
        }
    }

    fn is_any_shown(found: &StudyFindings) -> bool {
        let shown = |verdict| verdict == EffectVerdict::Shown;
        let mut main = found.main_effects.iter().map(|one| one.effect.verdict);
        let mut both = found.interactions.iter().map(|one| one.effect.verdict);
        main.any(shown) || both.any(shown)
    }

    const ROUNDS: u32 = 1000;

    /// The study as it is, and as it would be read without its starts.
    fn tallies(starts: Starts, seed: u64) -> (Tally, Tally) {
        let mut random = Random::new(seed);
        let (mut own, mut ignored) = (Tally::default(), Tally::default());
        for _ in 0..ROUNDS {
            let mut parts = study(&mut random, starts);
            own.add(&parts);
            for part in &mut parts {
                part.instance = None;
            }
            ignored.add(&parts);
        }
        (own, ignored)
    }

    /// 95 % of 1000 are 950, with a standard deviation of 6.9; four of them are 28.
    const COVERED: std::ops::RangeInclusive<u32> = 922..=978;

    #[test]
    fn intervals_over_starts_cover_as_often_as_they_claim_and_those_over_their_runs_do_not() {
        let (own, ignored) = tallies(Starts::OfCell, 51);
        for hits in [own.means, own.mains, own.interactions] {
            assert!(COVERED.contains(&hits), "{own:?}");
        }
        // Any of the three effects may be shown in 5 % of studies.
        assert!(own.alarms <= 78, "{own:?}");
        for hits in [ignored.means, ignored.mains, ignored.interactions] {
            assert!(hits < 750, "{ignored:?}");
        }
        assert!(ignored.alarms > 400, "{ignored:?}");
    }

    #[test]
    fn what_a_start_does_to_all_cells_of_a_level_is_in_the_interval_too() {
        let (own, ignored) = tallies(Starts::OfAll, 52);
        for hits in [own.means, own.mains, own.interactions] {
            assert!(COVERED.contains(&hits), "{own:?}");
        }
        assert!(own.alarms <= 78, "{own:?}");
        for hits in [ignored.means, ignored.mains] {
            assert!(hits < 750, "{ignored:?}");
        }
    }

    #[test]
    fn a_study_says_how_often_what_answered_was_started_and_how_its_runs_scatter() {
        let parts = study(&mut Random::new(53), Starts::OfCell);
        let found = findings(CELLS, None, &parts);
        let repetition = found.repetition.unwrap();
        assert_eq!(
            (repetition.builds, repetition.starts, repetition.runs),
            (None, 20, 80)
        );
        assert_eq!(repetition.level, RepetitionLevel::Start);
        let levels: Vec<_> = found.scatter.iter().map(|one| one.level).collect();
        assert_eq!(levels, [RepetitionLevel::Start, RepetitionLevel::Run]);
        for (scatter, deviation) in found.scatter.iter().zip([DEVIATIONS.0, DEVIATIONS.1]) {
            let ratio = scatter.deviation_ratio / deviation;
            assert!((0.6..1.5).contains(&ratio), "{scatter:?}");
        }
        let mean = &crate::estimates(CELLS, &parts)[0];
        assert_eq!((mean.estimate.n, mean.level), (5, RepetitionLevel::Start));
    }

    #[test]
    fn one_start_is_no_level_and_a_run_that_tells_none_leaves_all_open() {
        let one: Vec<Run> = (1..=4)
            .flat_map(|repetition| CELLS.map(|cell| run(cell, "a", repetition, 1e8)))
            .collect();
        let found = findings(CELLS, None, &one).repetition.unwrap();
        assert_eq!((found.starts, found.level), (1, RepetitionLevel::Run));
        let mut unknown = one;
        unknown[0].instance = None;
        assert_eq!(findings(CELLS, None, &unknown).repetition, None);
    }
}
