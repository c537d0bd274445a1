//! Statements asked of cells: what holds, what does not, and what the rounding of figures leaves open.

use super::super::figure::number;
use super::super::levels::{Levels, label};
use super::{Aggregate, Comparison, Expression, Operation, Selector, Statement};
use linerate_model::Interval;
use std::collections::BTreeSet;

/// What statements are asked of: cells, each with its figures as intervals.
pub(in crate::published) trait Cells {
    /// The cells' levels, in their order.
    fn levels(&self) -> Vec<&Levels>;
    /// A figure of the cell at this index: all values that it may stand for.
    fn figure(&self, index: usize, name: &str) -> Option<Interval>;
    /// A figure of the cell at this index, as a calculation prints it.
    fn shown(&self, index: usize, name: &str) -> String;
}

/// One combination of levels that a statement was asked of.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementCase {
    /// The levels of the factors that the statement does not name.
    pub levels: Levels,
    /// The cells that it reads, by their index.
    pub cells: Vec<usize>,
    /// Whether it holds; `None` if the rounding of the figures leaves it open.
    pub holds: Option<bool>,
    /// The calculation, with the figures.
    pub arithmetic: String,
}

impl Statement {
    /// Asks it of every combination of the factors that it does not name, and that has all its cells.
    pub(in crate::published) fn ask(&self, cells: &dyn Cells) -> Vec<StatementCase> {
        let levels = cells.levels();
        let selectors = self.selectors();
        let named: BTreeSet<&str> = selectors
            .iter()
            .filter(|(_, is_cell)| *is_cell)
            .flat_map(|(selector, _)| selector.iter().map(|(factor, _)| factor.as_str()))
            .collect();
        let is_single = selectors.iter().any(|(_, is_cell)| *is_cell);
        let combination = |levels: &&Levels| -> Levels {
            let free = |factor: &str| is_single && !named.contains(factor);
            let free = levels.iter().filter(|(factor, _)| free(factor));
            free.map(|(factor, level)| (factor.clone(), level.clone()))
                .collect()
        };
        let matching = levels.iter().filter(|levels| matches(levels, &self.only));
        let mut combinations: Vec<Levels> = Vec::new();
        let mut seen = BTreeSet::new();
        for made in matching.map(combination) {
            if seen.insert(made.clone()) {
                combinations.push(made);
            }
        }
        combinations
            .into_iter()
            .filter_map(|combination| self.held(cells, &levels, combination))
            .collect()
    }

    fn held(
        &self,
        cells: &dyn Cells,
        levels: &[&Levels],
        combination: Levels,
    ) -> Option<StatementCase> {
        let mut work = Work {
            cells,
            levels,
            only: &self.only,
            combination: &combination,
            read: Vec::new(),
        };
        let (left, right) = (work.value(&self.left)?, work.value(&self.right)?);
        let tolerance = match &self.tolerance {
            Some(tolerance) => work.value(tolerance)?.range.high.max(0.0),
            None => 0.0,
        };
        let read = work.read;
        let wider = Interval::new(right.range.low - tolerance, right.range.high + tolerance);
        let sign = self.comparison;
        let slack = if tolerance > 0.0 {
            format!(" ± {}", number(tolerance))
        } else {
            String::new()
        };
        Some(StatementCase {
            holds: compare(left.range, self.comparison, wider),
            arithmetic: format!(
                "{} {sign} {}{slack}: {} against {}",
                left.shown,
                right.shown,
                range(left.range),
                range(right.range)
            ),
            cells: read,
            levels: combination,
        })
    }
}

fn matches(levels: &Levels, selector: &Selector) -> bool {
    let has = |(factor, level): &(String, String)| levels.get(factor) == Some(level);
    selector.iter().all(has)
}

/// `None` where some values hold and others do not. An equation holds if some values are equal: it is asked of rounded
/// figures.
fn compare(left: Interval, comparison: Comparison, right: Interval) -> Option<bool> {
    // Sums of decimals are not exact in binary.
    let slack = 1e-9
        * [left.low, left.high, right.low, right.high]
            .iter()
            .fold(0.0, |a: f64, b| a.max(b.abs()));
    let (greater, less) = (left.low > right.high + slack, left.high < right.low - slack);
    match comparison {
        Comparison::Equal => Some(!greater && !less),
        Comparison::Greater | Comparison::GreaterOrEqual if greater => Some(true),
        Comparison::Less | Comparison::LessOrEqual if less => Some(true),
        Comparison::Greater | Comparison::GreaterOrEqual if less => Some(false),
        Comparison::Less | Comparison::LessOrEqual if greater => Some(false),
        _ => None,
    }
}

