//! Classes of what may be seen, and how probable each was judged to be before any scene was counted.
//!
//! A judgement is how often a class is seen under a suspect, in four steps; scenes that are counted take its place as they
//! add up. What is seen only beside another fault (a path that loses packets while an application rests) is possible.

use super::suspects::Suspect;

/// How often something is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Often {
    Usually,
    Possibly,
    Rarely,
    Hardly,
}

impl Often {
    /// In proportion to the others.
    const fn parts(self) -> f64 {
        match self {
            Self::Usually => 16.0,
            Self::Possibly => 5.0,
            Self::Rarely => 1.2,
            Self::Hardly => 0.25,
        }
    }
}

/// One class of a sign, or one answer to a probe.
pub(super) struct Class {
    /// Its key in the table of counts.
    pub(super) id: &'static str,
    usually: &'static [Suspect],
    possibly: &'static [Suspect],
    rarely: &'static [Suspect],
    hardly: &'static [Suspect],
    others: Often,
}

impl Class {
    /// Seen so often under every suspect that is not named.
    pub(super) const fn new(id: &'static str, others: Often) -> Self {
        Self {
            id,
            usually: &[],
            possibly: &[],
            rarely: &[],
            hardly: &[],
            others,
        }
    }

    pub(super) const fn usually(self, usually: &'static [Suspect]) -> Self {
        Self { usually, ..self }
    }

    pub(super) const fn possibly(self, possibly: &'static [Suspect]) -> Self {
        Self { possibly, ..self }
    }

    pub(super) const fn rarely(self, rarely: &'static [Suspect]) -> Self {
        Self { rarely, ..self }
    }

    pub(super) const fn hardly(self, hardly: &'static [Suspect]) -> Self {
        Self { hardly, ..self }
    }

    fn often(&self, suspect: Suspect) -> Often {
        let named = [
            (self.usually, Often::Usually),
            (self.possibly, Often::Possibly),
            (self.rarely, Often::Rarely),
            (self.hardly, Often::Hardly),
        ];
        let mut named = named.into_iter();
        let found = named.find(|(suspects, _)| suspects.contains(&suspect));
        found.map_or(self.others, |(_, often)| often)
    }
}

/// How probable each of `classes` was judged to be under `suspect`; they add up to 1.
pub(super) fn judged(classes: &[Class], suspect: Suspect) -> Vec<f64> {
    let parts = classes.iter().map(|class| class.often(suspect).parts());
    let all: f64 = parts.clone().sum();
    parts.map(|part| part / all).collect()
}
