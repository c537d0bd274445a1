//! The part of the server's budget that one session uses.

use crate::budget::{Budget, BudgetPart, Charge, Moment};
use crate::greeting::network;
use linerate_model::spec::TestSpec;
use linerate_model::{ByteCount, Clock as _};
use linerate_peers::{Refusal, RefusalCode};
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
    /// Of the test under way.
    charge: Arc<Mutex<Option<Charge>>>,
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

impl Allowance {
    /// Of a client at `from`, under the parts of the budget that hold now.
    pub(crate) fn new(budget: &Arc<Mutex<Budget>>, parts: &[BudgetPart], from: IpAddr) -> Self {
        Self {
            budget: Arc::clone(budget),
            parts: parts.into(),
            network: network(from),
            charge: Arc::default(),
        }
    }

    /// What asks for it before a test; none where there is no budget.
    pub(crate) fn gate(&self) -> Option<TestGate> {
        let own = self.clone();
        (!self.parts.is_empty()).then(|| -> TestGate { Box::new(move |spec| own.admit(spec)) })
    }

    /// Admits a test, whose charge is open until it is settled.
    pub(crate) fn admit(&self, spec: &TestSpec) -> Result<(), Refusal> {
        self.settle();
        let admitted = locked(&self.budget).admit(moment(), &self.parts, self.network, spec);
        let charge = admitted.map_err(|message| Refusal {
            code: RefusalCode::Limit,
            message,
        })?;
        *locked(&self.charge) = Some(charge);
        Ok(())
    }

    /// Charges what the test under way has moved so far; why it is to end, if it is.
    pub(crate) fn charge(&self, moved: ByteCount) -> Result<(), String> {
        match &mut *locked(&self.charge) {
            Some(charge) => locked(&self.budget).charge(moment(), &self.parts, charge, moved),
            None => Ok(()),
        }
    }

    /// The test under way is over.
    pub(crate) fn settle(&self) {
        if let Some(charge) = locked(&self.charge).take() {
            locked(&self.budget).settle(&charge);
        }
    }
}
