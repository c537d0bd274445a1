//! Plans, packages, run documents and folders of anybody: nothing of them starts, nobody is contacted, no link or pipe is
//! opened unless the user says so.

use crate::harness::{Ended, Place, Running, Server, good_log};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::Signal;
use std::fs::Permissions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A place with a script that leaves a mark when it is started.
fn place_with_mark() -> (Place, PathBuf) {
    let place = Place::new();
    place.with("mark.sh", b"touch marked\n");
    let mark = place.file("marked");
    (place, mark)
}

/// A host that nobody may contact.
struct Bait(TcpListener);

impl Bait {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    #[track_caller]
    fn is_untouched(&self) {
        assert!(self.0.accept().is_err(), "it was contacted");
    }
}

fn tar(place: &Place, args: &[&str]) {
    let folder = place.file("");
    let done = Command::new("tar").args(args).current_dir(folder).status();
    assert!(done.unwrap().success());
}

/// What ways the plan of a stranger has to start a program, as lines of its defaults and tables of its own.
const STARTS: [(&str, &str); 3] = [
    (
        "kind = \"udp\"\nrate = \"2M\"\nstack = \"mine\"\n",
        "[stacks.mine]\nrun = \"sh mark.sh\"\n",
    ),
    ("kind = \"latency\"\nwrap = \"sh mark.sh\"\n", ""),
    (
        "kind = \"udp\"\nrate = \"2M\"\nstack = \"command?run=sh mark.sh\"\n",
        "",
    ),
];

#[test]
fn a_plan_s_programs_are_shown_and_start_only_when_they_are_allowed() {
    for (defaults, tables) in STARTS {
        let (place, mark) = place_with_mark();
        let host = if defaults.contains("stack") {
            ""
        } else {
            "host = \"127.0.0.1:9\"\n"
        };
        let plan = format!("[study]\n{host}[defaults]\ntime = \"200ms\"\n{defaults}{tables}");
        place.with("plan.toml", plan.as_bytes());
        place
            .run(&["run", "plan.toml"])
            .failed(2, &["plan.toml", "`sh mark.sh`", "--run-programs"]);
        let checked = place.run(&["plan", "check", "plan.toml"]).done();
        assert!(
            checked.contains("starts on this host: sh mark.sh"),
            "{checked}"
        );
        assert!(!mark.exists(), "{plan}");
        if host.is_empty() {
            continue;
        }
        let allowed = place.run(&["run", "plan.toml", "--run-programs"]);
        assert!(
            allowed.err.contains("the plan starts: sh mark.sh"),
            "{allowed:?}"
        );
    }
}

#[test]
fn a_command_of_a_plan_that_resets_a_device_is_a_program() {
    let (place, mark) = place_with_mark();
    let plan = "[study]\n[defaults]\nkind = \"switch\"\nports = \"porta,portb\"\nmethod = \"reset\"\nreset-command = \"sh mark.sh\"\n";
    place.with("plan.toml", plan.as_bytes());
    place
        .run(&["run", "plan.toml"])
        .failed(2, &["plan.toml", "`sh mark.sh`", "--run-programs"]);
    assert!(!mark.exists());
}

#[test]
fn a_configuration_without_an_end_is_refused() {
    let place = Place::new();
    place
        .run(&["serve", "--config", "/dev/zero"])
        .failed(3, &["/dev/zero", "more than 1048576 bytes"]);
}

#[test]
fn an_ssh_configuration_of_a_plan_is_a_program() {
    let (place, mark) = place_with_mark();
    let config = place.with("ssh.config", b"Host *\n  ProxyCommand sh mark.sh\n");
    let plan = format!(
        "[study]\nhost = \"ssh://nobody@127.0.0.1?config={}\"\n[defaults]\nkind = \"tcp\"\ntime = \"200ms\"\n",
        config.display()
    );
    place.with("plan.toml", plan.as_bytes());
    place
        .run(&["run", "plan.toml"])
        .failed(2, &["`ssh -F ", "--run-programs"]);
    assert!(!mark.exists());
}

/// A package that a plan and a server here have made.
fn package(place: &Place) {
    let server = Server::on("127.0.0.1");
    let plan = format!(
        "[study]\nhost = \"{}\"\n[defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"200ms\"\n[factors]\ndirection = [\"forward\"]\n",
        server.address()
    );
    place.with("plan.toml", plan.as_bytes());
    place.with(
        "table.csv",
        b"# unit: Mbit/s\n# n: 10\ndirection,value\nforward,2.00\n",
    );
    let measure = [
        "reproduce",
        "plan.toml",
        "--published",
        "table.csv",
        "--package",
        "answer.tar",
        "-q",
    ];
    place.run(&measure);
    place.run(&["list"]).done();
}

