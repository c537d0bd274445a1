//! Whether a published table holds against a measurement: a verdict for each cell and each claim.
//!
//! Values are compared by the logarithm of their ratio, δ = mean ln(measured) − ln(published). Its standard error has
//! the scatter of the runs on both sides; where the table prints no deviation, its runs are taken to scatter like ours,
//! and a table without their number has one. The rounding of the printed figure is added.
//!
//! - *Reproduced*: the 90 % interval of δ lies inside ± ln(1 + margin): two one-sided tests, each at 5 %.
//! - *Differs*: δ lies outside the 95 % prediction interval of a replication, whose half-width is t × the same standard
//!   error; corrected for all cells of the table (Holm).
//! - *Cannot tell*: neither, and runs that scatter so do not show a difference of the sensitivity in four of five tables.
//! - *Compatible*: neither, and they would.
//!
//! Zero has no ratio. Where the published value or a measured one is zero, as losses are, δ is their difference; it is
//! *reproduced* where every run rounds to the printed figure, *differs* as above, and else *cannot tell*.
//!
//! # References
//! - Two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987)
//! - Prediction intervals of replications: Spence, Stanley, PLOS ONE 11 (2016), 10.1371/journal.pone.0162874

use super::levels::{Levels, label};
use super::statement::{Cells, Statement, StatementCase};
use super::table::{PublishedCell, PublishedTable};
use crate::statistics::{
    Confidence, Moments, TestDesign, USUAL_CONFIDENCE, Welch, exponential, holm, mean, to_f64,
    welch,
};
use linerate_model::reproduction::{
    CellOutcome, CellVerdict, ClaimTally, ClaimVerdict, ExpectedFalse, VerdictTally,
};
use linerate_model::{Estimate, Interval, Ratio};

/// What was measured under the levels of a published cell: one value for each run, in the base unit of the table; or why
/// nothing was.
pub type Measured = Result<Vec<f64>, String>;

/// What counts as the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgeOptions {
    /// Largest relative difference at which a value counts as reproduced.
    pub margin: Ratio,
    /// Relative difference that repetitions must be able to show.
    pub sensitivity: Ratio,
}

/// Verdicts on every cell and claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// In the order of the table.
    pub cells: Vec<CellVerdict>,
    /// In the order of the table.
    pub claims: Vec<ClaimVerdict>,
    /// How many cells have each verdict.
    pub tally: VerdictTally,
    /// What to expect by chance.
    pub expected: ExpectedFalse,
}

/// Probability of a false *differs* in a table, and of a false *reproduced* in a cell.
const ALPHA: f64 = 0.05;

/// Judges `measured`, one for each cell of the table. `setup` says what makes the values not comparable, if anything does.
pub fn judge(
    table: &PublishedTable,
    measured: &[Measured],
    setup: Option<&str>,
    options: JudgeOptions,
) -> Judgement {
    let pairs = || table.cells.iter().zip(measured);
    let tested: Vec<Option<Tested>> = pairs()
        .map(|(cell, measured)| {
            setup
                .is_none()
                .then(|| Tested::new(cell, values(measured)))?
        })
        .collect();
    let p: Vec<f64> = tested
        .iter()
        .flatten()
        .map(|tested| tested.welch.p(0.0))
        .collect();
    let tests = p.len();
    let mut corrected = holm(&p).into_iter();
    let cells: Vec<CellVerdict> = pairs()
        .zip(&tested)
        .map(|((cell, measured), tested)| {
            let verdict = Judge {
                cell,
                measured,
                options,
                tests,
            };
            match (tested, setup) {
                (Some(tested), _) => verdict.tested(tested, corrected.next().unwrap_or(1.0)),
                (None, why) => verdict.untested(why),
            }
        })
        .collect();
    Judgement {
        tally: tally(&cells),
        expected: ExpectedFalse {
            any_differs: ALPHA,
            reproduced: ALPHA * to_f64(tests as u64),
        },
        claims: claims(table, measured),
        cells,
    }
}

/// What two values are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Their ratio, as the difference of logarithms.
    Ratio,
    /// Their difference: one is not above zero.
    Difference,
}

/// A cell with several runs.
struct Tested {
    welch: Welch,
    scale: Scale,
    /// Of one run of ours.
    deviation: f64,
    /// Runs behind the published value.
    published_runs: f64,
}

