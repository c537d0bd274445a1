//! One run against another: what can be compared, what is different, and what that shows.
//!
//! Cells (one setting each) are paired by what was measured; each metric of a pair is tested over the
//! trials of both sides, all tests of a comparison are corrected together (Holm), and a verdict needs
//! a difference that is larger than the threshold. A single trial on a side is never a verdict.
//! Does not render (see `report`).
//!
//! Invariants: every cell of both runs is in a pair or has a reason why not; B against A says the
//! opposite of A against B; the order of trials does not matter.

mod cells;
mod judge;
mod machines;
mod metrics;
mod on;
mod pairing;
mod power;

use crate::readings::is_duplex;
use cells::Cell;
use judge::{Rules, Untested};
use linerate_model::comparison::{
    CompareAnswer, CompareVerdict, Compared, ComparedSide, Comparison, Control, Difference,
    MetricComparison, Pair, SCHEMA, SameMachines, Unpaired,
};
use linerate_model::run::{RepetitionLevel, Run, RunKind};
use linerate_model::spec::Direction;
use linerate_model::{Quantile, Ratio};

pub use machines::recorded_fact;
pub use metrics::known as known_metrics;

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Smallest relative difference that matters.
    pub threshold: Ratio,
    /// Smallest difference of two loss ratios that matters.
    pub loss_threshold: Ratio,
    /// Smallest relative regression that the comparison must be able to show, or cannot tell.
    pub sensitivity: Ratio,
    /// Smallest rise of a loss ratio, likewise.
    pub loss_sensitivity: Ratio,
    /// Quantiles of delay to compare.
    pub quantiles: Vec<Quantile>,
    /// Only metrics whose id begins with one of these; all if empty.
    pub only: Vec<String>,
}

impl Default for Options {
    /// What matters rarely is smaller than what two runs of one setup differ by.
    fn default() -> Self {
        let quantile = |q| Quantile(Ratio::clamped(q));
        Self {
            threshold: Ratio::clamped(0.02),
            loss_threshold: Ratio::clamped(0.001),
            sensitivity: Ratio::clamped(0.05),
            loss_sensitivity: Ratio::clamped(0.0025),
            quantiles: [0.5, 0.99, 0.999].map(quantile).to_vec(),
            only: Vec::new(),
        }
    }
}

/// A run and what the user called it.
#[derive(Debug, Clone, Copy)]
pub struct NamedRun<'a> {
    /// An id, a path, a log.
    pub name: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// Judges `b` against `a`.
pub fn compare(a: NamedRun<'_>, b: NamedRun<'_>, options: &Options) -> Comparison {
    let (cells_a, cells_b) = (cells::of(a.run), cells::of(b.run));
    let paired = pairing::pair(&cells_a, &cells_b);
    let rules = Rules::new(options);
    let untested: Vec<Vec<Untested>> = paired
        .pairs
        .iter()
        .map(|pair| {
            let observed = |cell: &Cell<'_>| metrics::observed(cell, options);
            let both = metrics::both(observed(&cells_a[pair.a]), &observed(&cells_b[pair.b]));
            both.iter().filter_map(|both| rules.test(both)).collect()
        })
        .collect();
    let corrected = judge::correct(&untested);
    let tests = untested.iter().map(Vec::len).sum();
    let pairs = paired
        .pairs
        .into_iter()
        .zip(untested.into_iter().zip(corrected))
        .map(|(pair, (metrics, corrected))| Pair {
            cell: cells_a[pair.a].described_with(&cells_b[pair.b]),
            assumed: pair.assumed,
            metrics: rules.conclude(metrics, corrected, tests),
        })
        .collect();
    let unpaired = [
        (ComparedSide::A, &cells_a, paired.left_a),
        (ComparedSide::B, &cells_b, paired.left_b),
    ];
    let unpaired = unpaired.into_iter().flat_map(|(side, cells, left)| {
        left.into_iter().map(move |left| Unpaired {
            side,
            cell: cells[left.cell].described(),
            why: left.why,
        })
    });
    let mut comparison = assembled(a, b, options, pairs, unpaired.collect());
    let all = || cells_a.iter().chain(&cells_b);
    if all().any(|cell| cell.level() != RepetitionLevel::Run) {
        comparison.notes.push(OF_STARTS.to_owned());
    }
    match (was_both_ways(a.run), was_both_ways(b.run)) {
        (true, false) => comparison.notes.push(both_ways("A", "B")),
        (false, true) => comparison.notes.push(both_ways("B", "A")),
        _ => {}
    }
    comparison
}

/// Whether traffic went both ways at once: tests of one log that go one way each are runs of their own.
fn was_both_ways(run: &Run) -> bool {
    let goes = |way| run.trials.iter().any(|trial| trial.direction == way);
    let source = run.source.as_ref();
    let is_log =
        run.kind() == RunKind::Tcp && source.is_some_and(|source| source.format != "table");
    is_duplex(run) || is_log && goes(Direction::Forward) && goes(Direction::Reverse)
}

fn both_ways(one: &str, other: &str) -> String {
    format!(
        "{one} went both ways at once and {other} one way: in {one} the other direction took its part of path and hosts"
    )
}

