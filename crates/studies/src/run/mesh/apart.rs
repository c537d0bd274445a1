//! Pairs that filled a found link together are tested again, apart: together they showed the link, not the pairs.

use super::Measuring;
use linerate_mesh::FlowEnds;
use linerate_mesh::apart::{Apart, MOST, apart};
use linerate_model::Clock as _;
use linerate_model::mesh::{LinkCertainty, MeshReport, SharedLink, SharedPlace};
use linerate_model::run::Run;
use linerate_sys::clock::MonoClock;

/// Why a test says nothing of its pair.
const TOGETHER: &str = "others of its round filled a link with it that was found later";

impl Measuring<'_, '_> {
    /// Tests the pairs again that filled a proven link of the network together. What they carried together is no longer
    /// theirs.
    pub(super) fn apart(&mut self, report: &mut MeshReport) {
        let is_sure = |link: &&SharedLink| {
            link.certainty == LinkCertainty::Proven && link.place == SharedPlace::Network
        };
        let links: Vec<_> = report.links.iter().filter(is_sure).collect();
        let Apart { rounds, left } = apart(&report.plan.rounds, &links, |flow| self.rate(flow));
        let (begun, all) = (MonoClock.now(), rounds.len());
        let mut again = 0;
        for (number, round) in rounds.iter().enumerate() {
            let text = format!("round {} of {all}: pairs of found links, apart", number + 1);
            self.tell(number, all, &text, MonoClock.now().saturating_since(begun));
            let flows = round.iter().flat_map(|pair| FlowEnds::of_pair(*pair));
            let flows: Vec<FlowEnds> = flows.collect();
            let known = flows.iter().map(|flow| self.tests_of(*flow));
            let known: Vec<usize> = known.collect();
            let parts = self.recorder.run_mut().parts().len();
            if self.round(round).is_none() {
                break;
            }
            for (flow, before) in flows.into_iter().zip(known) {
                if self.tests_of(flow) > before {
                    self.forget(flow, before, parts);
                    again += 1;
                }
            }
        }
        if again > 0 {
            report.notes.push(format!(
                "{again} flows that filled a shared link together were tested again, apart: their earlier tests are marked as not valid"
            ));
        }
        if left > 0 {
            report.notes.push(format!(
                "{left} more pairs filled a shared link together; tested again are at most {MOST}: declare the link under [links], and the next mesh keeps them apart"
            ));
        }
    }

    fn tests_of(&self, flow: FlowEnds) -> usize {
        self.flows.get(&flow).map_or(0, |known| known.rates.len())
    }

    /// Leaves out the first `rates` of a flow, and says why in its tests among the first `parts`.
    fn forget(&mut self, flow: FlowEnds, rates: usize, parts: usize) {
        if let Some(known) = self.flows.get_mut(&flow) {
            known.rates.drain(..rates);
        }
        let label = self.hosts.label(flow);
        let is_of_flow = |part: &&mut Run| {
            let place = part.config.place.as_ref();
            place.is_some_and(|place| place.cell == label)
        };
        let all = self.recorder.run_mut().parts_mut().into_iter().flatten();
        for part in all.take(parts).filter(is_of_flow) {
            for trial in &mut part.trials {
                trial.valid = false;
                trial.reasons.push(TOGETHER.to_owned());
            }
            linerate_analysis::conclude(part);
        }
    }
}
