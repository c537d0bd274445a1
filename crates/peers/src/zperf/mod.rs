//! Zephyr's zperf, driven through the board's shell.
//!
//! Its traffic is iperf2's, between the board's network interface and this host, and has a session of iperf2 in
//! either role. This folder has the other half: the commands, and the reading of what the shell prints. [`Shell`] is
//! the conversation: bytes of a serial line or of a telnet connection come in, bytes to write and [`Event`]s come out.
//! The client's session holds both, and is the client of every test; the board is asked for nothing but through it.
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

mod client;
mod command;
mod output;
mod report;
mod shell;
mod telnet;
mod terminal;
#[cfg(test)]
mod tests;
mod units;

pub use command::Job;
pub use output::{Datagrams, Download, Upload};
pub use shell::{Board, Config, Event, Shell, ShellError};
pub use units::Release;

use crate::iperf2::{self, Iperf2};
use crate::session::{
    Capabilities, ClientConfig, Control, PeerKind, ServerConfig, Session, with_whole_seconds_back,
};
use crate::settings::{Setting, SettingValues};
use linerate_model::MonoInstant;
use linerate_model::spec::TestSpec;
use std::sync::Arc;

/// The registry entry: the protocol, and which Zephyr the board runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zperf {
    /// `None`: the shell is asked for it.
    release: Option<Release>,
}

impl Zperf {
    /// With default settings.
    pub const DEFAULT: Self = Self { release: None };
}

/// Port of zperf's traffic, at either end.
const PORT: u16 = 5001;

/// Setting: the board's Zephyr release.
const ZEPHYR: &str = "zephyr";

impl PeerKind for Zperf {
    fn about(&self) -> &'static Capabilities {
        const {
            &Capabilities {
                id: "zperf",
                summary: "Zephyr's zperf, told what to do through the board's shell: TCP and UDP, one direction at a time.",
                default_port: PORT,
                start_hint: "`CONFIG_NET_ZPERF=y` and `CONFIG_NET_SHELL=y` in Zephyr's build",
                control: Control::Shell,
                demux: iperf2::DEMUX,
                blind_spots: &[
                    "counters, CPU use and drops of the board",
                    "bytes that a TCP stream brought to the board (it prints time and rate, cut to two decimals)",
                    "which datagrams the board lost or got twice (it counts late ones as lost, and does not take that back)",
                ],
                settings: &[Setting {
                    name: ZEPHYR,
                    value: "RELEASE",
                    help: "Release of the board's Zephyr, such as 3.3 [default: the shell is asked]",
                }],
                ..Capabilities::FOREIGN
            }
        }
    }

    fn with_settings(&self, values: &SettingValues) -> Result<Arc<dyn PeerKind>, String> {
        let release = values.get(ZEPHYR).map(|text| {
            let wrong = || format!("\"{text}\" is not a release of Zephyr such as 3.3");
            Release::parse(text).ok_or_else(wrong)
        });
        let release = release.transpose()?;
        Ok(Arc::new(Self { release }))
    }

    fn obstacle(&self, spec: &TestSpec) -> Option<&'static str> {
        command::obstacle(spec)
    }

    fn fitted(&self, spec: TestSpec) -> TestSpec {
        with_whole_seconds_back(spec)
    }

    fn client(&self, config: ClientConfig, now: MonoInstant) -> Box<dyn Session> {
        Box::new(client::Client::new(config, self.release, now))
    }

    /// Server session: a board that sends is an iperf2 client.
    fn server(&self, config: ServerConfig, now: MonoInstant) -> Box<dyn Session> {
        Iperf2.server(config, now)
    }
}