fn assembled(
    a: NamedRun<'_>,
    b: NamedRun<'_>,
    options: &Options,
    pairs: Vec<Pair>,
    unpaired: Vec<Unpaired>,
) -> Comparison {
    let metrics = || pairs.iter().flat_map(|pair| &pair.metrics);
    let count = |wanted: CompareVerdict| number(metrics().filter(|m| m.verdict == wanted).count());
    let slower = count(CompareVerdict::Slower);
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        a: side(a),
        b: side(b),
        threshold_ratio: options.threshold,
        loss_threshold_ratio: options.loss_threshold,
        confidence_ratio: crate::statistics::USUAL_CONFIDENCE.get(),
        tested: number(metrics().filter(|m| m.p.is_some()).count()),
        faster: count(CompareVerdict::Faster),
        slower,
        not_shown: count(CompareVerdict::NoDifferenceShown),
        regression: slower > 0,
        control: None,
        answer: answer(metrics()),
        sensitivity_ratio: options.sensitivity,
        loss_sensitivity_ratio: options.loss_sensitivity,
        machines: machines::compared(a.run, b.run),
        settings: settings(a.run, b.run),
        pairs,
        unpaired,
        notes: Vec::new(),
    };
    comparison.notes = notes(&comparison);
    comparison
}

/// Judges `b` against `a`, which were measured in turns with `again`, a second A. A control that shows a difference of A
/// against itself leaves nothing that can be told.
pub fn compare_in_turns(
    a: NamedRun<'_>,
    again: NamedRun<'_>,
    b: NamedRun<'_>,
    options: &Options,
    repetitions: u32,
    seed: u64,
) -> Comparison {
    let mut comparison = compare(a, b, options);
    let control = compare(a, again, options);
    let shown = control.pairs.iter().flat_map(|pair| &pair.metrics);
    let shown = shown.filter(|metric| metric.verdict != CompareVerdict::NoDifferenceShown);
    let false_alarms: Vec<_> = shown.map(|metric| metric.words.clone()).collect();
    comparison.notes.retain(|note| note != IN_SEQUENCE);
    if !false_alarms.is_empty() {
        comparison.answer = CompareAnswer::CannotTell;
        comparison.notes.insert(
            0,
            format!(
                "A against itself, measured in the same turns, shows a difference ({}): the machines or the path did \
                 not stay the same, so the verdicts below may be theirs. Measure again on a quiet machine \
                 (`linerate doctor`), or longer",
                false_alarms.join("; ")
            ),
        );
    }
    comparison.control = Some(Control {
        repetitions,
        seed,
        false_alarms,
    });
    comparison
}

/// A regression of any metric is one; what decides may leave the rest open.
fn answer<'a>(metrics: impl Iterator<Item = &'a MetricComparison>) -> CompareAnswer {
    let mut answer = CompareAnswer::NoRegression;
    for metric in metrics {
        match metric.answer {
            CompareAnswer::Regression => return CompareAnswer::Regression,
            CompareAnswer::CannotTell if metric.decides => answer = CompareAnswer::CannotTell,
            _ => {}
        }
    }
    answer
}

fn side(named: NamedRun<'_>) -> Compared {
    let run = named.run;
    Compared {
        name: named.name.to_owned(),
        id: run.id.clone(),
        kind: run.kind(),
        title: run.title.clone(),
        started: run.started.clone(),
        tool: run.tool.clone(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Settings that both tell and that differ.
fn settings(a: &Run, b: &Run) -> Vec<Difference> {
    let second = b.config.settings();
    let differ = a.config.settings().into_iter().filter_map(|(key, first)| {
        let second = second.get(&key).filter(|second| **second != first)?;
        Some(Difference {
            role: None,
            a: Some(first),
            b: Some(second.clone()),
            what: key,
        })
    });
    differ.collect()
}

/// What is said of runs that follow each other.
const IN_SEQUENCE: &str = "A and B were measured one after the other: what changed between them (temperature, other load) \
     is in the difference. `compare --interleave` measures both in turns";

/// What is said where a cell was measured in several starts of the peer's program.
const OF_STARTS: &str = "n counts starts (or builds) of the peer's program where a cell has several: runs of one start \
     share what it decided, so their mean is one observation";

/// What to be careful about.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    match comparison.machines.same {
        SameMachines::Same => {}
        SameMachines::Different => notes.push(
            "measured on different machines: their numbers are not comparable in absolute terms, \
             only what each of them shows by itself"
                .to_owned(),
        ),
        SameMachines::Unknown => notes.push(
            "whether both were measured on the same machines is unknown; numbers of different \
             machines are not comparable in absolute terms"
                .to_owned(),
        ),
    }
    let metrics = || comparison.pairs.iter().flat_map(|pair| &pair.metrics);
    if metrics().any(|metric| metric.p.is_none()) {
        notes.push(
            "n = 1 shows no difference: measure again by `linerate run`, with `repetitions` of 5 or more"
                .to_owned(),
        );
    }
    if comparison.a.id != comparison.b.id && metrics().any(|metric| metric.p.is_some()) {
        notes.push(IN_SEQUENCE.to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
