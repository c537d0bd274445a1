//! A device between two cables: what all of them share, around what each has inside.

use super::cables::{Cables, Tester, dropped};
use super::{Dut, DutSetup};
use crate::{Result, TeardownError, TestbedError};
use linerate_model::dut::{CounterReset, DutCounters, DutFacts, DutPlace, DutRelief, DutWork};
use linerate_model::spec::TestSpec;
use linerate_sys::netns::NetNamespace;
use std::io;
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

    /// Resets it while it forwards; returns once that has begun. `None` where there is no way to.
    fn reset(&mut self, _device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        None
    }

    /// What [`Self::relieve`] may relieve it by while it runs `test`.
    fn reliefs(&self, _test: &TestSpec) -> Vec<DutRelief> {
        Vec::new()
    }

    /// Relieves it, or undoes that.
    fn relieve(
        &mut self,
        _device: &Arc<NetNamespace>,
        _relief: DutRelief,
        _is_relieved: bool,
    ) -> Result<()> {
        Ok(())
    }

    /// Ends it and returns the errors.
    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        Ok(())
    }
}

/// What a reset does to the counters of what is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// They go on.
    Kept,
    /// They begin from zero.
    Lost,
}

/// A reading of the counters.
#[derive(Debug, Clone, Default)]
struct Reading {
    /// Of the ports' interfaces alone.
    passed: DutCounters,
    /// Of all.
    counted: DutCounters,
}

/// A device between two cables.
///
/// Field order is teardown order: what forwards, then its network.
pub(super) struct Forwarder<T> {
    inside: T,
    cables: Cables,
    facts: DutFacts,
    last: Reading,
    /// As it was when what is inside began to count from zero.
    anew: Reading,
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
            last: Reading::default(),
            anew: Reading::default(),
        })
    }
}

impl<T: Inside> Forwarder<T> {
    /// Keeps what was counted before a reset. What was inside and neither left nor was dropped at a port is lost with it, as
    /// is what it counted itself since the last reading: to read that while it forwards would cost it time.
    fn count_anew(&mut self) -> Result<()> {
        let passed = self.cables.counters()?;
        let mut grown = passed.since(&self.last.passed).map_err(went_back)?;
        let ports = grown.ports.iter();
        let received: u64 = ports.clone().map(|port| port.received.get()).sum();
        let sent: u64 = ports.map(|port| port.sent.get()).sum();
        let unsent = grown.dropped_at(DutPlace::PortTx).get();
        let inside = received.saturating_sub(sent + unsent);
        grown
            .drops
            .push(dropped(DutPlace::Process, "reset", inside));
        self.anew = Reading {
            passed,
            counted: self.last.counted.clone().plus(grown),
        };
        self.last = self.anew.clone();
        Ok(())
    }
}

fn went_back(error: CounterReset) -> TestbedError {
    TestbedError::step("comparing the counters of the ports")(io::Error::other(error))
}

impl<T: Inside> Dut for Forwarder<T> {
    fn tester(&self) -> &Tester {
        &self.cables.tester
    }

    fn facts(&self) -> &DutFacts {
        &self.facts
    }

    fn counters(&mut self) -> Result<DutCounters> {
        let passed = self.cables.counters()?;
        let mut grown = passed.since(&self.anew.passed).map_err(went_back)?;
        self.inside.count(&self.cables.device, &mut grown)?;
        let counted = self.anew.counted.clone().plus(grown);
        self.last = Reading {
            passed,
            counted: counted.clone(),
        };
        Ok(counted)
    }

    fn work(&self) -> DutWork {
        self.inside.work()
    }

    fn reliefs(&self, test: &TestSpec) -> Vec<DutRelief> {
        self.inside.reliefs(test)
    }

    fn relieve(&mut self, relief: DutRelief, is_relieved: bool) -> Result<()> {
        self.inside
            .relieve(&self.cables.device, relief, is_relieved)
    }

    fn reset(&mut self) -> Result<()> {
        let reset = self.inside.reset(&self.cables.device);
        let dut = || self.facts.choice.kind.clone();
        match reset.unwrap_or_else(|| Err(TestbedError::NoReset { dut: dut() }))? {
            Counts::Kept => Ok(()),
            Counts::Lost => self.count_anew(),
        }
    }

    fn close(mut self: Box<Self>) -> Result<(), Vec<TeardownError>> {
        self.inside.close()
    }
}
