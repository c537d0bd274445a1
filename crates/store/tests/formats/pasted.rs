//! Logs as they are pasted: with what loggers, terminals, containers and other programs put around them.

use super::{all, bps, read};
use linerate_store::import::{Imported, import};

/// The one transfer that each of these logs is about.
#[test]
fn what_is_around_a_log_does_not_change_it() {
    for name in [
        "journal.log",
        "powershell.log",
        "typescript.log",
        "ansible.json",
    ] {
        let imported = import(&[read(&format!("pasted/{name}"))]).unwrap();
        let [run] = &imported.runs[..] else {
            panic!("{name}: {} runs", imported.runs.len());
        };
        let [trial] = &run.trials[..] else {
            panic!("{name}: {} trials", run.trials.len());
        };
        let rates = (bps(trial.offered_load), bps(trial.received_rate));
        assert_eq!(rates, (3_250_000, 2_880_000), "{name}");
        assert_eq!(
            (imported.warnings, imported.refused),
            (vec![], vec![]),
            "{name}"
        );
    }
}

#[test]
fn decimal_commas_are_decimal_points() {
    let (name, bytes) = read("pasted/journal.log");
    let text = String::from_utf8(bytes).unwrap();
    let with_commas = |line: &str| {
        if line.contains(" sec ") {
            line.replace('.', ",") + "\n"
        } else {
            line.to_owned() + "\n"
        }
    };
    let lines = text.lines().map(with_commas);
    let commas: String = lines.collect();
    assert!(commas.contains("0,00-3,05"));
    let read = import(&[(name, commas.into_bytes())]).unwrap();
    assert_eq!(bps(read.runs[0].trials[0].received_rate), 2_880_000);
    assert_eq!(read.warnings, Vec::<String>::new());
}

/// A log as another program writes it down.
struct Around {
    what: &'static str,
    put: fn(&str) -> Vec<u8>,
}

/// Every line behind what `prefix` makes of its number.
fn lines(text: &str, prefix: impl Fn(usize, &str) -> String) -> Vec<u8> {
    let lines = text.lines().enumerate();
    let lines: String = lines.map(|(at, line)| prefix(at, line) + "\n").collect();
    lines.into_bytes()
}

fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = text.replace('\n', "\r\n");
    text.encode_utf16().flat_map(bytes).collect()
}

