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
//! `--include-ignored` only. One at a time, but for those that [`Cases::at_once`] names; each on a thread of its own.

use linerate_model::{Clock, MonoInstant};
use linerate_sys::clock::MonoClock;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::{Builder, JoinHandle};

/// A test: passes unless it panics, or says that it is [`not_run`].
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What must hold, as a sentence in snake case.
    pub name: &'static str,
    /// The test.
    pub run: fn(),
}

/// The tests of a target.
#[derive(Debug, Clone, Copy)]
pub struct Cases<'a> {
    /// Those that wait for most of their time, each in networks of its own: all of them run at once, before the others.
    pub at_once: &'a [Case],
    /// Those that need the cores for themselves: one at a time.
    pub one_by_one: &'a [Case],
}

impl<'a> From<&'a [Case]> for Cases<'a> {
    fn from(one_by_one: &'a [Case]) -> Self {
        Self {
            at_once: &[],
            one_by_one,
        }
    }
}

/// Why a case was not run.
struct NotRun(String);

/// Ends the case that calls it as not run: something that it needs cannot be had, which is no fault of
/// what it tests. It counts as ignored, so whoever adds up sees that a test is missing.
pub fn not_run(why: impl Display) -> ! {
    std::panic::resume_unwind(Box::new(NotRun(why.to_string())))
}

/// Runs a part of a case for each of `all`, all at once: each in networks of its own.
///
/// # Panics
/// If a part does, once all of them have ended.
pub fn at_once<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    part: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let part = &part;
        let parts = all.into_iter().map(|one| scope.spawn(move || part(one)));
        let parts: Vec<_> = parts.collect();
        let ended = parts.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// The main of a test target: reads libtest's arguments, calls `prepare` if a case is to run, and
/// runs the cases. Fails if a case panics or `prepare` does; it never passes by not running.
pub fn namespace_main<'a, E: Display>(
    prepare: impl FnOnce() -> Result<(), E>,
    cases: impl Into<Cases<'a>>,
) -> ExitCode {
    let request = Request::parse(std::env::args().skip(1));
    let mut out = io::stdout();
    let result = request.answer(prepare, cases.into(), &mut out);
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
        cases: Cases<'_>,
        out: &mut impl Write,
    ) -> io::Result<bool> {
        let wanted = |cases: &[Case]| -> Vec<Case> {
            let wanted = cases.iter().filter(|case| self.wants(case));
            wanted.copied().collect()
        };
        let (at_once, one_by_one) = (wanted(cases.at_once), wanted(cases.one_by_one));
        let count = at_once.len() + one_by_one.len();
        let all = || at_once.iter().chain(&one_by_one);
        if self.list {
            for case in all() {
                writeln!(out, "{}: test", case.name)?;
            }
            return Ok(true);
        }
        let mut tally = Tally {
            filtered: cases.at_once.len() + cases.one_by_one.len() - count,
            ..Tally::default()
        };
        let started = MonoClock.now();
        writeln!(out, "\nrunning {count} tests")?;
        if !self.run_ignored {
            for case in all() {
                writeln!(out, "test {} ... ignored, needs user namespaces", case.name)?;
            }
            tally.ignored = count;
        } else if count > 0 {
            if let Err(error) = prepare() {
                writeln!(out, "cannot run any test: {error}")?;
                tally.failed = all().map(|case| case.name).collect();
            } else {
                tally.run(&at_once, &one_by_one, out)?;
            }
        }
        let seconds = MonoClock.now().saturating_since(started).as_secs_f64();
        tally.write(seconds, out)?;
        Ok(tally.failed.is_empty())
    }
}

/// How a case ended.
enum Outcome {
    Failed,
    NotRun(String),
    Passed,
}

/// A case under way, on a thread of its own, because a case may change its thread's network.
struct RunningCase {
    name: &'static str,
    started: MonoInstant,
    thread: io::Result<JoinHandle<()>>,
}

impl RunningCase {
    fn start(case: &Case) -> Self {
        let thread = Builder::new().name(case.name.to_owned()).spawn(case.run);
        Self {
            name: case.name,
            started: MonoClock.now(),
            thread,
        }
    }

    fn outcome(self) -> Outcome {
        let Ok(thread) = self.thread else {
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
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<&'static str>,
    ignored: usize,
    filtered: usize,
}

impl Tally {
    fn run(
        &mut self,
        at_once: &[Case],
        one_by_one: &[Case],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let begun: Vec<RunningCase> = at_once.iter().map(RunningCase::start).collect();
        for case in begun {
            self.end(case, out)?;
        }
        for case in one_by_one {
            self.end(RunningCase::start(case), out)?;
        }
        Ok(())
    }

    /// Waits for the end of a case, and says how it went.
    fn end(&mut self, case: RunningCase, out: &mut impl Write) -> io::Result<()> {
        let RunningCase { name, started, .. } = case;
        write!(out, "test {name} ... ")?;
        out.flush()?;
        match case.outcome() {
            Outcome::Failed => {
                self.failed.push(name);
                writeln!(out, "FAILED")
            }
            Outcome::NotRun(why) => {
                self.ignored += 1;
                writeln!(out, "ignored, not run: {why}")
            }
            Outcome::Passed => {
                self.passed += 1;
                // As libtest does with `--report-time`.
                let took = MonoClock.now().saturating_since(started).as_secs_f64();
                writeln!(out, "ok <{took:.3}s>")
            }
        }
    }

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
    use std::sync::Barrier;

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
        answer_of(CASES.into(), arguments, prepare)
    }

    fn answer_of(
        cases: Cases<'_>,
        arguments: &[&str],
        prepare: Result<(), &'static str>,
    ) -> (bool, String) {
        let request = Request::parse(arguments.iter().map(ToString::to_string));
        let mut out = Vec::new();
        let good = request.answer(|| prepare, cases, &mut out).unwrap();
        (good, String::from_utf8(out).unwrap())
    }

    /// Neither gets past it without the other.
    static BOTH_ARE_THERE: Barrier = Barrier::new(2);

    #[test]
    fn cases_that_may_run_at_once_do_and_are_counted_with_the_others() {
        let meet = |name| Case {
            name,
            run: || {
                BOTH_ARE_THERE.wait();
            },
        };
        let cases = Cases {
            at_once: &[meet("first"), meet("second")],
            one_by_one: &CASES[..1],
        };
        let (good, text) = answer_of(cases, &["--ignored"], Ok(()));
        assert!(good);
        let passed = text.lines().filter_map(|line| line.split_once(" <"));
        let lines: Vec<_> = passed.map(|(line, _)| line).collect();
        assert_eq!(
            lines,
            [
                "test first ... ok",
                "test second ... ok",
                "test good ... ok"
            ]
        );
        assert!(text.contains("3 passed; 0 failed; 0 ignored"), "{text}");
        let (_, listed) = answer_of(cases, &["--list"], Ok(()));
        assert_eq!(listed, "first: test\nsecond: test\ngood: test\n");
        let (_, text) = answer_of(cases, &["--ignored", "good"], Ok(()));
        assert!(text.contains("1 passed"), "{text}");
        assert!(text.contains("2 filtered out"), "{text}");
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
