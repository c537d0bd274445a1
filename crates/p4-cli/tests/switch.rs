//! `linerate p4 run` with a controller: packets obey what it writes. Run as root with `--ignored`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

use linerate_model::Clock as _;
use linerate_p4_runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    self as p4, Entity, FieldMatch, TableAction, TableEntry, Update, action, entity, field_match,
    table_action, update,
};
use linerate_p4_runtime::{Client, Schema, parse_p4info};
use linerate_sys::clock::{MonoClock, has_passed, sleep_until};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::netns::{NetNamespace, has_admin_capability};
use linerate_sys::packet::{FrameSender, PacketRing, RingLayout};
use linerate_testkit::namespaces::{Case, namespace_main, not_run};
use std::io::{BufRead as _, BufReader, IoSlice, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "packets_obey_a_controller",
        run: packets_obey_a_controller,
    },
    Case {
        name: "batches_are_seen_whole_while_packets_flow",
        run: batches_are_seen_whole_while_packets_flow,
    },
    Case {
        name: "on_another_host_it_ends_with_this_command_and_leaves_nothing",
        run: on_another_host_it_ends_with_this_command_and_leaves_nothing,
    },
    Case {
        name: "it_stays_while_it_is_idle_and_ends_once_nobody_is_heard",
        run: it_stays_while_it_is_idle_and_ends_once_nobody_is_heard,
    },
    Case {
        name: "a_switch_that_spins_takes_its_core_while_nothing_comes",
        run: a_switch_that_spins_takes_its_core_while_nothing_comes,
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
const CROSS_CONNECT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../p4/cross_connect/cross_connect.json"
);

/// A network namespace of the test's own, with its loopback interface up.
struct Host {
    _own: NetNamespace,
    netlink: Netlink,
}

impl Host {
    fn new() -> Self {
        if !has_admin_capability() {
            not_run("needs root");
        }
        let own = NetNamespace::unshare().unwrap();
        let mut netlink = Netlink::new().unwrap();
        let loopback = index(&mut netlink, "lo");
        netlink.set_up(loopback).unwrap();
        Self { _own: own, netlink }
    }

    /// The interfaces that the switch makes, once they are there; the host says nothing there by itself.
    fn interfaces(&mut self) -> [InterfaceIndex; 2] {
        ["t0", "t1"].map(|name| {
            let name = InterfaceName::new(name).unwrap();
            let deadline = MonoClock.now().after(PATIENCE);
            let is_up = |netlink: &mut Netlink| {
                let link = netlink.link_named(&name);
                Ok(link.is_ok_and(|link| link.has_carrier))
            };
            self.netlink.wait_until(deadline, is_up).unwrap();
            index(&mut self.netlink, name.as_str())
        })
    }
}

/// A switch that a controller has made a router, without routes.
struct Router {
    switch: Child,
    ports: [InterfaceIndex; 2],
    client: Client,
    schema: Schema,
}

impl Router {
    fn start(host: &mut Host) -> Self {
        let switch = started(&["--p4runtime"]);
        let ports = host.interfaces();
        let mut client = connected();
        client.become_primary("", 1).unwrap();
        let p4info = parse_p4info(P4INFO).unwrap();
        let schema = Schema::new(&p4info).unwrap();
        let pipeline = Some((p4info, PROGRAM.to_vec()));
        client
            .set_pipeline(Action::VerifyAndCommit, pipeline, None)
            .unwrap();
        Self {
            switch,
            ports,
            client,
            schema,
        }
    }
}

