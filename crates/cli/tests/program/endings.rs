//! Every command ends within 2 s of a signal, the end of its terminal, or the end of whoever reads its output, and keeps
//! what it has measured.

use crate::harness::{Ended, Place, Running, Server, fixture, good_log};
use crate::help::commands;
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testkit::child::{KilledChild, handles};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File, Permissions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// What the issue of every command is measured against.
const TIME_TO_END: Duration = Duration::from_secs(2);

/// A machine that is busy with other tests may take this much longer.
const BUSY: Duration = Duration::from_secs(2);

/// Between two looks at a process.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A test that waits longer than this is stuck.
const STUCK: Duration = Duration::from_mins(1);

/// How a command is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Signal(Signal),
    Terminal,
    Reader,
}

const LEAVINGS: [Leaving; 5] = [
    Leaving::Signal(Signal::INT),
    Leaving::Signal(Signal::TERM),
    Leaving::Signal(Signal::HUP),
    Leaving::Terminal,
    Leaving::Reader,
];

/// What a command does when it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Measures until its end is asked for: exit code 1, and what it has is kept.
    Measures,
    /// Serves: that it ends is no failure.
    Serves,
    /// Prints, or does something that takes no time.
    Prints,
    /// Has ended by itself.
    Ends,
}

/// What a command's output goes to: full, so that who prints waits for a reader.
struct Output {
    reader: Option<OwnedFd>,
    writer: File,
}

impl Output {
    fn terminal() -> Self {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let size = Winsize {
            ws_col: 80,
            ws_row: 24,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal, size).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let writer = File::from(
            open(
                name,
                OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .unwrap(),
        );
        Self {
            reader: Some(terminal),
            writer,
        }
    }

    fn pipe() -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        Self {
            reader: Some(reader.into()),
            writer: File::from(OwnedFd::from(writer)),
        }
    }

    /// Until nothing more can be written to it.
    fn filled(self) -> Self {
        // Opened anew: the flag is of the open file, which the command gets.
        let own = format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&self.writer)
        );
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let filling = open(own, flags, Mode::empty()).unwrap();
        for size in [1024, 1] {
            while rustix::io::write(&filling, &vec![b' '; size]) != Err(Errno::AGAIN) {}
        }
        self
    }

    fn end(&self) -> Stdio {
        Stdio::from(self.writer.as_fd().try_clone_to_owned().unwrap())
    }
}

/// A command beside the test, with what it prints to.
struct Left {
    child: KilledChild,
    output: Output,
}

impl Left {
    /// Starts it; one that prints finds its output full.
    fn start(command: &mut Command, leaving: Leaving, kind: Kind) -> Self {
        let is_terminal = leaving == Leaving::Terminal;
        let mut output = if is_terminal {
            Output::terminal()
        } else {
            Output::pipe()
        };
        if kind == Kind::Prints {
            output = output.filled();
        }
        let beside = || {
            if is_terminal {
                output.end()
            } else {
                Stdio::null()
            }
        };
        command
            .env("TERM", "xterm")
            .stdin(beside())
            .stdout(output.end())
            .stderr(beside());
        let child = KilledChild::from(command.spawn().unwrap());
        // The command keeps its own copies open.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self { child, output }
    }

    /// Waits until the command can be asked to end its work, or waits for who reads what it prints, or has ended.
    fn settle(&mut self, kind: Kind) -> Result<(), String> {
        let deadline = MonoClock.now().after(STUCK);
        let mut still = 0;
        while still < 5 && self.child.try_wait().unwrap().is_none() {
            let pid = self.child.id();
            if MonoClock.now() >= deadline {
                let status = fs::read_to_string(format!("/proc/{pid}/status"));
                return Err(format!("it is busy for ever: {status:?}"));
            }
            let is_settled = match kind {
                Kind::Prints | Kind::Ends => is_waiting(pid),
                Kind::Measures | Kind::Serves => handles(pid, Signal::INT.as_raw()),
            };
            still = if is_settled { still + 1 } else { 0 };
            sleep_until(MonoClock.now().after(LOOK_INTERVAL));
        }
        Ok(())
    }

