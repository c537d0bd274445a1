//! Hubs with a worker that takes no time: a script that writes a document as `linerate mesh` would.

use crate::postgres::Postgres;
use linerate_model::run::{
    ByteStreamResult, Config, Run, RunKind, StudyPlace, Tool, Trial, TrialWork,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, Clock as _, WallTime};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testkit::child::{KilledChild, handles};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Trials of each document.
pub(crate) const TRIALS: i64 = 6;
/// Between two looks at a state.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// A test that waits longer than this is stuck.
const STUCK: Duration = Duration::from_mins(2);

/// Waits until it is so.
#[track_caller]
pub(crate) fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = MonoClock.now().after(STUCK);
    while !is_so() {
        assert!(MonoClock.now() < deadline, "it never came: {what}");
        sleep_until(MonoClock.now().after(LOOK_INTERVAL));
    }
}

/// A folder with an inventory, the worker, and an archive.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
    archive: PathBuf,
}

/// A run document with [`TRIALS`] trials in three parts.
fn document() -> String {
    let mut run = Run::new("@ID@", RunKind::Study, Tool::linerate("1"));
    run.started = WallTime::from_unix(1_790_000_000);
    let parts = (0..3).map(|number| {
        let mut part = Run::new(format!("@ID@-{number}"), RunKind::Tcp, Tool::linerate("1"));
        part.started = WallTime::from_unix(1_790_000_000 + i64::from(number));
        part.config = Config {
            place: Some(StudyPlace {
                cell: format!("a → {number}"),
                repetition: 1,
            }),
            ..Config::default()
        };
        part.trials = (0..2)
            .map(|index| {
                let work = TrialWork::ByteStream(Box::<ByteStreamResult>::default());
                let mut trial = Trial::new(index, Transport::Tcp, Direction::Forward, work);
                trial.received_rate = Some(BitRate::from_bps(1_000_000 + u64::from(index)));
                trial
            })
            .collect();
        part
    });
    *run.parts_mut().unwrap() = parts.collect();
    serde_json::to_string(&run).unwrap()
}

/// Writes a document into the store that it is given, after the time that it is told to take, and keeps a record of it: the
/// truth that the rows are compared with.
const WORKER: &str = r#"#!/bin/sh
here=$(dirname "$0")
while [ $# -gt 0 ]; do
    [ "$1" = --store ] && store=$2
    shift
done
id=run-$$-$(date +%s%N)
echo "begin $(date +%s%N) $id" >>"$here/log"
[ -e "$here/take" ] && sleep "$(cat "$here/take")"
echo "end $(date +%s%N) $id" >>"$here/log"
mkdir -p "$store/$id"
sed "s/@ID@/$id/g" "$here/template" >"$store/$id/run.new"
mv "$store/$id/run.new" "$store/$id/run.json" && echo "$id" >>"$here/made"
"#;

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("archive");
        Self::at(dir, archive)
    }

    /// With an archive elsewhere.
    pub(crate) fn with_archive(archive: &Path) -> Self {
        Self::at(tempfile::tempdir().unwrap(), archive.to_owned())
    }

    fn at(dir: tempfile::TempDir, archive: PathBuf) -> Self {
        let bench = Self { dir, archive };
        let worker = bench.file("worker");
        fs::write(&worker, WORKER).unwrap();
        fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(bench.file("template"), document()).unwrap();
        let inventory =
            "[mesh]\ntime = \"1s\"\n[hosts.a]\naddress = \"a\"\n[hosts.b]\naddress = \"b\"\n";
        fs::write(bench.file("lab.toml"), inventory).unwrap();
        bench
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn archive(&self) -> &Path {
        &self.archive
    }

    /// How long each round takes from now on.
    pub(crate) fn rounds_take(&self, seconds: &str) {
        fs::write(self.file("take"), seconds).unwrap();
    }

    /// `linerate-hub serve` on this database.
    pub(crate) fn serve(&self, url: &str, more: &[&str]) -> Command {
        let mut command = hub(&["serve", "--every", "1s", "--jitter", "0s"]);
        if !more.contains(&"--reserve") {
            command.args(["--reserve", "0"]);
        }
        command
            .args(["--database", url, "--program"])
            .arg(self.file("worker"))
            .arg("--archive")
            .arg(&self.archive)
            .args(more)
            .arg(self.file("lab.toml"));
        command
    }

    /// The documents that the worker has written.
    pub(crate) fn made(&self) -> Vec<String> {
        let made = fs::read_to_string(self.file("made")).unwrap_or_default();
        made.lines().map(str::to_owned).collect()
    }

    /// The runs in the archive.
    pub(crate) fn archived(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.archive).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("run-")).collect()
    }

    /// When each round that came to its end began and ended, in nanoseconds, in order.
    pub(crate) fn spans(&self) -> Vec<(u64, u64)> {
        let log = fs::read_to_string(self.file("log")).unwrap();
        let events = |which: &'static str| -> BTreeMap<String, u64> {
            let words = log.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let of = words.filter(|words| words[0] == which);
            of.map(|words| (words[2].to_owned(), words[1].parse().unwrap()))
                .collect()
        };
        let (begins, ends) = (events("begin"), events("end"));
        let spans = ends.iter().map(|(id, end)| (begins[id], *end));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        spans
    }

    /// Every document that was made is in the archive, with each of its trials as one row.
    #[track_caller]
    pub(crate) fn every_trial_counts_once(&self, postgres: &Postgres) {
        let made = self.made();
        let all: BTreeSet<_> = made.iter().cloned().collect();
        assert_eq!(all.len(), made.len());
        assert_eq!(self.archived(), all);
        let rows = i64::try_from(made.len()).unwrap() * TRIALS;
        assert_eq!(postgres.number("SELECT count(*) FROM trials"), rows);
        let distinct = "SELECT count(*) FROM (SELECT DISTINCT run, part, trial FROM trials) AS one";
        assert_eq!(postgres.number(distinct), rows);
        let runs = postgres.sql("SELECT run FROM runs ORDER BY run COLLATE \"C\"");
        assert_eq!(
            runs.lines().map(str::to_owned).collect::<BTreeSet<_>>(),
            all
        );
    }
}

/// The program with an environment that does not depend on who runs the tests.
pub(crate) fn hub(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-hub"));
    command
        .args(args)
        .stdin(Stdio::null())
        .env_remove("LINERATE_HUB_DATABASE");
    command
}

/// Runs it to its end.
pub(crate) fn ended(command: &mut Command) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = [stdout, stderr].concat();
    (status.code(), String::from_utf8(said).unwrap())
}

/// A hub that serves; killed with the value.
pub(crate) struct Serving {
    child: KilledChild,
    log: PathBuf,
}

impl Serving {
    /// Starts it.
    pub(crate) fn start(mut command: Command, log: &Path) -> Self {
        let file = fs::File::options().create(true).append(true).open(log);
        let child = command.stdout(Stdio::null()).stderr(file.unwrap()).spawn();
        Self {
            child: child.unwrap().into(),
            log: log.to_owned(),
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to end once it listens to that, and waits.
    pub(crate) fn stop(mut self) -> Option<i32> {
        await_that("a handler of SIGTERM", || {
            handles(self.child.id(), Signal::TERM.as_raw())
        });
        self.signal(Signal::TERM);
        self.child.wait().unwrap().code()
    }

    /// Kills it without a chance to say goodbye.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// What hubs with this log have said.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}
