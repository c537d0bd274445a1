//! What a server has done since it started, as numbers: a view of its events.

use super::{AdmissionLimit, AgentEvent};
use crate::refusal::RefusalCode;
use crate::units::ByteCount;
use std::collections::BTreeMap;
use std::time::Duration;

/// A server at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentStatus {
    /// What it has done since it started.
    pub counts: AgentCounts,
    /// Sessions under way, with a test or without.
    pub clients: u64,
    /// Streams of the tests under way, per direction.
    pub streams: u64,
    /// Open control connections, and streams that are tests of their own.
    pub connections: u64,
    /// What its process takes; `None` where the system does not say.
    pub process: Option<ProcessUse>,
}

/// What a process takes of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    /// CPU time since it started, user and system, of all its threads.
    pub cpu: Duration,
    /// Resident memory.
    pub resident: ByteCount,
    /// Open file descriptors.
    pub open_files: u64,
}

crate::named_enum! {
    /// How a test ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TestResult {
        /// To its end.
        Complete = "complete",
        /// It began, and was ended early.
        Ended = "ended",
        /// It did not begin.
        Refused = "refused",
    }
}

/// What a server has counted. Its size depends on protocols and kinds of reasons, never on clients or tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentCounts {
    /// By protocol.
    pub protocols: BTreeMap<String, ProtocolCounts>,
    /// Connections and streams that were closed before anything was read of them, by what the server had not got.
    pub unread: BTreeMap<&'static str, u64>,
    /// Sessions that an error ended.
    pub failed_sessions: u64,
}

/// What was done in one protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProtocolCounts {
    /// Tests by how they ended.
    pub tests: BTreeMap<TestResult, u64>,
    /// Refusals of clients and tests, by kind of reason.
    pub refusals: BTreeMap<String, u64>,
    /// L4 payload that this end has sent in tests.
    pub sent: ByteCount,
    /// L4 payload that this end has received in tests.
    pub received: ByteCount,
}

impl AgentCounts {
    /// Counts an event.
    pub fn record(&mut self, event: &AgentEvent) {
        match event {
            // From the start its counts are there, at zero.
            AgentEvent::Listening { protocol, .. } => {
                let refusals = &mut self.protocol(protocol).refusals;
                for code in RefusalCode::ALL {
                    refusals.entry(code.to_string()).or_default();
                }
                for kind in AdmissionLimit::KINDS {
                    self.unread.entry(kind).or_default();
                }
            }
            AgentEvent::Refused { lacks, .. } => one_more(&mut self.unread, lacks.as_str()),
            AgentEvent::TurnedAway { protocol, code, .. } => {
                one_more(&mut self.protocol(protocol).refusals, code.to_string());
            }
            AgentEvent::TestOver {
                protocol, volume, ..
            } => {
                let counts = self.protocol(protocol);
                one_more(&mut counts.tests, TestResult::Complete);
                counts.add(volume.sent, volume.received);
            }
            AgentEvent::TestEnded {
                protocol,
                code,
                volume,
                by_client,
                ..
            } => {
                let counts = self.protocol(protocol);
                let result = if let Some(volume) = volume {
                    counts.add(volume.sent, volume.received);
                    TestResult::Ended
                } else if *by_client {
                    TestResult::Ended
                } else {
                    one_more(&mut counts.refusals, code.to_string());
                    TestResult::Refused
                };
                one_more(&mut counts.tests, result);
            }
            AgentEvent::Failed { .. } => self.failed_sessions += 1,
            AgentEvent::Counted { .. }
            | AgentEvent::Curtailed { .. }
            | AgentEvent::Left { .. }
            | AgentEvent::LeftOut { .. }
            | AgentEvent::NotCalledBack { .. }
            | AgentEvent::NotReloaded { .. }
            | AgentEvent::Reloaded { .. } => {}
        }
    }

    fn protocol(&mut self, protocol: &str) -> &mut ProtocolCounts {
        self.protocols.entry(protocol.to_owned()).or_default()
    }
}

impl ProtocolCounts {
    fn add(&mut self, sent: ByteCount, received: ByteCount) {
        self.sent = ByteCount::new(self.sent.get().saturating_add(sent.get()));
        self.received = ByteCount::new(self.received.get().saturating_add(received.get()));
    }
}

fn one_more<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}
