//! A device whose inside is one program, in the device's network.

use super::DutSetup;
use super::cables::{Cables, Ipv6, NextHop};
use super::forwarder::Inside;
use super::keeper::{Keeper, Running};
use crate::{Result, TeardownError};
use linerate_model::dut::{DutCounters, DutWork};
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;

/// Adds what a program counted itself to what the ports' interfaces counted.
type Count = fn(&mut Running, &mut DutCounters) -> Result<()>;

/// A program that forwards, and its thread.
///
/// Field order is teardown order.
pub(super) struct Process {
    pub(super) program: Running,
    count: Count,
    _keeper: Keeper,
}

impl Process {
    /// Lays cables that are up, and lets `begin` start the program between them, on a thread of the device.
    pub(super) fn start(
        setup: &DutSetup,
        count: Count,
        begin: impl FnOnce() -> Result<Running> + Send + 'static,
    ) -> Result<(Cables, Self)> {
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        cables.bring_up()?;
        let keeper = Keeper::start(&cables.device)?;
        let process = Self {
            program: keeper.run(begin)?,
            count,
            _keeper: keeper,
        };
        Ok((cables, process))
    }
}

impl Inside for Process {
    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        self.program.check()?;
        (self.count)(&mut self.program, counted)
    }

    fn work(&self) -> DutWork {
        self.program.work()
    }

    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        self.program.close().map_err(|error| vec![error])
    }
}