impl Tested {
    fn new(cell: &PublishedCell, values: &[f64]) -> Option<Self> {
        let published = cell.base_value();
        let scale = if published > 0.0 && values.iter().all(|value| *value > 0.0) {
            Scale::Ratio
        } else {
            Scale::Difference
        };
        if scale == Scale::Difference && is_printed(cell, values) {
            return None;
        }
        // What a step of the printed figure is on the scale.
        let unit = match scale {
            // The deviation of a logarithm is the relative one, as long as it is small.
            Scale::Ratio => 1.0 / cell.value.value,
            Scale::Difference => cell.unit.base,
        };
        let scaled = |value: f64| match scale {
            Scale::Ratio => value.ln(),
            Scale::Difference => value,
        };
        let samples: Vec<f64> = values.iter().copied().map(scaled).collect();
        let ours = Moments::from_samples(&samples).filter(|ours| ours.variance.is_some())?;
        let published_runs = cell.runs.map_or(1.0, f64::from);
        let printed = cell
            .sd
            .as_ref()
            .filter(|_| cell.runs == cell.n && published_runs > 1.0);
        let theirs = Moments {
            count: published_runs,
            mean: scaled(published),
            variance: printed.map(|sd| (sd.value * unit).powi(2)),
        };
        let rounding = (cell.value.step * unit).powi(2) / 12.0;
        let deviation = ours.variance?.sqrt();
        let welch = welch(theirs, ours, rounding)?;
        // Welch's degrees of freedom are liberal far out in the tails of a few runs, which Holm's correction asks for; the
        // smaller side's never are (Hsu 1938).
        let smaller = theirs
            .variance
            .map_or(ours.count, |_| ours.count.min(theirs.count));
        Some(Self {
            welch: Welch {
                freedom: smaller - 1.0,
                ..welch
            },
            scale,
            deviation,
            published_runs,
        })
    }
}

/// Whether all of some values, of which there are several, are the printed figure when they are rounded as it is.
fn is_printed(cell: &PublishedCell, values: &[f64]) -> bool {
    let printed = cell.value.rounded_from();
    let rounds = |value: &f64| {
        let value = value / cell.unit.base;
        printed.low <= value && value <= printed.high
    };
    values.len() > 1 && values.iter().all(rounds)
}

/// What was measured, if anything was.
pub(super) fn values(measured: &Measured) -> &[f64] {
    measured.as_deref().unwrap_or_default()
}

/// One cell with what is known of it.
struct Judge<'a> {
    cell: &'a PublishedCell,
    measured: &'a Measured,
    options: JudgeOptions,
    tests: usize,
}

impl Judge<'_> {
    fn verdict(&self, verdict: CellOutcome, why: Option<String>) -> CellVerdict {
        let base = self.cell.unit.base;
        let values = values(self.measured).iter().map(|value| value / base);
        let logs: Vec<f64> = values.clone().map(f64::ln).collect();
        let seen = mean(&logs, USUAL_CONFIDENCE).ok().map(exponential);
        let plain = || mean(&values.collect::<Vec<_>>(), USUAL_CONFIDENCE).ok();
        CellVerdict {
            cell: label(&self.cell.levels),
            unit: self.cell.unit.name.clone(),
            published: self.cell.value.value,
            published_runs: self.cell.runs,
            measured: seen.or_else(plain),
            ratio: None,
            p_adjusted: None,
            verdict,
            why,
        }
    }

    fn untested(&self, setup: Option<&str>) -> CellVerdict {
        let values = values(self.measured);
        if values.is_empty() {
            return self.verdict(CellOutcome::NotMeasured, self.measured.clone().err());
        }
        if let Some(setup) = setup {
            return self.verdict(CellOutcome::NotComparable, Some(setup.to_owned()));
        }
        if values.len() < 2 {
            let why = "n = 1: no variance; repeat at least 5 times";
            return self.verdict(
                CellOutcome::CannotTell { repetitions: None },
                Some(why.to_owned()),
            );
        }
        if is_printed(self.cell, values) {
            let why = "every run rounds to the printed zero";
            return self.verdict(CellOutcome::Reproduced, Some(why.to_owned()));
        }
        let why = "a value is not a number that a test could be made of";
        self.verdict(CellOutcome::NotComparable, Some(why.to_owned()))
    }

    fn tested(&self, tested: &Tested, p_adjusted: f64) -> CellVerdict {
        let Tested { welch, scale, .. } = tested;
        if *scale == Scale::Difference {
            return self.difference(p_adjusted);
        }
        let equivalence = Confidence::new(1.0 - 2.0 * ALPHA).unwrap_or(USUAL_CONFIDENCE);
        let ratio = welch.estimate(equivalence);
        let margin = self.options.margin.get().ln_1p();
        let sensitivity = self.options.sensitivity.get().ln_1p();
        let inside = |interval: Interval| -margin < interval.low && interval.high < margin;
        let design = TestDesign {
            margin: 0.0,
            alpha: ALPHA,
            tests: self.tests,
        };
        let detectable = design.detectable(welch.error, welch.freedom);
        let (verdict, why) = if ratio.interval.is_some_and(inside) {
            (CellOutcome::Reproduced, None)
        } else if p_adjusted < ALPHA {
            (CellOutcome::Differs, None)
        } else if detectable > sensitivity {
            let repetitions = Self::repetitions(tested, design, sensitivity);
            (
                CellOutcome::CannotTell { repetitions },
                Some(limits(detectable, repetitions, self.cell.runs)),
            )
        } else {
            (CellOutcome::Compatible, None)
        };
        CellVerdict {
            ratio: Some(exponential(ratio)),
            p_adjusted: Some(p_adjusted),
            ..self.verdict(verdict, why)
        }
    }

    /// Of a cell in which a value is zero.
    fn difference(&self, p_adjusted: f64) -> CellVerdict {
        let (verdict, why) = if p_adjusted < ALPHA {
            (CellOutcome::Differs, None)
        } else {
            let why = "zero has no ratio, and the difference is within what such runs scatter by";
            (CellOutcome::CannotTell { repetitions: None }, Some(why))
        };
        CellVerdict {
            p_adjusted: Some(p_adjusted),
            ..self.verdict(verdict, why.map(str::to_owned))
        }
    }

    /// How many repetitions of ours show the sensitivity, beside as many published runs as there are.
    fn repetitions(tested: &Tested, design: TestDesign, sensitivity: f64) -> Option<u32> {
        const MAX_REPETITIONS: u32 = 1000;
        let shows = |count: &u32| {
            let n = f64::from(*count);
            let error = tested.deviation * (1.0 / n + 1.0 / tested.published_runs).sqrt();
            design.detectable(error, n - 1.0) <= sensitivity
        };
        (2..=MAX_REPETITIONS).find(shows)
    }
}

