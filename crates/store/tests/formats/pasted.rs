//! Logs as they are pasted: with what loggers, terminals, containers and other programs put around them.

use super::{all, bps, read, written};
use linerate_store::import::{Imported, import};

/// The one transfer that each of these logs is about.
#[test]
fn what_is_around_a_log_does_not_change_it() {
    for name in [
        "journal.log",
        "powershell.log",
        "typescript.log",
        "ansible.json",
        "folded.yaml",
        "stdout-lines.yaml",
        "quoted.yaml",
        "rows.csv",
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
        what: "a word processor",
        put: |text| typeset(text).into_bytes(),
    },
    Around {
        what: "a word processor, in a page",
        put: |text| page(&typeset(text)).into_bytes(),
    },
    Around {
        what: "a word processor, in a page with its characters by number",
        put: |text| {
            page(text)
                .replace('-', "&#8211;")
                .replace("  ", "&nbsp;&#8239;")
                .into_bytes()
        },
    },
    Around {
        what: "a word processor, in a mail in quoted-printable",
        put: |text| {
            let text = quoted_printable(&typeset(text));
            format!("Content-Transfer-Encoding: quoted-printable\n\n{text}").into_bytes()
        },
    },
    Around {
        what: "a word processor, inside JSON in ASCII",
        put: |text| {
            let body = serde_json::json!({"id": 1, "body": typeset(text)}).to_string();
            body.replace('\u{2013}', "\\u2013")
                .replace('\u{a0}', "\\u00a0")
                .into_bytes()
        },
    },
    Around {
        what: "a chat, with every line in bold",
        put: |text| {
            let bold = |line: &str| format!("**{line}**");
            lines(text, |_, line| {
                if line.is_empty() {
                    String::new()
                } else {
                    bold(line)
                }
            })
        },
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
    Around {
        what: "a page of an issue tracker",
        put: |text| page(text).into_bytes(),
    },
    Around {
        what: "a page of a wiki, with its blanks as entities",
        put: |text| {
            let lines = text
                .lines()
                .map(|line| escaped(line).replace(' ', "&nbsp;") + "<br />\n");
            let lines: String = lines.collect();
            format!("<html><body>\n<p>{lines}</p>\n</body></html>\n").into_bytes()
        },
    },
    Around {
        what: "a page without line ends",
        put: |text| {
            let lines = text
                .lines()
                .map(|line| format!("<div>{}</div>", escaped(line).replace(' ', "&#160;")));
            lines.collect::<String>().into_bytes()
        },
    },
    Around {
        what: "a page of a highlighter",
        put: |text| {
            let line = |_, line: &str| format!("<span class=\"line\">{}</span>", escaped(line));
            let lines = String::from_utf8(lines(text, line)).unwrap();
            format!("<div><pre>{lines}</pre></div>").into_bytes()
        },
    },
    Around {
        what: "a text with entities",
        put: |text| escaped(text).into_bytes(),
    },
    Around {
        what: "a page saved as MHTML",
        put: |text| {
            format!(
                "From: <Saved by a browser>\nMIME-Version: 1.0\n\
                 Content-Type: multipart/related; boundary=\"--x=_1\"\n\n----x=_1\n\
                 Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n{}\
                 ----x=_1\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n\
                 iVBORw0KGgo=\n----x=_1--\n",
                quoted_printable(&page(text))
            )
            .into_bytes()
        },
    },
    Around {
        what: "a table of Markdown",
        put: |text| {
            let rows = lines(text, |_, line| format!("| {} |", line.replace('|', "\\|")));
            [b"| output |\n|--------|\n", &rows[..]].concat()
        },
    },
    Around {
        what: "Jira's block without format",
        put: |text| format!("{{noformat}}\n{text}\n{{noformat}}\n").into_bytes(),
    },
    Around {
        what: "a fence of Markdown",
        put: |text| format!("```text\n{text}\n```\n").into_bytes(),
    },
    Around {
        what: "the escapes of Markdown",
        put: |text| {
            let is_sign = |c| "[]_*#>~`+-|(){}<&".contains(c);
            let escaped = |c| [Some('\\').filter(|_| is_sign(c)), Some(c)];
            let text: String = text.chars().flat_map(escaped).flatten().collect();
            text.into_bytes()
        },
    },
    Around {
        what: "a folded block of YAML",
        put: |text| written::folded(text).into_bytes(),
    },
    Around {
        what: "a literal block of YAML",
        put: |text| written::literal(text).into_bytes(),
    },
    Around {
        what: "a text of YAML in quotes",
        put: |text| written::quoted(text).into_bytes(),
    },
    Around {
        what: "a list of YAML",
        put: |text| written::list(text).into_bytes(),
    },
    Around {
        what: "a table of comma-separated values, a line a row",
        put: |text| {
            let rows = lines(text, |at, line| {
                let line = written::cell(line, false);
                format!("2026-11-26T10:00:00.{at}Z,{line},probe")
            });
            [b"time,\"message\",host\n", &rows[..]].concat()
        },
    },
    Around {
        what: "a table of comma-separated values, all in quotes",
        put: |text| {
            lines(text, |at, line| {
                format!("\"{at}\";{}", written::cell(line, true))
            })
        },
    },
    Around {
        what: "a cell of a table of comma-separated values",
        put: |text| format!("host,out,rc\na,{},0\n", written::cell(text, true)).into_bytes(),
    },
    Around {
        what: "Python's print of bytes",
        put: |text| format!("{}\n", python(text, "b")).into_bytes(),
    },
    Around {
        what: "Python's print of a result",
        put: |text| {
            let result = format!(
                "{{'rc': 0, 'stdout': {}, 'ok': True, 'err': None}}\n",
                python(text, "")
            );
            result.into_bytes()
        },
    },
    Around {
        what: "quotes of a logger",
        put: |text| {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            let text = text.replace('\n', "\\n").replace('\t', "\\t");
            format!("time=10:00 level=info msg=\"{text}\" pod=a\n").into_bytes()
        },
    },
    Around {
        what: "a page inside JSON",
        put: |text| {
            let body = serde_json::json!({"id": 1, "body": page(text)});
            body.to_string().into_bytes()
        },
    },
];

/// A text as Python prints it, with a letter that says of what kind it is.
fn python(text: &str, kind: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    let text = text.replace('\n', "\\n").replace('\t', "\\t");
    format!("{kind}'{text}'")
}

/// A text as it stands in a page.
fn escaped(text: &str) -> String {
    [
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&quot;"),
        ("'", "&#39;"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (c, entity)| text.replace(c, entity))
}

/// A text with the dashes and blanks of a word processor.
fn typeset(text: &str) -> String {
    text.replace('-', "\u{2013}").replace("  ", "\u{a0} ")
}

/// A page that has a text in a block of its own.
fn page(text: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><title>Issue &#35;12</title>\n<style>p > a {{ color: red }}</style></head>\n\
         <body class=\"issue\"><!-- a <pre> --><div>It is <b>slow</b>:</div>\n\
         <pre><code class=\"language-text\">{}</code></pre>\n\
         <script>if (a < b) {{ show(\"<pre>\") }}</script></body></html>\n",
        escaped(text)
    )
}

/// A text in quoted-printable, in lines of at most 76 characters.
fn quoted_printable(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut length = 0;
        for (at, byte) in line.bytes().enumerate() {
            let is_last = at + 1 == line.len();
            let is_plain = matches!(byte, b'!'..=b'<' | b'>'..=b'~') || byte == b' ' && !is_last;
            let byte = if is_plain {
                char::from(byte).to_string()
            } else {
                format!("={byte:02X}")
            };
            if length + byte.len() > 75 {
                lines += "=\n";
                length = 0;
            }
            length += byte.len();
            lines += &byte;
        }
        lines.push('\n');
    }
    lines
}

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

