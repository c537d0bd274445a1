//! Whether two runs were measured on the same machines, as far as their facts tell.

use linerate_model::comparison::{Difference, Machines, SameMachines};
use linerate_model::run::{Host, Run};
use serde_json::Value;

/// What is asked of a host: what it is called, and the keys of facts that tell it, the best first.
/// Our own runs and the logs of other tools have keys of their own.
const ASKED: &[(&str, &[&str])] = &[
    ("host", &["hostname"]),
    ("cpu", &["cpu_model", "cpu"]),
    ("memory", &["memory_bytes", "ram"]),
    ("kernel", &["kernel_release", "kernel", "uname"]),
    ("nic", &["driver", "nic", "lspci", "interface_kind"]),
];

/// What makes a machine another one. A machine with another kernel is still the same.
const IDENTITY: [&str; 3] = ["host", "cpu", "nic"];

/// Compares the hosts of both runs, role by role.
pub(super) fn compared(a: &Run, b: &Run) -> Machines {
    let mut differences = Vec::new();
    let mut answers = Vec::new();
    for role in ["client", "server"] {
        let (first, second) = (host(a, role), host(b, role));
        if first.is_none() && second.is_none() {
            continue;
        }
        answers.push(one(role, first, second, &mut differences));
    }
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

/// The host of a role; of a study's parts the first that tells.
fn host<'a>(run: &'a Run, role: &str) -> Option<&'a Host> {
    let own = run.hosts.iter().find(|host| host.role == role);
    own.or_else(|| run.parts.iter().find_map(|part| host(part, role)))
}

fn one(
    role: &str,
    first: Option<&Host>,
    second: Option<&Host>,
    differences: &mut Vec<Difference>,
) -> SameMachines {
    let (mut told_apart, mut agreed) = (false, 0);
    for (what, keys) in ASKED {
        let (a, b) = (fact(first, keys), fact(second, keys));
        if a == b {
            agreed += usize::from(a.is_some() && IDENTITY.contains(what));
            continue;
        }
        told_apart |= a.is_some() && b.is_some() && IDENTITY.contains(what);
        differences.push(Difference {
            role: Some(role.to_owned()),
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

fn fact(host: Option<&Host>, keys: &[&str]) -> Option<String> {
    let facts = &host?.facts;
    let found = keys.iter().find_map(|key| Some((*key, facts.get(*key)?)));
    let (key, value) = found.filter(|(_, value)| !value.is_null())?;
    let text = shown(value);
    // `Linux host 3.10.0 #1 SMP …`: the release is the third word.
    let release = (key == "uname")
        .then(|| text.split_whitespace().nth(2))
        .flatten();
    Some(release.map_or_else(|| text.clone(), str::to_owned))
}

/// A fact or setting as text.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
