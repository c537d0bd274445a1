//! `linerate serve` as a service: its configuration, its log, and what it tells the service manager.

use crate::harness::{Place, Server, linerate};
use crate::stacks::until;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::ByteCount;
use linerate_model::spec::{Stop, TestSpec};
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::Command;

#[test]
fn options_come_from_a_file_and_the_command_line_comes_first() {
    let place = Place::new();
    let file = place.with(
        "serve.toml",
        b"listen = \"127.0.0.1:0\"\nmax-duration = \"2s\"\nmax-clients = 1\n",
    );
    let server = Server::with(&["--config", file.to_str().unwrap(), "--max-duration", "3s"]);
    let refused = place.run(&["tcp", server.address(), "-t", "5"]);
    refused.failed(2, &["use at most 3s"]);
    let (code, _) = server.stop(Signal::TERM);
    assert_eq!(code, Some(0));
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let place = Place::new();
    for (text, said) in [
        (
            "listen = \"127.0.0.1:0\"\nmax_clients = 1\n",
            "serve.toml, line 2: there is no key \"max_clients\": write max-clients",
        ),
        (
            "max-clients = \"many\"\n",
            "serve.toml, line 1: max-clients: invalid value 'many'",
        ),
        (
            "allow = \"10.0.0.0/8\"\nonly = \"private\"\n",
            "serve.toml: the argument",
        ),
        ("listen = \n", "serve.toml, line 1"),
    ] {
        place.with("serve.toml", text.as_bytes());
        place
            .run(&["serve", "--config", "serve.toml"])
            .failed(3, &[said]);
    }
    place
        .run(&["serve", "--config", "none.toml"])
        .failed(3, &["none.toml", "--config takes"]);
}

#[test]
fn a_hang_up_reads_the_file_again_and_a_wrong_one_changes_nothing() {
    let place = Place::new();
    let with = |limit: &str| {
        let text = format!("listen = \"127.0.0.1:0\"\nmax-duration = \"{limit}\"\n");
        place.with("serve.toml", text.as_bytes())
    };
    let file = with("2s");
    let server = Server::with(&["--config", file.to_str().unwrap()]);
    let ask = |seconds: &str| place.run(&["tcp", server.address(), "-t", seconds, "-q"]);
    ask("4").failed(2, &["use at most 2s"]);
    with("3s");
    server.signal(Signal::HUP);
    server.said_until("configuration reloaded: changed max-duration");
    ask("4").failed(2, &["use at most 3s"]);
    with("soon");
    server.signal(Signal::HUP);
    let said = server.said_until("not reloaded");
    assert!(said.contains("serve.toml, line 2: max-duration"), "{said}");
    ask("4").failed(2, &["use at most 3s"]);
    place.with("serve.toml", b"max-duration = \"3s\"\n");
    server.signal(Signal::HUP);
    server.said_until("only a restart changes listen");
    let (code, _) = server.stop(Signal::TERM);
    assert_eq!(code, Some(0));
}

#[test]
fn the_service_manager_hears_when_it_is_ready_reloads_lives_and_stops() {
    let place = Place::new();
    let socket = place.file("notify");
    let heard = UnixDatagram::bind(&socket).unwrap();
    let next = || {
        let mut bytes = [0; 256];
        let length = heard.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let file = place.with(
        "serve.toml",
        b"listen = \"127.0.0.1:0\"\nlog = \"journal\"\n",
    );
    let mut command = linerate();
    command.arg("serve").arg("--config").arg(file);
    command
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "300000");
    let server = Server::by_with_prefix(&mut command, "<6>serving");
    assert_eq!(next().trim(), "READY=1");
    while next().trim() != "WATCHDOG=1" {}
    server.signal(Signal::HUP);
    while !next().starts_with("RELOADING=1\nMONOTONIC_USEC=") {}
    while next().trim() != "READY=1" {}
    let (code, said) = server.stop(Signal::TERM);
    assert!(said.contains("<6>configuration reloaded"), "{said}");
    while next().trim() != "STOPPING=1" {}
    assert_eq!(code, Some(0));
}

/// A program that starts another with sockets as systemd does: descriptors from 3 on, and how many there are.
const ACTIVATE: &str = r#"
import os, socket, sys
kinds = sys.argv[1]
tcp = socket.create_server(("127.0.0.1", 0))
port = tcp.getsockname()[1]
opened = [tcp]
if "u" in kinds:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    opened.append(udp)
kept = [os.dup(one.fileno()) for one in opened]
high = [os.dup2(fd, 20 + at) for at, fd in enumerate(kept)]
for at, fd in enumerate(high):
    os.dup2(fd, 3 + at)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = str(len(opened))
listen = str(port) if "o" not in kinds else "0"
os.execv(sys.argv[2], [sys.argv[2], "serve", "--listen", "127.0.0.1:" + listen] + sys.argv[3:])
"#;

fn activated(kinds: &str, options: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", ACTIVATE, kinds, env!("CARGO_BIN_EXE_linerate")]);
    command.args(options);
    command
}

