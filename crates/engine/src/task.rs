//! One stream ready to run.

use crate::tally::StreamProgress;
use crate::workloads::Work;
use linerate_model::spec::WaitMode;
use std::sync::Arc;

/// What a thread needs to run a stream.
pub(crate) struct StreamTask {
    pub(crate) index: u8,
    pub(crate) wait: WaitMode,
    pub(crate) work: Box<dyn Work>,
    pub(crate) progress: Arc<StreamProgress>,
}
