//! Whether two runs were measured on the same machines, as far as their facts tell.

use linerate_model::comparison::{Difference, Machines, SameMachines};
use linerate_model::facts::{Facts, LogText};
use linerate_model::run::{Host, HostRole, Run};
use std::collections::{BTreeMap, BTreeSet};

/// What a host is asked, under the name of the difference.
type Question = (&'static str, fn(&Facts) -> Option<String>);

/// Every question. Our own runs and the logs of other tools tell it in facts of their own; the best comes first.
const ASKED: &[Question] = &[
    ("host", |facts| facts.hostname.clone()),
    ("cpu", |facts| {
        facts
            .cpu_model
            .clone()
            .or_else(|| logged(facts.cpu.as_ref()))
    }),
    ("memory", |facts| {
        let bytes = facts.memory_bytes.map(|memory| memory.get().to_string());
        bytes.or_else(|| logged(facts.ram.as_ref()))
    }),
    ("kernel", |facts| {
        let release = facts.kernel_release.clone();
        let logged =
            || logged(facts.kernel.as_ref()).or_else(|| facts.uname.as_ref().map(release_in));
        release.or_else(logged)
    }),
    ("nic", |facts| {
        let logged = || logged(facts.nic.as_ref()).or_else(|| logged(facts.lspci.as_ref()));
        let driver = facts.driver.clone().or_else(logged);
        driver.or_else(|| facts.interface_kind.clone())
    }),
    ("preloaded", |facts| {
        facts.preloaded.as_ref().map(ToString::to_string)
    }),
];

fn logged(text: Option<&LogText>) -> Option<String> {
    text.map(LogText::to_string)
}

/// `Linux host 3.10.0 #1 SMP …`: the release is the third word.
fn release_in(uname: &LogText) -> String {
    let text = uname.to_string();
    let release = text.split_whitespace().nth(2).map(str::to_owned);
    release.unwrap_or(text)
}

/// What makes a machine another one. A machine with another kernel is still the same.
const IDENTITY: [&str; 3] = ["host", "cpu", "nic"];

/// Compares the hosts of both runs, role by role.
pub(super) fn compared(a: &Run, b: &Run) -> Machines {
    let mut differences = Vec::new();
    let mut answers = Vec::new();
    for role in [HostRole::Client, HostRole::Server] {
        let (first, second) = (host(a, role), host(b, role));
        if first.is_none() && second.is_none() {
            continue;
        }
        answers.push(one(role, first, second, &mut differences));
    }
    differences.extend(stacks(a, b));
    let is = |wanted: SameMachines| answers.contains(&wanted);
    let same = if a.id == b.id && a.hosts == b.hosts {
        SameMachines::Same
    } else if is(SameMachines::Different) {
        SameMachines::Different
    } else if answers.is_empty() || is(SameMachines::Unknown) {
        SameMachines::Unknown
    } else {
        SameMachines::Same
    };
    Machines { same, differences }
}

/// What the stacks that were started differ by: which they were, and each part of what those in both runs were.
fn stacks(a: &Run, b: &Run) -> Vec<Difference> {
    let both = [a, b].map(identities);
    let names: BTreeSet<&String> = both.iter().flat_map(BTreeMap::keys).collect();
    let differing = names.into_iter().filter_map(|what| {
        let [a, b] = [0, 1].map(|of| both[of].get(what).map(joined));
        (a != b).then(|| Difference {
            role: Some(HostRole::Server),
            what: what.clone(),
            a,
            b,
        })
    });
    differing.collect()
}

/// Every value of each part of a run's stacks; of a study those of all its cells.
fn identities(run: &Run) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in std::iter::once(run).chain(run.parts()) {
        let Some(report) = &run.stack else { continue };
        let mut add = |what: String, value| all.entry(what).or_default().insert(value);
        add("stack".to_owned(), report.stack.clone());
        for (name, value) in report.identity() {
            add(format!("{} {name}", report.stack), value);
        }
    }
    all
}

fn joined(values: &BTreeSet<String>) -> String {
    let values: Vec<_> = values.iter().map(String::as_str).collect();
    values.join(" / ")
}

/// A fact of a run's hosts by its name (`cpu`, `kernel`, `nic` …): of both ends, if they differ with ` / ` between them;
/// or of its stacks (`stack`, `lwip version`).
pub fn recorded_fact(run: &Run, what: &str) -> Option<String> {
    if let Some(values) = identities(run).get(what) {
        return Some(joined(values));
    }
    let (_, ask) = ASKED.iter().find(|(known, _)| *known == what)?;
    let ends = [HostRole::Client, HostRole::Server].map(|role| ask(&host(run, role)?.facts));
    let mut told: Vec<String> = ends.into_iter().flatten().collect();
    told.dedup();
    (!told.is_empty()).then(|| told.join(" / "))
}

/// The host of a role; of a study's parts the first that tells.
fn host(run: &Run, role: HostRole) -> Option<&Host> {
    let own = run.hosts.iter().find(|host| host.role == role);
    own.or_else(|| run.parts().iter().find_map(|part| host(part, role)))
}

fn one(
    role: HostRole,
    first: Option<&Host>,
    second: Option<&Host>,
    differences: &mut Vec<Difference>,
) -> SameMachines {
    let (mut told_apart, mut agreed) = (false, 0);
    for (what, ask) in ASKED {
        let [a, b] = [first, second].map(|host| ask(&host?.facts));
        if a == b {
            agreed += usize::from(a.is_some() && IDENTITY.contains(what));
            continue;
        }
        told_apart |= a.is_some() && b.is_some() && IDENTITY.contains(what);
        differences.push(Difference {
            role: Some(role),
            what: (*what).to_owned(),
            a,
            b,
        });
    }
    match (told_apart, agreed) {
        (true, _) => SameMachines::Different,
        (false, 2..) => SameMachines::Same,
        (false, _) => SameMachines::Unknown,
    }
}
