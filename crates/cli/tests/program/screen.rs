//! What people see: the program on a terminal of a given size.

use crate::harness::{Place, Server, fixture, good_log};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;

/// A terminal of this many columns and rows: the end that a user looks at, and the program's.
fn terminal(columns: u16, rows: u16) -> (OwnedFd, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&user, size).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap();
    // The test must not come under the control of it.
    let program = open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (user, File::from(program))
}

/// What a program wrote to a terminal, escape sequences included, and its exit code. Standard error goes there too.
pub(crate) fn on_terminal(command: &mut Command, columns: u16, rows: u16) -> (Option<i32>, String) {
    let (user, program) = terminal(columns, rows);
    shown_on(command, user, program)
}

fn shown_on(command: &mut Command, user: OwnedFd, program: File) -> (Option<i32>, String) {
    let reader = thread::spawn(move || {
        let mut written = Vec::new();
        let mut chunk = [0; 4096];
        let mut user = File::from(user);
        // Linux ends a terminal that no program holds any more with an error.
        while let Ok(length @ 1..) = user.read(&mut chunk) {
            written.extend_from_slice(&chunk[..length]);
        }
        String::from_utf8(written).unwrap()
    });
    let mut child = command
        .env("TERM", "xterm-256color")
        .stdout(Stdio::from(program.try_clone().unwrap()))
        .stderr(Stdio::from(program))
        .spawn()
        .unwrap();
    let code = child.wait().unwrap().code();
    // The command holds the terminal's end too.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    (code, reader.join().unwrap())
}

