//! Puts the client's and the server's view of one test together.

use super::pairs::{Sign, certain, counted_alike};
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

/// Pairs views by what shows that they are of one test. Warns where the two disagree, about
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
    let mut alone = Vec::new();
    for server in servers {
        let mut clients: Vec<_> = merged
            .iter_mut()
            .filter_map(|client| Some((certain(&client.main, &server)?, client)))
            .collect();
        let free = clients
            .iter()
            .position(|(_, client)| client.server.is_none());
        match free.or_else(|| clients.len().checked_sub(1)) {
            Some(at) if free.is_some() => {
                let (sign, client) = clients.swap_remove(at);
                client.add(server, sign, warnings);
            }
            // The client's log has it already.
            Some(_) => warnings.push(format!(
                "{}: test at line {} was left out: it is given twice",
                server.origin.file, server.origin.line
            )),
            None => alone.push(server),
        }
    }
    join_by_counts(&mut merged, alone, warnings);
    merged
}

/// Adds the views of servers to the clients that counted the same, where neither fits another; the others stand
/// by themselves.
fn join_by_counts(merged: &mut Vec<Merged>, servers: Vec<TrafficTest>, warnings: &mut Vec<String>) {
    let fits = |client: &Merged, server: &TrafficTest| {
        client.server.is_none() && counted_alike(&client.main, server)
    };
    let mut partners: Vec<Option<usize>> = Vec::new();
    for server in &servers {
        let mut clients = (0..merged.len()).filter(|at| fits(&merged[*at], server));
        let only = clients.next().filter(|_| clients.next().is_none());
        let rivals = |at: &usize| servers.iter().filter(|s| fits(&merged[*at], s)).count();
        partners.push(only.filter(|at| rivals(at) == 1));
    }
    for (server, partner) in servers.into_iter().zip(partners) {
        match partner {
            Some(at) => merged[at].add(server, Sign::Counts, warnings),
            None => merged.push(Merged::alone(server)),
        }
    }
}

impl Merged {
    fn alone(test: TrafficTest) -> Self {
        Self {
            flows: test.flows.clone(),
            main: test,
            server: None,
        }
    }

    /// Adds the other end's view, which `sign` shows to be of this test.
    fn add(&mut self, server: TrafficTest, sign: Sign, warnings: &mut Vec<String>) {
        self.main.notes.extend(joined_by(sign, &self.main, &server));
        for theirs in &server.flows {
            let Some(ours) = self
                .flows
                .iter_mut()
                .find(|f| f.direction == theirs.direction)
            else {
                continue;
            };
            let reported = match theirs.direction {
                Direction::Reverse => {
                    ours.sent_rows.clone_from(&theirs.sent_rows);
                    better(&mut ours.sent, theirs.sent.as_ref())
                }
                Direction::Forward | Direction::Duplex => {
                    ours.received_rows.clone_from(&theirs.received_rows);
                    better(&mut ours.received, theirs.received.as_ref())
                }
            };
            if let Some((reported, own)) = reported
                && let Some(problem) = disagreement(&reported, own)
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

/// By what two views with different addresses were put together.
fn joined_by(sign: Sign, client: &TrafficTest, server: &TrafficTest) -> Option<String> {
    let by = match sign {
        Sign::Addresses => return None,
        Sign::Cookie => "the test's cookie",
        Sign::Counts => "what both counted and when",
    };
    let (ours, theirs) = (client.connections.first()?, server.connections.first()?);
    Some(format!(
        "the logs of both ends were joined by {by}: the client's {} is {} at the server, and the server's {} is {} at the client, so addresses are translated on the way (NAT)",
        ours.local, theirs.remote, theirs.local, ours.remote
    ))
}

/// Puts the server's own totals, if it has any, in the place of what the client was told of them.
/// Returns both if both are there.
fn better<'a>(
    reported: &mut Option<Totals>,
    own: Option<&'a Totals>,
) -> Option<(Totals, &'a Totals)> {
    let own = own?;
    reported.replace(*own).zip(Some(own))
}

/// Where what the client was told differs from what the server itself says.
fn disagreement(reported: &Totals, own: &Totals) -> Option<String> {
    if let (Some(a), Some(b)) = (reported.bytes, own.bytes)
        && !a.agrees(b)
    {
        return Some(format!("{:.4e} bytes against {:.4e}", a.value, b.value));
    }
    if let (Some(a), Some(b)) = (reported.datagrams, own.datagrams)
        && a != b
    {
        return Some(format!("{a} datagrams against {b}"));
    }
    None
}
