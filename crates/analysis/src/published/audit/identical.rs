//! Values that are identical where they should be independent.
//!
//! For two levels of one factor, cells that agree in all other factors make pairs. A pair is *equal* if both print the
//! same text. What chance makes of that is told in one of two ways:
//!
//! - where sd and n are printed, the difference of two means has the density 1 / (σ √2π) at most, so a pair is equal
//!   with a probability of at most step / (σ √2π), even if both true values are the same;
//! - else by the pairs themselves: of those whose values lie within the distance ρ of each other, where ρ is that of
//!   the [`NEAR`]th that is not equal, differences are about as likely here as there, so one of them is equal with a
//!   probability of step / (2 ρ value + step).
//!
//! Left out is what is equal for other reasons: sizes, counts and shares, values within 2 % of what the link carries or
//! within 1 % of a rate that was asked for, figures too coarse to tell; and a value that several pairs share counts once. The probabilities of all pairs of levels are
//! corrected together (Bonferroni).

use super::ceiling::ceiling;
use super::{Check, Contradiction, Examined};
use crate::published::figure::number;
use crate::published::levels::{Levels, label};
use crate::published::table::{PublishedCell, PublishedTable};
use crate::statistics::to_f64;
use linerate_model::BitRate;
use linerate_model::quantity::QuantityUnit;
use std::collections::{BTreeMap, BTreeSet};

/// Probability of a false finding in a table.
const ALPHA: f64 = 0.002;

pub(super) const CHECK: Check = Check {
    id: "identical",
    asks: "Are no more values equal to the last digit than independent measurements make so?",
    source: "binomial and Poisson-binomial tail of equal pairs; Bonferroni over all pairs of levels",
    expected_false: ALPHA,
    run,
};

/// Which pair that is not equal tells the distance.
const NEAR: usize = 5;
/// Coarsest step, relative to the value, of figures that can tell.
const COARSEST: f64 = 0.001;
/// From this share of the link's ceiling on, the link decides the value.
const LINK_LIMITED: f64 = 0.98;
/// This near to a rate among its levels, the value is what was asked for.
const AS_ASKED: f64 = 0.01;
/// Fewest different values that are equal.
const LEAST_EQUAL: usize = 2;

fn run(table: &PublishedTable) -> Examined {
    let usable: Vec<&PublishedCell> = table
        .cells
        .iter()
        .filter(|cell| can_tell(table, cell))
        .collect();
    let all = level_pairs(table, &usable);
    let tested: Vec<Tested<'_>> = all.iter().filter_map(test).collect();
    let tests = to_f64(tested.len() as u64);
    let findings = tested.iter().filter_map(|tested| {
        let p = (tested.p * tests).min(1.0);
        (p < ALPHA && tested.equal.len() >= LEAST_EQUAL).then(|| tested.finding(p, tests))
    });
    Examined {
        count: tested.iter().map(|tested| tested.pairs).sum(),
        findings: findings.collect(),
        missing: "no two levels of a factor have enough pairs of rates or times: at least two with sd and n, or \
                  seven without",
    }
}

/// Whether equality with another cell would say something.
fn can_tell(table: &PublishedTable, cell: &PublishedCell) -> bool {
    let is_link = ceiling(table, cell)
        .is_some_and(|ceiling| cell.base_value() > LINK_LIMITED * ceiling.rate.as_f64());
    let is_asked = |level: &String| {
        let asked = level.parse().map(BitRate::as_f64);
        asked.is_ok_and(|asked| (cell.base_value() - asked).abs() <= AS_ASKED * asked)
    };
    let is_asked = cell.unit.of == QuantityUnit::BitRate && cell.levels.values().any(is_asked);
    matches!(
        cell.unit.of,
        QuantityUnit::BitRate | QuantityUnit::Nanoseconds
    ) && !is_asked
        && cell.value.step <= COARSEST * cell.value.value.abs()
        && !is_link
}

