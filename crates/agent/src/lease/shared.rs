//! The lease as the sessions of an agent share it, by its clock.

use super::Lease;
use linerate_model::Clock as _;
use linerate_peers::{Fence, LeaseGrant, LeaseRequest, Refusal};
use linerate_sys::clock::{MonoClock, unix_nanos};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lease on this host; copies are the same.
#[derive(Clone, Default)]
pub(crate) struct SharedLease(Arc<Mutex<Lease>>);

impl SharedLease {
    fn locked(&self) -> MutexGuard<'_, Lease> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides on the request of a controller at `from`.
    pub(crate) fn ask(&self, request: &LeaseRequest, from: IpAddr) -> Result<LeaseGrant, Refusal> {
        let granted = self.locked().ask(MonoClock.now(), request, from)?;
        Ok(LeaseGrant {
            unix_ns: Some(unix_nanos()),
            ..granted
        })
    }

    /// Admits a test of this lease, or of none, until the returned value is dropped.
    pub(crate) fn admit(&self, fence: Option<Fence>) -> Result<AdmittedTest, Refusal> {
        self.locked().admit(MonoClock.now(), fence)?;
        let lease = self.clone();
        Ok(AdmittedTest { lease, fence })
    }

    /// Whether this lease holds.
    pub(crate) fn holds(&self, fence: Fence) -> bool {
        self.locked().check(MonoClock.now(), Some(fence)).is_ok()
    }
}

/// A test that was admitted. Dropping it says that none of its frames is sent any more.
pub(crate) struct AdmittedTest {
    lease: SharedLease,
    fence: Option<Fence>,
}

impl AdmittedTest {
    /// Why the test is to end: the lease that it is of does not hold any more.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self.fence {
            // No lease was granted since: that waits for its end.
            None => Ok(()),
            fence => self.lease.locked().check(MonoClock.now(), fence),
        }
    }
}

impl Drop for AdmittedTest {
    fn drop(&mut self) {
        self.lease.locked().over();
    }
}