fn packets_obey_a_controller() {
    let mut host = Host::new();
    let Router {
        mut switch,
        ports,
        mut client,
        schema,
    } = Router::start(&mut host);
    let sender = FrameSender::open(ports[0]).unwrap();
    let layout = RingLayout::new(2000, 1 << 20).unwrap();
    let mut ring = PacketRing::open(ports[1], layout).unwrap();

    // No route yet: dropped, unless the switch is so busy that it takes the frame after the route.
    let mut early = frame();
    early[22] = EARLY_TTL;
    // The checksum makes up for it.
    early[24] = 0x9d;
    sender.send(&[IoSlice::new(&early)]).unwrap();
    let answer = client.write(vec![route(&schema)], Atomicity::ContinueOnError);
    answer.unwrap();
    // The answer to Write is given when packets obey.
    sender.send(&[IoSlice::new(&frame())]).unwrap();
    let (mut arrived, limit) = (Vec::new(), MonoClock.now().after(PATIENCE));
    while arrived.last() != Some(&0x3f) && !has_passed(limit) {
        ring.drain(16, |frame| {
            if frame.bytes[..6] == [0x0a, 0, 0, 0, 0, 0x11] {
                arrived.push(frame.bytes[22]);
            }
        });
    }
    let frames = arrived.len();
    arrived.retain(|ttl| *ttl != EARLY_TTL - 1);
    assert_eq!(arrived, [0x3f], "one frame, a hop further");
    drop(switch.stdin.take());
    let ended = switch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    // Its host may have sent something by itself, such as a router solicitation.
    let counted: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(counted["ports"][1]["name"], "t1", "{said}");
    assert_eq!(counted["ports"][1]["sent"], frames, "{said}");
}

/// Time to live of a frame that is sent before there is a route.
const EARLY_TTL: u8 = 0x50;

