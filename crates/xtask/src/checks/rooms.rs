//! Which room may use which: the table of the design, compared with `cargo metadata`.

use super::{Check, Violation, violation};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "rooms",
    summary: "dependencies between rooms are those of the room table",
    run: |_, metadata| check(metadata),
};

/// Every room and the rooms it may use.
const TABLE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("model", &["wire"]),
    ("sys", &["model"]),
    ("peers", &["wire", "model"]),
    ("frames", &[]),
    ("engine", &["wire", "model", "sys", "peers", "frames"]),
    ("observe", &["model", "sys"]),
    ("testbed", &["model", "sys"]),
    ("analysis", &["model"]),
    ("store", &["model"]),
    ("footprint", &["model"]),
    ("mesh", &["model", "analysis"]),
    ("report", &["model"]),
    ("live", &["model", "report"]),
    ("site", &["model", "analysis", "store", "report"]),
    ("archive", &["model", "sys", "analysis", "store", "report"]),
    ("session", &["model", "sys", "peers", "engine", "observe"]),
    ("boards", &["model", "sys", "testbed"]),
    ("stacks", &["wire", "model", "sys", "peers"]),
    ("deploy", &["model", "sys", "peers", "session", "boards"]),
    (
        "client",
        &[
            "model", "sys", "peers", "observe", "session", "boards", "stacks", "deploy",
        ],
    ),
    ("metrics", &["model", "sys"]),
    (
        "agent",
        &[
            "model", "sys", "peers", "observe", "testbed", "session", "deploy", "client", "metrics",
        ],
    ),
    ("doctor", &["model", "sys", "observe", "report", "deploy"]),
    (
        "studies",
        &[
            "model",
            "sys",
            "peers",
            "engine",
            "frames",
            "testbed",
            "analysis",
            "store",
            "footprint",
            "mesh",
            "report",
            "archive",
            "session",
            "stacks",
            "client",
            "agent",
        ],
    ),
    (
        "cli",
        &[
            "model", "sys", "report", "live", "archive", "session", "boards", "stacks", "deploy",
            "client", "agent", "doctor", "studies", "mesh",
        ],
    ),
    ("p4", &["model"]),
    ("p4-runtime", &["p4"]),
    ("p4-switch", &["model", "sys", "p4"]),
    (
        "p4-cli",
        &[
            "model",
            "sys",
            "analysis",
            "deploy",
            "frames",
            "p4",
            "p4-runtime",
            "p4-switch",
        ],
    ),
    (
        "web",
        &["model", "sys", "analysis", "report", "archive", "studies"],
    ),
    ("hub", &["model", "sys", "store", "mesh", "metrics"]),
    ("packages", &["cli", "hub", "p4-cli", "web"]),
    ("responder", &["wire"]),
    ("xtask", &[]),
];
/// Rooms that only tests use: they may use all, and appear as dev-dependencies only.
const TEST_ONLY: &[&str] = &["lab", "schema-check", "testkit"];

fn check(metadata: &Value) -> Vec<Violation> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if packages.is_empty() {
        return vec![violation(
            "Cargo.toml",
            "cargo metadata lists no packages",
            "is this the workspace's root?",
        )];
    }
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Value) -> Vec<Violation> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(room) = room_of(name) else {
        return vec![violation(
            format!("package {name}"),
            "has a name that is not a room's",
            "name it linerate-<room>",
        )];
    };
    let place = format!("crates/{room}/Cargo.toml");
    if TEST_ONLY.contains(&room) {
        return Vec::new();
    }
    let Some((_, may_use)) = TABLE.iter().find(|(known, _)| *known == room) else {
        return vec![violation(
            place,
            format!("room {room} is not in the room table"),
            "decide which rooms it may use and add it in xtask/src/checks/rooms.rs and ARCHITECTURE.md",
        )];
    };
    let dependencies = package["dependencies"].as_array();
    dependencies
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| room_of(dependency["name"].as_str()?))
        .filter(|used| !may_use.contains(used))
        .map(|used| {
            let allowed = if may_use.is_empty() {
                "none".to_owned()
            } else {
                may_use.join(", ")
            };
            violation(
                place.clone(),
                format!("room {room} uses room {used}"),
                format!("it may use {allowed}: pass a value through model, or move the code"),
            )
        })
        .collect()
}

fn room_of(package: &str) -> Option<&str> {
    package.strip_prefix("linerate-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violations(name: &str, dependencies: &Value) -> Vec<String> {
        let metadata = json!({"packages": [{"name": name, "dependencies": dependencies}]});
        check(&metadata).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_edge_of_the_table_is_fine_and_foreign_crates_are_not_its_matter() {
        let dependencies = json!([
            {"name": "linerate-model", "kind": null},
            {"name": "serde", "kind": null},
        ]);
        assert_eq!(violations("linerate-peers", &dependencies), [""; 0]);
    }

    #[test]
    fn an_edge_outside_the_table_is_named_with_what_is_allowed() {
        let found = violations(
            "linerate-analysis",
            &json!([{"name": "linerate-sys", "kind": null}]),
        );
        assert_eq!(
            found,
            ["crates/analysis/Cargo.toml: room analysis uses room sys; \
                 it may use model: pass a value through model, or move the code"]
        );
    }

    #[test]
    fn tests_may_use_any_room_and_production_may_not_use_the_testkit() {
        let dev = json!([{"name": "linerate-testkit", "kind": "dev"}]);
        assert_eq!(violations("linerate-model", &dev), [""; 0]);
        let normal = json!([{"name": "linerate-testkit", "kind": null}]);
        assert_eq!(violations("linerate-model", &normal).len(), 1);
        let build = json!([{"name": "linerate-sys", "kind": "build"}]);
        assert_eq!(violations("linerate-model", &build).len(), 1);
    }

    #[test]
    fn a_room_without_a_row_and_an_empty_workspace_are_violations() {
        assert!(violations("linerate-attic", &json!([]))[0].contains("not in the room table"));
        assert!(violations("attic", &json!([]))[0].contains("not a room's"));
        assert_eq!(check(&json!({})).len(), 1);
    }

    #[test]
    fn the_table_has_no_circle() {
        for (at, (room, may_use)) in TABLE.iter().enumerate() {
            for used in *may_use {
                assert!(
                    TABLE[..at].iter().any(|(earlier, _)| earlier == used),
                    "{room} uses {used}, which stands after it"
                );
            }
        }
    }
}
