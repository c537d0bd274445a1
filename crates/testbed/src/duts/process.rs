//! A device whose inside is one program, in the device's network.

use super::DutSetup;
use super::cables::{Cables, Ipv6, NextHop};
use super::forwarder::{Counts, Inside};
use super::keeper::{Keeper, Restartable, Running};
use crate::{Result, TeardownError};
use linerate_model::dut::{DutCounters, DutWork};
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;

/// Adds what a program counted itself to what the ports' interfaces counted.
type Count = fn(&mut Running, &mut DutCounters) -> Result<()>;

/// Starts the program on a thread of the device.
type Begin = dyn Fn() -> Result<Running> + Send + Sync;

/// A program that forwards, and its thread.
///
/// Field order is teardown order.
pub(super) struct Process {
    pub(super) program: Restartable,
    begin: Arc<Begin>,
    count: Count,
    keeper: Keeper,
}

impl Process {
    /// Lays cables that are up, and lets `begin` start the program between them, on a thread of the device.
    pub(super) fn start(
        setup: &DutSetup,
        count: Count,
        begin: impl Fn() -> Result<Running> + Send + Sync + 'static,
    ) -> Result<(Cables, Self)> {
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        cables.bring_up()?;
        let keeper = Keeper::start(&cables.device)?;
        let begin: Arc<Begin> = Arc::new(begin);
        let first = Arc::clone(&begin);
        let process = Self {
            program: Restartable::Running(keeper.run(move || first())?),
            begin,
            count,
            keeper,
        };
        Ok((cables, process))
    }
}

impl Inside for Process {
    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        let program = self.program.get()?;
        program.check()?;
        (self.count)(program, counted)
    }

    fn work(&self) -> DutWork {
        self.program.work()
    }

    /// Kills the program and starts it again.
    fn reset(&mut self, _device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        let begin = Arc::clone(&self.begin);
        let restarted = self.program.restart(&self.keeper, move || begin());
        Some(restarted.map(|()| Counts::Lost))
    }

    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        self.program.close().map_err(|error| vec![error])
    }
}