/// A larger difference is no figure that anybody could use.
const MAX_FACTOR: f64 = 10.0;

/// What a cell can show, and what would show more.
fn limits(detectable: f64, repetitions: Option<u32>, published: Option<u32>) -> String {
    let least = if detectable > MAX_FACTOR.ln() {
        "cannot show even a tenfold difference".to_owned()
    } else {
        format!("cannot show less than {:.0} %", detectable.exp_m1() * 100.0)
    };
    match (repetitions, published) {
        (Some(needed), _) => format!("{least}; {needed} repetitions would show the sensitivity"),
        (None, Some(runs)) => {
            format!(
                "{least}; the published value is of n = {runs}, which no number of our repetitions makes up for"
            )
        }
        (None, None) => {
            format!("{least}; the table does not tell its number of runs, which counts as one")
        }
    }
}

fn tally(cells: &[CellVerdict]) -> VerdictTally {
    let mut tally = VerdictTally::default();
    for cell in cells {
        *match cell.verdict {
            CellOutcome::Compatible => &mut tally.compatible,
            CellOutcome::CannotTell { .. } => &mut tally.cannot_tell,
            CellOutcome::Differs => &mut tally.differs,
            CellOutcome::NotComparable => &mut tally.not_comparable,
            CellOutcome::NotMeasured => &mut tally.not_measured,
            CellOutcome::Reproduced => &mut tally.reproduced,
        } += 1;
    }
    tally
}

/// What was measured, as statements read it, in the units of the table.
struct MeasuredCells<'a> {
    table: &'a PublishedTable,
    measured: &'a [Measured],
    as_intervals: bool,
}

impl MeasuredCells<'_> {
    fn estimate(&self, index: usize) -> Option<Estimate> {
        let base = self.table.cells.get(index)?.unit.base;
        let values = values(self.measured.get(index)?);
        let values: Vec<f64> = values.iter().map(|value| value / base).collect();
        mean(&values, USUAL_CONFIDENCE).ok()
    }
}

impl Cells for MeasuredCells<'_> {
    fn levels(&self) -> Vec<&Levels> {
        self.table.cells.iter().map(|cell| &cell.levels).collect()
    }

    fn figure(&self, index: usize, name: &str) -> Option<Interval> {
        let estimate = self.estimate(index).filter(|_| name == "value")?;
        let point = Interval::new(estimate.point, estimate.point);
        if self.as_intervals {
            estimate.interval
        } else {
            Some(point)
        }
    }

    fn shown(&self, index: usize, _: &str) -> String {
        self.estimate(index).map_or_else(String::new, |estimate| {
            super::figure::number(estimate.point)
        })
    }
}

/// Every claim and question, asked of the published figures and of what was measured.
fn claims(table: &PublishedTable, measured: &[Measured]) -> Vec<ClaimVerdict> {
    let cells = |as_intervals| MeasuredCells {
        table,
        measured,
        as_intervals,
    };
    let of = |claim: &Statement| {
        let published = claim.ask(table);
        let points = claim.ask(&cells(false));
        let intervals = claim.ask(&cells(true));
        ClaimVerdict {
            claim: claim.text.clone(),
            words: claim.words.clone(),
            published: counted(&published, &published),
            measured: counted(&points, &intervals),
            agree: agree(&published, &points),
        }
    };
    table
        .claims
        .iter()
        .chain(&table.questions)
        .map(of)
        .collect()
}

fn counted(points: &[StatementCase], intervals: &[StatementCase]) -> ClaimTally {
    let count = |held: &[StatementCase], wanted: bool| {
        let held = held.iter().filter(|held| held.holds == Some(wanted));
        u32::try_from(held.count()).unwrap_or(u32::MAX)
    };
    ClaimTally {
        asked: u32::try_from(points.len()).unwrap_or(u32::MAX),
        held: count(points, true),
        shown: count(intervals, true),
        refuted: count(intervals, false),
    }
}

fn agree(published: &[StatementCase], measured: &[StatementCase]) -> u32 {
    let same = |held: &&StatementCase| {
        let mut others = measured.iter();
        let other = others.find(|other| other.levels == held.levels);
        other.is_some_and(|other| held.holds.is_some() && other.holds == held.holds)
    };
    u32::try_from(published.iter().filter(same).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