/// All pairs of cells that differ in one factor only, by its two levels.
struct LevelPairs<'a> {
    factor: &'a str,
    levels: [&'a str; 2],
    pairs: Vec<[&'a PublishedCell; 2]>,
}

fn level_pairs<'a>(table: &'a PublishedTable, cells: &[&'a PublishedCell]) -> Vec<LevelPairs<'a>> {
    let mut all = Vec::new();
    // Two quantities are no two measurements of one.
    for factor in table.factors.iter().filter(|factor| *factor != "metric") {
        let mut groups: BTreeMap<Levels, Vec<&PublishedCell>> = BTreeMap::new();
        for cell in cells {
            let mut rest = cell.levels.clone();
            rest.remove(factor);
            groups.entry(rest).or_default().push(cell);
        }
        let mut found: BTreeMap<[&str; 2], Vec<[&PublishedCell; 2]>> = BTreeMap::new();
        for group in groups.values() {
            for (index, first) in group.iter().enumerate() {
                for second in group
                    .iter()
                    .skip(index + 1)
                    .filter(|second| second.unit == first.unit)
                {
                    let mut pair = [*first, *second];
                    pair.sort_by_key(|cell| cell.levels.get(factor));
                    let level = |cell: &'a PublishedCell| {
                        cell.levels.get(factor).map_or("", String::as_str)
                    };
                    found.entry(pair.map(level)).or_default().push(pair);
                }
            }
        }
        all.extend(found.into_iter().map(|(levels, pairs)| LevelPairs {
            factor,
            levels,
            pairs,
        }));
    }
    all
}

/// The pairs of two levels, with the probability of as many equal ones.
struct Tested<'a> {
    of: &'a LevelPairs<'a>,
    pairs: u64,
    /// One pair for each value that is equal.
    equal: Vec<[&'a PublishedCell; 2]>,
    p: f64,
    how: String,
}

fn test<'a>(of: &'a LevelPairs<'a>) -> Option<Tested<'a>> {
    let mut values = BTreeSet::new();
    let is_equal = |pair: &[&PublishedCell; 2]| pair[0].value.text == pair[1].value.text;
    let equal = of
        .pairs
        .iter()
        .filter(|pair| is_equal(pair) && values.insert(&pair[0].value.text));
    let equal: Vec<_> = equal.copied().collect();
    let bounds: Option<Vec<f64>> = of.pairs.iter().map(by_deviation).collect();
    let pairs = of.pairs.len() as u64;
    if let Some(bounds) = bounds.filter(|bounds| bounds.len() >= LEAST_EQUAL) {
        let largest = bounds.iter().copied().fold(0.0, f64::max);
        let how = format!(
            "by the printed sd and n each of {pairs} pairs is equal with a probability of at most {}",
            number(largest)
        );
        let p = tail(&bounds, equal.len());
        return Some(Tested {
            of,
            pairs,
            equal,
            p,
            how,
        });
    }
    let mut distances: Vec<f64> = of
        .pairs
        .iter()
        .filter(|pair| !is_equal(pair))
        .map(distance)
        .collect();
    distances.sort_by(f64::total_cmp);
    let reach = *distances.get(NEAR - 1)?;
    // The one that tells the distance is given away.
    let near = equal.len() + NEAR - 1;
    let chance = |pair: &[&PublishedCell; 2]| {
        let step = pair[0].value.step.max(pair[1].value.step);
        step / (2.0 * reach * pair[0].value.value.abs() + step)
    };
    let chances: Vec<f64> = equal.iter().map(chance).collect();
    let largest = chances.iter().copied().fold(0.0, f64::max);
    let how = format!(
        "of {} pairs within {} % of each other each is equal with a probability of at most {}",
        near + 1,
        number(reach * 100.0),
        number(largest)
    );
    let p = tail(&vec![largest; near], equal.len());
    Some(Tested {
        of,
        pairs,
        equal,
        p,
        how,
    })
}

/// Largest probability of an equal pair by its deviations.
fn by_deviation(pair: &[&PublishedCell; 2]) -> Option<f64> {
    let variance = |cell: &PublishedCell| {
        let sd = cell.sd.as_ref().filter(|sd| sd.value > 0.0)?;
        // The runs are what is independent.
        Some(sd.value.powi(2) / f64::from(cell.runs.filter(|runs| cell.n == Some(*runs))?))
    };
    let deviation = (variance(pair[0])? + variance(pair[1])?).sqrt();
    let step = pair[0].value.step.max(pair[1].value.step);
    Some((step / (deviation * std::f64::consts::TAU.sqrt())).min(1.0))
}

/// Relative distance of both values.
fn distance(pair: &[&PublishedCell; 2]) -> f64 {
    let (a, b) = (pair[0].value.value, pair[1].value.value);
    (a - b).abs() / a.abs().max(b.abs())
}

/// Probability that at least `least` of independent events happen.
fn tail(chances: &[f64], least: usize) -> f64 {
    // The probability of each count so far; the last is of `least` or more.
    let mut counts = vec![0.0; least + 1];
    counts[0] = 1.0;
    for chance in chances {
        for count in (0..=least).rev() {
            let stays = if count == least {
                counts[count]
            } else {
                counts[count] * (1.0 - chance)
            };
            let comes = if count == 0 {
                0.0
            } else {
                counts[count - 1] * chance
            };
            counts[count] = stays + comes;
        }
    }
    counts[least]
}

impl Tested<'_> {
    fn finding(&self, p: f64, tests: f64) -> Contradiction {
        let [first, second] = self.of.levels;
        let factor = self.of.factor;
        let shown = self.equal.iter().map(|pair| pair[0].value.text.as_str());
        let shown: Vec<_> = shown.collect();
        Contradiction {
            cells: self
                .equal
                .iter()
                .flat_map(|pair| pair.map(|cell| label(&cell.levels)))
                .collect(),
            rule: format!(
                "values under {factor} = {first} and {factor} = {second} are measured apart, so they are seldom equal to \
                 the last digit"
            ),
            arithmetic: format!(
                "{} values are equal in {} pairs: {}; {}, {} or more with {}, × {} pairs of levels = {}",
                self.equal.len(),
                self.pairs,
                shown.join(", "),
                self.how,
                self.equal.len(),
                number(self.p),
                number(tests),
                number(p)
            ),
            p: Some(p),
        }
    }
}