/// A stranger's package, whose plan each test writes.
struct Stranger {
    place: Place,
    mark: PathBuf,
    bait: Bait,
}

impl Stranger {
    fn new() -> Self {
        let (place, mark) = place_with_mark();
        package(&place);
        tar(&place, &["xf", "answer.tar", "table.csv", "runs/1.json"]);
        let bait = Bait::new();
        Self { place, mark, bait }
    }

    /// Reproduces the package with this plan, which starts nothing and contacts nobody.
    fn reproduced(&self, plan: &str, more: &[&str]) -> Ended {
        const PACK: [&str; 3] = ["cf", "evil.tar", "--format=ustar"];
        let files = ["plan.toml", "table.csv", "runs/1.json"];
        self.place.with("plan.toml", plan.as_bytes());
        tar(&self.place, &[&PACK[..], &files].concat());
        let ended = self.place.run(&[&["reproduce", "evil.tar"], more].concat());
        assert!(!self.mark.exists(), "{plan}: {ended:?}");
        self.bait.is_untouched();
        ended
    }

    /// A plan that measures at `host`.
    fn plan_at(host: &str) -> String {
        format!(
            "[study]\nhost = \"{host}\"\n[defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"200ms\"\n{FACTORS}"
        )
    }
}

const FACTORS: &str = "[factors]\ndirection = [\"forward\"]\n";

#[test]
fn a_host_that_the_user_names_replaces_the_one_of_a_package() {
    let stranger = Stranger::new();
    let address = stranger.bait.address();
    let refused = |plan: &str, more: &[&str]| stranger.reproduced(plan, more);
    // One host does not take the place of several: what to do is said at once, with --host and without.
    let two = "[study]\n[defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"200ms\"\n";
    let two = format!("{two}[factors]\nhost = [\"{address}\", \"192.0.2.1\"]\n");
    for more in [&[][..], &["--host", "127.0.0.1:9"], &["--run-programs"]] {
        refused(&two, more).failed(2, &["tar xf", "plan.toml --published table.csv"]);
    }
    // A board is looked for where it is contacted.
    let board = Stranger::plan_at("board://no-such-board");
    refused(&board, &[]).failed(2, &["board://no-such-board", "--host HOST"]);
    let ended = refused(&board, &["--host", "board://no-such-board"]);
    ended.failed(5, &["linerate board up no-such-board"]);
}

#[test]
fn a_package_starts_nothing_and_contacts_nobody() {
    let stranger = Stranger::new();
    let place = &stranger.place;
    let listed = place.listed().len();
    let refused = |plan: &str, more: &[&str]| stranger.reproduced(plan, more);
    let address = stranger.bait.address();
    let without = Stranger::plan_at(&address);
    refused(&without, &[]).failed(2, &[&address, "--host HOST"]);
    refused(&without, &["--run-programs"]).failed(2, &[&address, "--host HOST"]);
    for (defaults, tables) in &STARTS[..1] {
        let plan = format!("[study]\n[defaults]\ntime = \"200ms\"\n{defaults}{FACTORS}{tables}");
        refused(&plan, &[]).failed(2, &["`sh mark.sh`", "--run-programs"]);
    }
    let built_in = format!(
        "[study]\n[defaults]\nkind = \"udp\"\nrate = \"2M\"\nstack = \"kernel\"\ntime = \"200ms\"\n{FACTORS}"
    );
    refused(&built_in, &[]).failed(2, &["stack://kernel", "--run-programs"]);
    let device =
        format!("[study]\n[defaults]\nkind = \"switch\"\nports = \"porta,portb\"\n{FACTORS}");
    let named = "frames on the interfaces porta and portb";
    refused(&device, &[]).failed(2, &[named, "--run-programs"]);
    refused(&device, &["--host", "127.0.0.1:9"]).failed(2, &["leave --host out"]);
    // What the user must allow comes before runs are read, so these may be anything.
    place.with("runs/1.json", b"[0,0,0");
    refused(&without, &[]).failed(2, &[&address, "--host HOST"]);
    let named = ["--host", "127.0.0.1:9"];
    refused(&without, &named).failed(3, &["runs/1.json"]);
    let dense = "0,".repeat(200_000);
    let dense = format!("{{\"schema\":\"linerate/run/2\",\"x\":[{dense}0]}}");
    place.with("runs/1.json", dense.as_bytes());
    refused(&without, &named).failed(3, &["runs/1.json", "200004 values"]);
    tar(place, &["xf", "answer.tar", "runs/1.json"]);
    // A host that the user names lets no wrapper in.
    let wrapped = format!(
        "[study]\nhost = \"{address}\"\n[defaults]\nkind = \"latency\"\nwrap = \"sh mark.sh\"\ntime = \"200ms\"\n"
    );
    let wrapped = wrapped + "[factors]\ntransport = [\"udp\"]\n";
    let ended = refused(&wrapped, &["--host", "127.0.0.1:9"]);
    assert!([Some(2), Some(3)].contains(&ended.code), "{ended:?}");
    assert_eq!(place.listed().len(), listed);
}

