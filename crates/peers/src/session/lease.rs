//! A lease on the host of an agent: while a controller holds it, no other's tests are made there.
//!
//! ```text
//!  controller                              agent
//!    | Take { holder, term } ------------> |  no other lease holds, and no test is under way
//!    | <--------- LeaseGrant { fence, … }  |
//!    | Renew { fence, term }, in time ---> |  as long as the term is not over
//!    | Release { fence } ----------------> |
//! ```
//!
//! The agent's monotonic clock alone says when a term is over: no message carries a time of day. A test is of a lease
//! if its client has named the fence when it greeted ([`ClientConfig::fence`](super::ClientConfig::fence)).

use linerate_model::time::as_seconds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Term of a lease that is renewed each third of it: what a busy path keeps from its controller for a while does not end
/// it, and a dead controller keeps nobody out for long.
pub const LEASE_TERM: Duration = Duration::from_secs(30);

/// Longest term that an agent grants.
pub const MAX_LEASE_TERM: Duration = Duration::from_mins(1);

/// Time after the end of a lease's term within which the agent's senders of its tests have stopped: one turn of a session,
/// which is 0.8 s while traffic spins, and one look.
pub const MAX_LAPSE_DELAY: Duration = Duration::from_secs(1);

/// Number of a lease of one agent: higher than those of all leases before it since the host has booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(u64);

impl Fence {
    /// From the number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a controller asks of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LeaseRequest {
    /// It gives the lease back before its term is over.
    Release {
        /// Of the lease.
        fence: Fence,
    },
    /// The term begins anew.
    Renew {
        /// Of the lease.
        fence: Fence,
        /// From now on, at most [`MAX_LEASE_TERM`].
        #[serde(rename = "term_s", with = "as_seconds")]
        term: Duration,
    },
    /// A new lease.
    Take {
        /// What those are told who are refused meanwhile.
        holder: String,
        /// From now on, at most [`MAX_LEASE_TERM`].
        #[serde(rename = "term_s", with = "as_seconds")]
        term: Duration,
    },
}

/// A lease as it is after a request that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseGrant {
    /// Its number.
    pub fence: Fence,
    /// How long it holds from the agent's answer on; zero of one that was released.
    #[serde(rename = "term_s", with = "as_seconds")]
    pub term: Duration,
    /// Whether another controller has asked for one since it was taken.
    #[serde(default)]
    pub wanted: bool,
    /// What the agent's wall clock showed as it answered, nanoseconds since 1970 UTC; older agents do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ns: Option<i64>,
}