/// Each batch changes two routes. Packets take them by turns, and keep their order: none may be treated by an older batch than
/// one before it, nor than the last that was answered before it was sent.
#[expect(clippy::too_many_lines, reason = "one story, step by step")]
fn batches_are_seen_whole_while_packets_flow() {
    let mut host = Host::new();
    let Router {
        mut switch,
        ports,
        mut client,
        schema,
    } = Router::start(&mut host);
    let batch = |kind, version| NETWORKS.map(|first| route_by(&schema, first, version, kind));
    let mut write = |kind, version| {
        let updates = batch(kind, version).to_vec();
        client.write(updates, Atomicity::DataplaneAtomic).unwrap();
    };
    write(update::Type::Insert, 0);

    let (next, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let (arrived, answered, took) = std::thread::scope(|scope| {
        let sender = FrameSender::open(ports[0]).unwrap();
        let layout = RingLayout::new(2000, 16 << 20).unwrap();
        let mut ring = PacketRing::open(ports[1], layout).unwrap();
        let (next, over) = (&next, &over);
        scope.spawn(move || {
            while !over.load(Ordering::Acquire) {
                let number = next.fetch_add(1, Ordering::AcqRel);
                let frame = numbered(NETWORKS[number as usize % 2], number);
                // What the interface has no room for is lost.
                let _ = sender.send(&[IoSlice::new(&frame)]);
            }
        });
        let receiver = scope.spawn(move || {
            let (mut arrived, mut rests) = (Vec::new(), 0);
            // The last are through once nothing has come for a while after the end.
            while rests < 2000 {
                let taken = ring.drain(64, |frame| arrived.extend(numbers(frame.bytes)));
                let idle = taken == 0 && over.load(Ordering::Acquire);
                rests = if idle { rests + 1 } else { 0 };
                std::thread::yield_now();
            }
            arrived
        });
        let (mut answered, mut took) = (Vec::new(), Vec::new());
        for version in 1..=BATCHES {
            let asked = MonoClock.now();
            write(update::Type::Modify, version);
            took.push(MonoClock.now().saturating_since(asked));
            // Whatever has a larger number is sent after the answer.
            answered.push((next.load(Ordering::Acquire), version));
        }
        over.store(true, Ordering::Release);
        (receiver.join().unwrap(), answered, took)
    });
    let (mut newest, mut due) = (0, answered.iter().peekable());
    for (number, version) in &arrived {
        while let Some((_, wanted)) = due.next_if(|(from, _)| from <= number) {
            newest = newest.max(*wanted);
        }
        assert!(
            *version >= newest,
            "packet {number}: {version} after {newest}"
        );
        newest = *version;
    }
    let versions: std::collections::BTreeSet<_> =
        arrived.iter().map(|(_, version)| version).collect();
    assert!(
        versions.len() > 20,
        "traffic met {} batches",
        versions.len()
    );
    drop(switch.stdin.take());
    assert!(switch.wait_with_output().unwrap().status.success());
    let mut took = took;
    took.sort();
    let sent = next.load(Ordering::Relaxed);
    println!(
        "{BATCHES} batches while packets flow: answered after {:?} (median), {:?} at most; {sent} packets sent, {} arrived, each batch whole",
        took[took.len() / 2],
        took[took.len() - 1],
        arrived.len()
    );
}

const BATCHES: u16 = 400;
/// First bytes of the two networks' addresses.
const NETWORKS: [u8; 2] = [10, 11];

/// A packet to one of the networks, with its number behind what the router parses.
fn numbered(network: u8, number: u32) -> Vec<u8> {
    let mut frame = frame();
    // The checksum makes up for the address.
    frame[24] -= network - 10;
    frame[30] = network;
    frame[56..].copy_from_slice(&number.to_be_bytes());
    frame
}

/// A routed packet's number, and the version of the batch that it was routed by.
fn numbers(frame: &[u8]) -> Option<(u32, u16)> {
    let routed = frame.len() == 60 && frame[..2] == [0x0a, 0];
    let version = u16::from_be_bytes([frame[4], frame[5]]);
    let number = u32::from_be_bytes(frame[56..60].try_into().ok()?);
    routed.then_some((number, version))
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
        command.args(["run", CROSS_CONNECT]);
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
    let mut here = Host::new();
    let host = OtherHost::new();
    let ports = ["t0,tap", "7=t1,tap"];

    let child = host.start(&ports);
    here.interfaces();
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
    here.interfaces();
    child.kill().unwrap();
    child.wait().unwrap();
    let limit = MonoClock.now().after(PATIENCE);
    while !host.is_empty() {
        assert!(!has_passed(limit), "something is left there");
        std::thread::yield_now();
    }
}

/// As on a host whose connection falls silent without an end: empty lines keep it, and without them it ends by itself.
fn it_stays_while_it_is_idle_and_ends_once_nobody_is_heard() {
    let mut host = Host::new();
    let mut switch = started(&[CROSS_CONNECT, "--until-silent", "2"]);
    host.interfaces();
    let mut input = switch.stdin.take().unwrap();
    let idle = MonoClock.now().after(Duration::from_secs(4));
    while !has_passed(idle) {
        input.write_all(b"\n").unwrap();
        assert!(switch.try_wait().unwrap().is_none(), "it is heard of");
    }
    // A question is answered once; the input stays open.
    input.write_all(b"counters\n").unwrap();
    let ended = switch.wait_with_output().unwrap();
    drop(input);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(5), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
    let gone = host.netlink.link_named(&InterfaceName::new("t0").unwrap());
    assert!(gone.is_err());
}

/// One that sleeps takes a hundredth of it.
fn a_switch_that_spins_takes_its_core_while_nothing_comes() {
    let mut host = Host::new();
    let mut switch = started(&[CROSS_CONNECT, "--spin"]);
    host.interfaces();
    let mut input = switch.stdin.take().unwrap();
    let mut answers = BufReader::new(switch.stdout.take().unwrap()).lines();
    let limit = MonoClock.now().after(PATIENCE);
    loop {
        input.write_all(b"counters\n").unwrap();
        let answer = answers.next().unwrap().unwrap();
        let counted: serde_json::Value = serde_json::from_str(&answer).unwrap();
        if counted["cpu_s"].as_f64().unwrap() > 0.5 {
            break;
        }
        assert!(!has_passed(limit), "{answer}");
        sleep_until(MonoClock.now().after(Duration::from_millis(100)));
    }
    drop(input);
    assert!(switch.wait().unwrap().success());
}

/// A port that is not there, and a processor that linerate has no programs for: the reason, with the exit code of a host that
/// lacks something.
fn what_another_host_lacks_is_told_and_nothing_is_left_there() {
    let _here = Host::new();
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

/// A switch of two ports that answers questions.
fn started(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
    command.arg("run").args(arguments);
    command.args(["--port", "t0,tap", "--port", "t1,tap", "--ask"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().flush().unwrap();
    child
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
    route_by(schema, 10, 0x11, update::Type::Insert)
}

/// A route of the network whose addresses begin with this byte; the next hop's address tells the version.
fn route_by(schema: &Schema, network: u8, version: u16, kind: update::Type) -> Update {
    let [high, low] = version.to_be_bytes();
    let route = schema.actions.values().find(|known| known.alias == "route");
    let route = route.unwrap();
    let values: [&[u8]; 3] = [&[0x0a, 0, 0, 0, high, low], &[0x0a, 0, 0, 0, 0, 1], &[1]];
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
        value: vec![network, 0, 0, 0],
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
        r#type: kind as i32,
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
