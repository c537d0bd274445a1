//! The leases of a round: no other controller's tests are made at its hosts meanwhile.
//!
//! All or none are held while some are waited for: two controllers that each wait for what the other holds would wait for
//! ever. Who gives leases back for which another has asked lets that one go first.

use linerate_client::{HeldLease, LeaseOutcome, Leased, Target};
use linerate_model::random::Random;
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::LEASE_TERM;
use linerate_sys::clock::MonoClock;
use linerate_sys::ending;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a round waits for a host that another controller uses: four of its terms. A host for which a round has waited in
/// vain is not waited for again until it is had.
const MAX_WAIT: Duration = Duration::from_mins(2);

/// Least time between two attempts. It is up to three times as long, at random: two controllers that are in each other's way
/// are not so again and again.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// How long another controller that has asked goes first: more than the longest time between two attempts, and the time
/// that one takes.
const PRECEDENCE: Duration = Duration::from_millis(1500);

/// Takes the leases of round after round.
pub(super) struct Leases {
    /// What others are told.
    holder: String,
    random: Random,
    /// Addresses that were waited for in vain.
    given_up: BTreeSet<String>,
    /// From when on the next are taken.
    from: MonoInstant,
}

/// What is held, by address; why not, where it is not.
#[derive(Default)]
pub(super) struct RoundLeases(BTreeMap<String, Result<(Leased, HeldLease), String>>);

impl RoundLeases {
    /// The lease on this host; `None` if it grants none.
    pub(super) fn of(&self, target: &Target) -> Result<Option<Leased>, String> {
        match self.0.get(&target.far.to_string()) {
            None => Ok(None),
            Some(Ok((leased, _))) => Ok(Some(*leased)),
            Some(Err(why)) => Err(format!("{}: {why}", target.far)),
        }
    }

    fn all(self) -> Vec<HeldLease> {
        let held = self.0.into_values().flatten();
        held.map(|(_, lease)| lease).collect()
    }
}

impl Leases {
    /// Those of a controller of which others are told `holder`.
    pub(super) const fn new(holder: String, seed: u64) -> Self {
        Self {
            holder,
            random: Random::new(seed),
            given_up: BTreeSet::new(),
            from: MonoInstant::from_nanos(0),
        }
    }

    /// The leases on these hosts, as far as they are to be had in time. `note` is told what is waited for.
    pub(super) fn take(
        &mut self,
        targets: &[&Target],
        interrupt: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> RoundLeases {
        let deadline = MonoClock.now().after(MAX_WAIT);
        let mut is_noted = false;
        ending::sleep_until(self.from);
        loop {
            let (held, busy) = self.attempt(targets);
            let awaited = busy
                .iter()
                .find(|(address, _)| !self.given_up.contains(*address));
            let is_over = MonoClock.now() >= deadline || interrupt.load(Ordering::Relaxed);
            let Some((address, why)) = awaited.filter(|_| !is_over) else {
                self.given_up = busy.into_keys().collect();
                return held;
            };
            if !is_noted {
                note(&format!("waiting for {address}: {why}"));
                is_noted = true;
            }
            HeldLease::release(held.all());
            let wait = MIN_RETRY_INTERVAL.mul_f64(1.0 + 2.0 * self.random.unit());
            ending::sleep_until(MonoClock.now().after(wait));
        }
    }

    /// Asks all hosts at once; what is held, and where another was before.
    fn attempt(&self, targets: &[&Target]) -> (RoundLeases, BTreeMap<String, String>) {
        // A host that has two names is asked once.
        let by_address = targets
            .iter()
            .map(|target| (target.far.to_string(), *target));
        let by_address: BTreeMap<_, _> = by_address.collect();
        let take = |(address, target)| (address, HeldLease::take(target, &self.holder, LEASE_TERM));
        let asked: Vec<_> = by_address.into_iter().map(take).collect();
        let (mut held, mut busy) = (BTreeMap::new(), BTreeMap::new());
        for (address, lease) in asked {
            let lease = match lease.map(|lease| (lease.outcome(), lease)) {
                Ok((LeaseOutcome::Held(leased), lease)) => Ok((leased, lease)),
                Ok((LeaseOutcome::Busy(why), _)) => {
                    busy.insert(address.clone(), why.clone());
                    Err(why)
                }
                Ok((LeaseOutcome::Failed(why), _)) => Err(why),
                Err(error) => Err(format!("no thread for its lease: {error}")),
            };
            held.insert(address, lease);
        }
        (RoundLeases(held), busy)
    }

    /// Gives back the leases of a round.
    pub(super) fn give_back(&mut self, held: RoundLeases) {
        if HeldLease::release(held.all()) {
            self.from = MonoClock.now().after(PRECEDENCE);
        }
    }
}
