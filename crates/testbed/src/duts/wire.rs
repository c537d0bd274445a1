//! A cable: a veth pair between the tester's ports. What a tester measures of it is its own ceiling.

use super::cables::{Loop, Tester, kernel_version};
use super::{Dut, DutKind, DutParam, DutSetup};
use crate::{Result, TeardownError};
use linerate_model::dut::{DutCounters, DutFacts, DutWork};

pub(super) struct Wire;

impl DutKind for Wire {
    fn id(&self) -> &'static str {
        "wire"
    }

    fn summary(&self) -> &'static str {
        "A cable (veth pair) between the ports: the tester's own ceiling."
    }

    fn params(&self) -> &'static [DutParam] {
        &[]
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let facts = DutFacts {
            choice: setup.choice.clone(),
            description: format!("veth pair, MTU {}, no offloads", setup.mtu),
            version: kernel_version(),
        };
        let pair = Loop::lay(setup)?;
        Ok(Box::new(Running { pair, facts }))
    }
}

struct Running {
    pair: Loop,
    facts: DutFacts,
}

impl Dut for Running {
    fn tester(&self) -> &Tester {
        &self.pair.tester
    }

    fn facts(&self) -> &DutFacts {
        &self.facts
    }

    fn counters(&mut self) -> Result<DutCounters> {
        self.pair.counters()
    }

    fn work(&self) -> DutWork {
        DutWork::Softirq
    }

    fn close(self: Box<Self>) -> Result<(), Vec<TeardownError>> {
        Ok(())
    }
}
