//! What a stack that was started for a run says of itself, and whether it counted what linerate did.

use crate::recorder::Recorder;
use anyhow::Result;
use linerate_client::Client;

/// Keeps the report of the client's stack with the run. A note says where its counts are not those of this end, if all of
/// its tests are in the run and each `counts` from its beginning.
pub(super) fn note_stack(
    recorder: &mut Recorder,
    client: &mut Client,
    counts: TrafficScope,
) -> Result<()> {
    let Some(report) = client.stack_report()? else {
        return Ok(());
    };
    let run = recorder.run_mut();
    if counts == TrafficScope::Whole {
        let differing = linerate_analysis::stack::differences(&report, &run.trials);
        run.notes.extend(differing);
        linerate_analysis::stack::complete(&report, &mut run.trials);
    }
    run.stack = Some(report);
    Ok(())
}

/// What of the traffic on a stack the trials of a run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrafficScope {
    /// All.
    Whole,
    /// Not what came before a trial began to count, or not every test.
    Part,
}
