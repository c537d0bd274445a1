//! An emulated board, and a switch on it.

use crate::programs::Program;
use crate::wire::vlan;
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_testkit::child::KilledChild;
use linerate_testkit::namespaces::not_run;
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Output, Stdio};
use std::time::Duration;

/// `linerate`, which is built beside the program under test.
fn program() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_linerate-p4")).with_file_name("linerate")
}

fn linerate(words: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(program());
    command.args(words).stdin(Stdio::null()).output()
}

/// The emulated interface computes checksums of whatever it sends, and lets a checksum of Ethernet that the driver has made
/// stand within the frame, unless offloads of sent frames are off: real ones do as the driver says.
const AS_REAL: &str = "ethtool -K eth0 tx off";

/// Prints the process of the switch there; busybox has no `pgrep`.
const PROCESS: &str = r"ps | sed -n 's/^ *\([0-9]*\) .*[/]linerate run .*/\1/p'";

/// Machine and packages.
const EQUIPMENT: [&str; 4] = ["--machine", "sifive_u", "--packages", "ethtool"];

/// Fetches what the board needs, unless it is in the cache. What fails is said by the start that needs it.
pub(crate) fn fetch() {
    let _ = linerate(&[&["board", "fetch"], &EQUIPMENT[..]].concat());
}

/// A board that is up, until dropped.
pub(crate) struct Board {
    name: &'static str,
    address: String,
}

impl Board {
    /// Starts it.
    pub(crate) fn up(name: &'static str) -> Self {
        let own = program();
        if !own.is_file() {
            let own = own.display();
            not_run(format!("{own} is not built: cargo build -p linerate-cli"));
        }
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist");
        for program in ["linerate-riscv64", "linerate-p4-riscv64"] {
            if !dist.join(program).is_file() {
                not_run(format!("there is no {program}: `make dist` builds it"));
            }
        }
        // Of a run that was killed.
        let _ = linerate(&["board", "down", name]);
        let words = [&["board", "up", name, "--json"], &EQUIPMENT[..]].concat();
        let started = linerate(&words).unwrap();
        let said = String::from_utf8_lossy(&started.stderr);
        assert!(started.status.success(), "{said}");
        let document: Value = serde_json::from_slice(&started.stdout).unwrap();
        let address = document["boards"][0]["link"]["address"].as_str();
        let board = Self {
            name,
            address: address.unwrap().to_owned(),
        };
        board.shell(AS_REAL);
        board
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// As `--on` has it.
    pub(crate) fn place(&self) -> String {
        format!("board://{}", self.name)
    }

    /// This host's end of its link: of the address 10.78.N.2 the device boardN.
    pub(crate) fn link(&self) -> InterfaceIndex {
        let number = self.address.split('.').nth(2).unwrap();
        let name = InterfaceName::new(&format!("board{number}")).unwrap();
        Netlink::new().unwrap().link_named(&name).unwrap().index
    }

    /// What a command on it prints.
    pub(crate) fn shell(&self, script: &str) -> String {
        let ended = linerate(&["board", "shell", self.name, script]).unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{script}: {said}");
        String::from_utf8(ended.stdout).unwrap()
    }

    /// CPU time of the switch's thread, seconds.
    pub(crate) fn cpu_time(&self) -> f64 {
        let read = self.shell(&format!("cat /proc/$({PROCESS})/schedstat"));
        let nanoseconds: f64 = read.split_whitespace().next().unwrap().parse().unwrap();
        nanoseconds / 1e9
    }

    /// Interfaces, with addresses and flags, files of other programs, and whether the switch runs.
    pub(crate) fn state(&self) -> String {
        let look = "ip -o link; ip -o addr; cat /sys/class/net/eth0/flags; ls /tmp /var/tmp /dev/shm /root";
        self.shell(&format!("{look}; {PROCESS}"))
    }

    /// Ends the switch there by SIGKILL.
    pub(crate) fn kill_switch(&self) {
        self.shell(&format!("kill -9 $({PROCESS})"));
    }

    /// Waits until that is as it was `found`.
    #[track_caller]
    pub(crate) fn await_state(&self, found: &str, patience: Duration) {
        let limit = MonoClock.now().after(patience);
        loop {
            let state = self.state();
            if state == found {
                return;
            }
            assert!(!has_passed(limit), "it is\n{state}\nand was\n{found}");
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = linerate(&["board", "down", self.name]);
    }
}

/// `linerate p4 run --on …`, under way.
pub(crate) struct Switch {
    child: KilledChild,
    errors: BufReader<ChildStderr>,
}

impl Switch {
    /// Starts a program with a VLAN for each of its ports, and returns once it runs there.
    pub(crate) fn start(board: &Board, program: &Program) -> Self {
        let ports = program.ports.iter();
        let ports: Vec<_> = ports
            .map(|port| format!("{port}=eth0,vlan={}", vlan(*port)))
            .collect();
        let mut switch = Self::begin(program, &ports, &board.place());
        let mut said = String::new();
        while !said.contains(" runs; ") {
            let length = switch.errors.read_line(&mut said).unwrap();
            assert!(length > 0, "it ended: {said}");
        }
        switch
    }

    /// Asks for a program at these ports of a host.
    pub(crate) fn begin(program: &Program, ports: &[String], on: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linerate-p4"));
        command.arg("run").arg(program.file("json"));
        command.arg("--entries").arg(program.file("stf"));
        command.args(ports.iter().flat_map(|port| ["--port", port]));
        command.args(["--on", on, "--json"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = KilledChild::from(command.spawn().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, errors }
    }

    /// Ends it as Ctrl-C does; what it counted.
    pub(crate) fn end(self) -> Value {
        let process = self.child.id().to_string();
        let asked = Command::new("kill").args(["-INT", &process]).status();
        assert!(asked.unwrap().success());
        let mut own = self;
        let mut text = String::new();
        let mut out = own.child.stdout.take().unwrap();
        out.read_to_string(&mut text).unwrap();
        let (code, said) = own.ended();
        assert_eq!(code, Some(0), "{said}");
        serde_json::from_str(&text).unwrap()
    }

    /// Waits for its end; its exit code, and what it said.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
