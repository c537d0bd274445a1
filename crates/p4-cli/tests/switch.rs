//! `linerate p4 run` with a controller: packets obey what it writes. Run as root with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_model::Clock as _;
use linerate_p4_runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    self as p4, Entity, FieldMatch, TableAction, TableEntry, Update, action, entity, field_match,
    table_action, update,
};
use linerate_p4_runtime::{Client, Schema, parse_p4info};
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::netns::{NetNamespace, has_admin_capability};
use linerate_sys::packet::{FrameSender, PacketRing, RingLayout};
use linerate_testkit::namespaces::{Case, namespace_main, not_run};
use std::io::{IoSlice, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "packets_obey_a_controller",
        run: packets_obey_a_controller,
    },
    Case {
        name: "on_another_host_it_ends_with_this_command_and_leaves_nothing",
        run: on_another_host_it_ends_with_this_command_and_leaves_nothing,
    },
    Case {
        name: "what_another_host_lacks_is_told_and_nothing_is_left_there",
        run: what_another_host_lacks_is_told_and_nothing_is_left_there,
    },
];

fn main() -> ExitCode {
    namespace_main(|| Ok::<(), String>(()), CASES)
}

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
const ADDRESS: &str = "127.0.0.1:9559";
const PROGRAM: &[u8] = include_bytes!("../../../p4/l3_router/l3_router.json");
const P4INFO: &[u8] = include_bytes!("../../../p4/l3_router/l3_router.p4info.txt");

fn packets_obey_a_controller() {
    if !has_admin_capability() {
        not_run("needs root");
    }
    let _own = NetNamespace::unshare().unwrap();
    let mut netlink = Netlink::new().unwrap();
    let loopback = index(&mut netlink, "lo");
    netlink.set_up(loopback).unwrap();
    let mut switch = started(&[
        "--port",
        "t0,tap",
        "--port",
        "t1,tap",
        "--p4runtime",
        "--ask",
    ]);
    let ports = interfaces(&mut netlink);
    let mut client = connected();
    let sender = FrameSender::open(ports[0]).unwrap();
    let layout = RingLayout::new(2000, 1 << 20).unwrap();
    let mut ring = PacketRing::open(ports[1], layout).unwrap();

    client.become_primary("", 1).unwrap();
    let p4info = parse_p4info(P4INFO).unwrap();
    let schema = Schema::new(&p4info).unwrap();
    let pipeline = Some((p4info, PROGRAM.to_vec()));
    client
        .set_pipeline(Action::VerifyAndCommit, pipeline, None)
        .unwrap();
    // No route yet: dropped.
    sender.send(&[IoSlice::new(&frame())]).unwrap();
    let answer = client.write(vec![route(&schema)], Atomicity::ContinueOnError);
    answer.unwrap();
    // The answer to Write is given when packets obey.
    sender.send(&[IoSlice::new(&frame())]).unwrap();
    let (mut arrived, limit) = (Vec::new(), MonoClock.now().after(PATIENCE));
    while arrived.is_empty() && !has_passed(limit) {
        ring.drain(16, |frame| {
            if frame.bytes[..6] == [0x0a, 0, 0, 0, 0, 0x11] {
                arrived.push(frame.bytes[22]);
            }
        });
    }
    assert_eq!(arrived, [0x3f], "one frame, a hop further");
    drop(switch.stdin.take());
    let ended = switch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    // Its host may have sent something by itself, such as a router solicitation.
    let counted: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(counted["ports"][1]["name"], "t1", "{said}");
    assert_eq!(counted["ports"][1]["sent"], 1, "{said}");
}

/// A shell of this host stands in for that of another one.
struct OtherHost {
    programs: tempfile::TempDir,
    files: tempfile::TempDir,
}

impl OtherHost {
    fn new() -> Self {
        let [programs, files] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let host = Self { programs, files };
        host.program("ssh", "for last; do :; done\nexec sh -c \"$last\"");
        host
    }

