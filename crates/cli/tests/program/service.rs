//! `linerate serve` as a service: its configuration, its log, and what it tells the service manager.

use crate::harness::{Place, Server, linerate};
use rustix::process::Signal;
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
