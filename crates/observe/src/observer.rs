//! Takes snapshots and facts with every collector.

use crate::blind::{Salt, hide};
use crate::clock_identity::{clock_identity, hide_clock};
use crate::collectors::{self, Collector};
use crate::history::History;
use crate::host_view::{HostView, Scope};
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::one_way::ClockIdentity;
use linerate_model::sample::Snapshot;
use linerate_model::signals::{self, SignalKind};
use std::sync::{Mutex, PoisonError};

/// Takes snapshots of one host. Keep one per host and test: it remembers the last readings, so
/// that its counters do not go backwards.
#[derive(Debug)]
pub struct Observer {
    scope: Scope,
    history: Mutex<History>,
    salt: Option<Salt>,
}

impl Observer {
    /// An observer without readings.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            history: Mutex::default(),
            salt: None,
        }
    }

    /// An observer of another interface of the same host, for the same peer.
    #[must_use]
    pub fn at(&self, interface: String) -> Self {
        let scope = Scope {
            interface: Some(interface),
            ..self.scope.clone()
        };
        Self {
            salt: self.salt,
            ..Self::new(scope)
        }
    }

    /// This observer for a peer that may not know this host again, by its name or its clock.
    #[must_use]
    pub fn with_hidden_identity(self, salt: Salt) -> Self {
        Self {
            salt: Some(salt),
            ..self
        }
    }

    /// Identity of this process's clock as the peer may know it; `None` if the system does not report its boot id.
    pub fn clock_identity(&self, resolution_ns: u64) -> Option<ClockIdentity> {
        let mut clock = clock_identity(resolution_ns)?;
        if let Some(salt) = self.salt {
            hide_clock(&mut clock, salt);
        }
        Some(clock)
    }

    /// The host that it reads.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// All signals of the host, in the calling thread's network namespace. The caller reads `now` just before.
    pub fn snapshot(&self, now: MonoInstant) -> Snapshot {
        let host = HostView::new(&self.scope);
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let mut whole = Snapshot {
            at_ns: now.as_nanos(),
            ..Snapshot::default()
        };
        for collector in collectors::ALL {
            let mut part = Snapshot::default();
            (collector.read)(&host, &mut part);
            settle(collector, &mut part, &mut history);
            whole.values.append(&mut part.values);
            whole.missing.append(&mut part.missing);
        }
        whole
    }

    /// All facts of the host, as the peer may know them. What cannot be read is left out.
    pub fn facts(&self) -> Facts {
        let host = HostView::new(&self.scope);
        let mut facts = Facts::default();
        for collector in collectors::ALL {
            (collector.facts)(&host, &mut facts);
        }
        if let Some(salt) = self.salt {
            hide(&mut facts, salt);
        }
        facts
    }
}

/// Replaces the raw counters of `part` by their monotonic values from [`History`].
fn settle(collector: &Collector, part: &mut Snapshot, history: &mut History) {
    let rule = collector.backwards;
    let missing = &mut part.missing;
    part.values.retain(|signal, value| {
        if is_gauge(signal) {
            return true;
        }
        match history.settle(signal, *value, rule) {
            Ok(settled) => {
                *value = settled;
                true
            }
            Err(error) => {
                missing.insert(signal.clone(), error.to_string());
                false
            }
        }
    });
}

fn is_gauge(signal: &str) -> bool {
    signals::ALL
        .iter()
        .any(|def| def.kind == SignalKind::Gauge && def.name == signal)
}
