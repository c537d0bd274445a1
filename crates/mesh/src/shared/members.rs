//! Which other flows pass a core's link: those that fill it again when one of the core is left out.
//!
//! Other flows are tried with the core less one, several at once, in random company: a flow passes the link if the core is
//! held back, and the flow with it, each time. Many at once fill links of their own, so that those who stay are tried again
//! with few.

use super::core::{Step, TOGETHER};
use super::reference::{Rates, References};
use linerate_model::random::Random;

/// Crowds of the first pass, at most.
const CROWDS: usize = 6;
/// Parts of as many flows as the core has, in the last passes: too few to fill another link.
const PARTS: usize = 3;
/// Last passes, at least and at most; they end when none leaves. Each leaves out another flow of the core: its flows may
/// pass a second link together, but not all.
const FEWEST_PASSES: usize = 2;
const MOST_PASSES: usize = 4;
/// How many times as much as the core's a flow of its link may get. It may get any less: TCP starves some.
const ALIKE: f64 = 2.0;

/// Flows that pass one link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) all: Vec<usize>,
    /// The fewest that fill it.
    pub(super) core: Vec<usize>,
}

/// The search for the members of a group.
#[derive(Debug)]
pub(super) struct MemberSearch {
    core: Vec<usize>,
    /// The core less one.
    base: Vec<usize>,
    /// Not tried yet in this pass.
    chunks: Vec<Vec<usize>>,
    /// Tried in this pass, and held back with the core.
    stay: Vec<usize>,
    /// Flows at the beginning of this pass.
    begun: usize,
    /// Last passes that were begun.
    passes: usize,
}

impl MemberSearch {
    /// Of the link of `core`, among the flows that are held back when all are active.
    pub(super) fn new(core: Vec<usize>, held_back: &[usize], random: &mut Random) -> Self {
        let mut others: Vec<usize> = held_back.to_vec();
        others.retain(|flow| !core.contains(flow));
        let size = others.len().div_ceil(CROWDS).max(core.len());
        let mut search = Self {
            core,
            base: Vec::new(),
            chunks: Vec::new(),
            stay: Vec::new(),
            begun: 0,
            passes: 0,
        };
        search.begin(others, size, random);
        search
    }

    fn begin(&mut self, mut flows: Vec<usize>, size: usize, random: &mut Random) {
        random.shuffle(&mut flows);
        self.begun = flows.len();
        self.base.clone_from(&self.core);
        self.base.remove(self.passes % self.core.len());
        self.chunks = flows.chunks(size).map(<[usize]>::to_vec).collect();
    }

    /// The flows to run next; `None` if none is left to try.
    pub(super) fn next(&self) -> Option<Vec<usize>> {
        let chunk = self.chunks.last()?;
        let mut flows = [self.base.as_slice(), chunk].concat();
        flows.sort_unstable();
        Some(flows)
    }

    /// All members found, and the core among them.
    pub(super) fn members(&self) -> Members {
        Members {
            all: [self.core.as_slice(), &self.stay].concat(),
            core: self.core.clone(),
        }
    }

    /// Takes their rates; all members after the last.
    pub(super) fn record(
        &mut self,
        rates: &Rates,
        reference: &References,
        random: &mut Random,
    ) -> Step<Members> {
        let chunk = self.chunks.pop().unwrap_or_default();
        let level = reference.mean_level(&self.base, rates);
        if level.is_some_and(|level| level < TOGETHER) {
            let base = mean_rate(&self.base, rates);
            let joined = reference.not_free(rates).into_iter().filter(|flow| {
                let ratio = rates[flow] / base;
                chunk.contains(flow) && ratio < ALIKE
            });
            self.stay.extend(joined);
        }
        if !self.chunks.is_empty() {
            return Step::Running;
        }
        let is_stable = self.stay.len() == self.begun && self.passes >= FEWEST_PASSES;
        if is_stable || self.stay.is_empty() || self.passes == MOST_PASSES {
            return Step::Done(self.members());
        }
        let stay = std::mem::take(&mut self.stay);
        self.passes += 1;
        let size = self.core.len().div_ceil(PARTS);
        self.begin(stay, size, random);
        Step::Running
    }
}

fn mean_rate(flows: &[usize], rates: &Rates) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for rate in flows.iter().filter_map(|flow| rates.get(flow)) {
        sum += rate;
        count += 1.0;
    }
    sum / f64::max(count, 1.0)
}
