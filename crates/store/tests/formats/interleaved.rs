//! Two logs in one file whose lines alternate: the figures are those of the two by themselves.

use super::{all, bps};
use linerate_store::import::{Imported, import};
use std::path::Path;

/// What a logger writes before line `at` of program 0 or 1.
type Prefix = fn(at: usize, program: usize) -> String;

const LOGGERS: &[(&str, Prefix)] = &[
    ("Compose", |_, program| {
        format!("{}-1  | ", ["client", "server"][program])
    }),
    ("kubectl logs --prefix", |_, program| {
        format!("[pod/iperf-{}/iperf] ", ["7c9f4", "x2b81"][program])
    }),
    ("the journal", |at, program| {
        let (minute, second) = (at / 60, at % 60);
        format!(
            "Nov 26 10:{minute:02}:{second:02} probe run[{}]: ",
            4711 + program
        )
    }),
    ("a container runtime within Compose", |at, program| {
        format!("app-{program}  | 2026-11-26T10:00:00.{at:09}Z stdout F ")
    }),
    ("parallel --tag", |_, program| {
        format!("10.0.0.{}\t", program + 1)
    }),
];

/// The lines of two logs in turns, now one and now two of each.
fn woven(logs: [&str; 2], prefix: Prefix) -> String {
    let mut lines = logs.map(|log| log.lines().peekable());
    let (mut text, mut at) = (String::new(), 0);
    while lines.iter_mut().any(|lines| lines.peek().is_some()) {
        let program = usize::from(at % 3 != 0);
        if let Some(line) = lines[program].next() {
            text.extend([&prefix(at, program), line, "\n"]);
        }
        at += 1;
    }
    text
}

/// Offered and received rates, and the median delay, of every trial, in order.
fn figures(imported: &Imported) -> Vec<[Option<u64>; 3]> {
    let trials = imported.runs.iter().flat_map(|run| &run.trials);
    let mut all: Vec<_> = trials
        .map(|trial| {
            let rate = |rate: Option<_>| rate.map(|rate| bps(Some(rate)));
            let delay = trial.delay().and_then(|delay| delay.p50_ns);
            [rate(trial.offered_load), rate(trial.received_rate), delay]
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn programs_whose_lines_alternate_are_read_apart() {
    let texts: Vec<_> = all()
        .into_iter()
        // Every line of CSV is a stream's whole test: whose it is only the writer's name tells, and here there are few.
        .filter(|(name, _)| {
            Path::new(name).extension() == Some("txt".as_ref()) && !name.contains("csv")
        })
        .filter_map(|(name, bytes)| Some((name, String::from_utf8(bytes).ok()?)))
        .filter(|(name, text)| {
            let alone = import(&[(name.clone(), text.clone().into_bytes())]);
            alone.is_ok_and(|read| read.warnings.is_empty() && read.refused.is_empty())
        })
        .collect();
    let (mut read, mut equal, mut wrong) = (0, 0, Vec::new());
    for pair in texts.windows(2) {
        let [(one, first), (other, second)] = pair else {
            unreachable!("windows of two");
        };
        let files = [first, second].map(|text| ("log".to_owned(), text.clone().into_bytes()));
        let apart = import(&files).unwrap();
        for (logger, prefix) in LOGGERS {
            let log = (
                "log".to_owned(),
                woven([first, second], *prefix).into_bytes(),
            );
            read += 1;
            match import(&[log]) {
                Ok(woven) if figures(&woven) == figures(&apart) => equal += 1,
                // Logs of a line or two have no words of their own to begin with.
                Ok(woven) if !woven.warnings.is_empty() || !woven.refused.is_empty() => {}
                Ok(woven) => wrong.push(format!(
                    "{one} and {other}, {logger}: {:?} for {:?}; {:?} {:?}",
                    figures(&woven),
                    figures(&apart),
                    woven.warnings,
                    woven.refused
                )),
                Err(error) => wrong.push(format!("{one} and {other}, {logger}: {error}")),
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(
        equal > 100 && equal * 10 >= read * 9,
        "{equal} of {read} logs"
    );
}
