//! One run of one test program: what it holds, what came of it.

use super::Tier;
use std::fs::File;
use std::io;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What of the machine a program of tests takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// All: nothing runs beside it.
    Alone,
    /// A core.
    Core,
    /// Next to nothing: it mostly waits.
    Waits,
}

/// The tests of a program that need no privileges, or those that do.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) package: String,
    pub(super) target: String,
    pub(super) program: PathBuf,
    /// Folder of its package: where `cargo test` would run it.
    pub(super) folder: PathBuf,
    /// Whether those that are `#[ignore]`d run, or the others.
    pub(super) ignored: bool,
    pub(super) share: Share,
    /// How many of its tests run at once; `None`: as many as there are cores.
    pub(super) threads: Option<u16>,
}

/// Tests by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Listed, and not run.
    pub(super) skipped: u64,
}

impl Counts {
    pub(super) const fn is_good(self) -> bool {
        self.failed == 0 && self.skipped == 0
    }

    /// What a program's `test result:` line says, of so many tests that it listed and should have run. What it calls
    /// ignored was not run, unless it is left for the job of the privileged ones.
    fn from_output(output: &str, listed: u64, is_privileged: bool) -> Self {
        let result = output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("test result: "));
        let count = |word: &str| {
            let part = result?
                .split([';', '.'])
                .find_map(|part| part.trim().strip_suffix(word))?;
            part.trim().parse::<u64>().ok()
        };
        let (passed, failed) = (count("passed").unwrap_or(0), count("failed").unwrap_or(0));
        let ignored = count("ignored").filter(|_| is_privileged).unwrap_or(0);
        Self {
            passed,
            failed,
            skipped: listed.saturating_sub(passed + failed).max(ignored),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl Job {
    pub(super) fn name(&self) -> String {
        let part = if self.ignored { ", privileged" } else { "" };
        format!("{}::{}{part}", self.package, self.target)
    }

    /// Runs it, keeps what it said in a file of `logs`, and says on one line how it went.
    pub(super) fn run(&self, tier: Tier, logs: &Path) -> Counts {
        let log = logs.join(format!(
            "{}.log",
            self.name().replace("::", "-").replace(", ", "-")
        ));
        let started = now();
        let counts = self.outcome(tier, &log).unwrap_or_else(|error| {
            println!("{}: {error}", self.name());
            Counts {
                failed: 1,
                ..Counts::default()
            }
        });
        if counts == Counts::default() {
            return counts;
        }
        let Counts {
            passed,
            failed,
            skipped,
        } = counts;
        let took = started.elapsed().as_secs_f64();
        println!(
            "{:<40} {passed:>4} passed, {failed} failed, {skipped} skipped  {took:6.1} s",
            self.name()
        );
        if !counts.is_good() {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            println!(
                "{}\n== {} FAILED ({})",
                text.trim_end(),
                self.name(),
                log.display()
            );
        }
        counts
    }

    fn outcome(&self, tier: Tier, log: &Path) -> io::Result<Counts> {
        let listed = self.listed()?;
        if listed == 0 {
            return Ok(Counts::default());
        }
        let file = File::create(log)?;
        let mut command = self.command(tier);
        if self.ignored {
            command.arg("--ignored");
        }
        if let Some(threads) = self.threads {
            command.arg(format!("--test-threads={threads}"));
        }
        let status = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .status()?;
        let mut counts = Counts::from_output(&std::fs::read_to_string(log)?, listed, self.ignored);
        if !status.success() && counts.failed == 0 {
            // It broke off: what had passed by then is not known.
            counts = Counts {
                failed: 1,
                skipped: listed.saturating_sub(1),
                passed: 0,
            };
        }
        Ok(counts)
    }

    /// How many tests it holds for this job.
    fn listed(&self) -> io::Result<u64> {
        let list = |arguments: &[&str]| {
            let output = self.command(Tier::All).args(arguments).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            let count = text.lines().filter(|line| line.ends_with(": test")).count();
            io::Result::Ok(u64::try_from(count).unwrap_or(u64::MAX))
        };
        let ignored = list(&["--list", "--ignored"])?;
        if self.ignored {
            return Ok(ignored);
        }
        Ok(list(&["--list"])?.saturating_sub(ignored))
    }

    fn command(&self, tier: Tier) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("LINERATE_TIER", tier.word());
        command
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a test took is for people to read"
)]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const RESULT: &str = "test a ... ok\n\ntest result: ok. 11 passed; 2 failed; 3 ignored; 0 measured; 0 filtered out\n\n";

