//! Verdicts on simulated studies whose truth is known: the stated error rates hold.

use super::{JudgeOptions, Judgement, judge};
use crate::published::PublishedTable;
use linerate_model::Ratio;
use linerate_model::random::Random;
use linerate_model::reproduction::{CellOutcome, CellVerdict, VerdictTally};
use std::fmt::Write as _;

fn options() -> JudgeOptions {
    JudgeOptions {
        margin: Ratio::clamped(0.05),
        sensitivity: Ratio::clamped(0.125),
    }
}

const CELLS: usize = 8;
const REPEATS: u32 = 1000;

/// Whether the table prints its deviations.
#[derive(Clone, Copy, PartialEq)]
enum Prints {
    Deviations,
    Means,
}

/// A study and its replication: both of normal runs, the replication's true values `factor` times the published ones.
struct Study {
    runs: [u32; 2],
    scatter: f64,
    factor: f64,
    prints: Prints,
}

impl Study {
    fn judged(&self, random: &mut Random) -> Judgement {
        let mut text = format!("# n: {}\n# unit: Mbit/s\ncell,value,sd\n", self.runs[0]);
        let mut measured = Vec::new();
        let mut draw = |truth: f64, runs: u32| -> Vec<f64> {
            (0..runs)
                .map(|_| truth * (1.0 + self.scatter * random.normal()))
                .collect()
        };
        for (cell, truth) in (0..CELLS).zip([12.0, 30.0, 47.0, 81.0].into_iter().cycle()) {
            let published = draw(truth, self.runs[0]);
            let count = f64::from(self.runs[0]);
            let mean = published.iter().sum::<f64>() / count;
            let squares: f64 = published.iter().map(|value| (value - mean).powi(2)).sum();
            let sd = (squares / (count - 1.0)).sqrt();
            let _ = match self.prints {
                Prints::Deviations => writeln!(text, "c{cell},{mean:.3},{sd:.4}"),
                Prints::Means => writeln!(text, "c{cell},{mean:.3},"),
            };
            let values = draw(truth * self.factor, self.runs[1]);
            measured.push(Ok(values.into_iter().map(|value| value * 1e6).collect()));
        }
        let table = PublishedTable::parse(&text).unwrap();
        judge(&table, &measured, None, options())
    }

    /// Of a thousand studies: the share of cells with this verdict, and the share of tables that have one.
    fn shares(&self, wanted: fn(&CellVerdict) -> bool) -> (f64, f64) {
        let mut random = Random::new(17);
        let (mut cells, mut tables) = (0, 0);
        for _ in 0..REPEATS {
            let judged = self.judged(&mut random);
            let found = judged.cells.iter().filter(|cell| wanted(cell)).count();
            cells += u32::try_from(found).unwrap();
            tables += u32::from(found > 0);
        }
        let all = f64::from(REPEATS) * f64::from(u32::try_from(CELLS).unwrap());
        (
            f64::from(cells) / all,
            f64::from(tables) / f64::from(REPEATS),
        )
    }
}

fn differs(cell: &CellVerdict) -> bool {
    cell.verdict == CellOutcome::Differs
}

fn is_reproduced(cell: &CellVerdict) -> bool {
    cell.verdict == CellOutcome::Reproduced
}

/// Three standard errors above a rate of 5 % in a thousand tables.
const AT_MOST: f64 = 0.05 + 3.0 * 0.0069;

#[test]
fn a_true_replication_is_said_to_differ_in_one_table_of_twenty_at_most() {
    for prints in [Prints::Deviations, Prints::Means] {
        for runs in [[10, 10], [5, 20], [10, 3]] {
            let study = Study {
                runs,
                scatter: 0.03,
                factor: 1.0,
                prints,
            };
            let (_, tables) = study.shares(differs);
            assert!(tables <= AT_MOST, "{runs:?}: {tables}");
        }
    }
}

#[test]
fn a_value_on_the_margin_is_said_to_be_reproduced_once_in_twenty_at_most() {
    for prints in [Prints::Deviations, Prints::Means] {
        for factor in [1.05, 1.0 / 1.05] {
            let study = Study {
                runs: [10, 10],
                scatter: 0.03,
                factor,
                prints,
            };
            let (cells, _) = study.shares(is_reproduced);
            // Cells of a thousand tables: 8000, so the error of the share is 0.0024.
            assert!(cells <= 0.05 + 3.0 * 0.0024, "{factor}: {cells}");
        }
    }
}

#[test]
fn what_is_there_is_found_with_enough_runs() {
    let same = Study {
        runs: [10, 10],
        scatter: 0.02,
        factor: 1.0,
        prints: Prints::Deviations,
    };
    assert!(same.shares(is_reproduced).0 > 0.95);
    let other = Study {
        factor: 1.15,
        ..same
    };
    assert!(other.shares(differs).0 > 0.95);
}

