//! The two hosts that everything runs between.

use crate::process::{Done, Process, pause};
use anyhow::{Context as _, Result};
use linerate_testbed::{Host, HostId, Link, TwoHosts};
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Two hosts joined by a veth pair with all offloads, or by the link element.
pub(crate) struct Lab {
    hosts: TwoHosts,
    /// Cores of host A and of host B.
    pub(crate) cores: [u32; 2],
    next_port: Cell<u16>,
}

impl Lab {
    pub(crate) fn new(link: Link, cores: [u32; 2], seed: u64) -> Result<Self> {
        Ok(Self {
            hosts: TwoHosts::create(link, seed)?,
            cores,
            next_port: Cell::new(20_000),
        })
    }

    /// Sends.
    pub(crate) fn a(&self) -> &Host {
        self.hosts.host(HostId::A)
    }

    /// Receives.
    pub(crate) fn b(&self) -> &Host {
        self.hosts.host(HostId::B)
    }

    /// A port that no process before has used, so that nothing waits for it to be free.
    pub(crate) fn port(&self) -> u16 {
        let port = self.next_port.get();
        self.next_port.set(port + 1);
        port
    }

    /// The core numbers as `--cpu` wants them.
    pub(crate) fn pinning(&self) -> String {
        format!("{},{}", self.cores[0], self.cores[1])
    }

    /// Starts a server on host B and waits until it listens at `port`.
    pub(crate) fn serve(
        &self,
        program: &Path,
        words: &[String],
        (protocol, port): (&str, u16),
    ) -> Result<Process> {
        let server = Process::start(self.b(), self.cores[1], program, words)?;
        for _ in 0..LISTEN_TRIES {
            if is_bound(server.id(), protocol, port) {
                return Ok(server);
            }
            pause(LISTEN_STEP);
        }
        server.stop()?;
        anyhow::bail!("{} did not open {protocol} port {port}", program.display())
    }

    /// Starts a client on host A.
    pub(crate) fn start_client(&self, program: &Path, words: &[String]) -> Result<Process> {
        Process::start(self.a(), self.cores[0], program, words)
    }

    /// Runs a client on host A to its end.
    pub(crate) fn client(
        &self,
        program: &Path,
        words: &[String],
        length: Duration,
    ) -> Result<Done> {
        let client = self.start_client(program, words)?;
        client.finish(length + PATIENCE).context("client")
    }
}

/// Whether somebody in the network of process `id` is bound to `port`.
fn is_bound(id: u32, protocol: &str, port: u16) -> bool {
    let hex = format!(":{port:04X}");
    ["", "6"].into_iter().any(|family| {
        let table = fs::read_to_string(format!("/proc/{id}/net/{protocol}{family}"));
        table.unwrap_or_default().lines().skip(1).any(|line| {
            let local = line.split_ascii_whitespace().nth(1);
            local.is_some_and(|local| local.ends_with(&hex))
        })
    })
}

const LISTEN_TRIES: u32 = 500;
const LISTEN_STEP: Duration = Duration::from_millis(10);
/// What a client may need beyond the length of its test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
