//! What follows a test: the search for what limits it.

use super::bench::Bench;
use super::prove::prove_at;
use super::{PayloadChoice, diagnose};
use crate::context::Context;
use anyhow::{Context as _, Result};
use linerate_client::Target;
use linerate_model::run::Run;
use std::time::Duration;

/// What is done before and after a test.
#[derive(Debug, Clone, Copy, Default)]
pub struct After {
    /// Whether its datagrams are first made to fit the path.
    pub payload: PayloadChoice,
    /// How long what limits it is probed.
    pub diagnose: Duration,
    /// Whether the verdict is put to the proof.
    pub prove: bool,
}

impl After {
    /// Probes what limits `run`, and proves it where that was asked for.
    pub(super) fn follow(
        self,
        context: &mut Context<'_>,
        target: &Target,
        run: Run,
    ) -> Result<Run> {
        let run = diagnose(context, target, run, self.diagnose);
        if !self.prove {
            return Ok(run);
        }
        proved(context, &mut Bench::new(target), run)
    }

    /// The same without the proof.
    pub(super) const fn unproved(self) -> Self {
        Self {
            prove: false,
            ..self
        }
    }
}

/// Proves what limits `run` by experiments at `bench`.
pub(super) fn proved(context: &mut Context<'_>, bench: &mut Bench<'_>, run: Run) -> Result<Run> {
    let id = run.id.clone();
    prove_at(context, bench, run)
        .with_context(|| format!("{id} is measured, but the proof of what limits it failed"))
}
