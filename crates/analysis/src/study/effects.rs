//! Main effects and two-factor interactions of every quantity, corrected together.
//!
//! A main effect is a level against the first of its factor, averaged with equal weights over all combinations of the
//! other factors that have both: so it does not depend on how often each was measured. An interaction is by how much
//! an effect at a level of another factor differs from that at its first level. Interactions of three factors and more
//! are not asked.

use super::control::Controlled;
use super::grid::{Grid, Levels};
use super::{alpha, effect};
use crate::statistics::{USUAL_CONFIDENCE, Unit, Weighted, Welch, contrast, exponential, holm};
use linerate_model::run::{
    Effect, EffectScale, EffectVerdict, FactorLevel, Interaction, MainEffect, SimpleEffect,
};
use linerate_model::{Estimate, Quantity};

/// Interactions that a document lists whatever they show.
const MAX_LISTED: usize = 1000;

/// The effects of a study.
pub(super) struct Effects {
    pub(super) tests: u32,
    pub(super) main: Vec<MainEffect>,
    pub(super) interactions: Vec<Interaction>,
}

/// A level of a factor, by their places.
type LevelIndex = (usize, usize);

/// What is asked.
#[derive(Debug, Clone, Copy)]
enum Question {
    Main(LevelIndex),
    Both(LevelIndex, LevelIndex),
}

/// All effects of all quantities. What a control's difference explains is not shown.
pub(super) fn effects(grids: &[Grid], control: Option<&Controlled>) -> Effects {
    let asked: Vec<(&Grid, Question, Welch)> = grids
        .iter()
        .flat_map(|grid| {
            let questions = grid.questions().into_iter();
            questions.filter_map(move |question| Some((grid, question, grid.answer(question)?)))
        })
        .collect();
    let tests = asked.len();
    let mut tested: Vec<Effect> = asked
        .iter()
        .map(|(grid, _, found)| effect(found, grid.scale, tests))
        .collect();
    let corrected = holm(&tested.iter().map(|effect| effect.p).collect::<Vec<_>>());
    for ((effect, p), (grid, ..)) in tested.iter_mut().zip(corrected).zip(&asked) {
        effect.p_adjusted = p;
        let is_explained = control.is_some_and(|control| control.explains(grid.quantity, effect));
        effect.verdict = if p >= alpha() {
            EffectVerdict::NotShown
        } else if is_explained {
            EffectVerdict::WithinControl
        } else {
            EffectVerdict::Shown
        };
    }
    let (mut main, mut interactions) = (Vec::new(), Vec::new());
    for ((grid, question, _), effect) in asked.iter().zip(tested) {
        match *question {
            Question::Main(of) => main.push(grid.main(of, effect)),
            Question::Both(..)
                if tests > MAX_LISTED && effect.verdict == EffectVerdict::NotShown => {}
            Question::Both(a, b) => interactions.push(grid.interaction(a, b, effect)),
        }
    }
    Effects {
        tests: u32::try_from(tests).unwrap_or(u32::MAX),
        main,
        interactions,
    }
}

impl Grid {
    fn questions(&self) -> Vec<Question> {
        let levels = |factor: usize| {
            let count = self.factors[factor].levels.len();
            (1..count).map(move |level| (factor, level))
        };
        let asked = (0..self.factors.len()).filter(|factor| !self.is_load(*factor));
        let asked: Vec<usize> = asked.collect();
        let mut questions: Vec<Question> = asked
            .iter()
            .flat_map(|factor| levels(*factor).map(Question::Main))
            .collect();
        for (place, first) in asked.iter().enumerate() {
            for second in &asked[place + 1..] {
                let pairs =
                    levels(*first).flat_map(|a| levels(*second).map(move |b| Question::Both(a, b)));
                questions.extend(pairs);
            }
        }
        questions
    }

    /// That more arrives and more is lost where more is sent is no effect of a factor.
    fn is_load(&self, factor: usize) -> bool {
        matches!(&*self.factors[factor].name, "rate" | "pace")
            && matches!(self.quantity, Quantity::ReceivedRate | Quantity::LossRatio)
    }

    fn answer(&self, question: Question) -> Option<Welch> {
        match question {
            Question::Main(of) => self.averaged(&[of], &[]),
            Question::Both(a, b) => self.averaged(&[a, b], &[]),
        }
    }

    /// The contrast of these levels against the first of their factors, where other factors stand at the levels
    /// `fixed`, averaged over all combinations of the rest that have every cell of it.
    fn averaged(&self, of: &[LevelIndex], fixed: &[LevelIndex]) -> Option<Welch> {
        let is_here = |levels: &&Levels| of.iter().chain(fixed).all(|(f, l)| levels[*f] == *l);
        let combinations = self.cells.keys().filter(is_here);
        let full: Vec<Vec<(f64, &[Unit])>> = combinations
            .filter_map(|levels| self.corners(levels, of))
            .collect();
        let count = crate::statistics::to_f64(full.len() as u64);
        let weighted = full.into_iter().flatten().map(|(sign, of)| Weighted {
            weight: sign / count,
            of,
        });
        contrast(&weighted.collect::<Vec<_>>())
    }

    /// The cell and those where one, or both, of the factors stand at their first level, each with its sign.
    fn corners(&self, levels: &Levels, of: &[LevelIndex]) -> Option<Vec<(f64, &[Unit])>> {
        let corner = |mask: usize| {
            let mut levels = levels.clone();
            let mut sign = 1.0;
            for (bit, (factor, _)) in of.iter().enumerate() {
                if mask >> bit & 1 == 1 {
                    levels[*factor] = 0;
                    sign = -sign;
                }
            }
            Some((sign, self.cells.get(&levels)?.as_slice()))
        };
        (0..1_usize << of.len()).map(corner).collect()
    }

    fn level(&self, (factor, level): LevelIndex) -> FactorLevel {
        let factor = &self.factors[factor];
        FactorLevel {
            factor: factor.name.clone(),
            level: factor.levels[level].clone(),
        }
    }

    fn against(&self, (factor, _): LevelIndex) -> String {
        self.factors[factor].levels[0].clone()
    }

    fn main(&self, of: LevelIndex, effect: Effect) -> MainEffect {
        MainEffect {
            quantity: self.quantity,
            of: self.level(of),
            against: self.against(of),
            effect,
            series: self.series.clone(),
        }
    }

    fn interaction(&self, a: LevelIndex, b: LevelIndex, effect: Effect) -> Interaction {
        let pairs = [(a, (b.0, 0)), (a, b), (b, (a.0, 0)), (b, a)];
        let shown = pairs
            .into_iter()
            .filter(|_| effect.verdict != EffectVerdict::NotShown);
        let simple = shown.filter_map(|(of, at)| {
            let found = self.averaged(&[of], &[at])?;
            Some(SimpleEffect {
                of: self.level(of),
                at: self.level(at),
                estimate: self.shown(&found),
            })
        });
        Interaction {
            quantity: self.quantity,
            of: [self.level(a), self.level(b)],
            against: [self.against(a), self.against(b)],
            effect,
            simple: simple.collect(),
            series: self.series.clone(),
        }
    }

    fn shown(&self, found: &Welch) -> Estimate {
        let estimate = found.estimate(USUAL_CONFIDENCE);
        match self.scale {
            EffectScale::Difference => estimate,
            EffectScale::Ratio => exponential(estimate),
        }
    }
}
