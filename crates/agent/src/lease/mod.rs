//! The lease on this host: whose tests are made here. Pure: `now` is an argument, of this host's monotonic clock.
//!
//! ```text
//!            take: no test is under way
//!   free ---------------------------------> held (fence, until) --+
//!     ^                                       |   ^  renew: until |
//!     +----- release, or now >= until --------+   +---------------+
//! ```
//!
//! Invariants: a lease is granted only when none holds and no test is under way, and after its end a test of none is admitted
//! only when its own are over, so that all tests under way are of one lease, or of none; each lease has a higher fence than
//! all before it; what carries the fence of another than the one that holds is refused.

mod shared;
#[cfg(test)]
mod tests;

pub(crate) use shared::{AdmittedTest, SharedLease};

use linerate_model::MonoInstant;
use linerate_model::text::spoken_time;
use linerate_peers::{Fence, LeaseGrant, LeaseRequest, MAX_LEASE_TERM, Refusal, RefusalCode};
use std::net::IpAddr;
use std::time::Duration;

/// The lease on this host, and the tests under way.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// The highest fence so far.
    last: u64,
    held: Option<Held>,
    tests: usize,
    /// The lease that they are of.
    tests_of: Option<Fence>,
}

/// A lease that was granted, and not released.
#[derive(Debug)]
struct Held {
    fence: Fence,
    holder: String,
    until: MonoInstant,
    /// Whether another has asked for a lease since.
    wanted: bool,
}

impl Held {
    fn grant(&self, now: MonoInstant) -> LeaseGrant {
        LeaseGrant {
            fence: self.fence,
            term: self.until.saturating_since(now),
            wanted: self.wanted,
            unix_ns: None,
        }
    }

    fn refusal(&self, now: MonoInstant) -> Refusal {
        let left = self.until.saturating_since(now) + Duration::from_secs(1);
        Refusal {
            code: RefusalCode::Busy,
            message: format!(
                "this host is leased by {}, for at most {} more if it is not renewed: try again then",
                self.holder,
                spoken_time(left)
            ),
        }
    }
}

impl Lease {
    /// Decides on the request of a controller at `from`.
    pub(crate) fn ask(
        &mut self,
        now: MonoInstant,
        request: &LeaseRequest,
        from: IpAddr,
    ) -> Result<LeaseGrant, Refusal> {
        self.lapse(now);
        match request {
            LeaseRequest::Release { fence } => {
                let held = self.of(*fence)?;
                held.until = now;
                let grant = held.grant(now);
                self.held = None;
                Ok(grant)
            }
            LeaseRequest::Renew { fence, term } => {
                let held = self.of(*fence)?;
                held.until = now.after((*term).min(MAX_LEASE_TERM));
                Ok(held.grant(now))
            }
            LeaseRequest::Take { holder, term } => {
                self.take(now, format!("{holder} of {from}"), *term)
            }
        }
    }

    fn take(
        &mut self,
        now: MonoInstant,
        holder: String,
        term: Duration,
    ) -> Result<LeaseGrant, Refusal> {
        if let Some(held) = &mut self.held {
            held.wanted = true;
            return Err(held.refusal(now));
        }
        if self.tests > 0 {
            return Err(under_way());
        }
        // The clock's reading makes it higher than those of an agent that ran here before this one.
        self.last = self.last.saturating_add(1).max(now.as_nanos());
        let held = self.held.insert(Held {
            fence: Fence::new(self.last),
            holder,
            until: now.after(term.min(MAX_LEASE_TERM)),
            wanted: false,
        });
        Ok(held.grant(now))
    }

    /// Admits a test of this lease, or of none; it counts until [`Self::over`].
    pub(crate) fn admit(&mut self, now: MonoInstant, fence: Option<Fence>) -> Result<(), Refusal> {
        self.check(now, fence)?;
        if self.tests > 0 && self.tests_of != fence {
            return Err(under_way());
        }
        self.tests += 1;
        self.tests_of = fence;
        Ok(())
    }

    /// Whether a test of this lease, or of none, may be made here now.
    pub(crate) fn check(&mut self, now: MonoInstant, fence: Option<Fence>) -> Result<(), Refusal> {
        self.lapse(now);
        match (fence, &self.held) {
            (Some(fence), _) => self.of(fence).map(drop),
            (None, Some(held)) => Err(held.refusal(now)),
            (None, None) => Ok(()),
        }
    }

    /// A test that was admitted is over, and none of its frames is sent any more.
    pub(crate) const fn over(&mut self) {
        self.tests = self.tests.saturating_sub(1);
    }

    /// Ends a lease whose term is over.
    fn lapse(&mut self, now: MonoInstant) {
        self.held.take_if(|held| now >= held.until);
    }

    /// The lease with this fence, if it holds.
    fn of(&mut self, fence: Fence) -> Result<&mut Held, Refusal> {
        let held = self.held.as_mut().filter(|held| held.fence == fence);
        held.ok_or_else(|| Refusal {
            code: RefusalCode::Timeout,
            message: format!(
                "lease {fence} on this host is over: it was released, or not renewed in its term; take another"
            ),
        })
    }
}

/// Refusal while tests are under way beside which there may be no other.
fn under_way() -> Refusal {
    let message = "a test is under way on this host: try again after its end";
    Refusal {
        code: RefusalCode::Busy,
        message: message.to_owned(),
    }
}
