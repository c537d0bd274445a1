//! Hosts out of the JSON that Ansible's dynamic inventories print (`ansible-inventory --list`).

use crate::inventory::{HostEntry, Inventory, plan_error};
use linerate_model::BitRate;
use linerate_model::exit::Failure;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The inventory of what `command` printed, which lists hosts as Ansible's dynamic inventories do.
///
/// # Errors
///
/// If it is no such list, or not of two hosts at least.
pub fn from_ansible(command: &str, json: &str) -> Result<Inventory, Failure> {
    let hosts =
        hosts(json).map_err(|why| plan_error(format!("what `{command}` printed: {why}")))?;
    Inventory::of_hosts(hosts)
}

/// Hosts that are listed by their groups, with their variables: `linerate_address`, else `ansible_host` by ssh as
/// `ansible_user`; `linerate_rack`, `linerate_nic`, `linerate_rate` and `linerate_accepts` as in a file.
fn hosts(json: &str) -> Result<Vec<HostEntry>, String> {
    let root: Map<String, Value> =
        serde_json::from_str(json).map_err(|error| format!("not a JSON object: {error}"))?;
    let variables = root
        .get("_meta")
        .and_then(|meta| meta.get("hostvars"))
        .and_then(Value::as_object);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (group, content) in &root {
        let listed = match content {
            Value::Array(hosts) => Some(hosts),
            Value::Object(content) => match content.get("hosts") {
                None => None,
                Some(Value::Array(hosts)) => Some(hosts),
                Some(_) => return Err(format!("group {group}: \"hosts\" is not a list")),
            },
            _ => return Err(format!("group {group} is neither a list nor an object")),
        };
        for host in listed.into_iter().flatten() {
            let host = host.as_str();
            names.insert(host.ok_or_else(|| format!("group {group}: a host is not a string"))?);
        }
    }
    names.extend(
        variables
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str),
    );
    let none = Map::new();
    let of = |name: &str| {
        let own = variables.and_then(|all| all.get(name));
        own.and_then(Value::as_object).unwrap_or(&none)
    };
    names
        .into_iter()
        .map(|name| host(name, of(name)).map_err(|why| format!("host {name}: {why}")))
        .collect()
}

fn host(name: &str, variables: &Map<String, Value>) -> Result<HostEntry, String> {
    let texts: BTreeMap<&str, &str> = variables
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect();
    let text = |key: &str| texts.get(key).map(|text| (*text).to_owned());
    let rate = text("linerate_rate").map(|rate| rate.parse::<BitRate>());
    let rate = rate.transpose();
    let accepts = match variables.get("linerate_accepts") {
        None => true,
        Some(Value::Bool(accepts)) => *accepts,
        Some(_) => return Err("linerate_accepts is neither true nor false".to_owned()),
    };
    let by_ssh = || {
        let host = text("ansible_host").unwrap_or_else(|| name.to_owned());
        match text("ansible_user") {
            Some(user) => format!("ssh://{user}@{host}"),
            None => format!("ssh://{host}"),
        }
    };
    Ok(HostEntry {
        name: name.to_owned(),
        address: text("linerate_address").unwrap_or_else(by_ssh),
        rack: text("linerate_rack"),
        nic: text("linerate_nic"),
        rate: rate.map_err(|error| format!("linerate_rate: {error}"))?,
        accepts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_groups_with_their_variables() {
        let json = r#"{
            "_meta": {"hostvars": {
                "b": {"ansible_host": "10.0.0.2", "ansible_user": "root", "linerate_rack": "r1", "linerate_rate": "10G"},
                "c": {"linerate_address": "10.0.0.3:5301", "linerate_accepts": false}}},
            "all": {"children": ["web"]},
            "web": {"hosts": ["b", "a"]},
            "old": ["c"]}"#;
        let found = hosts(json).unwrap();
        let addresses: Vec<_> = found.iter().map(|host| host.address.as_str()).collect();
        assert_eq!(
            addresses,
            ["ssh://a", "ssh://root@10.0.0.2", "10.0.0.3:5301"]
        );
        assert_eq!(found[1].rate, Some(BitRate::from_bps(10_000_000_000)));
        assert!(!found[2].accepts);
    }

    #[test]
    fn what_is_no_inventory_is_an_error_that_says_where() {
        for (json, part) in [
            ("[]", "not a JSON object"),
            (r#"{"web": {"hosts": "a"}}"#, "group web"),
            (r#"{"web": {"hosts": [1]}}"#, "group web"),
            (r#"{"web": 3}"#, "group web"),
            (
                r#"{"_meta": {"hostvars": {"a": {"linerate_rate": "fast"}}}}"#,
                "host a",
            ),
        ] {
            let why = hosts(json).unwrap_err();
            assert!(why.contains(part), "{json}: {why}");
        }
    }
}
