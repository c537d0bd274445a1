//! The fewest flows that fill one link.
//!
//! Random flows are left out while some of those that stay are held back, and what is not held back is left out for good:
//! links fall below saturation one by one, until the flows of one are left. Then any of its flows sets the others free.

use super::reference::{Rates, References};
use linerate_model::random::Random;

/// Share of the flows that is left out at first.
const LEFT_OUT: f64 = 0.4;
/// Random choices of so many flows to leave out, after which fewer are left out.
const CHOICES: usize = 2;
/// Single flows that must each set all others free: of a small core all, since one may be held back by what the others fill
/// (its acknowledgements are) and fill nothing; of a larger one so many, since two links may have one in common.
const CRITICAL: usize = 6;
/// Crowds after which the search for a core is given up.
const MOST_CROWDS: usize = 60;
/// Of so few flows none is left out because it was not held back: readings scatter.
const KEPT: usize = 12;
/// Mean share of their references below which flows are held back together.
pub(super) const TOGETHER: f64 = 0.88;

/// What a crowd led to.
#[derive(Debug, PartialEq)]
pub(super) enum Step<T> {
    Done(T),
    Nothing,
    Running,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// So many flows fewer.
    Fewer,
    /// Is what is left full by itself?
    Whole,
}

/// The search for a core.
#[derive(Debug)]
pub(super) struct CoreSearch {
    flows: Vec<usize>,
    /// The last flows of which those that were not held back were left out.
    wider: Vec<usize>,
    /// Whether they stay in: some were needed.
    keeps_all: bool,
    left_out: Vec<usize>,
    portion: f64,
    failures: usize,
    critical: Vec<usize>,
    stage: Stage,
    crowds: usize,
}

impl CoreSearch {
    /// Among flows that are held back when all are active.
    pub(super) const fn new(flows: Vec<usize>) -> Self {
        Self {
            flows,
            wider: Vec::new(),
            keeps_all: false,
            left_out: Vec::new(),
            portion: LEFT_OUT,
            failures: 0,
            critical: Vec::new(),
            stage: Stage::Fewer,
            crowds: 0,
        }
    }

    /// The flows to run next.
    pub(super) fn next(&mut self, random: &mut Random) -> Vec<usize> {
        let mut order = self.flows.clone();
        if self.stage == Stage::Fewer {
            random.shuffle(&mut order);
            // What was left out alone goes last: another is to be left out now.
            order.sort_by_key(|flow| self.critical.contains(flow));
            let rest = order.split_off(portion(order.len(), self.portion));
            self.left_out = order;
            order = rest;
        }
        order.sort_unstable();
        order
    }

    /// Takes their rates.
    pub(super) fn record(&mut self, rates: &Rates, reference: &References) -> Step<Vec<usize>> {
        self.crowds += 1;
        let held_back = reference.held_back(rates);
        if self.stage == Stage::Whole {
            let is_full = reference
                .mean_level(&self.flows, rates)
                .is_some_and(|level| level < TOGETHER);
            if !is_full {
                return self.widen();
            }
            self.flows = reference.not_free(rates);
            // Those whose absence is known to set the others free come first.
            self.flows.sort_by_key(|flow| !self.critical.contains(flow));
            return Step::Done(self.flows.clone());
        }
        if held_back.len() > 1 || reference.is_filled(rates) {
            let active: Vec<usize> = rates.keys().copied().collect();
            self.flows = if self.keeps_all || active.len() <= KEPT {
                active
            } else {
                self.wider = active;
                reference.not_free(rates)
            };
            self.failures = 0;
            self.critical.clear();
        } else if let [one] = self.left_out[..] {
            self.critical.push(one);
            if self.critical.len() >= CRITICAL.min(self.flows.len()) {
                self.stage = Stage::Whole;
            }
        } else {
            self.failures += 1;
            if self.failures == CHOICES {
                self.portion /= 2.0;
                self.failures = 0;
            }
        }
        if self.flows.len() < 2 {
            self.widen()
        } else if self.crowds >= MOST_CROWDS {
            Step::Nothing
        } else {
            Step::Running
        }
    }
}

impl CoreSearch {
    /// Goes back to more flows: what is left fills nothing.
    fn widen(&mut self) -> Step<Vec<usize>> {
        if self.wider.is_empty() || self.crowds >= MOST_CROWDS {
            return Step::Nothing;
        }
        self.flows = std::mem::take(&mut self.wider);
        self.keeps_all = true;
        self.portion = LEFT_OUT;
        self.failures = 0;
        self.critical.clear();
        self.stage = Stage::Fewer;
        Step::Running
    }
}

/// So many of `count`, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a count of flows"
)]
fn portion(count: usize, share: f64) -> usize {
    ((count as f64 * share) as usize).max(1)
}