#[test]
fn a_compatible_cell_could_have_shown_the_sensitivity_and_one_that_cannot_tell_says_what_would() {
    let study = Study {
        runs: [10, 10],
        scatter: 0.06,
        factor: 1.0,
        prints: Prints::Means,
    };
    let judged = study.judged(&mut Random::new(1));
    assert!(judged.tally.compatible > 0, "{:?}", judged.tally);
    let noisy = Study {
        scatter: 0.2,
        ..study
    };
    let judged = noisy.judged(&mut Random::new(1));
    assert_eq!(judged.tally.compatible, 0, "{:?}", judged.tally);
    for cell in &judged.cells {
        let CellOutcome::CannotTell { repetitions } = cell.verdict else {
            assert_eq!(cell.verdict, CellOutcome::Differs, "{cell:?}");
            continue;
        };
        // Ten published runs of that scatter are a floor that no number of ours goes below.
        assert_eq!(repetitions, None, "{cell:?}");
        assert!(cell.why.as_deref().unwrap().contains("n = 10"), "{cell:?}");
    }
    let few = Study {
        runs: [100, 3],
        scatter: 0.06,
        ..study
    };
    let judged = few.judged(&mut Random::new(3));
    let needed = judged.cells.iter().find_map(|cell| match cell.verdict {
        CellOutcome::CannotTell { repetitions } => repetitions,
        _ => None,
    });
    assert!(
        needed.is_some_and(|needed| (4..100).contains(&needed)),
        "{:?}",
        judged.cells
    );
}

#[test]
fn what_was_not_measured_or_is_another_set_up_has_no_ratio_and_claims_are_asked_all_the_same() {
    let text = "# unit: Mbit/s\n# claim: [ip=ipv4] > [ip=ipv6] -- IPv4 is faster\nip,way,value\n\
        ipv4,up,10.0\nipv6,up,9.0\nipv4,down,8.0\nipv6,down,7.0\nipv4,both,5.0\nipv6,both,6.0\n";
    let table = PublishedTable::parse(text).unwrap();
    let values = |values: &[f64]| Ok(values.iter().map(|value| value * 1e6).collect());
    let none = Err("the plan has no such cell".to_owned());
    let measured = [
        values(&[100.0, 101.0, 102.0]),
        values(&[50.0, 51.0, 52.0]),
        values(&[40.0, 41.0, 42.0]),
        values(&[80.0, 81.0, 82.0]),
        values(&[3.0]),
        none,
    ];
    let judged = judge(
        &table,
        &measured,
        Some("cpu: published a, measured b"),
        options(),
    );
    let tally = VerdictTally {
        not_comparable: 5,
        not_measured: 1,
        ..VerdictTally::default()
    };
    assert_eq!(judged.tally, tally);
    assert!(judged.cells.iter().all(|cell| cell.ratio.is_none()));
    let claim = &judged.claims[0];
    assert_eq!((claim.published.held, claim.published.asked), (2, 3));
    assert_eq!((claim.measured.held, claim.measured.asked), (1, 2));
    assert_eq!((claim.measured.shown, claim.measured.refuted), (1, 1));
    assert_eq!(claim.agree, 1);
    let judged = judge(&table, &measured, None, options());
    assert_eq!(
        judged.cells[4].verdict,
        CellOutcome::CannotTell { repetitions: None }
    );
    assert_eq!(judged.cells[0].verdict, CellOutcome::Differs);
}

#[test]
fn a_published_zero_has_no_ratio_and_is_compared_all_the_same() {
    let text = "# unit: percent\nload,value\n1,0\n2,0\n3,0\n4,0\n5,28\n";
    let table = PublishedTable::parse(text).unwrap();
    let values = |values: &[f64]| Ok(values.to_vec());
    let measured = [
        values(&[0.0, 0.0, 0.3, 0.0, 0.0]),
        values(&[40.0, 42.0, 41.0, 40.0, 43.0]),
        values(&[0.0, 0.0, 9.0, 0.0, 0.0]),
        values(&[0.0]),
        values(&[0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let judged = judge(&table, &measured, None, options());
    let found: Vec<_> = judged.cells.iter().map(|cell| cell.verdict).collect();
    let unknown = CellOutcome::CannotTell { repetitions: None };
    assert_eq!(
        found,
        [
            CellOutcome::Reproduced,
            CellOutcome::Differs,
            unknown,
            unknown,
            CellOutcome::Differs,
        ],
        "{:#?}",
        judged.cells
    );
    assert!(judged.cells.iter().all(|cell| cell.ratio.is_none()));
    // The two that differ are tests of the table; what is zero on both sides is none.
    assert!(judged.cells[0].p_adjusted.is_none() && judged.cells[1].p_adjusted.is_some());
}
