//! The shell of Zephyr's zperf: uploads and downloads, UDP and TCP.
//!
//! A shell's prompt can come inside a line, and log messages between lines; the ways of a terminal are
//! taken off before. Not: the lines over time that an asynchronous upload prints.
//!
//! # References
//! - Figures with two decimals are cut off, not rounded; `m` is minutes
//! - `K` and `M` are steps of 1024 before Zephyr 3.6 and of 1000 from then on, typed and printed
//! - The server's count of datagrams is the highest number seen (iperf 2) or those received (zperf)

mod draft;
mod units;

use super::{Command, Hints, ImportError, LogFormat, ParsedTest, Skipped};
use draft::Draft;
use std::collections::BTreeSet;
use units::Units;

/// The shell of Zephyr's zperf.
#[derive(Debug)]
pub(super) struct Zperf;

const ID: &str = "zperf";

impl LogFormat for Zperf {
    fn id(&self) -> &'static str {
        ID
    }

    fn summary(&self) -> &'static str {
        "a shell session with Zephyr's zperf: upload and download, UDP and TCP"
    }

    fn recognise(&self, text: &str) -> usize {
        const MARKS: &[&str] = &[
            "zperf udp ",
            "zperf tcp ",
            "net_zperf",
            "Upload completed!",
            "Num packets",
            "End of session!",
            "TCP session ended",
            "New session started.",
            "New TCP session started.",
            "nb packets",
            "received packets:",
            "Packet size:",
            "LAST PACKET NOT RECEIVED!!!",
            "Jitter:\t",
            "jitter:\t",
        ];
        text.lines()
            .filter(|line| MARKS.iter().any(|mark| line.contains(mark)))
            .count()
    }

    fn parse(&self, name: &str, text: &str) -> Result<Vec<ParsedTest>, ImportError> {
        self.parse_with(name, text, &Hints::default())
    }

    fn parse_with(
        &self,
        name: &str,
        text: &str,
        hints: &Hints,
    ) -> Result<Vec<ParsedTest>, ImportError> {
        let mut reader = Reader {
            file: name,
            command: None,
            units: Units::default(),
            open: None,
            done: Vec::new(),
            left_out: Vec::new(),
        };
        let prompts = prompts(text);
        for (index, line) in text.lines().enumerate() {
            reader.line(index + 1, &without_prompts(line, &prompts));
        }
        reader.close(true);
        if reader.done.is_empty() && reader.left_out.is_empty() {
            return Err(ImportError::NoTest {
                file: name.to_owned(),
                format: ID,
            });
        }
        // Which units a board prints can show in any of its tests.
        for draft in &reader.done {
            draft.tell(&mut reader.units);
        }
        let units = reader.units.or(hints.zperf_units);
        let tests = reader.done.into_iter().map(|draft| draft.finish(units));
        let tests = tests.map(|test| ParsedTest::Traffic(Box::new(test)));
        Ok(tests.chain(reader.left_out).collect())
    }
}

/// Cuts a session into tests.
struct Reader<'a> {
    file: &'a str,
    command: Option<Command>,
    units: Units,
    open: Option<Draft>,
    done: Vec<Draft>,
    left_out: Vec<ParsedTest>,
}

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &str) {
        if let Some((_, version)) = line.split_once("Booting Zephyr OS ") {
            self.units.booted(version);
        }
        if let Some((_, call)) = line.split_once("zperf ")
            && ["udp ", "tcp "].iter().any(|word| call.starts_with(word))
        {
            self.close(false);
            self.command = Some(Command {
                host: None,
                line: format!("zperf {}", call.trim()),
            });
            return;
        }
        let line = line.trim();
        if let Some(begun) = Draft::begins(self.file, number, line, &mut self.command) {
            // An upload's settings come before the line that it is complete.
            self.close(false);
            self.open = Some(begun);
        }
        if let Some(draft) = &mut self.open
            && let Err(error) = draft.line(number, line)
        {
            self.open = None;
            self.left_out.push(ParsedTest::Refused(error));
        }
    }

    /// Ends a test. One without its figures is a cut at the end of the session, and else no test.
    fn close(&mut self, is_last: bool) {
        let Some(draft) = self.open.take() else {
            return;
        };
        match draft.check() {
            Ok(()) => self.done.push(draft),
            Err(error) if is_last => self.left_out.push(ParsedTest::Refused(error)),
            Err(_) => self.left_out.push(ParsedTest::Skipped(Skipped {
                origin: draft.origin().clone(),
                reason: "the session goes on without its figures".to_owned(),
            })),
        }
    }
}

/// What ends the name of a prompt such as `uart:~$ `.
const PROMPT: &str = ":~$";

/// The prompts that lines of a session begin with.
fn prompts(text: &str) -> BTreeSet<String> {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let lines = text.lines().filter_map(|line| line.split_once(PROMPT));
    lines
        .filter(|(begin, _)| !begin.is_empty() && begin.chars().all(name))
        .map(|(begin, _)| format!("{begin}{PROMPT}"))
        .collect()
}

/// Takes out prompts, which the shell prints again after each message.
fn without_prompts(line: &str, prompts: &BTreeSet<String>) -> String {
    prompts.iter().fold(line.to_owned(), |line, prompt| {
        line.replace(&format!("{prompt} "), "").replace(prompt, "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_inside_a_line_are_no_part_of_it() {
        let prompts = prompts("uart:~$ zperf version\nsee uart:~$\n");
        for (line, plain) in [
            (
                "uart:~$  rate:\t\t\tuart:~$ 9.96 Mbpsuart:~$ ",
                " rate:\t\t\t9.96 Mbps",
            ),
            ("uart:~$ uart:~$ ", ""),
            ("Rate:\t\t5.00 Mbps", "Rate:\t\t5.00 Mbps"),
        ] {
            assert_eq!(without_prompts(line, &prompts), plain);
        }
    }
}
