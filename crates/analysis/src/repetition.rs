//! What is independent among the runs of a cell: builds of the peer's program, starts of it, or the runs themselves.
//!
//! Runs of one start share all that the start decided, starts of one build all that the build did. So the outermost
//! level that a cell repeats gives its units, each with the mean of what it holds; a level of which there is one, or of
//! which a run does not tell, is none. The interval then holds for that one start, or that one build.
//!
//! # References
//! - Kalibera, Jones, "Rigorous benchmarking in reasonable time", 2013, §§ 4–6

use crate::statistics::{Moments, Unit};
use linerate_model::run::{Instance, RepetitionLevel};
use std::collections::BTreeMap;

/// What one run says, and which start of the peer's program it was measured with, where that is known.
pub type OfRun<'a> = (Option<&'a Instance>, f64);

/// The independent units of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// What they are.
    pub level: RepetitionLevel,
    /// With the mean of each.
    pub units: Vec<Unit>,
}

/// The units of runs of one cell.
pub fn units(runs: &[OfRun<'_>]) -> Units {
    if let Some(builds) = grouped(runs, |instance| Some(instance.build.as_ref()?.as_str())) {
        let value = |runs: &[OfRun<'_>]| starts(runs).map_or_else(|| plain(runs), |of| means(&of));
        return Units {
            level: RepetitionLevel::Build,
            units: named(&builds, value),
        };
    }
    match starts(runs) {
        Some(starts) => Units {
            level: RepetitionLevel::Start,
            units: named(&starts, plain),
        },
        None => Units {
            level: RepetitionLevel::Run,
            units: runs.iter().map(|(_, value)| Unit::own(*value)).collect(),
        },
    }
}

fn starts<'r>(runs: &[OfRun<'r>]) -> Option<Groups<'r>> {
    grouped(runs, |instance| Some(instance.start.as_str()))
}

type Groups<'r> = BTreeMap<&'r str, Vec<OfRun<'r>>>;

/// The runs by a name; `None` where one run has none, or all have the same.
fn grouped<'r>(
    runs: &[OfRun<'r>],
    name: impl Fn(&'r Instance) -> Option<&'r str>,
) -> Option<Groups<'r>> {
    let mut groups = Groups::new();
    for (instance, value) in runs {
        let name = name((*instance)?)?;
        groups.entry(name).or_default().push((*instance, *value));
    }
    (groups.len() > 1).then_some(groups)
}

fn named(groups: &Groups<'_>, value: impl Fn(&[OfRun<'_>]) -> Vec<f64>) -> Vec<Unit> {
    let unit = |(name, runs): (&&str, &Vec<OfRun<'_>>)| {
        Some(Unit {
            name: Some((*name).to_owned()),
            value: Moments::from_samples(&value(runs))?.mean,
        })
    };
    groups.iter().filter_map(unit).collect()
}

fn plain(runs: &[OfRun<'_>]) -> Vec<f64> {
    runs.iter().map(|(_, value)| *value).collect()
}

fn means(groups: &Groups<'_>) -> Vec<f64> {
    Unit::values(&named(groups, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{BuildId, StartId};

    fn instance(start: &str, build: Option<&str>) -> Instance {
        Instance {
            start: StartId::new(start),
            build: build.map(BuildId::new),
        }
    }

    fn of(instances: &[Option<Instance>], values: &[f64]) -> Units {
        let runs = instances
            .iter()
            .map(Option::as_ref)
            .zip(values.iter().copied());
        units(&runs.collect::<Vec<_>>())
    }

    #[test]
    fn the_outermost_level_that_is_repeated_gives_the_units() {
        let own = |start| Some(instance(start, None));
        let one = of(&[own("a"), own("a"), own("a")], &[1.0, 2.0, 6.0]);
        assert_eq!(one.level, RepetitionLevel::Run);
        assert_eq!(Unit::values(&one.units), [1.0, 2.0, 6.0]);
        let two = of(&[own("a"), own("b"), own("a")], &[1.0, 2.0, 6.0]);
        assert_eq!(two.level, RepetitionLevel::Start);
        assert_eq!(Unit::values(&two.units), [3.5, 2.0]);
        assert_eq!(two.units[1].name.as_deref(), Some("b"));
        let built = |start, build| Some(instance(start, Some(build)));
        let builds = [
            built("a", "x"),
            built("a", "x"),
            built("b", "x"),
            built("c", "y"),
        ];
        let builds = of(&builds, &[1.0, 3.0, 8.0, 4.0]);
        assert_eq!(builds.level, RepetitionLevel::Build);
        // The first build is the mean of its starts, 2 and 8, not of its runs.
        assert_eq!(Unit::values(&builds.units), [5.0, 4.0]);
    }

    #[test]
    fn a_run_that_does_not_tell_its_start_is_an_observation_of_its_own() {
        let found = of(&[Some(instance("a", None)), None], &[1.0, 2.0]);
        assert_eq!(found.level, RepetitionLevel::Run);
        let half = [
            Some(instance("a", Some("x"))),
            Some(instance("b", Some("y"))),
            Some(instance("c", None)),
        ];
        assert_eq!(of(&half, &[1.0, 2.0, 3.0]).level, RepetitionLevel::Start);
        assert_eq!(units(&[]).units, []);
    }
}
