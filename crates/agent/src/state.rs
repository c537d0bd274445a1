//! Counts and limits of all clients, who is admitted, and what is said of them.

use crate::AgentPlan;
use crate::allowance::Allowance;
use crate::budget::Budget;
use crate::connections::{ConnectionGuard, Connections};
use crate::data_streams::Addresses;
use crate::facts::RecentFacts;
use crate::greeting::{Greeting, GreetingPlace};
use crate::lease::SharedLease;
use crate::notices::Notices;
use crate::pending::Pending;
use crate::per_address::{Counted as Place, Counts, PerAddress};
use crate::port::Port;
use anyhow::Result;
use linerate_model::Clock as _;
use linerate_model::agent::{AdmissionLimit, AgentCounts, AgentEvent, AgentStatus};
use linerate_peers::{PeerKind, RefusalCode};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::own_use;
use linerate_sys::wake::Waker;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// Counts and limits of all clients of one agent.
pub(crate) struct AgentState<'a> {
    plan: Mutex<Arc<AgentPlan>>,
    pub(crate) stop: &'a AtomicBool,
    clients: PerAddress,
    pending: Pending,
    greeting: Greeting,
    /// Refused clients that are being told why.
    turned_away: PerAddress,
    pub(crate) data_streams: Addresses,
    pub(crate) connections: Connections,
    pub(crate) facts: RecentFacts,
    pub(crate) sessions: AtomicU64,
    /// Sessions under way, and the streams of their tests.
    pub(crate) clients_now: AtomicU64,
    pub(crate) streams_now: AtomicU64,
    counts: Mutex<AgentCounts>,
    budget: Arc<Mutex<Budget>>,
    pub(crate) lease: SharedLease,
    /// Number of clients that have left.
    pub(crate) left: AtomicU64,
    events: mpsc::Sender<AgentEvent>,
    notices: Mutex<Notices>,
    /// Wakes the listener.
    pub(crate) wakeup_fd: &'a Waker,
}

/// Maximum clients refused by their address that are told why at a time.
const MAX_TURNED_AWAY: u32 = 4;