/// What stays on the screen: lines without escape sequences, each as it was last written.
pub(crate) fn lines(written: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in plain(written).split('\n') {
        let line = line.trim_end_matches('\r');
        let last = line.rsplit('\r').next().unwrap_or_default();
        lines.push(last.trim_end().to_owned());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The text without escape sequences.
fn plain(written: &str) -> String {
    let mut text = String::new();
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            text.push(letter);
            continue;
        }
        if letters.next() == Some('[') {
            letters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    text
}

/// The program over the store of `place`, on a terminal.
fn shown(place: &Place, args: &[&str], columns: u16) -> Vec<String> {
    let (code, written) = on_terminal(&mut place.command(args), columns, 24);
    assert_eq!(code, Some(0), "{written}");
    lines(&written)
}

#[track_caller]
fn fits(shown: &[String], columns: usize) {
    // An error is one line on every terminal, which wraps it itself.
    for line in shown.iter().filter(|line| !line.starts_with("linerate: ")) {
        assert!(line.chars().count() <= columns, "{columns}: {line}");
    }
}

/// Whoever holds the other end of a terminal can give it any size, and each place of the view takes memory.
#[test]
fn a_terminal_of_any_size_can_be_drawn_on() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    for (columns, rows) in [(u16::MAX, u16::MAX), (u16::MAX, 1), (1, u16::MAX), (1, 1)] {
        let (user, program) = terminal(columns, rows);
        let test = "--rate 1M -t 300ms --diagnose 0s --live";
        let words: Vec<_> = ["udp", server.address()]
            .into_iter()
            .chain(test.split(' '))
            .collect();
        let mut command = place.command(&words);
        command.stdin(Stdio::from(program.try_clone().unwrap()));
        let (code, written) = shown_on(&mut command, user, program);
        assert_eq!(code, Some(0), "{columns} x {rows}: {written}");
    }
}

fn imported() -> Place {
    let place = Place::new();
    let log = good_log();
    place.run(&["import", log.to_str().unwrap()]).done();
    place
}

/// The words of a text, however they are wrapped.
fn words(lines: &[String]) -> String {
    lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect()
}

#[test]
fn a_summary_is_one_screen_at_80_and_at_200_columns_and_says_the_same() {
    let place = imported();
    let narrow = shown(&place, &["show", "last"], 80);
    fits(&narrow, 80);
    assert!(narrow.len() <= 23, "{narrow:#?}");
    let wide = shown(&place, &["show", "last"], 200);
    fits(&wide, 200);
    assert!(wide.len() < narrow.len());
    assert!(narrow[0].contains("Mbit/s"), "{narrow:#?}");
    // What has room at 80 columns is whole, and the same as on a wide terminal and in a pipe.
    let piped = place.run(&["show", "last"]).done();
    for whole in [words(&wide), piped.split_whitespace().collect()] {
        for line in narrow
            .iter()
            .filter(|line| line.starts_with("  ") && line.len() > 60)
        {
            let line: String = line.split_whitespace().collect();
            assert!(whole.contains(&line), "{line} is not in {whole}");
        }
    }
}

#[test]
fn a_pipe_gets_whole_lines() {
    let place = imported();
    let explained = place.run(&["explain", "last"]).done();
    let verbose = place.run(&["show", "last", "--verbose"]).done();
    for text in [explained, verbose] {
        assert!(
            text.lines().any(|line| line.chars().count() > 100),
            "{text}"
        );
        assert!(!text.contains('…') && !text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn every_command_that_prints_wraps_at_the_terminal_s_width() {
    let place = imported();
    let other = fixture("tcp/board-receives.client.log");
    let (log, other) = (good_log(), other);
    let (log, other) = (log.to_str().unwrap(), other.to_str().unwrap());
    for args in [
        &["show", "last", "--verbose"][..],
        &["explain", "last"],
        &["report", "last"],
        &["compare", log, other, "--metric", "received"],
    ] {
        for columns in [80, 200] {
            let (_, written) = on_terminal(&mut place.command(args), columns, 24);
            fits(&lines(&written), columns.into());
            assert!(!written.contains('…'), "{written}");
        }
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = imported();
    let (_, written) = on_terminal(&mut place.command(&["show", "last"]), 80, 24);
    assert!(written.contains("\u{1b}[1m"), "{written}");
    let mut declined = place.command(&["show", "last"]);
    let (_, written) = on_terminal(declined.env("NO_COLOR", "1"), 80, 24);
    assert!(!written.contains('\u{1b}'), "{written}");
}

#[test]
fn a_test_ends_with_one_screen() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let address = server.address();
    for args in [
        &["tcp", address, "-t", "300ms", "--diagnose", "300ms"][..],
        &["udp", address, "--rate", "5M", "-t", "300ms"],
        &[
            "latency",
            address,
            "-t",
            "100ms",
            "--warm-up",
            "10ms",
            "--sizes",
            "32,1K",
        ],
    ] {
        for columns in [80, 200] {
            let mut command = place.command(&[args, &["--quiet"]].concat());
            let (code, written) = on_terminal(&mut command, columns, 24);
            let shown = lines(&written);
            assert_eq!(code, Some(0), "{written}");
            fits(&shown, columns.into());
            assert!(shown.len() <= 23, "{shown:#?}");
            assert!(shown[0].contains(address), "{shown:#?}");
            let run = shown.iter().find(|line| line.starts_with("  run "));
            let id = run.unwrap().split_whitespace().last().unwrap();
            place.run(&["show", id]).done();
        }
    }
}

/// The rows of a table that a terminal showed under the heading that begins with `head`.
fn rows<'a>(shown: &'a [String], head: &str, row: &str) -> Vec<&'a String> {
    let at = shown
        .iter()
        .position(|line| line.trim_start().starts_with(head));
    let at = at.unwrap_or_else(|| panic!("no heading {head}: {shown:#?}"));
    let rows = shown[at + 1..].iter();
    rows.filter(|line| line.contains(row)).collect()
}

#[test]
fn a_test_shows_a_line_per_interval_while_it_goes_on() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let address = server.address();
    for (args, figures) in [
        (
            &[
                "tcp", address, "-t", "1500ms", "-i", "500ms", "--pace", "40M",
            ][..],
            &["iB", " %"][..],
        ),
        (
            &[
                "tcp", address, "-t", "1500ms", "-i", "500ms", "--pace", "40M", "-R",
            ],
            &[" %"],
        ),
        (
            &[
                "udp", address, "--rate", "4M", "-t", "1500ms", "-i", "500ms",
            ],
            &["0 (0 %)", " %"],
        ),
    ] {
        for columns in [80, 200] {
            let args = [args, &["--diagnose", "0s"]].concat();
            let (code, written) = on_terminal(&mut place.command(&args), columns, 24);
            assert_eq!(code, Some(0), "{written}");
            let shown = lines(&written);
            fits(&shown, columns.into());
            let rows = rows(&shown, "time", "bit/s");
            let rows: Vec<_> = rows
                .iter()
                .filter(|row| row.contains("–") && row.contains(" s "))
                .collect();
            assert_eq!(rows.len(), 3, "{shown:#?}");
            for figure in figures {
                assert!(rows[1].contains(figure), "{figure}: {rows:#?}");
            }
        }
    }
}

#[test]
fn both_directions_show_their_own_lines() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "tcp",
        server.address(),
        "-t",
        "1s",
        "-i",
        "500ms",
        "--pace",
        "40M",
        "--duplex",
        "--diagnose",
        "0s",
    ];
    let (_, written) = on_terminal(&mut place.command(&args), 80, 24);
    let shown = lines(&written);
    for way in ["→", "←"] {
        let rows = rows(&shown, "time", way);
        let rows = rows.iter().filter(|row| row.starts_with(way)).count();
        assert_eq!(rows, 2, "{way}: {shown:#?}");
    }
}

#[test]
fn a_search_shows_a_line_per_trial_with_its_curve() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "saturate",
        server.address(),
        "--max",
        "20M",
        "--budget",
        "3s",
        "--diagnose",
        "0s",
    ];
    let (code, written) = on_terminal(&mut place.command(&args), 80, 24);
    assert!(matches!(code, Some(0 | 7)), "{written}");
    let shown = lines(&written);
    let rows = rows(&shown, "trial", "█");
    let stored = place.run(&["export", "last"]).document();
    assert_eq!(
        rows.len(),
        stored["trials"].as_array().unwrap().len(),
        "{shown:#?}"
    );
    fits(&shown, 80);
}

#[test]
fn what_is_no_terminal_gets_no_lines_meanwhile() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "tcp",
        server.address(),
        "-t",
        "500ms",
        "-i",
        "100ms",
        "--diagnose",
        "0s",
    ];
    place.run(&args).done();
}
