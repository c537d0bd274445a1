//! Zephyr's zperf, told what to do through the board's shell.
//!
//! Its traffic is iperf2's, between the board's network interface and this host. This room has the
//! other half: the commands, and the reading of what the shell prints. [`Shell`] does no I/O and reads
//! no clock, like the sessions of the other protocols: bytes of a serial line or of a telnet connection
//! come in, bytes to write and [`Event`]s come out.
//!
//! ```text
//!        this host                                     board
//!  Shell ── kernel version, zperf version ── serial ──► shell
//!        ── zperf udp download 5001 ─────────────────►   server
//!  iperf2 client ═══════════ traffic ══ Ethernet ═════►  server
//!        ◄───────────────── numbers of the session ───
//!        ── zperf udp download stop ─────────────────►
//!
//!        ── zperf udp upload ADDRESS PORT … ─────────►   client
//!  iperf2 server ◄══════════ traffic ══ Ethernet ══════  client
//!        ◄──────────────────────── its numbers ───────
//! ```
//!
//! Invariant: whatever the shell writes, memory is bounded by one line and one block of numbers, and
//! every wait has an end.

mod command;
mod output;
mod report;
mod shell;
mod telnet;
mod terminal;
mod units;

pub use command::{Job, check, job};
pub use output::{Datagrams, Download, Upload};
pub use report::{receiver, sender, words};
pub use shell::{Board, Config, Event, Shell, ShellError, Wire};
pub use units::Release;

/// The TCP port of a telnet shell.
pub const TELNET_PORT: u16 = 23;

/// The port of zperf's traffic, at either end.
pub const PORT: u16 = 5001;

/// What zperf and its shell cannot tell, for the notes of a run; each a part of a sentence.
pub const BLIND_SPOTS: &[&str] = &[
    "counters, CPU use and drops of the board",
    "bytes that a TCP stream brought to the board (it prints time and rate, cut to two decimals)",
    "which datagrams the board lost or got twice (it counts late ones as lost, and does not take that back)",
];
