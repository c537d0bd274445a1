//! Datagrams of which next to none was lost, at the load that was intended, below a probe that carried more: what lost these
//! few limits no rate.

use super::delivered::is_sent;
use super::made::compared;
use super::{Probe, datagrams};
use crate::causes::intended_load;
use crate::thresholds::outcome::LOSSLESS;
use linerate_model::Ratio;
use linerate_model::run::{Answer, Finding, Run, Trial, Verdict};
use linerate_model::spec::Transport;

/// The verdict where that is all there is to say. An experiment that agreed with a cause is believed before it, and what a
/// search looked for is its own answer.
pub(super) fn conclude(run: &Run, limited: &Trial, findings: &[Finding]) -> Option<Verdict> {
    let is_nearly_whole = limited
        .loss_ratio()
        .is_some_and(|loss: Ratio| loss.get() < LOSSLESS);
    let is_carried = limited.transport == Transport::Udp && is_sent(limited) && is_nearly_whole;
    if !is_carried || !run.goals().is_empty() || findings.iter().any(is_confirmed) {
        return None;
    }
    let probe = &datagrams::OVERLOAD;
    let mut made = compared(run, limited);
    let (_, compared) = made.find(|(made, _)| made.change() == probe.change())?;
    probe
        .arrived(&compared)
        .then(|| intended_load::but_for_few(limited, probe.describe(&compared)))
}

fn is_confirmed(finding: &Finding) -> bool {
    let experiment = finding.found().and_then(|found| found.experiment.as_ref());
    let outcome = experiment.and_then(|experiment| experiment.outcome.as_ref());
    outcome.is_some_and(|outcome| outcome.answer == Answer::Agreed)
}
