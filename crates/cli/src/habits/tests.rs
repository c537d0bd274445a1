use super::table::{ALL, Habit, Here};
use super::*;
use crate::commands::Cli;
use clap::{CommandFactory as _, Parser as _};
use std::collections::BTreeSet;

/// What is said of a command line, which must be refused.
fn said(line: &str) -> Option<Answer> {
    let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let all = std::iter::once("linerate".to_owned()).chain(args.iter().cloned());
    let refused = Cli::try_parse_from(all).expect_err(line);
    answer(&args, &refused, &mut Cli::command())
}

/// The command that is answered, which must be one that is understood.
#[track_caller]
fn command(line: &str) -> String {
    let error = said(line).unwrap_or_else(|| panic!("{line}")).error;
    let command = error.split('`').rev().nth(1).unwrap().to_owned();
    if let Err(error) = Cli::try_parse_from(command.split(' ')) {
        panic!("{line}: {command}: {error}");
    }
    command
}

#[test]
fn a_command_line_of_iperf_is_answered_with_the_one_to_use() {
    for (written, here) in [
        ("-c board", "linerate tcp board"),
        ("-c board -R -P 4 -t 5", "linerate tcp board -R -P 4 -t 5"),
        ("-c board -u -b 100M", "linerate udp board --rate 100M"),
        ("-c board -u", "linerate udp board --rate 1M"),
        ("-c board -u -b 0", "linerate udp board --rate max"),
        (
            "-uRc board -b10m -t5",
            "linerate udp board --rate 10m -R -t 5",
        ),
        (
            "-c board -u -b 2.5M -P 4",
            "linerate udp board --rate 10M -P 4",
        ),
        (
            "-c board -b 0 --bidir -J",
            "linerate tcp board --duplex --json",
        ),
        ("-c fe80::1 -p 5201 -6", "linerate tcp '[fe80::1]:5201' -6"),
        (
            "-c board --omit=2 -w 1M",
            "linerate tcp board --warm-up 2 --send-buffer 1M --receive-buffer 1M",
        ),
        ("-c board -A 2", "linerate tcp board --cpu 2,"),
        (
            "-c board -C bbr -l 64K",
            "linerate tcp board -C bbr --payload 64K",
        ),
        ("-s", "linerate serve"),
        ("-s -p 5201 -1", "linerate serve --listen [::]:5201 --once"),
        ("serve -p 5201", "linerate serve --listen [::]:5201"),
        (
            "tcp board -u -b 100M -t 5",
            "linerate udp board --rate 100M -t 5",
        ),
        (
            "tcp -c board --quiet -V",
            "linerate tcp board --quiet --verbose",
        ),
        (
            "udp board -u -p 5301 --rate 5M",
            "linerate udp board:5301 --rate 5M",
        ),
        (
            "udp board --rate 5M -w 64K --interface eth0",
            "linerate udp board --rate 5M --send-buffer 64K --receive-buffer 64K --interface eth0",
        ),
    ] {
        // A shell's quotes are no part of the words.
        assert_eq!(
            command(&written.replace('\'', "")),
            here.replace('\'', ""),
            "{written}"
        );
    }
}

#[test]
fn what_has_no_counterpart_is_named_with_the_reason() {
    let answer = said("-c board -n 1G -V -t 5").unwrap();
    assert_eq!(
        answer.error,
        "`-c`, `-n`, `-V` as iperf has it; the same here is `linerate tcp board --verbose -t 5`"
    );
    assert!(answer.notes[0].starts_with("left out -n: a test ends after a time"));
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note.contains("iperf3://board"))
    );
}

#[test]
fn other_mistakes_keep_their_own_answer() {
    for line in [
        "tcp",
        "tcp board --colour",
        "udp board",
        "measure",
        "-x",
        "list -p 1",
        "tcp board -t never",
    ] {
        assert_eq!(said(line), None, "{line}");
    }
}

#[test]
fn what_is_the_same_here_is_understood() {
    let tcp = |words: &str| Cli::try_parse_from(format!("linerate tcp board {words}").split(' '));
    for words in [
        "-R -P 4 -t 5 -i 1 -O 1 -l 64K -C cubic -J",
        "--bidir --parallel 4 --omit 1 --length 64K",
        "-b 100M -P 2 -4",
        "--get-server-output -6",
    ] {
        tcp(words).unwrap_or_else(|error| panic!("{words}: {error}"));
    }
    assert!(tcp("-b 10M --pace 10M").is_err());
    Cli::try_parse_from("linerate udp board -u -b 10Mbit -R".split(' ')).unwrap();
}

#[test]
fn every_option_is_listed_once() {
    let mut seen = BTreeSet::new();
    for habit in ALL {
        let letters = habit.short.map(|letter| letter.to_string());
        let words = habit.long.iter().map(|word| (*word).to_owned());
        for name in letters.into_iter().chain(words) {
            assert!(seen.insert(name.clone()), "{name}");
        }
    }
}

/// The table of the guide, and the options that have no place here, which an answer explains.
fn page() -> (String, String) {
    let names = |habit: &Habit| {
        let letter = habit.short.map(|letter| format!("`-{letter}`"));
        let words = habit.long.iter().map(|word| format!("`--{word}`"));
        let names: Vec<_> = letter.into_iter().chain(words).collect();
        names.join(", ")
    };
    let (mut rows, mut without) = (Vec::<(String, Vec<String>)>::new(), Vec::new());
    for habit in ALL {
        let here = match habit.here {
            Here::Same => "the same".to_owned(),
            Here::Is(options) => format!("`{}`", options.replace("{}", "VALUE")),
            Here::Part(_, words) => words.to_owned(),
            Here::Needless(_) | Here::Missing(_) => {
                without.push(names(habit));
                continue;
            }
        };
        match rows.iter_mut().find(|(known, _)| *known == here) {
            Some((_, row)) => row.push(names(habit)),
            None => rows.push((here, vec![names(habit)])),
        }
    }
    let rows: Vec<_> = rows
        .iter()
        .map(|(here, row)| format!("| {} | {here} |\n", row.join(", ")))
        .collect();
    (rows.concat(), without.join(", "))
}

#[test]
fn the_guide_has_every_option() {
    let guide = include_str!("../../../../docs/guide/coming-from-iperf.md");
    let (table, without) = page();
    let found: String = guide
        .lines()
        .filter(|line| line.starts_with("| `-"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert_eq!(found, table, "the whole table:\n{table}");
    assert!(guide.contains(&without), "the guide needs: {without}");
}
