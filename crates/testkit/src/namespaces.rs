//! A test harness for cases that need a user namespace.
//!
//! A user namespace can only be entered before the first thread starts, and libtest starts
//! threads before the first test. So such tests are a `harness = false` target whose main is:
//!
//! ```no_run
//! use linerate_testkit::namespaces::{Case, namespace_main};
//!
//! const CASES: &[Case] = &[Case { name: "hosts_reach_each_other", run: || assert!(true) }];
//!
//! fn main() -> std::process::ExitCode {
//!     // `prepare` is `testbed::enter_user_namespace`.
//!     namespace_main(|| Ok::<(), String>(()), CASES)
//! }
//! ```
//!
//! Arguments and output are libtest's. Cases count as ignored: they run with `--ignored` or
//! `--include-ignored` only. One at a time, each on a thread of its own.

use linerate_model::Clock;
use linerate_sys::clock::MonoClock;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::Builder;

/// A test: passes unless it panics, or says that it is [`not_run`].
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What must hold, as a sentence in snake case.
    pub name: &'static str,
    /// The test.
    pub run: fn(),
}

/// Why a case was not run.
struct NotRun(String);

/// Ends the case that calls it as not run: something that it needs cannot be had, which is no fault of
/// what it tests. It counts as ignored, so whoever adds up sees that a test is missing.
pub fn not_run(why: impl Display) -> ! {
    std::panic::resume_unwind(Box::new(NotRun(why.to_string())))
}

/// The main of a test target: reads libtest's arguments, calls `prepare` if a case is to run, and
/// runs the cases. Fails if a case panics or `prepare` does; it never passes by not running.
pub fn namespace_main<E: Display>(
    prepare: impl FnOnce() -> Result<(), E>,
    cases: &[Case],
) -> ExitCode {
    let request = Request::parse(std::env::args().skip(1));
    let mut out = io::stdout();
    let result = request.answer(prepare, cases, &mut out);
    drop(out.flush());
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::from(LIBTEST_FAILED),
    }
}

/// What libtest exits with when a test failed.
const LIBTEST_FAILED: u8 = 101;

/// What the arguments ask for.
#[derive(Debug, Default)]
struct Request {
    filters: Vec<String>,
    skips: Vec<String>,
    whole_name: bool,
    list: bool,
    run_ignored: bool,
}

