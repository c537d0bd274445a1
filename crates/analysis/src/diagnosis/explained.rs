//! What is to be explained.

use linerate_model::run::{Run, Trial};

/// The trials of a run that tell what limits it.
#[derive(Clone, Copy)]
pub(super) struct LimitedTrials<'a> {
    pub(super) run: &'a Run,
    /// The one whose rate is to be explained.
    pub(super) limited: &'a Trial,
    /// The one that shows what limits: of a search one above the bound that it found.
    pub(super) shown: &'a Trial,
}