/// A place of a connection that is not admitted yet, until dropped.
#[expect(dead_code, reason = "a place is held, never looked at")]
pub(crate) enum Waiting<'a> {
    /// One of a counted number.
    Counted(Place<'a>),
    /// One in the pool of those that have to greet.
    Greeting(GreetingPlace<'a>),
}

/// Whether clients of this protocol say who they are, and may have to prove it, before they have a place.
pub(crate) fn greets(kind: &dyn PeerKind) -> bool {
    kind.about().has_keys()
}

/// Event for a session that ended with an error.
pub(crate) fn failed(client: SocketAddr, error: &anyhow::Error) -> AgentEvent {
    AgentEvent::Failed {
        client,
        error: format!("{error:#}"),
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
pub(crate) fn canonical(from: SocketAddr) -> SocketAddr {
    SocketAddr::new(from.ip().to_canonical(), from.port())
}

impl<'a> AgentState<'a> {
    /// State of an agent without clients.
    pub(crate) fn new(
        plan: &AgentPlan,
        stop: &'a AtomicBool,
        events: mpsc::Sender<AgentEvent>,
        wakeup_fd: &'a Waker,
    ) -> Self {
        Self {
            plan: Mutex::new(Arc::new(plan.clone())),
            stop,
            clients: PerAddress::default(),
            pending: Pending::default(),
            greeting: Greeting::default(),
            turned_away: PerAddress::default(),
            data_streams: Addresses::default(),
            connections: Connections::default(),
            facts: RecentFacts::default(),
            sessions: AtomicU64::new(0),
            clients_now: AtomicU64::new(0),
            streams_now: AtomicU64::new(0),
            counts: Mutex::default(),
            budget: Arc::default(),
            lease: SharedLease::default(),
            left: AtomicU64::new(0),
            events,
            notices: Mutex::default(),
            wakeup_fd,
        }
    }
}

impl AgentState<'_> {
    /// The configuration that holds now: a session that begins keeps it.
    pub(crate) fn plan(&self) -> Arc<AgentPlan> {
        Arc::clone(&self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another configuration, for sessions that begin from now on.
    pub(crate) fn renew(&self, plan: AgentPlan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(plan);
    }

    /// A pending slot for this address, if there is one.
    pub(crate) fn pend(&self, from: IpAddr) -> Option<Place<'_>> {
        let place = self.pending.enter(from);
        place.map_err(|lacks| self.refuse(from, None, lacks)).ok()
    }

    /// Where a connection waits until it is known who it is; `None` if it is closed at once. A client that is refused by its
    /// address takes nothing from others: some at a time are told why.
    pub(crate) fn wait(
        &self,
        from: SocketAddr,
        known: &ConnectionGuard<'_>,
        port: &Port,
    ) -> Option<Waiting<'_>> {
        if let Some((code, reason)) = self.denied(from.ip(), port) {
            let (place, counts) = self.turned_away.one_more(from.ip());
            if counts.total > MAX_TURNED_AWAY {
                self.turned_away(from, port.kind.id(), code, &reason);
                return None;
            }
            return Some(Waiting::Counted(place));
        }
        let from = from.ip();
        if !greets(&*port.kind) || port.awaits_streams_of(from) {
            return self.pend(from).map(Waiting::Counted);
        }
        let greeting_len = port.kind.about().greeting_len;
        let (place, gone) = self.greeting.enter(known.number(), from, |number| {
            self.connections.has_less(number, greeting_len)
        });
        if let Some(gone) = gone {
            self.connections.shut(gone);
        }
        Some(Waiting::Greeting(place))
    }

    pub(crate) fn refuse(&self, address: IpAddr, port: Option<u16>, lacks: AdmissionLimit) {
        self.note(AgentEvent::Refused {
            address,
            port,
            lacks,
        });
    }

    /// A pending slot for a datagram stream from this address; a refused one is not answered.
    pub(crate) fn admit_flow(&self, from: IpAddr) -> Option<Place<'_>> {
        let is_admitted = self.plan().access.admits(from);
        is_admitted.then(|| self.pend(from)).flatten()
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Event with the number of suppressed events, if due.
    pub(crate) fn summary(&self) -> Option<AgentEvent> {
        self.notices().summary(MonoClock.now())
    }

    /// What a session with a client at `from` may use: of the budget, and of this host while it is leased.
    pub(crate) fn allowance(&self, from: IpAddr) -> Allowance {
        Allowance::new(&self.budget, &self.plan().budget, from, &self.lease)
    }

    /// Counts an event.
    pub(crate) fn count(&self, event: &AgentEvent) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.record(event);
    }

    /// What the server has done and does now.
    pub(crate) fn status(&self) -> AgentStatus {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.clone();
        AgentStatus {
            counts,
            clients: self.clients_now.load(Ordering::Relaxed),
            streams: self.streams_now.load(Ordering::Relaxed),
            connections: self.connections.count() as u64,
            process: own_use(),
        }
    }

    /// Reports a client that is refused before it has asked for a test.
    pub(crate) fn turned_away(
        &self,
        client: SocketAddr,
        protocol: &str,
        code: RefusalCode,
        reason: &str,
    ) {
        self.note(AgentEvent::TurnedAway {
            client,
            protocol: protocol.to_owned(),
            code,
            reason: reason.to_owned(),
        });
    }

    /// Reports an event about a client, rate-limited against floods.
    fn note(&self, event: AgentEvent) {
        self.count(&event);
        if self.notices().admit(MonoClock.now()) {
            self.send(event);
        }
    }

    /// Reports how a client left.
    pub(crate) fn log_disconnect(&self, client: SocketAddr, served: Result<()>) {
        self.left.fetch_add(1, Ordering::Relaxed);
        self.note(match served {
            Ok(()) => AgentEvent::Left { client },
            Err(error) => failed(client, &error),
        });
        // Also without a message: `--once` waits for it.
        drop(self.wakeup_fd.wake());
    }

    /// Reports an event.
    pub(crate) fn tell(&self, event: AgentEvent) {
        self.count(&event);
        self.send(event);
    }

    /// Hands an event to the owner; at the agent's end there is no receiver any more.
    fn send(&self, event: AgentEvent) {
        drop(self.events.send(event));
        drop(self.wakeup_fd.wake());
    }

    /// Takes a client slot until dropped; or returns why there is none.
    pub(crate) fn admit(
        &self,
        from: IpAddr,
        port: &Port,
    ) -> Result<Place<'_>, (RefusalCode, String)> {
        if let Some(why) = self.denied(from, port) {
            return Err(why);
        }
        let (place, counts) = self.clients.one_more(from.to_canonical());
        match self.beyond(&counts, port) {
            Some(why) => Err(why),
            None => Ok(place),
        }
    }

    /// Why a client of this address would have no place now, which it does not take.
    pub(crate) fn would_refuse(&self, from: IpAddr, port: &Port) -> Option<(RefusalCode, String)> {
        let counts = || self.clients.with_one_more(from.to_canonical());
        self.denied(from, port)
            .or_else(|| self.beyond(&counts(), port))
    }

    /// What these counts, with the newest client, are beyond.
    fn beyond(&self, counts: &Counts, port: &Port) -> Option<(RefusalCode, String)> {
        let plan = self.plan();
        let most = u32::from(plan.max_clients);
        // Some slots are reserved for other addresses, so that one cannot take them all; and where a key is asked for, for
        // those that hold it.
        let share = most - most / 4;
        let is_unproved = plan.key.is_some() && !plan.asks_for_key(&*port.kind);
        if counts.total > most || is_unproved && counts.total > share {
            return Some(self.busy());
        }
        (counts.of_address > share).then(|| {
            let message = format!(
                "this address has {share} of this server's {most} places already; try again later, or start it with a higher --max-clients"
            );
            (RefusalCode::Busy, message)
        })
    }

    /// Refusal of a client when all slots are taken.
    pub(crate) fn busy(&self) -> (RefusalCode, String) {
        let most = self.plan().max_clients;
        let message = format!(
            "this server has {most} clients already; try again later, or start it with a higher --max-clients"
        );
        (RefusalCode::Busy, message)
    }

    /// Why a client of this address is always refused, if so.
    pub(crate) fn denied(&self, from: IpAddr, port: &Port) -> Option<(RefusalCode, String)> {
        let plan = self.plan();
        let access = &plan.access;
        let is_let_in = if plan.asks_for_key(&*port.kind) {
            access.may_show_key(from)
        } else {
            access.admits(from)
        };
        (!is_let_in).then(|| (RefusalCode::Denied, access.denial(from)))
    }
}