impl Request {
    /// Unknown options are libtest's about colour, threads and output, which change nothing here.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut request = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => request.whole_name = true,
                "--ignored" | "--include-ignored" => request.run_ignored = true,
                "--list" => request.list = true,
                "--skip" => request.skips.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" => {
                    drop(arguments.next());
                }
                option if option.starts_with('-') => {}
                _ => request.filters.push(argument),
            }
        }
        request
    }

    fn wants(&self, case: &Case) -> bool {
        let hit = |text: &String| {
            if self.whole_name {
                case.name == text
            } else {
                case.name.contains(text.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skips.iter().any(hit)
    }

    /// Whether all went well.
    fn answer<E: Display>(
        &self,
        prepare: impl FnOnce() -> Result<(), E>,
        cases: &[Case],
        out: &mut impl Write,
    ) -> io::Result<bool> {
        let wanted: Vec<&Case> = cases.iter().filter(|case| self.wants(case)).collect();
        if self.list {
            for case in wanted {
                writeln!(out, "{}: test", case.name)?;
            }
            return Ok(true);
        }
        let mut tally = Tally {
            filtered: cases.len() - wanted.len(),
            ..Tally::default()
        };
        let started = MonoClock.now();
        writeln!(out, "\nrunning {} tests", wanted.len())?;
        if !self.run_ignored {
            for case in &wanted {
                writeln!(out, "test {} ... ignored, needs user namespaces", case.name)?;
            }
            tally.ignored = wanted.len();
        } else if !wanted.is_empty() {
            run_all(prepare, &wanted, &mut tally, out)?;
        }
        let seconds = MonoClock.now().saturating_since(started).as_secs_f64();
        tally.write(seconds, out)?;
        Ok(tally.failed.is_empty())
    }
}

fn run_all<E: Display>(
    prepare: impl FnOnce() -> Result<(), E>,
    cases: &[&Case],
    tally: &mut Tally,
    out: &mut impl Write,
) -> io::Result<()> {
    if let Err(error) = prepare() {
        writeln!(out, "cannot run any test: {error}")?;
        tally.failed = cases.iter().map(|case| case.name).collect();
        return Ok(());
    }
    for case in cases {
        write!(out, "test {} ... ", case.name)?;
        out.flush()?;
        match outcome(case) {
            Outcome::Failed => {
                tally.failed.push(case.name);
                writeln!(out, "FAILED")?;
            }
            Outcome::NotRun(why) => {
                tally.ignored += 1;
                writeln!(out, "ignored, not run: {why}")?;
            }
            Outcome::Passed => {
                tally.passed += 1;
                writeln!(out, "ok")?;
            }
        }
    }
    Ok(())
}

/// How a case ended.
enum Outcome {
    Failed,
    NotRun(String),
    Passed,
}

/// Runs a case on a thread of its own, because a case may change its thread's network.
fn outcome(case: &Case) -> Outcome {
    let thread = Builder::new().name(case.name.to_owned()).spawn(case.run);
    let Ok(thread) = thread else {
        return Outcome::Failed;
    };
    match thread.join() {
        Ok(()) => Outcome::Passed,
        Err(panic) => match panic.downcast::<NotRun>() {
            Ok(reason) => Outcome::NotRun(reason.0),
            Err(_) => Outcome::Failed,
        },
    }
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<&'static str>,
    ignored: usize,
    filtered: usize,
}

impl Tally {
    fn write(&self, seconds: f64, out: &mut impl Write) -> io::Result<()> {
        let word = if self.failed.is_empty() {
            "ok"
        } else {
            writeln!(out, "\nfailures:")?;
            for name in &self.failed {
                writeln!(out, "    {name}")?;
            }
            "FAILED"
        };
        writeln!(
            out,
            "\ntest result: {word}. {} passed; {} failed; {} ignored; 0 measured; {} filtered out; \
             finished in {seconds:.2}s\n",
            self.passed,
            self.failed.len(),
            self.ignored,
            self.filtered,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &[Case] = &[
        Case {
            name: "good",
            run: || {},
        },
        Case {
            name: "bad",
            run: || panic!("on purpose"),
        },
        Case {
            name: "elsewhere",
            run: || not_run("its tool cannot be had"),
        },
    ];

    fn answer(arguments: &[&str], prepare: Result<(), &'static str>) -> (bool, String) {
        let request = Request::parse(arguments.iter().map(ToString::to_string));
        let mut out = Vec::new();
        let good = request.answer(|| prepare, CASES, &mut out).unwrap();
        (good, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_panic_fails_the_target() {
        let (good, text) = answer(&["--ignored"], Ok(()));
        assert!(!good);
        assert!(text.contains("test good ... ok"), "{text}");
        assert!(text.contains("test bad ... FAILED"), "{text}");
        assert!(
            text.contains("test result: FAILED. 1 passed; 1 failed; 1 ignored"),
            "{text}"
        );
    }

    #[test]
    fn a_case_that_cannot_run_is_counted_as_ignored_with_its_reason() {
        let (good, text) = answer(&["--ignored", "elsewhere"], Ok(()));
        assert!(good);
        assert!(
            text.contains("test elsewhere ... ignored, not run: its tool cannot be had"),
            "{text}"
        );
        assert!(text.contains("0 passed; 0 failed; 1 ignored"), "{text}");
    }

    #[test]
    fn without_being_asked_cases_are_ignored_and_counted() {
        let (good, text) = answer(&[], Err("not called"));
        assert!(good);
        assert!(
            text.contains("test result: ok. 0 passed; 0 failed; 3 ignored"),
            "{text}"
        );
    }

    #[test]
    fn a_filter_and_a_skip_choose_cases() {
        let (good, text) = answer(&["--ignored", "--test-threads", "1", "good"], Ok(()));
        assert!(good);
        assert!(
            text.contains("1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out"),
            "{text}"
        );
        let (good, _) = answer(&["--include-ignored", "--skip", "bad"], Ok(()));
        assert!(good);
    }

    #[test]
    fn a_host_without_namespaces_fails_every_case() {
        let (good, text) = answer(&["--ignored"], Err("no namespaces here"));
        assert!(!good);
        assert!(text.contains("no namespaces here"), "{text}");
        assert!(text.contains("0 passed; 3 failed"), "{text}");
    }

    #[test]
    fn listing_runs_nothing() {
        let (good, text) = answer(&["--list", "--ignored"], Err("not called"));
        assert!(good);
        assert_eq!(text, "good: test\nbad: test\nelsewhere: test\n");
    }
}