#[test]
fn a_run_document_is_proved_only_at_the_peer_that_the_user_names() {
    let (place, mark) = place_with_mark();
    let server = Server::on("127.0.0.1");
    let test = [
        "udp",
        server.address(),
        "--rate",
        "1M",
        "-t",
        "300ms",
        "--no-store",
        "-o",
        "run.json",
        "-q",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .args(test)
        .current_dir(place.file(""))
        .output();
    assert!(output.unwrap().status.success());
    let document = std::fs::read_to_string(place.file("run.json")).unwrap();
    let bait = Bait::new();
    let moved = |peer: &str| {
        let mut run: serde_json::Value = serde_json::from_str(&document).unwrap();
        run["config"]["target"]["peer"] = peer.into();
        place.with("moved.json", run.to_string().as_bytes());
        let prove = |more: &[&str]| {
            let ended = place.run(&[&["explain", "moved.json", "--prove"], more].concat());
            assert!(!mark.exists(), "{ended:?}");
            bait.is_untouched();
            ended
        };
        prove(&[]).failed(2, &[peer, "--host HOST"]);
        prove(&["--run-programs"]).failed(2, &[peer, "--host HOST"]);
        prove(&["--host", "127.0.0.1:9"]).failed(2, &[peer, "proves nothing"]);
    };
    moved(&bait.address());
    let config = place.with("ssh.config", b"Host *\n  ProxyCommand sh mark.sh\n");
    moved(&format!(
        "ssh://nobody@127.0.0.1?config={}",
        config.display()
    ));
    let named = ["explain", "run.json", "--prove", "--host", server.address()];
    let proved = place.run(&named).done();
    assert!(
        proved.contains("  answer ") || proved.contains("could not be run: "),
        "{proved}"
    );
}

/// A store that is named for one command may have come from anybody, with every run in it.
#[test]
fn a_run_of_a_store_that_is_not_the_user_s_is_proved_only_at_a_named_peer() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let test = ["udp", server.address(), "--rate", "1M", "-t", "300ms"];
    place.run(&test).done();
    let id = place.listed()[0]["id"].as_str().unwrap().to_owned();
    let path = place.store().join(&id).join("run.json");
    let document = std::fs::read_to_string(&path).unwrap();
    let bait = Bait::new();
    let mut run: serde_json::Value = serde_json::from_str(&document).unwrap();
    run["config"]["target"]["peer"] = bait.address().into();
    std::fs::write(&path, run.to_string()).unwrap();
    for more in [&[][..], &["--run-programs"]] {
        for name in ["last", &id] {
            let words = [&["explain", name, "--prove"], more].concat();
            place
                .run(&words)
                .failed(2, &[&bait.address(), "--host HOST"]);
        }
    }
    bait.is_untouched();
    std::fs::write(&path, document).unwrap();
    let named = ["explain", "last", "--prove", "--host", server.address()];
    place.run(&named).done();
    place.run_own(&named[..3]).done();
}

#[test]
fn a_folder_of_logs_is_read_without_its_links_pipes_and_devices() {
    let place = Place::new();
    std::fs::create_dir(place.file("logs")).unwrap();
    std::fs::copy(good_log(), place.file("logs/good.log")).unwrap();
    let secret = place.with("secret.log", &std::fs::read(good_log()).unwrap());
    symlink(secret, place.file("logs/linked.log")).unwrap();
    symlink("/proc/kmsg", place.file("logs/kernel.log")).unwrap();
    symlink("/dev/zero", place.file("logs/zero.log")).unwrap();
    pipe(&place, "logs/pipe.log");
    let ended = place.run(&["import", "logs", "--json"]);
    assert!(ended.err.starts_with("note: left out"), "{ended:?}");
    let run = ended.json();
    assert_eq!(run["source"]["files"].as_array().unwrap().len(), 1, "{run}");
    assert_eq!(place.listed().len(), 1);
}

