//! Makes runs of tests: UDP tests between the same hosts become one load curve, a TCP or a delay
//! test a run of its own.

mod payload;
mod trial;

use super::line::Fingerprint;
use super::merge::Merged;
use super::{LatencyTest, TrafficTest, View};
use linerate_model::WallTime;
use linerate_model::run::{
    Config, Host, HostRole, Run, RunKind, RunStatus, Source, Trial, TrialWork,
};
use linerate_model::spec::{Direction, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// Host names by address, as the prompts in the logs tell them.
type Names = BTreeMap<String, String>;

/// The runs of an import, in the order of their first test.
pub(super) fn runs(tests: Vec<Merged>, latency: Vec<LatencyTest>) -> impl Iterator<Item = Run> {
    let names = names(&tests);
    let mut groups: Vec<Vec<Merged>> = Vec::new();
    let mut curves: BTreeMap<Curve, usize> = BTreeMap::new();
    for test in tests {
        let known = curve(&test).map(|curve| *curves.entry(curve).or_insert(groups.len()));
        match known.filter(|at| *at < groups.len()) {
            Some(at) => groups[at].push(test),
            None => groups.push(vec![test]),
        }
    }
    let traffic = groups
        .into_iter()
        .map(move |group| traffic_run(group, &names));
    traffic.chain(latency.into_iter().map(latency_run))
}

/// What the points of one load curve have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Curve {
    format: &'static str,
    /// Directions and their streams.
    flows: Vec<(Direction, u16)>,
    payload_bytes: Option<u64>,
    ends: [Option<String>; 2],
    /// Without addresses only the same end is the same.
    is_client: Option<bool>,
}

/// The load curve that a test is a point of: UDP only.
fn curve(test: &Merged) -> Option<Curve> {
    let main = &test.main;
    let (client, server) = ends(main);
    let is_client = main.view == View::Client;
    (main.transport == Transport::Udp).then(|| Curve {
        format: main.format,
        flows: test
            .flows
            .iter()
            .map(|flow| (flow.direction, flow.streams))
            .collect(),
        payload_bytes: main.payload_bytes,
        ends: [client, server].map(|end| end.map(str::to_owned)),
        is_client: main.connections.is_empty().then_some(is_client),
    })
}

/// Addresses of client and server.
fn ends(test: &TrafficTest) -> (Option<&str>, Option<&str>) {
    let Some(link) = test.connections.first() else {
        let peer = test.peer.as_deref();
        return match test.view {
            View::Client => (None, peer),
            View::Server => (peer, None),
        };
    };
    let (local, remote) = (&*link.local.address, &*link.remote.address);
    match test.view {
        View::Client => (Some(local), Some(remote)),
        View::Server => (Some(remote), Some(local)),
    }
}

fn names(tests: &[Merged]) -> Names {
    let views = tests
        .iter()
        .flat_map(|test| std::iter::once(&test.main).chain(&test.server));
    views
        .filter_map(|view| {
            let host = view.command.as_ref()?.host.clone()?;
            let address = view.connections.first()?.local.address.clone();
            // Every host has these two.
            (!address.starts_with("127.") && address != "::1").then_some((address, host))
        })
        .collect()
}

fn traffic_run(mut group: Vec<Merged>, names: &Names) -> Run {
    group.sort_by_cached_key(trial::intended_load);
    let mut trials = trial::all(&group);
    let mut notes = payload::fill(&mut trials, &group);
    for (index, trial) in (0..).zip(&mut trials) {
        trial.index = index;
    }
    let fingerprint = group
        .iter()
        .flat_map(|test| std::iter::once(&test.main).chain(&test.server))
        .fold(0, |all: u64, view| all.rotate_left(1) ^ view.fingerprint);
    let views = |test: &Merged| {
        let views = std::iter::once(&test.main).chain(&test.server);
        let doubted = |view: &TrafficTest| {
            let origin = view.origin.clone();
            let of = |doubt: &String| origin.doubted(doubt);
            view.doubts.iter().map(of).collect::<Vec<_>>()
        };
        views.flat_map(doubted).collect::<Vec<_>>()
    };
    let doubts = group.iter().flat_map(views).collect();
    for test in &group {
        if let Some(reason) = &test.main.interrupted {
            notes.push(format!("a test was ended early: {reason}"));
        }
    }
    notes.extend(trial::notes(&trials));
    dedup(&mut notes);
    let status = if group.iter().any(|test| test.main.interrupted.is_some()) {
        RunStatus::Incomplete
    } else {
        RunStatus::Complete
    };
    let main = &group[0].main;
    let kind = match main.transport {
        Transport::Tcp => RunKind::Tcp,
        Transport::Udp => RunKind::Udp,
    };
    let hosts = hosts(&group, names);
    let id = id(main.started.as_ref(), kind, fingerprint);
    let run = Run::new(id, kind, main.tool.clone());
    Run {
        title: Some(title(&group, &trials, &hosts)),
        started: group
            .iter()
            .filter_map(|test| test.main.started.clone())
            .min(),
        status,
        source: Some(Source {
            format: main.format.to_owned(),
            files: files(&group),
        }),
        config: config(&group),
        hosts,
        trials,
        notes,
        doubts,
        ..run
    }
}

