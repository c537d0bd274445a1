//! Which views of a client and of a server are of one test, and what shows it.
//!
//! Behind a translator of addresses (NAT) the two ends know each other by different addresses and ports. Then the
//! test's cookie tells (iperf3's JSON and `-V`), or what both counted and when: a count of datagrams, or rounded
//! bytes over the same time of tests that began together.

use super::{Connection, Endpoint, Flow, Totals, TrafficTest, View};
use linerate_model::spec::Direction;
use std::collections::BTreeMap;

/// How far the clocks of two hosts may be apart, and a client's start from its server's.
const MAX_CLOCK_DIFFERENCE_S: u64 = 5;

/// What shows that two views are of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Their streams' addresses and ports.
    Addresses,
    /// The cookie that the client made.
    Cookie,
    /// What they counted, and when.
    Counts,
}

/// Clients by what can show for certain that a server's view is of their test.
#[derive(Debug)]
pub(super) struct Index {
    clients: BTreeMap<Key, Candidates>,
}

/// What two views of one test have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Cookie(String),
    /// The client's and the server's end of a stream.
    Stream(Endpoint, Endpoint),
}

/// The clients of one key, in their order.
#[derive(Debug, Default)]
struct Candidates {
    all: Vec<usize>,
    /// So many of the first ones have a server.
    taken: usize,
}

impl Index {
    pub(super) fn new<'a>(clients: impl Iterator<Item = &'a TrafficTest>) -> Self {
        let mut index = Self {
            clients: BTreeMap::new(),
        };
        for (at, client) in clients.enumerate() {
            let streams = client.connections.iter();
            let streams = streams.map(|own| Key::Stream(own.local.clone(), own.remote.clone()));
            for key in streams.chain(client.cookie.clone().map(Key::Cookie)) {
                index.clients.entry(key).or_default().all.push(at);
            }
        }
        index
    }

    /// The first client that is of the same test as `server`, and whether it is free: one that is free comes before
    /// all others.
    pub(super) fn find(
        &mut self,
        server: &TrafficTest,
        is_same: impl Fn(usize) -> bool,
        is_free: impl Fn(usize) -> bool,
    ) -> Option<(usize, bool)> {
        let streams = server.connections.iter();
        let streams = streams.map(|own| Key::Stream(own.remote.clone(), own.local.clone()));
        let (mut free, mut taken) = (None, None);
        for key in streams.chain(server.cookie.clone().map(Key::Cookie)) {
            let Some(Candidates { all, taken: begin }) = self.clients.get_mut(&key) else {
                continue;
            };
            while all.get(*begin).is_some_and(|at| !is_free(*at)) {
                *begin += 1;
            }
            let mut others = all[*begin..].iter().copied();
            let first = others.find(|at| is_free(*at) && is_same(*at));
            free = [free, first].into_iter().flatten().min();
            if free.is_none() && taken.is_none() {
                taken = all.iter().copied().find(|at| is_same(*at));
            }
        }
        let free = free.map(|at| (at, true));
        free.or_else(|| taken.map(|at| (at, false)))
    }
}

/// What shows for certain that `client` and `server` are of one test.
pub(super) fn certain(client: &TrafficTest, server: &TrafficTest) -> Option<Sign> {
    if !is_possible(client, server) {
        return None;
    }
    let is_same = is_same_streams(client, server);
    match (&client.cookie, &server.cookie) {
        (Some(ours), Some(theirs)) if ours != theirs => None,
        _ if is_same => Some(Sign::Addresses),
        (Some(_), Some(_)) => Some(Sign::Cookie),
        _ => None,
    }
}

/// Whether `client` and `server` counted the same at the same time, at addresses that a translator may have changed.
/// Two tests can: see that no third does.
pub(super) fn counted_alike(client: &TrafficTest, server: &TrafficTest) -> bool {
    let starts = client.started.as_ref().zip(server.started.as_ref());
    let apart = starts.map(|(ours, theirs)| ours.as_unix().abs_diff(theirs.as_unix()));
    if apart.is_some_and(|seconds| seconds > MAX_CLOCK_DIFFERENCE_S) {
        return false;
    }
    let has_no_cookies = client.cookie.is_none() || server.cookie.is_none();
    is_possible(client, server)
        && has_no_cookies
        && is_translated(client, server)
        && client.flows.len() == server.flows.len()
        && client.flows.iter().all(|ours| {
            let theirs = server.flows.iter().find(|f| f.direction == ours.direction);
            theirs.is_some_and(|theirs| is_same_count(ours, theirs, apart.is_some()))
        })
}

fn is_possible(client: &TrafficTest, server: &TrafficTest) -> bool {
    client.view == View::Client
        && server.view == View::Server
        && client.transport == server.transport
        // A server that reports each stream by itself has no view of the whole test.
        && client.connections.len() == server.connections.len()
}

fn pairs<'a>(
    client: &'a TrafficTest,
    server: &'a TrafficTest,
) -> impl Iterator<Item = (&'a Connection, &'a Connection)> {
    let ends = |ours| server.connections.iter().map(move |theirs| (ours, theirs));
    client.connections.iter().flat_map(ends)
}

fn is_same_streams(client: &TrafficTest, server: &TrafficTest) -> bool {
    pairs(client, server).any(|(a, b)| a.local == b.remote && a.remote == b.local)
}

/// Whether no stream has the same two hosts at both ends: those would have the same ports there too.
fn is_translated(client: &TrafficTest, server: &TrafficTest) -> bool {
    let mut pairs = pairs(client, server).peekable();
    pairs.peek().is_some()
        && pairs.all(|(a, b)| {
            a.local.address != b.remote.address || a.remote.address != b.local.address
        })
}

/// Whether what the client was told of the server's counts is what the server says.
fn is_same_count(ours: &Flow, theirs: &Flow, is_dated: bool) -> bool {
    let (reported, own) = match ours.direction {
        Direction::Reverse => (&ours.sent, &theirs.sent),
        Direction::Forward | Direction::Duplex => (&ours.received, &theirs.received),
    };
    let (Some(reported), Some(own)) = (reported, own) else {
        return false;
    };
    let is_same_bytes = reported
        .bytes
        .zip(own.bytes)
        .is_some_and(|(a, b)| a.agrees(b));
    let is_counted = is_same_datagrams(reported, own);
    is_same_bytes && reported.seconds.agrees(own.seconds) && is_counted.unwrap_or(is_dated)
}

/// Whether both count the same datagrams; `None` where one counts none.
fn is_same_datagrams(reported: &Totals, own: &Totals) -> Option<bool> {
    let (a, b) = reported.datagrams.zip(own.datagrams)?;
    Some(a == b && reported.lost == own.lost)
}