/// A logger quotes documents of JSON. An annotation does not escape the quotes of JSON, which then looks like the log itself; documents inside of others are
/// found by words that stand anywhere in a line, which these formats do not have; Markdown has no escape characters.
fn is_exempt(name: &str, text: &str, what: &str) -> bool {
    let is_json = name.contains(".json");
    let has_no_words = is_json || ["hgrm", "neper", "csv"].iter().any(|it| name.contains(it));
    is_json && what.starts_with("an annotation")
        || has_no_words
            && [
                "events",
                "a page inside JSON",
                "a word processor, inside JSON",
                "Python's print of a result",
            ]
            .iter()
            .any(|it| what.starts_with(it))
        || what == "quotes of a logger" && !text.starts_with("{\n\t\"")
        || text.contains('\u{1b}') && what == "the escapes of Markdown"
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
            if is_exempt(&name, &text, what) {
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

#[test]
fn what_cannot_be_read_in_a_page_says_that_it_is_one() {
    let (name, bytes) = read("pasted/journal.log");
    let text = String::from_utf8(bytes).unwrap();
    let cut: Vec<_> = text.lines().take(4).collect();
    for (what, file) in [
        ("w3m -dump", page(&cut.join("\n"))),
        (
            "quopri",
            format!(
                "Content-Transfer-Encoding: quoted-printable\n\n{}",
                quoted_printable(&cut.join("\n"))
            ),
        ),
    ] {
        let error = import(&[(name.clone(), file.into_bytes())]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("cut off") && error.contains(what), "{error}");
    }
    // A page without any log is named too.
    let error = import(&[(name, page("dear diary,").into_bytes())]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("not a log") && error.contains("HTML"),
        "{error}"
    );
}

#[test]
fn files_of_other_kinds_are_named_with_what_takes_the_text_out() {
    for (bytes, words) in [
        (&b"{\\rtf1\\ansi iperf Done.}"[..], ["RTF", "textutil"]),
        (b"\x1f\x8b\x08\0", ["gzip", "gunzip"]),
        (b"%PDF-1.7\n", ["PDF", "pdftotext"]),
    ] {
        let error = import(&[("log".to_owned(), bytes.to_vec())]).unwrap_err();
        let error = error.to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}
