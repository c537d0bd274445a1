//! What the control plane does with the thread that owns the program.

use linerate_p4::{DataPlane, Job};
use linerate_sys::wake::Waker;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};

/// The other side of a station: gives its thread jobs.
#[derive(Clone)]
pub struct Control {
    pub(crate) jobs: Sender<Job>,
    pub(crate) waker: Arc<Waker>,
}

impl DataPlane for Control {
    fn run(&self, job: Job) {
        if self.jobs.send(job).is_ok() {
            // Its counter full, the waker is awake already.
            let _ = self.waker.wake();
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

/// The port whose packets go to the control plane.
#[derive(Debug)]
pub struct CpuPort {
    /// Its number in the program.
    pub number: u32,
    /// Where the packets go; what finds no room there is dropped and counted.
    pub packets: SyncSender<Vec<u8>>,
}
