//! Puts the client's and the server's view of one test together.

use super::pairs::{Index, Sign, certain, counted_alike};
use super::rounded::bytes_in_words;
use super::warnings::Warnings;
use super::{Flow, Totals, TrafficTest, View};
use linerate_model::spec::Direction;

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

/// Pairs views by what shows that they are of one test. Warns where the two disagree, and about tests that are given
/// twice.
pub(super) fn views(tests: Vec<TrafficTest>, warnings: &mut Warnings) -> Vec<Merged> {
    let (clients, servers): (Vec<_>, Vec<_>) = tests
        .into_iter()
        .partition(|test| test.view == View::Client);
    let mut merged: Vec<_> = clients.into_iter().map(Merged::alone).collect();
    let mut index = Index::new(merged.iter().map(|client| &client.main));
    let mut alone = Vec::new();
    for server in servers {
        let sign = |at: usize| certain(&merged[at].main, &server);
        let is_free = |at: usize| merged[at].server.is_none();
        match index.find(&server, |at| sign(at).is_some(), is_free) {
            Some((at, true)) => {
                if let Some(sign) = sign(at) {
                    merged[at].add(server, sign, warnings);
                }
            }
            // The client's log has it already.
            Some((_, false)) => warnings.push(format!(
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
fn join_by_counts(merged: &mut Vec<Merged>, servers: Vec<TrafficTest>, warnings: &mut Warnings) {
    /// Pairs that are looked at: each server with each client, so many in a second.
    const MAX_PAIRS: usize = 10_000_000;
    let is_few = merged.len().saturating_mul(servers.len()) <= MAX_PAIRS;
    if !is_few {
        warnings.push(format!(
            "{} logs of clients and {} of servers name no stream or cookie in common, and are too many to join by what \
             they counted: import the two logs of a test by themselves to join them",
            merged.len(),
            servers.len()
        ));
    }
    let fits = |client: &Merged, server: &TrafficTest| {
        is_few && client.server.is_none() && counted_alike(&client.main, server)
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
    fn add(&mut self, server: TrafficTest, sign: Sign, warnings: &mut Warnings) {
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
                let doubt = format!(
                    "{} (line {}) and {} (line {}) do not agree: {problem}",
                    self.main.origin.file,
                    self.main.origin.line,
                    server.origin.file,
                    server.origin.line
                );
                warnings.push(doubt.clone());
                self.main.doubts.push(doubt);
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
        let mut said = [a, b].map(|bytes| bytes_in_words(bytes.value));
        if said[0] == said[1] {
            said = [a, b].map(|bytes| format!("{:.0} B", bytes.value));
        }
        return Some(said.join(" against "));
    }
    if let (Some(a), Some(b)) = (reported.datagrams, own.datagrams)
        && a != b
    {
        return Some(format!("{a} datagrams against {b}"));
    }
    None
}
