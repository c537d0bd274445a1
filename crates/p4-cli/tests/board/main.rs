//! P4 programs on the emulated HiFive Unleashed, by `linerate p4 run --on board://…`: several ports by VLANs of its one
//! interface, through which its shell is reached as well. Needs user namespaces, QEMU, Debian's archive, `linerate` beside
//! `linerate-p4`, and what `make dist` builds; run with `--ignored`.
//!
//! ```text
//!   this test ── tagged frames ── TAP ═══ GEM eth0 ── vlan=10, vlan=11 … ── linerate-p4
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

mod board;
mod programs;
mod wire;

use board::{Board, Switch, fetch};
use linerate_model::Clock as _;
use linerate_model::MonoInstant;
use linerate_model::units::float;
use linerate_sys::clock::MonoClock;
use linerate_sys::netns::enter_user_and_net_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use programs::{ALL, PACKETS, Program, Reference};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use wire::{Frames, Wire};

const CASES: &[Case] = &[
    Case {
        name: "programs_send_there_what_they_send_here",
        run: programs_send_there_what_they_send_here,
    },
    Case {
        name: "the_cost_of_every_construct_is_measured_there",
        run: the_cost_of_every_construct_is_measured_there,
    },
    Case {
        name: "what_does_not_pass_at_full_speed_is_counted",
        run: what_does_not_pass_at_full_speed_is_counted,
    },
    Case {
        name: "whatever_is_killed_leaves_the_board_as_it_was",
        run: whatever_is_killed_leaves_the_board_as_it_was,
    },
    Case {
        name: "what_cannot_run_there_is_told",
        run: what_cannot_run_there_is_told,
    },
];

fn main() -> ExitCode {
    let prepare = || {
        // In the namespace there is no way to the archive.
        fetch();
        enter_user_and_net_namespace()
    };
    namespace_main(prepare, CASES)
}

/// Long enough for an emulator on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Parts in which a program gets its packets, each timed.
const PARTS: usize = 10;

/// Each program gets the same packets there and here, and sends the same at every port, in the same order; its counters are
/// those of the packets. What a tenth of them took is printed.
fn programs_send_there_what_they_send_here() {
    let began = MonoClock.now();
    let board = Board::up("p4-programs");
    println!("the board is ready {:.1} s after `board up`", since(began));
    for (at, program) in ALL.iter().enumerate() {
        let reference = Reference::new(program);
        let mut wire = Wire::new(board.link(), program.ports);
        let asked = MonoClock.now();
        let switch = Switch::start(&board, program);
        let ready = since(asked);
        wire.send(reference.input, &[reference.first.as_slice()]);
        let count = reference.first_outputs.values().map(Vec::len).sum();
        assert_eq!(wire.receive(count, PATIENCE), reference.first_outputs);
        if at == 0 {
            let passed = since(began);
            println!(
                "the program runs {ready:.1} s after its command, a packet has passed {passed:.1} s after `board up`"
            );
        }
        let mut received = BTreeMap::new();
        let mut cpu = board.cpu_time();
        let parts = (0..PARTS).map(|part| {
            let part = part * PART..(part + 1) * PART;
            let began = MonoClock.now();
            wire.exchange(&reference, part, &mut received, PATIENCE);
            let wall = since(began);
            let before = std::mem::replace(&mut cpu, board.cpu_time());
            Part {
                wall,
                cpu: cpu - before,
            }
        });
        let parts: Vec<_> = parts.collect();
        assert!(received == reference.outputs, "{}", program.name);
        balances(&switch.end(), program, &reference);
        let out: usize = reference.outputs.values().map(Vec::len).sum();
        let [rate, cost, share] = [Part::rate, Part::cost, Part::share].map(|about| {
            let values: Vec<_> = parts.iter().map(about).collect();
            interval(&values)
        });
        println!(
            "{}: {PACKETS} packets in, {out} out, equal; {rate} packets/s, {cost} µs of CPU a packet, {share} of a core (n = {PARTS})",
            program.name
        );
    }
}

/// Packets of a part.
const PART: usize = PACKETS / PARTS;

/// What a part took, in seconds.
struct Part {
    wall: f64,
    cpu: f64,
}

impl Part {
    fn rate(&self) -> f64 {
        float(PART as u64) / self.wall
    }

    /// Microseconds.
    fn cost(&self) -> f64 {
        self.cpu * 1e6 / float(PART as u64)
    }

    fn share(&self) -> f64 {
        self.cpu / self.wall
    }
}

