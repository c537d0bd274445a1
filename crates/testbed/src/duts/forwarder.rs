//! A device between two cables: what all of them share, around what each has inside.

use super::cables::{Cables, Tester};
use super::{Dut, DutSetup};
use crate::{Result, TeardownError, TestbedError};
use linerate_model::dut::{DutCounters, DutFacts, DutWork};
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;

/// What forwards between the cables. Dropping it ends it.
pub(super) trait Inside: Send {
    /// Adds what it counted itself to what the ports' interfaces counted.
    fn count(&mut self, _device: &Arc<NetNamespace>, _counted: &mut DutCounters) -> Result<()> {
        Ok(())
    }

    /// Whose CPU time its work is.
    fn work(&self) -> DutWork {
        DutWork::Softirq
    }

    /// Resets it while it forwards; `None` where there is no way to.
    fn reset(&mut self, _device: &Arc<NetNamespace>) -> Option<Result<()>> {
        None
    }

    /// Ends it and returns the errors.
    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        Ok(())
    }
}

/// A device between two cables.
///
/// Field order is teardown order: what forwards, then its network.
pub(super) struct Forwarder<T> {
    inside: T,
    cables: Cables,
    facts: DutFacts,
}

impl<T: Inside + 'static> Forwarder<T> {
    /// A device whose cables are up.
    pub(super) fn running(
        setup: &DutSetup,
        description: &str,
        version: String,
        cables: Cables,
        inside: T,
    ) -> Box<dyn Dut> {
        let choice = setup.choice.clone();
        let facts = DutFacts {
            choice,
            description: format!("{description}, MTU {}", setup.mtu),
            version,
        };
        Box::new(Self {
            inside,
            cables,
            facts,
        })
    }
}

impl<T: Inside> Dut for Forwarder<T> {
    fn tester(&self) -> &Tester {
        &self.cables.tester
    }

    fn facts(&self) -> &DutFacts {
        &self.facts
    }

    fn counters(&mut self) -> Result<DutCounters> {
        let mut counted = self.cables.counters()?;
        self.inside.count(&self.cables.device, &mut counted)?;
        Ok(counted)
    }

    fn work(&self) -> DutWork {
        self.inside.work()
    }

    fn reset(&mut self) -> Result<()> {
        let reset = self.inside.reset(&self.cables.device);
        let dut = || self.facts.choice.kind.clone();
        reset.unwrap_or_else(|| Err(TestbedError::NoReset { dut: dut() }))
    }

    fn close(mut self: Box<Self>) -> Result<(), Vec<TeardownError>> {
        self.inside.close()
    }
}