    #[test]
    fn counts_are_those_of_the_result_line() {
        let counts = Counts::from_output(RESULT, 13, false);
        assert_eq!(
            counts,
            Counts {
                passed: 11,
                failed: 2,
                skipped: 0
            }
        );
    }

    #[test]
    fn a_test_that_was_listed_and_did_not_run_is_skipped() {
        assert_eq!(Counts::from_output(RESULT, 16, false).skipped, 3);
        assert_eq!(
            Counts::from_output("", 4, false),
            Counts {
                passed: 0,
                failed: 0,
                skipped: 4
            }
        );
        assert!(!Counts::from_output(RESULT, 16, false).is_good());
        // A part of a privileged test, such as a fault of the laboratory, could not be made.
        assert_eq!(Counts::from_output(RESULT, 13, true).skipped, 3);
    }

    /// A program that another thread starts while a script is being written would hold the script open, and the
    /// kernel starts no file that is open for writing ("text file busy").
    static ONE_SCRIPT_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn run(script: &str) -> Counts {
        let _turn = ONE_SCRIPT_AT_A_TIME.lock();
        let folder = tempfile::tempdir().unwrap();
        job(folder.path(), "t", Share::Core, script).run(Tier::Test, folder.path())
    }

    fn job(folder: &Path, target: &str, share: Share, script: &str) -> Job {
        use std::os::unix::fs::PermissionsExt as _;
        let program = folder.join(target);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Job {
            package: "p".to_owned(),
            target: target.to_owned(),
            program,
            folder: folder.to_owned(),
            ignored: true,
            share,
            threads: None,
        }
    }

    /// Two that wait pass only if both run at once: each opens one end of a pipe. What must be alone passes only after them.
    #[test]
    fn what_waits_runs_at_once_and_what_must_be_alone_after_it() {
        let _turn = ONE_SCRIPT_AT_A_TIME.lock();
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status();
        assert!(made.unwrap().success());
        let test = |target, share, work: &str| {
            let passed = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'";
            let script =
                format!("case $* in *--list*) echo 'a: test';; *) {work} && {passed};; esac");
            job(folder.path(), target, share, &script)
        };
        let jobs = vec![
            test("alone", Share::Alone, "[ -e read ] && [ -e written ]"),
            test("reads", Share::Waits, "cat pipe >read"),
            test("writes", Share::Waits, "echo >pipe && touch written"),
        ];
        let done = super::super::run_jobs(jobs, Tier::Test, folder.path());
        assert_eq!(done.len(), 3);
        for (job, counts) in done {
            assert!(
                counts.is_good() && counts.passed == 1,
                "{job:?}: {counts:?}"
            );
        }
    }

    #[test]
    fn a_program_that_breaks_off_has_failed() {
        let counts =
            run("case $* in *--list*) echo 'a: test'; echo 'b: test';; *) exit 101;; esac");
        assert_eq!(
            counts,
            Counts {
                passed: 0,
                failed: 1,
                skipped: 1
            }
        );
    }

    #[test]
    fn a_program_that_runs_nothing_of_what_it_lists_has_skipped_it() {
        let script = "case $* in *--list*) echo 'a: test';; \
                      *) echo 'test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out';; esac";
        let counts = run(script);
        assert_eq!(
            counts,
            Counts {
                passed: 0,
                failed: 0,
                skipped: 1
            }
        );
    }
}