#[test]
fn a_store_with_pipes_and_links_is_listed_and_they_are_named() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    for (run, name) in [("a", "run.json"), ("b", "header.json")] {
        std::fs::create_dir(place.store().join(run)).unwrap();
        pipe(&place, &format!("store/{run}/{name}"));
        std::fs::create_dir(place.store().join(format!("{run}-link"))).unwrap();
        symlink(
            "/proc/kmsg",
            place.store().join(format!("{run}-link/{name}")),
        )
        .unwrap();
    }
    let listed = place.listed();
    let broken = listed.iter().filter(|run| run["broken"].is_string());
    assert_eq!((listed.len(), broken.count()), (5, 4), "{listed:?}");
    place
        .run(&["show", "a"])
        .failed(2, &["run.json", "not a regular file"]);
}

#[test]
fn what_has_no_end_is_refused_by_its_kind_and_a_pipe_of_the_shell_is_read() {
    let place = Place::new();
    for endless in ["/dev/zero", "/dev/tty0", "/proc/self/status", "/proc/kmsg"] {
        let ended = place.run(&["import", endless]);
        // A container may hide it.
        let hidden = ["No such file", "ermission denied", "not permitted"];
        if !hidden.iter().any(|why| ended.err.contains(why)) {
            ended.failed(3, &[endless, "not a regular file"]);
        }
    }
    for command in ["explain", "compare"] {
        let words = [command, "/proc/self/status", "/proc/self/status"];
        let words = if command == "explain" {
            &words[..2]
        } else {
            &words
        };
        let ended = place.run(words);
        assert!(ended.err.contains("not a regular file"), "{ended:?}");
    }
    let words = "exec \"$0\" import <(cat \"$1\") --store store";
    let mut shell = Command::new("bash");
    shell.args(["-c", words, env!("CARGO_BIN_EXE_linerate")]);
    shell.arg(good_log()).current_dir(place.file(""));
    Ended::spawn(&mut shell).done();
    assert_eq!(place.listed().len(), 1);
    pipe(&place, "pipe");
    let mut waiting = Running::start(&mut place.command(&["import", "pipe"]));
    waiting.signal(Signal::TERM);
    assert_ne!(waiting.wait(), Some(0));
    assert_eq!(place.listed().len(), 1);
}

fn pipe(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.file(name)).status();
    assert!(made.unwrap().success());
}

/// A connection from this address of loopback.
fn connection(from: &str, to: SocketAddr) -> TcpStream {
    try_connection(from, to).unwrap()
}

fn try_connection(from: &str, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let from = SocketAddr::new(from.parse().unwrap(), 0);
    bind(&socket, &from)?;
    connect(&socket, &to)?;
    Ok(socket.into())
}

/// A server with a key, of which a client is asked to make a test.
struct Guarded {
    place: Place,
    server: Server,
}

impl Guarded {
    fn new(more: &[&str]) -> Self {
        let place = Place::new();
        let key = place.with("key", b"a key of these tests, no other\n");
        std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let fixed = ["--listen", "127.0.0.1:0", "--key", key.to_str().unwrap()];
        let server = Server::with(&[&fixed[..], more].concat());
        Self { place, server }
    }

    fn address(&self) -> SocketAddr {
        self.server.address().parse().unwrap()
    }

    /// A test that a holder of the key asks for at this address.
    fn test_by(&self, address: &str) -> Ended {
        let test = "--key key --rate 1M -t 100ms --diagnose 0s";
        let test: Vec<_> = test.split(' ').collect();
        self.place.run(&[&["udp", address], &test[..]].concat())
    }

    #[track_caller]
    fn serves_a_key_holder(&self) {
        self.test_by(self.server.address()).done();
    }
}

#[test]
fn clients_that_come_again_and_again_keep_no_key_holder_out() {
    let guarded = Guarded::new(&[]);
    let (address, is_over) = (guarded.address(), AtomicBool::new(false));
    thread::scope(|scope| {
        for index in 0..64 {
            let is_over = &is_over;
            scope.spawn(move || {
                let from = format!("127.0.{}.1", 1 + index % 2);
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = try_connection(&from, address) else {
                        continue;
                    };
                    // Closed for the next one, or by the end of the test.
                    drop(stream.write_all(b"li"));
                    drop(stream.read(&mut [0]));
                }
            });
        }
        for _ in 0..3 {
            guarded.serves_a_key_holder();
        }
        is_over.store(true, Ordering::Relaxed);
        // Who waits for an answer hears of the server's end.
        drop(guarded);
    });
}