    fn leave(&mut self, leaving: Leaving) {
        match leaving {
            // It may have ended by itself.
            Leaving::Signal(signal) => drop(kill_process(Pid::from_child(&self.child), signal)),
            Leaving::Terminal | Leaving::Reader => drop(self.output.reader.take()),
        }
    }

    /// Waits for its end; none if it does not come soon.
    fn ended(&mut self) -> Option<ExitStatus> {
        let deadline = MonoClock.now().after(TIME_TO_END + BUSY);
        loop {
            let status = self.child.try_wait().unwrap();
            if status.is_some() || MonoClock.now() >= deadline {
                return status;
            }
            sleep_until(MonoClock.now().after(LOOK_INTERVAL));
        }
    }
}

/// Whether a process watches for its end, and its first thread waits.
fn is_waiting(pid: u32) -> bool {
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm"));
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let is_ready = tasks
        .filter_map(|task| name(task).ok())
        .any(|name| name == "ending\n");
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).unwrap_or_default();
    is_ready && stat.contains(") S ")
}

/// What there is for a command to work on.
struct Bench {
    place: Place,
    server: Server,
    run: String,
    other_log: String,
    plan: String,
    /// The plan with what the table tells two values of.
    two_cells: String,
    table: String,
    /// Agents that test with each other, and the inventory of both.
    _agents: [Server; 2],
    inventory: String,
}

impl Bench {
    fn new() -> Self {
        let (place, server) = (Place::new(), Server::on("127.0.0.1"));
        let log = good_log().display().to_string();
        place.run(&["import", &log]).done();
        let run = place.listed()[0]["id"].as_str().unwrap().to_owned();
        place.run(&["note", &run, "what was asked"]).done();
        let plan = format!(
            "[study]\ntitle = \"long\"\nhost = \"{}\"\nrepetitions = 2\n\
             [defaults]\nkind = \"tcp\"\ntime = \"30m\"\n",
            server.address()
        );
        let two_cells = format!("{plan}[factors]\nstreams = [1, 4]\n");
        let two_cells = place
            .with("cells.toml", two_cells.as_bytes())
            .display()
            .to_string();
        let plan = place
            .with("plan.toml", plan.as_bytes())
            .display()
            .to_string();
        let table = place.with(
            "table.csv",
            b"streams,value,unit\n1,94.1,Mbit/s\n4,94.2,Mbit/s\n",
        );
        let table = table.display().to_string();
        let key = place.with("mesh.key", &[7; 32]);
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let key = key.display().to_string();
        let listen = ["--listen", "127.0.0.1:0", "--key", &key];
        let allowed = [&listen[..], &["--allow-mesh", "127.0.0.0/8"]].concat();
        let agents = [(); 2].map(|()| Server::with(&allowed));
        let [a, b] = agents.each_ref().map(Server::address);
        let inventory = format!(
            "[mesh]\ntime = \"30m\"\nkey = \"mesh.key\"\n\
             [hosts.a]\naddress = \"{a}\"\n[hosts.b]\naddress = \"{b}\"\n"
        );
        let inventory = place.with("mesh.toml", inventory.as_bytes());
        Self {
            place,
            server,
            run,
            other_log: fixture("tcp/board-receives.client.log")
                .display()
                .to_string(),
            plan,
            two_cells,
            table,
            _agents: agents,
            inventory: inventory.display().to_string(),
        }
    }

