//! The methods by which a device is measured, beside the search for its throughput.
//!
//! Each makes its trials one after the other, at the ports of the run, with frames of one size in one direction. All its
//! trials are kept with the run; what they say together is a [`MethodResult`].

mod addresses;
mod back_to_back;
mod bench;
mod critical_load;
mod flow_cost;
mod loss_curve;
mod reset;
mod soak;

pub(super) use bench::{Bench, Loads};

use anyhow::Result;
use linerate_model::dut::DutChoice;
use linerate_model::run::{MethodResult, MethodSettings};
use std::fmt::Debug;
use std::time::Duration;

/// Every method, in the order of help. A new one: its file, its `mod` line above, its entry here.
pub(crate) static ALL: &[&dyn Method] = &[
    &Throughput,
    &back_to_back::BackToBackFrames,
    &loss_curve::FrameLossRate,
    &reset::ResetTest,
    &soak::SoakTest,
    &critical_load::CriticalLoadSearch,
    &flow_cost::FlowCostCurve,
    &addresses::AddressTableSize,
    &addresses::AddressLearningRate,
];

/// A way to measure a device.
pub(crate) trait Method: Debug + Sync {
    /// The name on the command line, in plans and in run documents.
    fn id(&self) -> &'static str;
    /// A few words for help.
    fn summary(&self) -> &'static str;
    /// Whether it starts from the throughput, which is then searched for first.
    fn needs_throughput(&self) -> bool;
    /// Whether the length of frames matters. If not, it is made once for each direction, with frames of the first length.
    fn depends_on_frames(&self) -> bool {
        true
    }
    /// Whether it measures a mesh of ports too, and not two alone.
    fn is_for_mesh(&self) -> bool {
        false
    }
    /// Whether its tests have many flows, which the kernel's generator makes alone.
    fn varies_flows(&self) -> bool {
        false
    }
    /// Whether the device can be measured so, `None` being one that linerate does not start; if not, why, in the names of
    /// options.
    fn check(
        &self,
        _started: Option<&DutChoice>,
        _settings: &MethodSettings,
    ) -> Result<(), String> {
        Ok(())
    }
    /// Trial time that it takes at most for one frame size and direction, beside that search.
    fn time(&self, settings: &MethodSettings) -> Duration;
    /// Measures; `None` where nothing came of it, which the run's notes explain.
    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>>;
}

/// The method of this name.
pub(super) fn find(id: &str) -> Option<&'static dyn Method> {
    ALL.iter().copied().find(|method| method.id() == id)
}

/// The search for the throughput, which is a run of its own: nothing is left to do here.
#[derive(Debug)]
struct Throughput;

impl Method for Throughput {
    fn id(&self) -> &'static str {
        "throughput"
    }

    fn summary(&self) -> &'static str {
        "NDR, PDR and delay (RFC 9971)"
    }

    fn needs_throughput(&self) -> bool {
        true
    }

    fn is_for_mesh(&self) -> bool {
        true
    }

    fn time(&self, _settings: &MethodSettings) -> Duration {
        Duration::ZERO
    }

    fn measure(&self, _bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn methods_have_names_of_their_own_and_are_in_the_guide() {
        let ids: BTreeSet<_> = ALL.iter().map(|method| method.id()).collect();
        assert_eq!(ids.len(), ALL.len());
        let guide = include_str!("../../../../../../docs/guide/switch.md");
        for method in ALL {
            let row = format!("| `{}` |", method.id());
            assert!(guide.contains(&row), "no row for {}", method.id());
            assert!(find(method.id()).is_some());
        }
    }
}
