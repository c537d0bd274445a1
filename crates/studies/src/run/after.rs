//! What follows a test: the search for what limits it.

use super::{PayloadChoice, diagnose, prove};
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
        let id = run.id.clone();
        prove(context, target, run)
            .with_context(|| format!("{id} is measured, but the proof of what limits it failed"))
    }
}
