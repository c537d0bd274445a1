//! `--live` on a real terminal: it fills it, follows its size, and gives it back however it ends.

use crate::harness::{Ended, Place, Server, linerate};
use linerate_testkit::tmux::Tmux;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 60);

/// What stands on every screen of a test under way.
const PARTS: [&str; 11] = [
    "rate, ",
    "path: ",
    "app",
    "socket",
    "qdisc",
    "NIC",
    "network",
    "backlog",
    "ledger",
    "CPU by core",
    "log",
];

/// A terminal whose shell remembers its settings, with a line that must still be there in the end.
fn terminal((columns, rows): (u16, u16)) -> Tmux {
    let terminal = Tmux::new(columns, rows);
    terminal.line("PS2=; before=$(stty -a); echo ear''lier");
    terminal.wait_for("the shell", |screen| screen.contains("earlier"));
    terminal
}

/// The command as the shell takes it: its process is in a file, its exit code on the screen after it.
fn run(terminal: &Tmux, place: &Place, args: &[&str]) {
    let (pid, store) = (place.file("pid"), place.store());
    let (pid, store, program) = (
        pid.display(),
        store.display(),
        env!("CARGO_BIN_EXE_linerate"),
    );
    let script = format!(
        "sh -c 'echo $$ >{pid}; exec {program} {} --store {store}'; echo code=$?",
        args.join(" ")
    );
    let file = place.with("run.sh", script.as_bytes());
    terminal.line(&format!(". {}", file.display()));
}

/// Waits until the screen shows all parts of a test under way, at this size to its edges.
fn shows_all(terminal: &Tmux, (columns, rows): (u16, u16)) -> String {
    let screen = terminal.wait_for("the view", |screen| {
        let is_wide = screen
            .lines()
            .any(|line| line.chars().count() == usize::from(columns));
        let last = screen.lines().nth(usize::from(rows) - 1);
        let has_keys = last.is_some_and(|line| line.starts_with("q end the test"));
        is_wide && has_keys && PARTS.iter().all(|part| screen.contains(part))
    });
    assert!(!screen.contains('…'), "{screen}");
    assert!(!screen.contains("earlier"), "{screen}");
    screen
}

/// Waits for the exit code; the terminal is as it was before the command.
#[track_caller]
fn is_given_back(terminal: &Tmux, codes: &[i32]) -> String {
    terminal.wait_for(&format!("one of {codes:?}"), |screen| {
        codes
            .iter()
            .any(|code| screen.lines().any(|line| line == format!("code={code}")))
    });
    terminal.line("[ \"$before\" = \"$(stty -a)\" ] && echo sa''me");
    let screen = terminal.wait_for("the settings of before", |screen| screen.contains("same"));
    assert!(!screen.contains("path: packets"), "{screen}");
    screen
}

