//! Puts the client's and the server's view of one test together.

use super::{Flow, Totals, TrafficTest, View, shortened};
use linerate_model::spec::Direction;
use std::collections::BTreeSet;

/// A test, as one end or both saw it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Merged {
    /// The view that leads: the client's if there is one.
    pub(super) main: TrafficTest,
    /// The server's view beside the client's.
    pub(super) server: Option<TrafficTest>,
    /// The directions with the best of both views.
    pub(super) flows: Vec<Flow>,
}

/// Pairs views by the addresses and ports of their streams. Warns where the two disagree, about
/// tests that failed, and about tests that are given twice.
pub(super) fn views(tests: Vec<TrafficTest>, warnings: &mut Vec<String>) -> Vec<Merged> {
    let mut merged: Vec<Merged> = Vec::new();
    let mut servers = Vec::new();
    let mut seen = BTreeSet::new();
    for test in tests {
        let origin = &test.origin;
        let place = format!("{}: test at line {}", origin.file, origin.line);
        if test.flows.is_empty() {
            let reason = shortened(test.interrupted.as_deref().unwrap_or("no figures"));
            warnings.push(format!("{place} was left out: it failed ({reason})"));
        } else if !seen.insert(test.fingerprint) {
            warnings.push(format!("{place} was left out: it is given twice"));
        } else {
            match test.view {
                View::Client => merged.push(Merged::alone(test)),
                View::Server => servers.push(test),
            }
        }
    }
    for server in servers {
        let mut clients: Vec<_> = merged
            .iter_mut()
            .filter(|client| client.is_seen_by(&server))
            .collect();
        let free = clients.iter().position(|client| client.server.is_none());
        match free.or_else(|| clients.len().checked_sub(1)) {
            Some(at) if free.is_some() => clients.swap_remove(at).add(server, warnings),
            // The client's log has it already.
            Some(_) => warnings.push(format!(
                "{}: test at line {} was left out: it is given twice",
                server.origin.file, server.origin.line
            )),
            None => merged.push(Merged::alone(server)),
        }
    }
    merged
}

impl Merged {
    fn alone(test: TrafficTest) -> Self {
        Self {
            flows: test.flows.clone(),
            main: test,
            server: None,
        }
    }

    /// Whether `server` is the other end of this test.
    fn is_seen_by(&self, server: &TrafficTest) -> bool {
        let mut pairs = self
            .main
            .connections
            .iter()
            .flat_map(|client| server.connections.iter().map(move |other| (client, other)));
        self.main.view == View::Client
            && self.main.transport == server.transport
            // A server that reports each stream by itself has no view of the whole test.
            && self.main.connections.len() == server.connections.len()
            && pairs
                .any(|(client, other)| client.local == other.remote && client.remote == other.local)
    }

    fn add(&mut self, server: TrafficTest, warnings: &mut Vec<String>) {
        for theirs in &server.flows {
            let Some(ours) = self
                .flows
                .iter_mut()
                .find(|f| f.direction == theirs.direction)
            else {
                continue;
            };
            let told = match theirs.direction {
                Direction::Reverse => {
                    ours.sent_rows.clone_from(&theirs.sent_rows);
                    better(&mut ours.sent, theirs.sent.as_ref())
                }
                Direction::Forward | Direction::Duplex => {
                    ours.received_rows.clone_from(&theirs.received_rows);
                    better(&mut ours.received, theirs.received.as_ref())
                }
            };
            if let Some((told, own)) = told
                && let Some(problem) = disagreement(&told, own)
            {
                warnings.push(format!(
                    "{} (line {}) and {} (line {}) do not agree: {problem}",
                    self.main.origin.file,
                    self.main.origin.line,
                    server.origin.file,
                    server.origin.line
                ));
            }
        }
        self.server = Some(server);
    }
}

/// Puts the server's own totals, if it has any, in the place of what the client was told of them.
/// Returns both if both are there.
fn better<'a>(told: &mut Option<Totals>, own: Option<&'a Totals>) -> Option<(Totals, &'a Totals)> {
    let own = own?;
    told.replace(*own).zip(Some(own))
}

/// Where what the client was told differs from what the server itself says.
fn disagreement(told: &Totals, own: &Totals) -> Option<String> {
    if let (Some(a), Some(b)) = (told.bytes, own.bytes)
        && !a.agrees(b)
    {
        return Some(format!("{:.4e} bytes against {:.4e}", a.value, b.value));
    }
    if let (Some(a), Some(b)) = (told.datagrams, own.datagrams)
        && a != b
    {
        return Some(format!("{a} datagrams against {b}"));
    }
    None
}
