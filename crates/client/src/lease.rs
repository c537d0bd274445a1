//! A lease on an agent's host: taken, renewed in time, and given back.

use crate::client::Client;
use crate::target::Target;
use anyhow::{Result, bail};
use linerate_model::run::WallClockOffset;
use linerate_model::{Clock as _, MonoInstant};
use linerate_peers::{Fence, LeaseGrant, LeaseRequest, PeerEvent, Refusal, RefusalCode};
use linerate_session::SessionEvent;
use linerate_sys::clock::{MonoClock, unix_nanos};
use linerate_sys::ending;
use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a lease is renewed in its term: two renewals may be lost.
const RENEWALS_PER_TERM: u32 = 3;

/// Between two looks at the connection, which is kept alive each second, and between two attempts to have one again.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// What became of the wish for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// Another holds it, or tests are under way there: who, and for how long at most.
    Busy(String),
    /// The agent cannot be reached, or grants none.
    Failed(String),
    /// It is held.
    Held(Leased),
}

/// A lease as it was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leased {
    /// Its number.
    pub fence: Fence,
    /// The agent's wall clock against this host's; `None` where the agent is older and does not tell.
    pub wall_clock: Option<WallClockOffset>,
}

impl Client {
    /// Asks the peer for the lease on its host. Where it does not grant it, the refusal says why.
    pub fn lease(&mut self, request: LeaseRequest) -> Result<Result<LeaseGrant, Refusal>> {
        let asked = self.driver().lease(request);
        asked.map_err(|error| self.failed(error))?;
        loop {
            let event = match self.driver().turn() {
                Ok(Some(SessionEvent::TestEnded { code, reason, .. })) => {
                    let message = reason;
                    return Ok(Err(Refusal { code, message }));
                }
                event => self.of_test(event)?,
            };
            match event {
                Some(SessionEvent::Peer(PeerEvent::Leased(grant))) => return Ok(Ok(grant)),
                // The request is sent.
                _ if ending::is_asked() => bail!("interrupted before the peer decided on a lease"),
                _ => {}
            }
        }
    }
}

/// A lease that a thread of its own takes and renews, until this value is released or dropped.
#[derive(Debug)]
pub struct HeldLease {
    outcome: Receiver<LeaseOutcome>,
    /// Its end is what the thread waits for.
    order: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<bool>>,
}

impl HeldLease {
    /// Begins to take the lease of the agent at `target`, for `term`, usually [`LEASE_TERM`](linerate_peers::LEASE_TERM), from
    /// each renewal on. Others are told these words of `holder`.
    ///
    /// # Errors
    ///
    /// No thread for it.
    pub fn take(target: &Target, holder: &str, term: Duration) -> io::Result<Self> {
        let (order, wish) = channel();
        let (tell, outcome) = channel();
        let (target, holder) = (target.clone(), holder.to_owned());
        let work = move || hold(&target, holder, term, &tell, &wish);
        let named = thread::Builder::new().name("lease".to_owned());
        Ok(Self {
            outcome,
            order: Some(order),
            thread: Some(named.spawn(work)?),
        })
    }

    /// Waits for the agent's decision, which is there once.
    pub fn outcome(&self) -> LeaseOutcome {
        let panicked = || "its thread panicked: please report this as a bug".to_owned();
        let outcome = self.outcome.recv();
        outcome.unwrap_or_else(|_| LeaseOutcome::Failed(panicked()))
    }

    /// Gives all back at once; whether another controller has asked for one of them meanwhile.
    pub fn release(mut all: Vec<Self>) -> bool {
        for lease in &mut all {
            drop(lease.order.take());
        }
        let wanted = all.iter_mut().filter_map(Self::end);
        wanted.fold(false, |any, wanted| any | wanted)
    }

    /// Waits until it is given back; `None` if it was before.
    fn end(&mut self) -> Option<bool> {
        drop(self.order.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes a lease and renews it until `wish` is closed; whether another controller has asked for it.
fn hold(
    target: &Target,
    holder: String,
    term: Duration,
    tell: &Sender<LeaseOutcome>,
    wish: &Receiver<Infallible>,
) -> bool {
    let taken = Client::connect(target)
        .and_then(|mut client| Ok((take(&mut client, holder, term)?, client)));
    let (outcome, renewal) = match taken {
        Ok((Ok(leased), client)) => {
            let renewal = Renewal {
                target,
                fence: leased.fence,
                term,
                client: Some(client),
                renewed: MonoClock.now(),
            };
            (LeaseOutcome::Held(leased), Some(renewal))
        }
        Ok((Err(refusal), _)) => match refusal.code {
            RefusalCode::Busy => (LeaseOutcome::Busy(refusal.message), None),
            _ => (LeaseOutcome::Failed(refusal.message), None),
        },
        Err(error) => (LeaseOutcome::Failed(format!("{error:#}")), None),
    };
    // Who wanted to know may be gone.
    drop(tell.send(outcome));
    renewal.is_some_and(|renewal| renewal.until(wish))
}

/// Asks for a lease, and compares the two hosts' wall clocks.
fn take(client: &mut Client, holder: String, term: Duration) -> Result<Result<Leased, Refusal>> {
    let (asked_unix_ns, asked) = (unix_nanos(), MonoClock.now());
    let granted = client.lease(LeaseRequest::Take { holder, term })?;
    let round_trip = MonoClock.now().saturating_since(asked);
    Ok(granted.map(|grant| Leased {
        fence: grant.fence,
        wall_clock: grant
            .unix_ns
            .map(|read| WallClockOffset::of(asked_unix_ns, round_trip, read)),
    }))
}

/// A lease that is held.
struct Renewal<'a> {
    target: &'a Target,
    fence: Fence,
    term: Duration,
    /// `None` after the connection was lost.
    client: Option<Client>,
    renewed: MonoInstant,
}

impl Renewal<'_> {
    /// Renews the lease until `wish` is closed, then gives it back; whether another controller has asked for it.
    fn until(mut self, wish: &Receiver<Infallible>) -> bool {
        let look = || wish.recv_timeout(LOOK_INTERVAL);
        while matches!(look(), Err(RecvTimeoutError::Timeout)) {
            match self.turn() {
                Ok(Ok(())) => {}
                // The agent ends the tests that are left of it.
                Ok(Err(_lapsed)) => return true,
                // The lease may outlive the connection.
                Err(_) => self.client = None,
            }
        }
        let fence = self.fence;
        // Where the connection is lost, it lapses by itself.
        let release = |mut client: Client| client.lease(LeaseRequest::Release { fence });
        let released = self.client.map(release);
        matches!(released, Some(Ok(Ok(LeaseGrant { wanted: true, .. }))))
    }

    /// Renews the lease if it is time to, and else keeps the connection alive.
    fn turn(&mut self) -> Result<Result<(), Refusal>> {
        let client = match &mut self.client {
            Some(client) => client,
            None => self.client.insert(Client::connect(self.target)?),
        };
        let since = MonoClock.now().saturating_since(self.renewed);
        if since < self.term / RENEWALS_PER_TERM {
            client.tend()?;
            return Ok(Ok(()));
        }
        let renew = LeaseRequest::Renew {
            fence: self.fence,
            term: self.term,
        };
        let renewed = client.lease(renew)?;
        self.renewed = MonoClock.now();
        Ok(renewed.map(drop))
    }
}