/// How a user asks for the end.
enum Wish {
    Key(&'static str),
    Signal(Signal),
}

#[test]
#[ignore = "needs tmux"]
fn the_view_fills_any_terminal_and_every_wish_to_end_gives_it_back() {
    let (place, server, terminal) = (Place::new(), Server::on("127.0.0.1"), terminal(SMALL));
    for (number, wish) in (1..).zip([
        Wish::Key("q"),
        Wish::Key("Escape"),
        Wish::Key("C-c"),
        Wish::Signal(Signal::INT),
        Wish::Signal(Signal::TERM),
        Wish::Signal(Signal::HUP),
    ]) {
        terminal.line("clear; echo ear''lier");
        terminal.wait_for("an empty screen", |screen| screen.starts_with("earlier"));
        run(
            &terminal,
            &place,
            &[
                "tcp",
                server.address(),
                "-t",
                "1h",
                "-i",
                "200ms",
                "--pace",
                "20M",
                "--live",
            ],
        );
        shows_all(&terminal, SMALL);
        terminal.resize(LARGE);
        shows_all(&terminal, LARGE);
        terminal.resize(SMALL);
        shows_all(&terminal, SMALL);
        match wish {
            Wish::Key(key) => terminal.key(key),
            Wish::Signal(signal) => {
                let pid = std::fs::read_to_string(place.file("pid")).unwrap();
                let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
                kill_process(pid, signal).unwrap();
            }
        }
        let screen = is_given_back(&terminal, &[1]);
        assert!(screen.contains("was interrupted"), "{screen}");
        // What it had measured is kept.
        let runs = place.listed();
        assert_eq!(runs.len(), number);
        assert!(
            runs.iter().all(|run| run["status"] == "incomplete"),
            "{runs:?}"
        );
    }
}

#[test]
#[ignore = "needs tmux"]
fn after_the_view_the_summary_stands_below_what_was_on_the_terminal() {
    // The summary alone may fill 24 rows.
    let terminal = terminal((80, 50));
    let (place, server) = (Place::new(), Server::on("127.0.0.1"));
    let address = server.address();
    for args in [
        &[
            "udp",
            address,
            "--rate",
            "5M",
            "-t",
            "1s",
            "--diagnose",
            "500ms",
        ][..],
        &["latency", address, "-t", "200ms", "--sizes", "32,1K"],
        &[
            "saturate",
            address,
            "--max",
            "20M",
            "--budget",
            "3s",
            "--loss-goal",
            "99%",
            "--diagnose",
            "0s",
        ],
    ] {
        terminal.line("clear; echo ear''lier");
        terminal.wait_for("an empty screen", |screen| screen.starts_with("earlier"));
        run(&terminal, &place, &[args, &["--live"]].concat());
        terminal.wait_for("the view", |screen| screen.contains("path: packets"));
        // A busy machine may miss the search's goal.
        let screen = is_given_back(&terminal, &[0, 7]);
        assert!(screen.contains("earlier"), "{screen}");
        // The screen was empty before, so an id on it is that of this run.
        let listed = place.listed();
        let mut ids = listed.iter().map(|run| run["id"].as_str().unwrap());
        assert!(ids.any(|id| screen.contains(id)), "{screen}");
    }
}

#[test]
#[ignore = "needs tmux"]
fn panels_scroll_by_keys() {
    let (place, server, terminal) = (Place::new(), Server::on("127.0.0.1"), terminal(SMALL));
    run(
        &terminal,
        &place,
        &[
            "udp",
            server.address(),
            "--rate",
            "2M",
            "-t",
            "1h",
            "-i",
            "200ms",
            "--live",
        ],
    );
    shows_all(&terminal, SMALL);
    terminal.wait_for("a ledger that is longer than its panel", |screen| {
        screen.contains("ledger ↓")
    });
    terminal.key("Tab");
    terminal.key("Down");
    terminal.wait_for("the ledger a line further", |screen| {
        screen.contains("ledger ↑1")
    });
    terminal.key("End");
    terminal.wait_for("its end", |screen| {
        screen.contains("ledger ↑") && !screen.contains("ledger ↑1 ↓")
    });
    terminal.key("Home");
    terminal.wait_for("its beginning", |screen| screen.contains("ledger ↓"));
    terminal.key("q");
    is_given_back(&terminal, &[1]);
}

#[test]
#[ignore = "needs tmux"]
fn a_command_that_waits_for_its_peer_ends_and_gives_the_terminal_back() {
    let (place, terminal) = (Place::new(), terminal(SMALL));
    // Accepts and says nothing.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap().to_string();
    run(
        &terminal,
        &place,
        &["tcp", &address, "--timeout", "1h", "--live"],
    );
    terminal.wait_for("the view", |screen| screen.contains("Connecting"));
    terminal.key("q");
    let screen = is_given_back(&terminal, &[1]);
    assert!(screen.contains("interrupted before"), "{screen}");
}

#[test]
fn without_a_terminal_or_with_an_option_that_shows_nothing_it_is_a_usage_error() {
    let test = ["tcp", "127.0.0.1:1", "--live", "--no-store"];
    let failed = |more: &[&str]| Ended::spawn(linerate().args(test).args(more));
    failed(&[]).failed(2, &["--live needs a terminal", "leave out --live"]);
    failed(&["--quiet"]).failed(2, &["--live", "--quiet"]);
    failed(&["--stream"]).failed(2, &["--live", "--stream"]);
    Ended::spawn(linerate().args(["list", "--live"])).failed(2, &["--live"]);
}