/// The ledger: what went in at a port, what came out at each, and what was dropped at each place of the program, is what the
/// switch has counted, to the packet.
fn balances(counted: &serde_json::Value, program: &Program, reference: &Reference) {
    for (at, port) in program.ports.iter().enumerate() {
        let outputs = |of: &Frames| of.get(port).map_or(0, Vec::len);
        let sent = outputs(&reference.outputs) + outputs(&reference.first_outputs);
        let is_input = *port == reference.input;
        let received = if is_input { PACKETS + 1 } else { 0 };
        let own = &counted["ports"][at];
        assert_eq!(own["received"], received, "{own}");
        assert_eq!(own["sent"], sent, "{own}");
    }
    for drop in counted["drops"].as_array().unwrap() {
        let place = drop["at"].as_str().unwrap();
        let expected = reference.drops.get(place).copied().unwrap_or(0);
        assert_eq!(drop["packets"], expected, "{drop}");
    }
}

/// Seconds.
fn since(start: MonoInstant) -> f64 {
    MonoClock.now().saturating_since(start).as_secs_f64()
}

/// The median of [`PARTS`] values with its 97.9 % interval, by ranks: other work on this host slows some of them down.
fn interval(values: &[f64]) -> String {
    const { assert!(PARTS == 10) };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = f64::midpoint(sorted[4], sorted[5]);
    let digits = usize::from(median < 100.0) * 2;
    format!(
        "{median:.digits$} [{:.digits$}, {:.digits$}]",
        sorted[1], sorted[8]
    )
}

/// The whole cost study, short: every factor has its cost with an interval. They are printed.
fn the_cost_of_every_construct_is_measured_there() {
    let board = Board::up("p4-cost");
    let measured = Command::new(env!("CARGO_BIN_EXE_linerate-p4"))
        .args(["cost", "--quick", "--json", "--on", &board.place()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&measured.stderr);
    assert!(measured.status.success(), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(document["architecture"], "riscv64");
    let factors = document["factors"].as_array().unwrap();
    assert_eq!(factors.len(), linerate_p4::generate::ALL.len());
    for factor in factors {
        let [point, low, high] =
            ["point", "low", "high"].map(|key| factor["each_ns"][key].as_f64().unwrap());
        assert!(low <= point && point <= high, "{factor}");
        println!("{}: {point:.0} [{low:.0}, {high:.0}] ns", factor["factor"]);
    }
}

/// Sent as fast as this host can: each packet that the link took is in one place, the switch or the ring before it.
fn what_does_not_pass_at_full_speed_is_counted() {
    let board = Board::up("p4-flood");
    let program = &ALL[0];
    let reference = Reference::new(program);
    let mut wire = Wire::new(board.link(), program.ports);
    let switch = Switch::start(&board, program);
    let sent = wire.flood(&reference);
    wire.drain(PATIENCE);
    let counted = switch.end();
    let received = counted["ports"][0]["received"].as_u64().unwrap();
    let at_ring = counted["drops"].as_array().unwrap().iter();
    let at_ring = at_ring.filter(|drop| drop["place"] == "port-rx");
    let at_ring: u64 = at_ring.map(|drop| drop["packets"].as_u64().unwrap()).sum();
    let refused = PACKETS as u64 - sent;
    println!(
        "{PACKETS} packets at once: {refused} refused by the queue to the board, {at_ring} dropped at the switch's ring, {received} executed"
    );
    assert!(received > 0);
    assert_eq!(sent, received + at_ring, "{counted}");
}

/// The command here by SIGKILL, and the switch there: interfaces and files there are what they were, and nothing runs on.
fn whatever_is_killed_leaves_the_board_as_it_was() {
    let board = Board::up("p4-killed");
    let found = board.state();
    let switch = Switch::start(&board, &ALL[0]);
    assert_ne!(board.state(), found, "it runs there");
    switch.kill();
    board.await_state(&found, PATIENCE);

    let switch = Switch::start(&board, &ALL[0]);
    board.kill_switch();
    let (code, said) = switch.ended();
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("the program there ended"), "{said}");
    board.await_state(&found, PATIENCE);
}

/// A port that is not there, a user without rights, and an architecture without a program: the exit code says that the host
/// lacks something, an error what, and nothing is left there.
fn what_cannot_run_there_is_told() {
    let board = Board::up("p4-refused");
    let found = board.state();
    let program = &ALL[0];
    let refused = |on: &str, port: &str, reason: &str| {
        let (code, said) = Switch::begin(program, &[port.to_owned()], on).ended();
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains(reason), "{reason:?} is not in {said}");
        board.await_state(&found, PATIENCE);
    };
    refused(&board.place(), "eth9", "no interface eth9 here");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let options = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n";
    std::fs::write(&config, options).unwrap();
    board.shell("mkdir -m 777 /home && echo guest::1000:1000::/home:/bin/sh >>/etc/passwd");
    let (address, config) = (board.address(), config.display());
    let guest = format!("ssh://guest@{address}?config={config}");
    refused(&guest, "0=eth0,vlan=10", "run as root");
    let none = folder.path().display();
    let without = format!("ssh://root@{address}?agents={none}&config={config}");
    refused(&without, "0=eth0,vlan=10", "linerate-p4-riscv64 is not in");
}
