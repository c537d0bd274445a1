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

use super::{Command, Hints, ImportError, LogFormat, LogReader, ParsedTest, Skipped, UnitStep};
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

    fn recognise(&self, line: &str) -> usize {
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
        usize::from(MARKS.iter().any(|mark| line.contains(mark)))
    }

    fn reader(&self, file: &str, hints: &Hints) -> Box<dyn LogReader> {
        Box::new(Reader {
            file: file.to_owned(),
            hint: hints.zperf_units,
            prompts: BTreeSet::new(),
            command: None,
            units: Units::default(),
            open: None,
            done: Vec::new(),
            tests: Vec::new(),
        })
    }
}

/// Most tests of a session: none is known whole before its end.
const MAX_TESTS: usize = 10_000;

/// Cuts a session into tests.
struct Reader {
    file: String,
    hint: Option<UnitStep>,
    prompts: BTreeSet<String>,
    command: Option<Command>,
    units: Units,
    open: Option<Draft>,
    /// Tests whose units any later test may tell.
    done: Vec<Draft>,
    tests: Vec<ParsedTest>,
}

impl LogReader for Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        learn_prompt(&mut self.prompts, line);
        self.plain(number, &without_prompts(line, &self.prompts))
    }

    fn close(&mut self) -> Result<(), ImportError> {
        self.end(true);
        Ok(())
    }

    fn finish(&mut self) {
        self.settle();
        // Which units a board prints can show in any of its tests.
        for draft in &self.done {
            draft.tell(&mut self.units);
        }
        let units = self.units.or(self.hint);
        let done = std::mem::take(&mut self.done).into_iter();
        let tests = done.map(|draft| ParsedTest::Traffic(Box::new(draft.finish(units))));
        self.tests.extend(tests);
    }

    fn forget(&mut self) {
        self.open = None;
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.tests
    }
}

impl Reader {
    fn plain(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        if let Some((_, version)) = line.split_once("Booting Zephyr OS ") {
            self.units.booted(version);
        }
        if let Some((_, call)) = line.split_once("zperf ")
            && ["udp ", "tcp "].iter().any(|word| call.starts_with(word))
        {
            self.end(false);
            self.command = Some(Command {
                host: None,
                line: format!("zperf {}", call.trim()),
            });
            return Ok(());
        }
        let line = line.trim();
        if let Some(begun) = Draft::begins(&self.file, number, line, &mut self.command) {
            // An upload's settings come before the line that it is complete.
            self.end(false);
            if self.done.len() >= MAX_TESTS {
                return Err(ImportError::TooLarge {
                    file: self.file.clone(),
                    line: number,
                    what: "a session",
                    limit: "10 000 tests",
                    hint: "cut the log",
                });
            }
            self.open = Some(begun);
        }
        match &mut self.open {
            Some(draft) => draft.line(number, line),
            None => Ok(()),
        }
    }

    /// Ends a test. One without its figures is a cut at the end of the session, and else no test.
    fn end(&mut self, is_last: bool) {
        let Some(draft) = self.open.take() else {
            return;
        };
        match draft.check() {
            Ok(()) => self.done.push(draft),
            Err(error) if is_last => self.tests.push(ParsedTest::Refused(error)),
            Err(_) => self.tests.push(ParsedTest::Skipped(Skipped {
                origin: draft.origin().clone(),
                reason: "the session goes on without its figures".to_owned(),
            })),
        }
    }
}

/// What ends the name of a prompt such as `uart:~$ `.
const PROMPT: &str = ":~$";

/// Learns the prompt that a line begins with.
fn learn_prompt(prompts: &mut BTreeSet<String>, line: &str) {
    /// Two in any session: that of a login and that of a shell.
    const MAX_PROMPTS: usize = 8;
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if let Some((begin, _)) = line.split_once(PROMPT)
        && !begin.is_empty()
        && begin.chars().all(name)
        && prompts.len() < MAX_PROMPTS
    {
        prompts.insert(format!("{begin}{PROMPT}"));
    }
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
        let mut prompts = BTreeSet::new();
        learn_prompt(&mut prompts, "see uart:~$");
        assert!(prompts.is_empty());
        learn_prompt(&mut prompts, "uart:~$ zperf version");
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