    /// Ways to call a command, with what each is; of a command that is not listed here, the plain one.
    fn calls(&self, command: &str) -> Vec<(Kind, Vec<&str>)> {
        use Kind::{Ends, Measures, Prints, Serves};
        let (address, run) = (self.server.address(), self.run.as_str());
        let more: &[(Kind, &[&str])] = match command {
            "demo" | "calibrate" => &[(Measures, &[])],
            "serve" => &[
                (Serves, &["--listen", "127.0.0.1:0"]),
                (Serves, &["--listen", "127.0.0.1:0", "--json"]),
            ],
            "tcp" => &[
                (Measures, &[address, "-t", "1h"]),
                (Measures, &[address, "-t", "1h", "--live"]),
                (Measures, &[address, "-t", "1h", "--json", "--reverse"]),
            ],
            "udp" => &[
                (Measures, &[address, "-t", "1h", "--rate", "1M"]),
                (Measures, &[address, "-t", "1h", "--rate", "1M", "--live"]),
            ],
            "latency" => &[
                (Measures, &[address, "-t", "30m"]),
                (Measures, &[address, "-t", "30m", "--live"]),
            ],
            "saturate" => &[
                (Measures, &[address, "--max", "2M", "--budget", "1h"]),
                (
                    Measures,
                    &[address, "--max", "2M", "--budget", "1h", "--live"],
                ),
            ],
            // Without privileges it ends by itself.
            "switch" => &[(
                Ends,
                &["--dut", "wire", "--line-rate", "10M", "--budget", "1h"],
            )],
            "run" => &[(Measures, &[&self.plan])],
            "mesh" => &[
                (Measures, &[&self.inventory]),
                (Measures, &[&self.inventory, "--every", "1h"]),
                (Prints, &[&self.inventory, "--dry-run"]),
            ],
            "plan" => &[(Prints, &["init", "udp"])],
            "compare" => &[(Prints, &[run, run])],
            "reproduce" => &[
                (Prints, &["--audit", &self.table]),
                (Measures, &[&self.two_cells, "--published", &self.table]),
            ],
            "explain" | "report" | "show" | "export" | "note" => &[(Prints, &[run])],
            "import" => &[(Prints, &[&self.other_log])],
            "rm" => &[(Ends, &["nosuch"])],
            "doctor" => &[(Prints, &[]), (Measures, &["--jitter", "1h"])],
            "footprint" => &[(Prints, &["/bin/true"])],
            "board" => &[(Prints, &["list"])],
            _ => &[(Prints, &[])],
        };
        more.iter()
            .map(|(kind, args)| (*kind, args.to_vec()))
            .collect()
    }

    /// Starts the command, leaves it, and returns what is wrong with its end.
    fn left(&self, kind: Kind, args: &[&str], leaving: Leaving) -> Result<(), String> {
        if args.contains(&"--live") && leaving != Leaving::Terminal {
            return Ok(());
        }
        if args[0] == "import" {
            // What is known already is not imported, and nothing printed.
            for run in self.place.listed() {
                let id = run["id"].as_str().unwrap();
                if id.starts_with("imported-") && id != self.run {
                    self.place.run(&["rm", id]).done();
                }
            }
        }
        let mut left = Left::start(&mut self.place.command(args), leaving, kind);
        left.settle(kind)
            .map_err(|why| format!("{args:?}, {leaving:?}: {why}"))?;
        left.leave(leaving);
        let Some(status) = left.ended() else {
            return Err(format!("{args:?}, {leaving:?}: it goes on"));
        };
        let (code, signal) = (status.code(), status.signal());
        let died_of = |sent: Signal| signal == Some(sent.as_raw()) || code == Some(0);
        let is_as_said = match (kind, leaving) {
            (Kind::Measures, _) => code == Some(1),
            (Kind::Ends, _) => code.is_some(),
            (Kind::Serves, _) | (Kind::Prints, Leaving::Reader) => code == Some(0),
            // One that prints nothing, or was done before, has ended by itself.
            (Kind::Prints, Leaving::Signal(sent)) => died_of(sent),
            // Its last write may return, with or without an error, before it is ended.
            (Kind::Prints, Leaving::Terminal) => code.is_some() || died_of(Signal::HUP),
        };
        let wrong = || format!("{args:?}, {leaving:?}: {status}");
        is_as_said.then_some(()).ok_or_else(wrong)
    }
}

