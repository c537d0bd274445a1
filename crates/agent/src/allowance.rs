//! What one session uses of what all share: the server's budget, and the host while it is leased.

use crate::budget::{Budget, BudgetPart, Charge, Moment};
use crate::greeting::network;
use crate::lease::{AdmittedTest, SharedLease};
use linerate_model::spec::TestSpec;
use linerate_model::{ByteCount, Clock as _};
use linerate_peers::{Fence, Refusal, RefusalCode};
use linerate_session::TestGate;
use linerate_sys::clock::{MonoClock, wall_now};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a session may still use. Its copies are the same.
#[derive(Clone)]
pub(crate) struct Allowance {
    budget: Arc<Mutex<Budget>>,
    parts: Arc<[BudgetPart]>,
    network: IpAddr,
    lease: SharedLease,
    /// The lease that the tests are of.
    fence: Arc<Mutex<Option<Fence>>>,
    /// The test under way.
    test: Arc<Mutex<Option<Counted>>>,
}

/// A test that was admitted.
struct Counted {
    admitted: AdmittedTest,
    /// `None` where there is no budget.
    charge: Option<Charge>,
}

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

fn moment() -> Moment {
    let day = wall_now().as_unix().div_euclid(SECONDS_OF_DAY);
    Moment {
        day: u64::try_from(day).unwrap_or_default(),
        now: MonoClock.now(),
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn beyond_limit(message: String) -> Refusal {
    Refusal {
        code: RefusalCode::Limit,
        message,
    }
}

impl Allowance {
    /// Of a client at `from`, under the parts of the budget that hold now.
    pub(crate) fn new(
        budget: &Arc<Mutex<Budget>>,
        parts: &[BudgetPart],
        from: IpAddr,
        lease: &SharedLease,
    ) -> Self {
        Self {
            budget: Arc::clone(budget),
            parts: parts.into(),
            network: network(from),
            lease: lease.clone(),
            fence: Arc::default(),
            test: Arc::default(),
        }
    }

    /// The client says which lease its tests are of.
    pub(crate) fn present(&self, fence: Option<Fence>) {
        *locked(&self.fence) = fence;
    }

    /// What is asked before a test.
    pub(crate) fn gate(&self) -> TestGate {
        let own = self.clone();
        Box::new(move |spec| own.admit(spec))
    }

    /// Admits a test, which counts until it is settled.
    pub(crate) fn admit(&self, spec: &TestSpec) -> Result<(), Refusal> {
        self.settle();
        let admitted = self.admit_unpaid()?;
        let charge = (!self.parts.is_empty()).then(|| {
            let mut budget = locked(&self.budget);
            budget.admit(moment(), &self.parts, self.network, spec)
        });
        let charge = charge.transpose().map_err(beyond_limit)?;
        *locked(&self.test) = Some(Counted { admitted, charge });
        Ok(())
    }

    /// Admits a test that moves nothing of the budget, until the returned value is dropped.
    pub(crate) fn admit_unpaid(&self) -> Result<AdmittedTest, Refusal> {
        let fence = *locked(&self.fence);
        self.lease.admit(fence)
    }

    /// Charges what the test under way has moved so far; why it is to end, if it is.
    pub(crate) fn charge(&self, moved: ByteCount) -> Result<(), Refusal> {
        let mut test = locked(&self.test);
        let Some(Counted { admitted, charge }) = &mut *test else {
            return Ok(());
        };
        if let Some(charge) = charge {
            let mut budget = locked(&self.budget);
            let charged = budget.charge(moment(), &self.parts, charge, moved);
            charged.map_err(beyond_limit)?;
        }
        admitted.check()
    }

    /// The test under way is over.
    pub(crate) fn settle(&self) {
        let test = locked(&self.test).take();
        if let Some(charge) = test.and_then(|test| test.charge) {
            locked(&self.budget).settle(&charge);
        }
    }
}