/// The same log gives the same id, so that a store notices that it has it already. All 64 bits of its name: of 100 000
/// runs two would have the same 32, and the second would be taken for known.
pub(super) fn id(started: Option<&WallTime>, kind: RunKind, name: u64) -> String {
    let begin = started.map_or_else(|| "imported".to_owned(), WallTime::compact);
    format!("{begin}-{}-{name:016x}", kind.as_str())
}

/// The id of a run whose log is the one of `id`, and of which the user told `what`: figures and verdict depend on it, so
/// that the same log with something else told is another run.
pub(super) fn told(id: &str, what: &str) -> String {
    let name = Fingerprint::of([id, what].into_iter()).get();
    let (begin, _) = id.rsplit_once('-').unwrap_or((id, ""));
    format!("{begin}-{name:016x}")
}

fn files(group: &[Merged]) -> Vec<String> {
    let views = group
        .iter()
        .flat_map(|test| std::iter::once(&test.main).chain(&test.server));
    let mut files: Vec<_> = views.map(|view| view.origin.file.clone()).collect();
    dedup(&mut files);
    files
}

/// Removes repetitions, keeping the order.
fn dedup(list: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    list.retain(|item| seen.insert(item.clone()));
}

fn config(group: &[Merged]) -> Config {
    let commands: Vec<_> = group
        .iter()
        .filter(|test| test.main.view == View::Client)
        .map(|test| {
            test.main
                .command
                .as_ref()
                .map(|command| command.line.clone())
        })
        .collect();
    // A curve whose commands are not all known is not repeated by those that are.
    let command = commands.into_iter().collect::<Option<Vec<_>>>();
    Config {
        command: command
            .filter(|list| !list.is_empty())
            .map(|list| list.join("; ")),
        ..Config::default()
    }
}

fn hosts(group: &[Merged], names: &Names) -> Vec<Host> {
    let (client, server) = ends(&group[0].main);
    let host = |role, address: Option<&str>| {
        let known = address.and_then(|address| names.get(address));
        let mut host = Host::new(role);
        host.name = known.cloned().or_else(|| address.map(str::to_owned));
        host.facts.address = address.map(str::to_owned);
        host
    };
    vec![
        host(HostRole::Client, client),
        host(HostRole::Server, server),
    ]
}

fn title(group: &[Merged], trials: &[Trial], hosts: &[Host]) -> String {
    let name = |host: &Host| host.name.clone().unwrap_or_else(|| "?".to_owned());
    let (client, server) = (name(&hosts[0]), name(&hosts[1]));
    let is_reverse = |trial: &Trial| trial.direction == Direction::Reverse;
    let arrow = match (trials.iter().any(is_reverse), trials.iter().all(is_reverse)) {
        (true, true) => format!("{server} → {client}"),
        (true, false) => format!("{client} ↔ {server}"),
        (false, _) => format!("{client} → {server}"),
    };
    let main = &group[0].main;
    match main.transport {
        Transport::Udp if group.len() > 1 => {
            let loads: BTreeSet<_> = trials.iter().filter_map(|t| t.intended_load).collect();
            let what = if loads.len() == group.len() {
                "loads"
            } else {
                "tests"
            };
            format!("UDP {arrow}, {} {what}", group.len())
        }
        Transport::Udp => format!("UDP {arrow}, {}", trial::stem(&main.origin.file)),
        Transport::Tcp => format!("TCP {arrow}, {}", trial::stem(&main.origin.file)),
    }
}

fn latency_run(test: LatencyTest) -> Run {
    let name = |role| {
        let host = test.hosts.iter().find(|host| host.role == role);
        host.and_then(|host| host.name.clone())
            .unwrap_or_else(|| "?".to_owned())
    };
    let transport = test.transport;
    let what = match test.trials.first().map(|trial| &trial.work) {
        Some(TrialWork::OpenLoop(_)) => "under load",
        Some(TrialWork::Connections(_)) => "connections",
        _ => "ping-pong",
    };
    let title = format!(
        "{transport} {what} {} ↔ {}, {}",
        name(HostRole::Client),
        name(HostRole::Server),
        trial::stem(&test.origin.file)
    );
    let id = id(test.started.as_ref(), RunKind::Latency, test.fingerprint);
    let doubts = test.doubts.iter().map(|doubt| test.origin.doubted(doubt));
    let doubts = doubts.collect();
    let run = Run::new(id, RunKind::Latency, test.tool);
    Run {
        title: Some(title),
        started: test.started,
        source: Some(Source {
            format: test.format.to_owned(),
            files: vec![test.origin.file],
        }),
        config: Config {
            command: test.command,
            ..Config::default()
        },
        hosts: test.hosts,
        trials: test.trials,
        notes: test.notes,
        doubts,
        ..run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_what_was_told_of_it_is_an_id_of_its_own() {
        let names = [1, 1 << 32, (1 << 32) | 1, u64::MAX];
        let ids = names.map(|name| id(None, RunKind::Tcp, name));
        assert_eq!(BTreeSet::from(ids).len(), names.len());
        // Of this many 32 bits of two would be the same, as likely as not.
        let told = (0..100_000).map(|name| told(&id(None, RunKind::Udp, name), "link speed 1"));
        assert_eq!(told.collect::<BTreeSet<_>>().len(), 100_000);
    }
}