/// `12.15`, or `12.145–12.155`.
fn range(range: Interval) -> String {
    let (low, high) = (number(range.low), number(range.high));
    if low == high {
        low
    } else {
        format!("{low}–{high}")
    }
}

struct Value {
    range: Interval,
    shown: String,
}

/// One combination in work.
struct Work<'a> {
    cells: &'a dyn Cells,
    levels: &'a [&'a Levels],
    only: &'a Selector,
    combination: &'a Levels,
    read: Vec<usize>,
}

impl Work<'_> {
    /// The cells that a selector means here.
    fn matching(&self, selector: &Selector) -> Vec<usize> {
        let named = |factor: &str| selector.iter().any(|(named, _)| named == factor);
        let fits = |levels: &Levels| {
            let mut free = self.combination.iter().filter(|(factor, _)| !named(factor));
            matches(levels, selector)
                && matches(levels, self.only)
                && free.all(|(factor, level)| levels.get(factor) == Some(level))
        };
        let all = self.levels.iter().enumerate();
        all.filter(|(_, levels)| fits(levels))
            .map(|(index, _)| index)
            .collect()
    }

    fn value(&mut self, expression: &Expression) -> Option<Value> {
        match expression {
            Expression::Number(value) => Some(Value {
                range: Interval::new(*value, *value),
                shown: number(*value),
            }),
            Expression::Cell(selector, figure) => {
                let [index] = self.matching(selector)[..] else {
                    return None;
                };
                self.read.push(index);
                Some(Value {
                    range: self.cells.figure(index, figure)?,
                    shown: self.cells.shown(index, figure),
                })
            }
            Expression::Aggregate(aggregate, selector) => self.aggregate(*aggregate, selector),
            Expression::Binary(left, operation, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let range = operate(left.range, *operation, right.range)?;
                Some(Value {
                    range,
                    shown: format!("({} {operation} {})", left.shown, right.shown),
                })
            }
        }
    }

    fn aggregate(&mut self, aggregate: Aggregate, selector: &Selector) -> Option<Value> {
        let found = self.matching(selector);
        let figures: Option<Vec<_>> = found
            .iter()
            .map(|index| self.cells.figure(*index, "value"))
            .collect();
        let figures = figures.filter(|figures| !figures.is_empty())?;
        let count = crate::statistics::to_f64(figures.len() as u64);
        let over = |end: fn(&Interval) -> f64| -> f64 {
            let ends = figures.iter().map(end);
            match aggregate {
                Aggregate::Largest => ends.fold(f64::NEG_INFINITY, f64::max),
                Aggregate::Mean => ends.sum::<f64>() / count,
                Aggregate::Smallest => ends.fold(f64::INFINITY, f64::min),
                Aggregate::Sum => ends.sum(),
            }
        };
        let range = Interval::new(over(|figure| figure.low), over(|figure| figure.high));
        self.read.extend(&found);
        let levels: Levels = selector.iter().cloned().collect();
        Some(Value {
            range,
            shown: format!("{aggregate} of {} cells ({})", found.len(), label(&levels)),
        })
    }
}

fn operate(left: Interval, operation: Operation, right: Interval) -> Option<Interval> {
    let ends = |of: fn(f64, f64) -> f64| {
        let all = [
            of(left.low, right.low),
            of(left.low, right.high),
            of(left.high, right.low),
            of(left.high, right.high),
        ];
        let range = Interval::new(
            all.into_iter().fold(f64::INFINITY, f64::min),
            all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        );
        (range.low.is_finite() && range.high.is_finite()).then_some(range)
    };
    match operation {
        Operation::Add => ends(|a, b| a + b),
        Operation::Divide if right.low <= 0.0 && right.high >= 0.0 => None,
        Operation::Divide => ends(|a, b| a / b),
        Operation::Multiply => ends(|a, b| a * b),
        Operation::Subtract => ends(|a, b| a - b),
    }
}
