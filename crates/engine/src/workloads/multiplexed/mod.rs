//! Many streams on one thread, by readiness: a thread's streams are one report, whose figures are their sums, and the
//! counts of each.
//!
//! Buffers are the thread's; a stream has its socket and a few counts.

mod byte_streams;
mod readings;

use super::{StreamSetup, Work};
use crate::error::Result;
use linerate_model::spec::Side;

/// One side of the byte streams of one thread.
pub(super) fn byte_streams(side: Side, setup: StreamSetup) -> Result<Box<dyn Work>> {
    Ok(match side {
        Side::Sender => Box::new(byte_streams::Sender::new(setup)?),
        Side::Receiver => Box::new(byte_streams::Receiver::new(setup)?),
    })
}