#[test]
fn silent_clients_keep_no_key_holder_out() {
    for (addresses, each) in [(2, 8), (4, 128)] {
        let guarded = Guarded::new(&[]);
        let silent = |index| {
            connection(
                &format!("127.0.{}.1", 1 + index % addresses),
                guarded.address(),
            )
        };
        let held: Vec<_> = (0..addresses * each).map(silent).collect();
        for _ in 0..3 {
            guarded.serves_a_key_holder();
        }
        assert!(guarded.server.status("Threads") < 100);
        drop(held);
    }
}

/// Bytes of preamble and handshake that a client with a key sends.
const OPENING: usize = 10 + 5 + 48;

/// Who sits between a client and the server at `to`, carries one connection, changes the byte of the client's that comes after
/// `untouched` bytes, and records what the client said.
fn relay(to: SocketAddr, untouched: usize) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let carry = move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        let mut back = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let back = thread::spawn(move || {
            drop(io::copy(&mut back.0, &mut back.1));
            drop(back.1.shutdown(Shutdown::Both));
        });
        let mut said = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let at = untouched.checked_sub(said.len());
            said.extend_from_slice(&bytes[..count]);
            if let Some(byte) = at.and_then(|at| bytes[..count].get_mut(at)) {
                *byte ^= 1;
            }
            if server.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        drop(server.shutdown(Shutdown::Both));
        back.join().unwrap();
        said
    };
    (address, thread::spawn(carry))
}

#[test]
fn who_sits_between_two_key_holders_reads_changes_and_repeats_nothing() {
    let guarded = Guarded::new(&["--max-clients", "2"]);
    let (address, recording) = relay(guarded.address(), usize::MAX);
    guarded.test_by(&address.to_string()).done();
    let recording = recording.join().unwrap();
    assert!(recording.len() > 500, "{}", recording.len());
    let shown = |word: &&str| {
        recording
            .windows(word.len())
            .any(|at| at == word.as_bytes())
    };
    let words = ["linerate", "transport", "payload", "udp", "version"];
    assert_eq!(words.iter().filter(|word| shown(word)).count(), 1);
    // A changed byte in what comes after the handshake: hello, plan.
    for at in [OPENING + 2, OPENING + 20, OPENING + 200] {
        let (address, recording) = relay(guarded.address(), at);
        let ended = guarded.test_by(&address.to_string());
        ended.failed(5, &["the control connection was changed on its way"]);
        drop(recording.join());
    }
    // A recorded opening is answered, and holds none of the two places; a whole recording opens nothing.
    let again = |bytes: &[u8]| {
        let mut stream = connection("127.0.0.1", guarded.address());
        stream.write_all(bytes).unwrap();
        let mut answer = [0; OPENING];
        stream.read_exact(&mut answer).unwrap();
        stream
    };
    let held: Vec<_> = (0..8).map(|_| again(&recording[..OPENING])).collect();
    guarded.serves_a_key_holder();
    drop(held);
    let mut rest = Vec::new();
    again(&recording).read_to_end(&mut rest).unwrap();
    assert!(
        rest.len() < 600,
        "no more than a sealed goodbye: {}",
        rest.len()
    );
    guarded.serves_a_key_holder();
}

#[test]
fn clients_that_are_refused_by_their_address_take_nothing_from_others() {
    let guarded = Guarded::new(&["--only", "127.0.0.1"]);
    let held: Vec<_> = (0..100)
        .map(|_| connection("127.0.9.1", guarded.address()))
        .collect();
    guarded.serves_a_key_holder();
    assert!(guarded.server.status("Threads") < 20);
    drop(held);
}

#[test]
fn a_server_with_half_open_clients_on_every_port_ends_when_it_is_told() {
    let ports = [
        "native",
        "iperf3:0",
        "iperf2:0",
        "netperf:0",
        "sockperf:0",
        "sfnt:0",
    ]
    .join(",");
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--speak", &ports]);
    let mut running = Running::start(&mut command);
    let mut lines = BufReader::new(running.take_stderr()).lines();
    let mut held = Vec::new();
    for _ in 0..6 {
        let line = lines.next().unwrap().unwrap();
        let mut words = line.split([' ', ',', ';']);
        let address = words.find_map(|word| word.parse::<SocketAddr>().ok());
        let address = address.unwrap_or_else(|| panic!("{line}"));
        for index in 0..5 {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&b"line"[..index.min(4)]).unwrap();
            held.push(stream);
        }
    }
    running.signal(Signal::TERM);
    assert_eq!(running.wait(), Some(0));
    drop(held);
}
