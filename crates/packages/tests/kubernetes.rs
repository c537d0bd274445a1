//! What `kubernetes/` has for the mesh: an inventory that it takes, and pods as its hosts.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_mesh::{Inventory, from_ansible};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap().join("kubernetes")
}

/// What a program printed; it must have succeeded.
fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("NOT RUN: {command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {output:?}");
    text
}

#[test]
fn the_inventory_of_nodes_is_one() {
    let text = fs::read_to_string(folder().join("nodes.toml")).unwrap();
    let inventory = Inventory::from_toml("nodes.toml", &text).unwrap();
    assert_eq!(inventory.hosts.len(), 2);
    // Where the hub's manifest mounts it.
    assert_eq!(inventory.key.as_deref(), Some("/etc/linerate-key/mesh.key"));
}

/// Pods as `kubectl get pods -o json` prints them, without what nobody reads; of the four, one has no address yet and one is
/// about to end.
const PODS: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"kind": "Pod", "metadata": {"name": "agent-pods-x7k2p", "namespace": "linerate"},
     "spec": {"nodeName": "node-1"}, "status": {"phase": "Running", "podIP": "10.244.0.7"}},
    {"kind": "Pod", "metadata": {"name": "agent-pods-9wq4z", "namespace": "linerate"},
     "spec": {"nodeName": "node-2"}, "status": {"phase": "Running", "podIP": "10.244.1.9"}},
    {"kind": "Pod", "metadata": {"name": "agent-pods-5hd8s", "namespace": "linerate"},
     "spec": {"nodeName": "node-3"}, "status": {"phase": "Pending"}},
    {"kind": "Pod", "metadata": {"name": "agent-pods-old11", "namespace": "linerate", "deletionTimestamp": "2026-11-27T10:00:00Z"},
     "spec": {"nodeName": "node-2"}, "status": {"phase": "Running", "podIP": "10.244.1.3"}}
]}"#;

#[test]
#[ignore = "needs jq"]
fn pods_with_an_address_are_hosts_and_those_of_one_node_share_an_interface() {
    let scratch = tempfile::tempdir().unwrap();
    let pods = scratch.path().join("pods.json");
    fs::write(&pods, PODS).unwrap();
    let mut jq = Command::new("jq");
    let listed = output(jq.arg("-f").arg(folder().join("pods.jq")).arg(&pods));
    let inventory = from_ansible("kubectl", &listed).unwrap();
    let hosts: Vec<_> = inventory
        .hosts
        .iter()
        .map(|host| (host.address.as_str(), host.nic.as_deref()))
        .collect();
    let expected = [
        ("10.244.1.9", Some("node-2")),
        ("10.244.0.7", Some("node-1")),
    ];
    assert_eq!(hosts, expected);
}