const ALL: &[Around] = &[
    Around {
        what: "journalctl",
        put: |text| {
            lines(text, |at, line| {
                let day = 9 + at / 60;
                format!(
                    "Nov {day:>2} 10:{:02}:00 probe-1.lab run[{}]: {line}",
                    at % 60,
                    at * 7
                )
            })
        },
    },
    Around {
        what: "syslog of RFC 5424, of lines without their last blanks",
        put: |text| {
            lines(text, |at, line| {
                let whole = format!("<30>1 2026-11-26T10:00:00.{at}+01:00 h run {at} - - {line}");
                whole.trim_end().to_owned()
            })
        },
    },
    Around {
        what: "a container runtime",
        put: |text| {
            lines(text, |at, line| {
                format!("2026-11-26T10:00:00.{at:09}Z stdout F {line}")
            })
        },
    },
    Around {
        what: "docker compose",
        put: |text| lines(text, |_, line| format!("client-1  | {line}")),
    },
    Around {
        what: "a thread's name and a level",
        put: |text| {
            lines(text, |at, line| {
                let level = ["INFO", "DEBUG"][at % 2];
                format!(
                    "10:00:00,{at:03} [worker-{}] {level:<5} c.e.Run - {line}",
                    at % 11
                )
            })
        },
    },
    Around {
        what: "a counter in brackets",
        put: |text| lines(text, |at, line| format!("[{at:>3}] {line}")),
    },
    Around {
        what: "a mail that quotes",
        put: |text| lines(text, |_, line| format!("> {line}")),
    },
    Around {
        what: "an indented block",
        put: |text| lines(text, |_, line| format!("    {line}")),
    },
    Around {
        what: "UTF-16, little end first, without a mark",
        put: |text| wide(text, u16::to_le_bytes),
    },
    Around {
        what: "UTF-16, big end first, with a mark",
        put: |text| wide(&format!("\u{feff}{text}"), u16::to_be_bytes),
    },
    Around {
        what: "a serial console",
        put: |text| text.replace('\n', "\r\r\n").into_bytes(),
    },
    Around {
        what: "a terminal with titles and colours",
        put: |text| {
            let line = |at: usize, line: &str| {
                format!(
                    "\u{1b}]0;title {at}\u{7}\u{1b}[?2004l\r\u{1b}[1;32m{line}\u{1b}[0m\u{1b}[K\r"
                )
            };
            lines(text, line)
        },
    },
    Around {
        what: "Docker's log file",
        put: |text| {
            lines(text, |_, line| {
                let log = serde_json::json!({"log": format!("{line}\n"), "stream": "stdout", "time": "2026"});
                log.to_string()
            })
        },
    },
    Around {
        what: "the journal as JSON",
        put: |text| {
            lines(text, |at, line| {
                serde_json::json!({"_PID": at.to_string(), "MESSAGE": line, "PRIORITY": "6"})
                    .to_string()
            })
        },
    },
    Around {
        what: "a result of Ansible",
        put: |text| {
            let result = serde_json::json!({
                "start": "2026-11-26 10:00:00.000", "end": "2026-11-26 10:00:09.000", "rc": 0,
                "stderr": "", "stdout": text.trim_end(), "stdout_lines": text.lines().collect::<Vec<_>>(),
            });
            format!("probe | CHANGED => {result:#}\n").into_bytes()
        },
    },
    Around {
        what: "an annotation of a CI system, in its log",
        put: |text| {
            let message = text.replace('%', "%25").replace('\n', "%0A");
            format!("2026-11-26T10:00:00.1Z ::notice title=run::{message}\n").into_bytes()
        },
    },
    Around {
        what: "a text of jq, with its quotes",
        put: |text| serde_json::json!(text).to_string().into_bytes(),
    },
    Around {
        what: "events of a cloud, in a container's log",
        put: |text| {
            let events: Vec<_> = text
                .lines()
                .map(|line| serde_json::json!({"message": line}))
                .collect();
            let events = serde_json::json!({"events": events}).to_string();
            serde_json::json!({"log": events + "\n"})
                .to_string()
                .into_bytes()
        },
    },
];

/// What a log says, without what only its place in the file tells.
fn told(file: (String, Vec<u8>)) -> Option<String> {
    let Imported { mut runs, .. } = import(&[file]).ok()?;
    for run in &mut runs {
        // Ids are of the text, which some tools' own prefixes are a part of.
        run.id = String::new();
    }
    // So are the numbers of lines in what is said of figures: a text inside JSON stands in one.
    let all = format!("{runs:#?}");
    let mut pieces = all.split("line ");
    let first = pieces.next()?.to_owned();
    let rest = pieces.map(|piece| piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    Some(rest.fold(first, |all, piece| all + "line " + piece))
}

/// An annotation does not escape the quotes of JSON, which then looks like the log itself; two documents inside each other
/// are found by words that stand anywhere in a line, which these formats do not have.
fn is_exempt(name: &str, what: &str) -> bool {
    let is_json = name.contains(".json");
    let has_no_words = is_json || ["hgrm", "neper", "csv"].iter().any(|it| name.contains(it));
    is_json && what.starts_with("an annotation") || has_no_words && what.starts_with("events")
}

#[test]
fn every_format_is_read_in_whatever_is_around_it() {
    let mut failed = Vec::new();
    for (name, bytes) in all() {
        let plain = (name.clone(), bytes.clone());
        let (Some(whole), Ok(text)) = (told(plain), String::from_utf8(bytes)) else {
            continue;
        };
        for Around { what, put } in ALL {
            if is_exempt(&name, what) {
                continue;
            }
            let read = told((name.clone(), put(&text)));
            if read.as_ref() != Some(&whole) {
                let read = read.unwrap_or_default();
                let mut lines = read.lines().zip(whole.lines());
                let other = lines.find(|(read, whole)| read != whole);
                failed.push(format!("{name} in {what}: {other:?}"));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{}:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
