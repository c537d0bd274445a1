//! What the thread that moves packets owns, and how others get work done on it.
//!
//! ```text
//!  server ── Job ──► DataPlane ──► data thread: job(&mut plane, now); then Plane::next_injected until empty; then packets
//!  server ◄── channel of frames that left at the CPU port ── data thread
//! ```

use crate::Switch;
use std::collections::VecDeque;
use std::fmt;

/// The most packets of the control plane that wait for the data thread.
const MAX_INJECTED: usize = 1024;

/// What the data thread owns: the switch, once a pipeline is set.
#[derive(Debug, Default)]
pub struct Plane {
    /// The switch; none before the first pipeline.
    pub switch: Option<Switch>,
    /// A switch that the control plane prepares; it takes the other's place at once.
    pub staged: Option<Switch>,
    injected: VecDeque<(u32, Vec<u8>)>,
}

/// Why a packet of the control plane is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// There is no switch to process it.
    #[error("no pipeline is set")]
    NoPipeline,
    /// Too many packets wait.
    #[error("{MAX_INJECTED} packets of the control plane wait already")]
    Full,
}

impl Plane {
    /// Hands the switch a packet as if it had come in at this port. The data thread processes it after the job, and its
    /// outputs go where those of other packets go.
    pub fn inject(&mut self, port: u32, bytes: Vec<u8>) -> Result<(), InjectError> {
        if self.switch.is_none() {
            return Err(InjectError::NoPipeline);
        }
        if self.injected.len() >= MAX_INJECTED {
            return Err(InjectError::Full);
        }
        self.injected.push_back((port, bytes));
        Ok(())
    }

    /// The oldest packet of the control plane with the port it comes in at. The data thread takes all after each job.
    pub fn next_injected(&mut self) -> Option<(u32, Vec<u8>)> {
        self.injected.pop_front()
    }
}

/// Runs between two packets, on the thread that owns the plane. The number is the switch's clock in nanoseconds.
pub type Job = Box<dyn FnOnce(&mut Plane, u64) + Send>;

/// A running data plane, as its control plane sees it.
pub trait DataPlane: Send + Sync + 'static {
    /// Runs the job, at once or later, after all that were given before. A data plane that has ended drops it.
    fn run(&self, job: Job);
}

impl fmt::Debug for dyn DataPlane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DataPlane")
    }
}
