//! Two hosts joined by the link element, the second with the boards behind it.

use crate::run::{Ended, Running};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::Clock as _;
use linerate_model::run::Run;
use linerate_model::spec::TestSpec;
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::pseudo_terminal;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use linerate_testkit::child::KilledChild;
use linerate_testkit::namespaces::not_run;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Boards' networks, from host A's side.
const BOARDS: &str = "10.78.0.0/16";

/// A start bit, eight bits and a stop bit at 9600 baud.
const BYTE_TIME: Duration = Duration::from_nanos(1_000_000_000 / 960);

/// Where `make dist` leaves the agent for an architecture, and where the program looks for it.
fn agent(arch: &str) -> PathBuf {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist");
    dist.join(format!("linerate-{arch}"))
}

/// The release of Debian, where another than the usual one is to be had.
fn suite() -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "a test's own setting")]
    let suite = std::env::var("LINERATE_SUITE").ok();
    suite
        .into_iter()
        .flat_map(|suite| ["--suite".to_owned(), suite])
        .collect()
}

fn linerate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.stdin(Stdio::null());
    command
}

/// Fetches what the boards need, unless it is in the cache.
pub(crate) fn fetch() {
    for (machine, arch) in [
        ("sifive_u", "riscv64"),
        ("virt", "riscv64"),
        ("virt", "aarch64"),
        ("virt", "armv7"),
    ] {
        let mut fetch = linerate();
        fetch
            .args(["board", "fetch", "--machine", machine, "--arch", arch])
            .args(suite());
        // What fails is said by the start that needs it.
        let _ = fetch.output();
    }
}

/// Host A measures, host B routes to the boards.
pub(crate) struct Bench {
    hosts: TwoHosts,
}

impl Bench {
    /// `to_board` is what happens to frames in each direction.
    pub(crate) fn with(link: LinkConfig) -> Self {
        let bench = Self {
            hosts: TwoHosts::create(Link::symmetric(link), 1).unwrap(),
        };
        bench.script(HostId::A, &format!("ip route add {BOARDS} via 10.77.0.2"));
        bench.script(HostId::B, "echo 1 >/proc/sys/net/ipv4/ip_forward");
        bench
    }

    fn script(&self, host: HostId, script: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]);
        let ended = self.on(host, shell);
        assert_eq!(ended.code, Some(0), "{script}: {}", ended.err);
        ended.out
    }

    fn on(&self, host: HostId, mut command: Command) -> Ended {
        let run = move || Ended::spawn(&mut command);
        self.hosts
            .host(host)
            .spawn("program", run)
            .unwrap()
            .join()
            .unwrap()
    }

    /// Runs linerate on the host of the boards.
    pub(crate) fn linerate(&self, words: &[&str]) -> Ended {
        let mut command = linerate();
        command.args(words);
        self.on(HostId::B, command)
    }

    /// Runs one test on host A against a board, through the link element.
    pub(crate) fn measure(&self, name: &str, spec: TestSpec) -> Run {
        let far = PeerAddress::parse(&self.address(name)).unwrap();
        let work = move || unattended(|context| single(context, &Target::new(far), &spec));
        let host = self.hosts.host(HostId::A);
        host.spawn("test", work).unwrap().join().unwrap().unwrap()
    }

    /// Starts a board; what was said.
    pub(crate) fn up(&self, name: &str, words: &[&str]) -> String {
        let ended = self.start_board(name, words);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out + &ended.err
    }

    /// Starts a board; the document about it.
    pub(crate) fn up_as_document(&self, name: &str, words: &[&str]) -> Value {
        let words = [words, &["--json"]].concat();
        self.start_board(name, &words).json()
    }

    fn start_board(&self, name: &str, words: &[&str]) -> Ended {
        // Of a run that was killed.
        self.linerate(&["board", "down", name]);
        let asked = words.iter().position(|word| *word == "--arch");
        let arch = asked.map_or("riscv64", |at| words[at + 1]);
        if !agent(arch).is_file() {
            not_run(format!(
                "there is no agent for {arch}: `make dist` builds it"
            ));
        }
        let own = suite();
        let mut all = vec!["board", "up", name];
        all.extend(own.iter().map(String::as_str));
        all.extend(words);
        self.linerate(&all)
    }

    /// Stops a board, which says how it was.
    #[track_caller]
    pub(crate) fn down(&self, name: &str, part: &str) {
        let ended = self.linerate(&["board", "down", name]);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.out.contains(part), "{}", ended.out);
    }

    /// The address of a board.
    pub(crate) fn address(&self, name: &str) -> String {
        let all = self.linerate(&["board", "list", "--json"]).json();
        let mut all = all["boards"].as_array().unwrap().iter();
        let board = all.find(|board| board["name"] == name).unwrap();
        board["link"]["address"].as_str().unwrap().to_owned()
    }

    /// Frames that the link element dropped from its list: towards the board, and from it.
    pub(crate) fn dropped_by_list(&self) -> [u64; 2] {
        let counters = self.hosts.link().unwrap().counters().unwrap();
        [counters.a_to_b, counters.b_to_a].map(|way| way.data.dropped_by_list.get())
    }

    /// The device of a serial line of 9600 baud whose other end is a board's console, as long as what comes with it lives.
    pub(crate) fn serial_line(&self, name: &str) -> (PathBuf, SerialCable) {
        let (end, device) = pseudo_terminal().unwrap();
        // Kept open, so that the line is not hung up between two programs.
        let kept = File::options().read(true).write(true).open(&device);
        let mut command = linerate();
        command
            .args(["board", "console", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let spawn = move || command.spawn().unwrap();
        let host = self.hosts.host(HostId::B);
        let mut console = host.spawn("console", spawn).unwrap().join().unwrap();
        let (keyboard, screen) = (console.stdin.take(), console.stdout.take());
        let typed = end.try_clone().unwrap();
        thread::spawn(move || pass(typed, keyboard.unwrap()));
        thread::spawn(move || pass(screen.unwrap(), end));
        let cable = SerialCable {
            _console: console.into(),
            _device: kept.unwrap(),
        };
        (device, cable)
    }

    /// Starts linerate on the host of the boards.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        let mut command = linerate();
        command.args(words);
        let start = move || Running::start(&mut command);
        let host = self.hosts.host(HostId::B);
        host.spawn("program", start).unwrap().join().unwrap()
    }

    /// Kills the emulator of a board.
    pub(crate) fn kill_emulator_of(&self, name: &str) {
        let needle = format!("\0-name\0{name}\0");
        let mut found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let words = fs::read_to_string(path.join("cmdline")).ok()?;
            let is_it = words.contains(&needle);
            is_it.then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
        });
        let emulator = found.next().expect("the board has an emulator");
        self.script(HostId::B, &format!("kill -9 {emulator}"));
    }

    pub(crate) fn has_interface(&self, name: &str) -> bool {
        self.script(HostId::B, "ip -o link").contains(name)
    }

    pub(crate) fn close(self) {
        self.hosts.close().unwrap();
    }
}

/// Passes on what comes, as a line of 9600 baud does, until either end is gone.
fn pass(mut from: impl Read, mut to: impl Write) {
    let mut bytes = [0; 16];
    while let Ok(length) = from.read(&mut bytes)
        && length > 0
    {
        let time = BYTE_TIME * u32::try_from(length).unwrap();
        sleep_until(MonoClock.now().after(time));
        if to
            .write_all(&bytes[..length])
            .and_then(|()| to.flush())
            .is_err()
        {
            return;
        }
    }
}

/// What joins a serial line and a board's console.
pub(crate) struct SerialCable {
    _console: KilledChild,
    _device: File,
}