#[test]
fn every_command_ends_soon_however_it_is_left() {
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for command in commands() {
        for (kind, more) in bench.calls(&command) {
            let args = [&[command.as_str()], &more[..]].concat();
            for leaving in LEAVINGS {
                wrong.extend(bench.left(kind, &args, leaving).err());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let incomplete = bench
        .place
        .listed()
        .into_iter()
        .filter(|run| run["status"] == "incomplete");
    assert!(incomplete.count() > 30);
}

#[test]
fn what_a_peer_does_not_answer_is_kept_as_this_end_saw_it() {
    for way in ["--reverse", "--no-store"] {
        let (place, server) = (Place::new(), Server::on("127.0.0.1"));
        let args = [
            "udp",
            server.address(),
            "--rate",
            "2M",
            "-t",
            "30m",
            "--stream",
        ];
        let more: &[&str] = if way == "--reverse" { &[way] } else { &[] };
        let mut test = Running::start(&mut place.command(&[&args, more].concat()));
        test.await_line("Mbit/s\"");
        server.rest();
        test.signal(Signal::TERM);
        test.end().failed(1, &["was interrupted", "are kept"]);
        let run = place.run(&["show", "last", "--json"]).document();
        let trial = &run["trials"][0];
        let kept = if more.is_empty() {
            "sent_bytes"
        } else {
            "received_bytes"
        };
        assert!(trial["raw"][0].is_object(), "{trial}");
        assert!(
            run["notes"]
                .to_string()
                .contains("ended early: the peer did not answer it within 1 s"),
            "{run}"
        );
        assert!(trial[kept].as_u64() > Some(0), "{trial}");
    }
}

#[test]
fn a_test_that_is_left_as_its_server_dies_keeps_what_it_has() {
    let (place, server) = (Place::new(), Server::on("127.0.0.1"));
    let args = [
        "tcp",
        server.address(),
        "--rate",
        "20M",
        "-t",
        "30m",
        "--stream",
    ];
    let mut test = Running::start(&mut place.command(&args));
    test.await_line("Mbit/s\"");
    server.rest();
    test.signal(Signal::INT);
    server.kill();
    test.end().failed(1, &["was interrupted", "are kept"]);
    let run = place.run(&["show", "last", "--json"]).document();
    assert!(run["trials"][0]["sent_bytes"].as_u64() > Some(0), "{run}");
}

#[test]
fn two_signals_at_once_are_one_wish() {
    let (place, server) = (Place::new(), Server::on("127.0.0.1"));
    // It signals its program, and then its group, in which the program is.
    let mut command = Command::new("timeout");
    command.args([
        "-s",
        "INT",
        "2",
        env!("CARGO_BIN_EXE_linerate"),
        "tcp",
        server.address(),
    ]);
    command.args(["-t", "30m", "--store"]).arg(place.store());
    Ended::spawn(&mut command);
    let run = place.run(&["show", "last", "--json"]).document();
    let why = run["trials"][0]["reasons"][0].as_str();
    assert_eq!(why, Some("stopped by the user before its end"), "{run}");
}

#[test]
fn nohup_is_obeyed() {
    let (place, server) = (Place::new(), Server::on("127.0.0.1"));
    let mut command = Command::new("nohup");
    command.args([
        env!("CARGO_BIN_EXE_linerate"),
        "tcp",
        server.address(),
        "-t",
        "3s",
    ]);
    command
        .args(["--diagnose", "0s", "--store"])
        .arg(place.store())
        .current_dir(place.file("."));
    let mut left = Left::start(&mut command, Leaving::Terminal, Kind::Measures);
    left.settle(Kind::Measures).unwrap();
    left.leave(Leaving::Terminal);
    left.leave(Leaving::Signal(Signal::HUP));
    left.child.wait().unwrap();
    assert_eq!(place.listed()[0]["status"], "complete");
}

#[test]
fn what_prints_an_inventory_ends_with_who_asked_for_it() {
    let place = Place::new();
    let own = place.file("own");
    let text = format!("echo $$ > '{}'; exec sleep 1000", own.display());
    let args = ["mesh", "--inventory-command", &text, "--dry-run"];
    let mesh = Running::start(&mut place.command(&args));
    let deadline = MonoClock.now().after(STUCK);
    let number = loop {
        let number = fs::read_to_string(&own).unwrap_or_default();
        if number.ends_with('\n') {
            break number;
        }
        assert!(MonoClock.now() < deadline, "it never ran");
        sleep_until(MonoClock.now().after(LOOK_INTERVAL));
    };
    mesh.signal(Signal::INT);
    mesh.end().failed(1, &["it was interrupted"]);
    let left = Path::new("/proc").join(number.trim());
    assert!(!left.exists(), "{number}");
}
