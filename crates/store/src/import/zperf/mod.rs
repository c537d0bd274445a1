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

use super::line::first_of;
use super::reader::{Draft as _, Fault, Grammar, Log, Place, Reader, Result, Step};
use super::{Command, ImportError, LogFormat};
use draft::{Draft, SESSION_END};
use std::borrow::Cow;
use std::collections::BTreeSet;
pub use units::UnitStep;
use units::Units;

/// The shell of Zephyr's zperf.
pub(super) static FORMAT: LogFormat = LogFormat {
    id: "zperf",
    tool: "zperf",
    summary: "a shell session with Zephyr's zperf: upload and download, UDP and TCP",
    recognise: |line| {
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
    },
    begins: |line| {
        const WORDS: &[&str] = &[
            "Connecting to ",
            "Starting...",
            "Upload completed!",
            "New session started",
            "End of session!",
            "Num packets:",
            "Packet size:",
        ];
        first_of(line, WORDS)
    },
    reader: |file, hints| {
        let hint = hints.zperf_units;
        Reader::boxed(
            file,
            Zperf {
                hint,
                ..Zperf::default()
            },
        )
    },
};

/// Most tests of a session: none is known whole before its end.
const MAX_TESTS: usize = 10_000;

/// Tests begin with what the shell says of a session, and end with the next one.
#[derive(Default)]
struct Zperf {
    hint: Option<UnitStep>,
    prompts: BTreeSet<String>,
    units: Units,
    /// Tests whose units any later test may tell.
    done: Vec<Draft>,
}

impl Grammar for Zperf {
    type Test = Draft;

    /// Sessions that a board was asked for and never got begin with the same words.
    fn may_repeat(&self, line: &str) -> bool {
        !line.contains(|c: char| c.is_ascii_digit())
    }

    fn plain<'l>(&mut self, line: &'l str) -> Cow<'l, str> {
        learn_prompt(&mut self.prompts, line);
        without_prompts(line, &self.prompts).into()
    }

    fn step(
        &mut self,
        log: &mut Log,
        _open: &mut Option<Draft>,
        line: &str,
    ) -> Result<Step<Draft>> {
        if let Some((_, version)) = line.split_once("Booting Zephyr OS ") {
            self.units.booted(version);
        }
        if let Some((_, call)) = line.split_once("zperf ")
            && ["udp ", "tcp "].iter().any(|word| call.starts_with(word))
        {
            log.command = Some(Command {
                host: None,
                line: format!("zperf {}", call.trim()),
            });
            return Ok(Step::Between);
        }
        // An upload's settings come before the line that it is complete.
        Ok(Draft::begins(log, line.trim()).map_or(Step::Inside, Step::Begin))
    }

    /// Figures outside of any test mean that its first line is gone.
    fn outside(&mut self, log: &mut Log, line: &str) -> Result<()> {
        let first = match line.trim() {
            _ if log.is_lost => return Ok(()),
            SESSION_END => "\"New session started.\"",
            line if line.starts_with("Upload completed!") => "\"Connecting to …\", or the command",
            _ => return Ok(()),
        };
        Err(Fault::Missing(format!(
            "its first line ({first}) is not there"
        )))
    }

    /// A test without its figures is a cut at the end of the session, and else no test.
    fn close(&mut self, log: &mut Log, draft: Option<Draft>) {
        let Some(draft) = draft else { return };
        if self.done.len() >= MAX_TESTS {
            log.refuse(ImportError::TooLarge {
                file: log.file.clone(),
                line: draft.begun(),
                what: "a session",
                limit: "10 000 tests",
                hint: "cut the log",
            });
        } else if draft.has_figures() {
            self.done.push(draft);
        } else if log.place == Place::End {
            let error = log.cut(draft.begun(), "its figures are not all there");
            log.refuse(error);
        } else {
            log.tests.push(draft.without_figures());
        }
    }

    fn finish(&mut self, log: &mut Log) {
        // Which units a board prints can show in any of its tests.
        for draft in &self.done {
            draft.tell(&mut self.units);
        }
        let units = self.units.or(self.hint);
        let mut done = std::mem::take(&mut self.done);
        if let Some(step) = units.step().filter(|_| units != self.units) {
            // The figures are other ones with another step: what the user told names the tests too.
            let told = format!("units of {step}");
            for draft in &mut done {
                draft.name_with(&told);
            }
        }
        log.tests
            .extend(done.into_iter().map(|draft| draft.test(units)));
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
