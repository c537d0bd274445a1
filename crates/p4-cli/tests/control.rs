//! `linerate p4 table`, `counters`, `pipeline` and `rate` with a switch that serves P4Runtime.

use linerate_p4::{DataPlane, Job, Plane, Program};
use linerate_p4_runtime::{Options, Pipelines, Server, serve};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// A switch without ports but that to controllers, which does its jobs at once.
struct Portless {
    plane: Mutex<Plane>,
    to_controllers: SyncSender<Vec<u8>>,
}

/// That of controllers.
const CPU_PORT: u32 = 510;

impl DataPlane for Portless {
    fn run(&self, job: Job) {
        let mut plane = self.plane.lock().expect("the plane");
        job(&mut plane, 0);
        while let Some((port, frame)) = plane.next_injected() {
            let switch = plane.switch.as_mut().expect("a program");
            switch.process(port, &frame, 0, &mut |port, frame| {
                if port == CPU_PORT {
                    self.to_controllers
                        .try_send(frame.to_vec())
                        .expect("room for a packet");
                }
            });
        }
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4/control_plane");

fn file(end: &str) -> String {
    format!("{FOLDER}/control_plane{end}")
}

/// A server, with the program or without one.
fn server(with_program: bool) -> (Server, String) {
    let read = |end| std::fs::read(file(end)).expect("a fixture");
    let (p4info, program) = (read(".p4info.txt"), read(".json"));
    let options = Options::default();
    let first = with_program.then(|| {
        let loaded = Program::from_json(&program).expect("a program");
        Pipelines::new(&p4info, loaded, program, &options).expect("its P4Info")
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (to_controllers, packets) = sync_channel(64);
    let plane = Arc::new(Portless {
        plane: Mutex::new(Plane::default()),
        to_controllers,
    });
    let server = serve(listener, plane, packets, options, first).expect("a server");
    let address = server.address().to_string();
    (server, address)
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
    command
        .current_dir(Path::new(FOLDER))
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// What a command prints that succeeds.
fn done(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn entries_are_added_listed_changed_and_deleted_in_words() {
    let (_server, address) = server(true);
    let at = address.as_str();
    let route = ["ipv4.dst:10.0.0.0/8", "counted(port:3)"];
    assert_eq!(
        done(&["table", "add", at, "routes", route[0], route[1]]),
        "1 entry added\n"
    );
    done(&[
        "table",
        "add",
        at,
        "rules 7 ipv4.src:10.0.0.0/24 ttl:3..5 drop()",
    ]);
    done(&["table", "modify", at, "stations default send(port:6)"]);
    let listed = done(&["table", "list", at]);
    for line in [
        "ingress.routes: 1 of 1024 entries\n  hdr.ipv4.dst:10.0.0.0/8 ingress.counted(port:3), 0 packets, 0 B\n",
        "7 hdr.ipv4.src:10.0.0.0&&&255.255.255.0 hdr.ipv4.ttl:3..5 ingress.drop()",
        "hdr.ethernet.type:0x88cc ingress.drop(), constant",
        "default ingress.send(port:6)",
    ] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    let one = done(&["table", "list", at, "routes"]);
    assert!(!one.contains("rules") && one.contains("routes"), "{one}");
    // What is listed as JSON can be added elsewhere.
    let json = done(&["table", "list", at, "routes", "--json"]);
    done(&["table", "delete", at, "routes", route[0]]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("entries.json");
    std::fs::write(&path, &json).expect("a file");
    done(&[
        "table",
        "add",
        at,
        "--entries",
        path.to_str().expect("a path"),
    ]);
    assert_eq!(done(&["table", "list", at, "routes", "--json"]), json);
    done(&["table", "delete", at, "stations default"]);
    assert!(done(&["counters", at]).contains("nothing counted yet"));
    assert!(done(&["counters", at, "--all"]).contains("ingress.received [511]: 0 packets, 0 B"));
}

#[test]
fn pipelines_are_set_and_keep_entries_if_asked() {
    let (_server, address) = server(false);
    let at = address.as_str();
    let (program, info) = (file(".json"), file(".p4info.txt"));
    let set = ["pipeline", "set", at, &program, "--p4info", &info];
    let other = info.replace("control_plane", "acl");
    let misfit = run(&["pipeline", "set", at, &program, "--p4info", &other]);
    let said = String::from_utf8_lossy(&misfit.stderr).into_owned();
    assert_eq!(misfit.status.code(), Some(5));
    assert!(
        said.starts_with("note: ") && said.contains("compile program and P4Info in one run"),
        "{said}"
    );
    let early = run(&["table", "list", at]);
    assert_eq!(early.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&early.stderr).contains("pipeline set"));
    assert!(done(&[&set[..], &["--verify"]].concat()).contains("can run"));
    assert!(done(&set).contains("6 tables"), "the program's");
    done(&["table", "add", at, "routes ipv4.dst:10.0.0.0/8 counted(3)"]);
    done(&[&set[..], &["--keep-entries"]].concat());
    assert!(done(&["table", "list", at, "routes"]).contains("1 of 1024"));
    done(&set);
    assert!(done(&["table", "list", at, "routes"]).contains("0 of 1024"));
}

#[test]
fn what_goes_wrong_is_said_with_its_exit_code() {
    let (server, address) = server(true);
    let at = address.as_str();
    let info = file(".p4info.txt");
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["table", "add", at, "nowhere drop()"],
            2,
            "no table nowhere; there are: ",
        ),
        (
            &["table", "add", at, "routes dst:10.0.0.0/8 fly()"],
            2,
            "no action fly",
        ),
        (
            &["table", "add", at, "routes dst:10.0.0.0/8 counted(512)"],
            2,
            "does not fit in the 9 bits of port",
        ),
        (
            &["table", "delete", at, "routes dst:10.0.0.0/8"],
            5,
            "hdr.ipv4.dst:10.0.0.0/8: the entry does not exist",
        ),
        (
            &["table", "add", at, "routes dst:2001:db8::1 counted(3)"],
            2,
            "does not fit in the 32 bits",
        ),
        (&["table", "add", at], 2, "ENTRY"),
        (&["table", "list", "nonsense"], 2, "HOST:PORT"),
        (&["table", "list", at, "--device-id", "7"], 5, "no device 7"),
        (
            &["pipeline", "set", at, "Makefile", "--p4info", &info],
            3,
            "cannot read Makefile",
        ),
        (
            &["pipeline", "set", at, &info, "--p4info", &info],
            5,
            "p4_device_config",
        ),
    ];
    for (arguments, code, words) in cases {
        let output = run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
    drop(server);
    let gone = run(&["table", "list", at]);
    assert_eq!(gone.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no P4Runtime switch answers at"));
}

/// Nobody is primary between two commands, and the id that was is remembered.
#[test]
fn an_election_id_that_was_seen_is_told() {
    let (_server, address) = server(true);
    let at = address.as_str();
    let route = "routes dst:10.9.0.0/16 counted(3)";
    done(&["table", "add", at, route, "--election-id", "5"]);
    let late = run(&["table", "delete", at, route]);
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(
        said.contains("seen a larger election id: give --election-id 5"),
        "{said}"
    );
    done(&["table", "delete", at, route, "--election-id", "5"]);
}

#[test]
fn rates_of_entries_and_packets_are_measured_on_a_switch_that_may_lose_its_program() {
    let (_server, address) = server(true);
    let at = address.as_str();
    done(&["table", "add", at, "routes dst:10.0.0.0/8 counted(3)"]);
    let short = ["rate", at, "--entries", "10", "--rounds", "2", "--json"];
    let refused = run(&short);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--replace"));
    assert!(done(&["table", "list", at, "routes"]).contains("1 of 1024"));

    let said = done(&[&short[..], &["--replace"]].concat());
    let json: serde_json::Value = serde_json::from_str(&said).expect("a document");
    let packets = &json["packets"];
    assert_eq!(packets["sent"], packets["returned"], "{packets}");
    assert_eq!(packets["sent"], 2 * (200 + 2000), "{packets}");
    let rows = json["control_plane"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let operations = row["operations"].as_array().expect("operations");
        assert_eq!(operations.len(), 7);
        let has_rate = |one: &serde_json::Value| one["entries_per_s"].as_f64() > Some(0.0);
        assert!(operations.iter().all(has_rate), "{row}");
    }
    let empty = json["rounds_empty_request_ns"].as_array().expect("rounds");
    assert_eq!(empty.len(), 3 * 2);

    let one = [&short[..], &["--replace", "--table", "lpm"]].concat();
    let json: serde_json::Value = serde_json::from_str(&done(&one)).expect("a document");
    let rows = json["control_plane"].as_array().expect("rows");
    let tables: Vec<_> = rows.iter().map(|row| row["table"].as_str()).collect();
    assert_eq!(tables, [Some("entries-lpm")]);
}

/// A status has room for what became of some hundred entries; of more, the first that was refused is named.
#[test]
fn one_bad_entry_of_many_in_a_csv_file_is_named_and_none_is_added() {
    let (_server, address) = server(true);
    let at = address.as_str();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("routes.csv");
    let row = |number: u32| {
        format!(
            "routes,10.{}.{}.0/24,counted(3)\n",
            number >> 8,
            number & 255
        )
    };
    let write = |numbers: &mut dyn Iterator<Item = u32>| {
        let rows: String = numbers.map(row).collect();
        std::fs::write(&path, format!("table,ipv4.dst,action\n{rows}")).expect("a file");
    };
    let file = path.to_string_lossy();
    let add = ["table", "add", at, "--entries", &file];
    write(&mut (0..600).chain([7]));
    let refused = run(&add);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{error}");
    assert!(
        error.contains("number 601: the entry exists already"),
        "{error}"
    );
    assert!(done(&["table", "list", at, "routes"]).contains("0 of 1024"));
    write(&mut (0..600));
    assert!(done(&add).contains("600 entries added"));
    assert!(done(&["table", "list", at, "routes"]).contains("600 of 1024"));
}