#[test]
#[ignore = "needs python3"]
fn sockets_of_the_service_manager_are_served() {
    let place = Place::new();
    for (kinds, options) in [
        ("t", &[][..]),
        ("tu", &["--one-port"]),
        ("t", &["--one-port"]),
    ] {
        let server = Server::by(&mut activated(kinds, options));
        place
            .run(&["udp", server.address(), "--rate", "1M", "-t", "0.2s"])
            .done();
        let (code, _) = server.stop(Signal::TERM);
        assert_eq!(code, Some(0));
    }
    let output = activated("to", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing is served there"), "{said}");
}

#[test]
fn a_log_for_machines_and_one_for_people_have_the_time() {
    let place = Place::new();
    let output = place.run(&["serve", "--listen", "127.0.0.1:0", "--log", "tables"]);
    output.failed(2, &["--log"]);
    let server = Server::by_with_prefix(
        linerate().args(["serve", "--listen", "127.0.0.1:0", "--log", "text"]),
        "20",
    );
    place.run(&["tcp", server.address(), "-t", "0.2s"]).done();
    let (_, said) = server.stop(Signal::TERM);
    let left = said.lines().find(|line| line.ends_with(" left"));
    let left = left.unwrap_or_else(|| panic!("{said}"));
    let (time, _) = left.split_once(' ').unwrap();
    assert!(time.ends_with('Z') && time.len() >= 20, "{left}");
}

/// The answer to a request, whole.
fn asked(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a series.
fn value(page: &str, series: &str) -> u32 {
    let mut lines = page.lines();
    let found = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    let whole = found.and_then(|value| value.parse().ok());
    whole.unwrap_or_else(|| panic!("{series}\n{page}"))
}

fn series(page: &str) -> usize {
    page.lines()
        .filter(|line| line.starts_with("linerate_"))
        .count()
}

#[test]
fn metrics_count_every_test_and_never_grow() {
    const TESTS: u32 = 200;
    let server = Server::with(&[
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
        "--budget",
        "client=2M",
    ]);
    let listening = server.said_until("serving metrics on ");
    let metrics = listening.rsplit(' ').next().unwrap();
    let first = asked(metrics, "/metrics");
    let peer = PeerAddress::parse(server.address()).unwrap();
    let mut client = Client::connect(&Target::new(peer)).unwrap();
    let spec = TestSpec {
        stop: Stop::Bytes(ByteCount::new(5000)),
        ..TestSpec::tcp_bulk()
    };
    for _ in 0..TESTS {
        client.run(&spec, &mut |_| true).unwrap();
    }
    let more = TestSpec {
        stop: Stop::Bytes(ByteCount::new(2 << 20)),
        ..TestSpec::tcp_bulk()
    };
    client.run(&more, &mut |_| true).unwrap_err();
    drop(client);
    server.said_until(" left");
    // The session is over a moment after it is said.
    let page = until(|| {
        Some(asked(metrics, "/metrics")).filter(|page| value(page, "linerate_clients") == 0)
    });
    let tests = |result| {
        let series = format!("linerate_tests_total{{protocol=\"native\",result=\"{result}\"}}");
        value(&page, &series)
    };
    assert_eq!(tests("complete"), TESTS, "{page}");
    assert_eq!(tests("refused"), 1, "{page}");
    assert_eq!(tests("ended"), 0, "{page}");
    let refusals = "linerate_refusals_total{protocol=\"native\",reason=\"limit\"}";
    assert_eq!(value(&page, refusals), 1, "{page}");
    let bytes = "linerate_payload_bytes_total{protocol=\"native\",direction=\"received\"}";
    assert_eq!(value(&page, bytes), TESTS * 5000, "{page}");
    assert_eq!(series(&page), series(&first), "{page}");
    assert_eq!(value(&page, "linerate_streams"), 0, "{page}");
    assert!(asked(metrics, "/health").starts_with("HTTP/1.1 200 OK\r\n"));
    let (code, said) = server.stop(Signal::TERM);
    assert_eq!(code, Some(0));
    assert!(said.contains("TCP bulk, 1 stream to here: "), "{said}");
}

#[test]
fn a_port_for_metrics_that_is_taken_is_said_before_anything_is_served() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new();
    place
        .run(&["serve", "--listen", "127.0.0.1:0", "--metrics", &address])
        .failed(4, &[&address, "--metrics"]);
}

#[test]
fn beyond_its_budget_a_test_is_refused_or_ends_and_both_ends_say_why() {
    let place = Place::new();
    let server = Server::with(&["--listen", "127.0.0.1:0", "--budget", "client=1M"]);
    let known = ["udp", server.address(), "--rate", "100M", "-t", "10"];
    place.run(&known).failed(2, &["budget", "left"]);
    let unknown = place.run(&["tcp", server.address(), "-t", "20"]);
    unknown.failed(2, &["budget", "0 B left"]);
    let (code, said) = server.stop(Signal::TERM);
    assert_eq!(code, Some(0));
    let ended = said
        .lines()
        .filter(|line| line.contains("limit: this server's budget"));
    assert_eq!(ended.count(), 2, "{said}");
    assert!(said.contains("ended early"), "{said}");
}