    /// Puts a script on its path, before the programs of this host.
    fn program(&self, name: &str, script: &str) {
        let path = self.programs.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    fn start(&self, ports: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
        let program = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../p4/cross_connect/cross_connect.json"
        );
        command.args(["run", program]);
        command.args(ports.iter().flat_map(|port| ["--port", port]));
        command.args(["--on", "ssh://switch.example", "--json"]);
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        command.env("PATH", path).env("TMPDIR", self.files.path());
        command.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn is_empty(&self) -> bool {
        let mut entries = std::fs::read_dir(self.files.path()).unwrap();
        entries.next().is_none()
    }
}

fn on_another_host_it_ends_with_this_command_and_leaves_nothing() {
    if !has_admin_capability() {
        not_run("needs root");
    }
    let _own = NetNamespace::unshare().unwrap();
    let mut netlink = Netlink::new().unwrap();
    let host = OtherHost::new();
    let ports = ["t0,tap", "7=t1,tap"];

    let child = host.start(&ports);
    interfaces(&mut netlink);
    assert!(!host.is_empty(), "it runs from a folder there");
    let asked = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains(r#""name":"t1""#), "{said}");
    assert!(said.contains(r#""cpu_s":"#), "{said}");
    assert!(host.is_empty());

    let mut child = host.start(&ports);
    interfaces(&mut netlink);
    child.kill().unwrap();
    child.wait().unwrap();
    let limit = MonoClock.now().after(PATIENCE);
    while !host.is_empty() {
        assert!(!has_passed(limit), "something is left there");
        std::thread::yield_now();
    }
}

/// A port that is not there, and a processor that linerate has no programs for: the reason, with the exit code of a host that
/// lacks something.
fn what_another_host_lacks_is_told_and_nothing_is_left_there() {
    if !has_admin_capability() {
        not_run("needs root");
    }
    let _own = NetNamespace::unshare().unwrap();
    let host = OtherHost::new();
    let refused = |ports: &[&str], reason: &str| {
        let ended = host.start(ports).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{said}");
        assert!(said.contains(reason), "{reason:?} is not in {said}");
        assert!(host.is_empty());
    };
    refused(&["lo0,vlan=10"], "no interface lo0 here");
    host.program(
        "uname",
        "case $1 in -s) echo Linux;; *) echo loongarch64;; esac",
    );
    refused(&["t0,tap"], "it is a host of \"Linux loongarch64\"");
}

fn started(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
    command.arg("run").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().flush().unwrap();
    child
}

/// The interfaces that the switch makes, once they are there; the host says nothing there by itself.
fn interfaces(netlink: &mut Netlink) -> [InterfaceIndex; 2] {
    ["t0", "t1"].map(|name| {
        let name = InterfaceName::new(name).unwrap();
        let deadline = MonoClock.now().after(PATIENCE);
        let is_up = |netlink: &mut Netlink| {
            let link = netlink.link_named(&name);
            Ok(link.is_ok_and(|link| link.has_carrier))
        };
        netlink.wait_until(deadline, is_up).unwrap();
        index(netlink, name.as_str())
    })
}

fn connected() -> Client {
    let limit = MonoClock.now().after(PATIENCE);
    loop {
        match Client::connect(ADDRESS, 1, PATIENCE) {
            Ok(client) => return client,
            Err(error) if has_passed(limit) => panic!("{error}"),
            Err(_) => std::thread::yield_now(),
        }
    }
}

fn index(netlink: &mut Netlink, name: &str) -> InterfaceIndex {
    let name = InterfaceName::new(name).unwrap();
    netlink.link_named(&name).unwrap().index
}

/// A route of the program's packet test.
fn route(schema: &Schema) -> Update {
    let route = schema.actions.values().find(|known| known.alias == "route");
    let route = route.unwrap();
    let values: [&[u8]; 3] = [&[0x0a, 0, 0, 0, 0, 0x11], &[0x0a, 0, 0, 0, 0, 1], &[1]];
    let parameters = route.parameters.iter().zip(values);
    let does = p4::Action {
        action_id: route.id,
        params: parameters
            .map(|(known, value)| action::Param {
                param_id: known.id,
                value: value.to_vec(),
            })
            .collect(),
    };
    let prefix = field_match::Lpm {
        value: vec![10, 0, 0, 0],
        prefix_len: 8,
    };
    let entry = TableEntry {
        table_id: schema.table("routes").unwrap().id,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Lpm(prefix)),
        }],
        action: Some(TableAction {
            r#type: Some(table_action::Type::Action(does)),
        }),
        ..TableEntry::default()
    };
    Update {
        r#type: update::Type::Insert as i32,
        entity: Some(Entity {
            entity: Some(entity::Entity::TableEntry(entry)),
        }),
    }
}

/// A packet to 10.2.3.4.
fn frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 0x1c, 0, 0, 0, 0, 0x40, 0x11, 0xad, 0x22]);
    frame.extend([0xc0, 0xa8, 0, 1, 10, 2, 3, 4]);
    frame.resize(60, 0);
    frame
}
