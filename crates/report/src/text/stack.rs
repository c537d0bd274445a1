//! What the stack under test said of itself.

use crate::paper::Paper;
use crate::words::stack::{losses, memory, name, traffic};
use linerate_model::run::Run;

/// Which stack it was, what crossed it, what it dropped, and what it took of memory.
pub(super) fn stack(paper: &mut Paper, run: &Run) {
    let Some(report) = &run.stack else { return };
    paper.row("stack", &name(report));
    let known = [traffic(report), losses(report), memory(report)];
    for said in known.into_iter().flatten() {
        paper.row("", &said);
    }
}
