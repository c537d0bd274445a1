//! iperf3 as the peer, in both roles. JSON says what each of its ends counted.

use crate::ends::{OwnServer, loopback, measure};
use crate::matrix::{Cell, Count, Deviation, Role, Tool, Way, every_cell};
use crate::program::{Program, about, unpacked};
use anyhow::{Context as _, Result, bail};
use linerate_client::Client;
use linerate_model::spec::Transport;
use linerate_testkit::ports::free_address;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

/// The tool as Debian installs it (ci/packages).
pub(crate) const IPERF3: &str = "iperf3";

pub(crate) struct Iperf3;

#[test]
fn iperf3_in_every_cell() {
    every_cell(&Iperf3);
}

/// A client stops counting when it ends the test; its server goes on until it hears that.
static CUT: Deviation = Deviation {
    words: "An iperf3 client that receives stops counting when it ends the test, and its server a moment later.",
    explains: |sent, received| received < sent,
};

impl Tool for Iperf3 {
    fn name(&self) -> &'static str {
        "iperf3"
    }

    fn programs(&self) -> Vec<String> {
        vec![IPERF3.to_owned(), unpacked("iperf3-sid")]
    }

    /// `3.12` of `iperf 3.12 (cJSON 1.7.15)`.
    fn version(&self, program: &str) -> Result<String> {
        let text = about(program, "--version")?;
        let version = text.split_whitespace().nth(1);
        Ok(version.context("it says no version")?.to_owned())
    }

    fn has(&self, _cell: Cell) -> bool {
        true
    }

    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>> {
        match cell.role {
            Role::Client => {
                let server = RealServer::start(program, loopback(cell.is_v6), &["-1"])?;
                measure(&server.url(), cell)
            }
            Role::Server => as_server(program, cell),
        }
    }
}

fn as_server(iperf3: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = OwnServer::start(loopback(cell.is_v6), "iperf3")?;
    let mut options = vec!["-t", "1", "-P", "2", "-b", "2M", "-l", "1100"];
    if cell.transport == Transport::Udp {
        options.push("-u");
        // Each width of the counters in half of the cells.
        options.extend(cell.is_v6.then_some("--udp-counters-64bit"));
    }
    match cell.way {
        Way::Normal => {}
        Way::Reverse => options.push("-R"),
        Way::Both => options.push("--bidir"),
    }
    let end = client(iperf3, server.address, &options)?["end"].clone();
    let forward = || counts(&end, cell, "");
    let backward = |suffix| -> Result<Vec<Count>> {
        let counts = counts(&end, cell, suffix)?;
        Ok(counts.into_iter().map(|count| count.with(&CUT)).collect())
    };
    match cell.way {
        Way::Normal => forward(),
        Way::Reverse => backward(""),
        Way::Both => Ok([forward()?, backward("_bidir_reverse")?].concat()),
    }
}

/// What the client printed of one direction: its own count, and what it got from the server.
fn counts(end: &Value, cell: Cell, suffix: &str) -> Result<Vec<Count>> {
    let of = |sum: &str, key: &str| {
        let value = end[format!("{sum}{suffix}")][key].as_u64();
        value.with_context(|| format!("no {key} in {sum}{suffix}: {end}"))
    };
    let mut counts = vec![Count::new(
        "B",
        of("sum_sent", "bytes")?,
        of("sum_received", "bytes")?,
    )];
    if cell.transport == Transport::Udp {
        let missing = of("sum_received", "lost_packets")?;
        let seen = of("sum_received", "packets")?;
        let received = seen.saturating_sub(missing);
        counts.push(Count::new("packets", of("sum_sent", "packets")?, received));
    }
    Ok(counts)
}

/// A stock server.
pub(crate) struct RealServer {
    _program: Program,
    address: SocketAddr,
}

impl RealServer {
    pub(crate) fn start(iperf3: &str, ip: IpAddr, options: &[&str]) -> Result<Self> {
        let address = free_address(ip)?;
        let (host, port) = (ip.to_string(), address.port().to_string());
        let usual = ["-s", "--forceflush", "-B", &host, "-p", &port];
        let program = Program::start(iperf3, usual.iter().chain(options))?;
        program.await_line(|line| line.contains("listening"))?;
        Ok(Self {
            _program: program,
            address,
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("iperf3://{}", self.address)
    }

    /// A client of it.
    pub(crate) fn connect(&self) -> Result<Client> {
        crate::ends::connect(&self.url())
    }
}

/// What a stock client's JSON says of its test with our server.
pub(crate) fn client(iperf3: &str, server: SocketAddr, options: &[&str]) -> Result<Value> {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new(iperf3)
        .args(["-J", "-c", &host, "-p", &port])
        .args(options)
        .output()
        .with_context(|| format!("starting {iperf3}: see ci/packages"))?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    if let Some(error) = document["error"].as_str() {
        bail!("iperf3 {options:?}: {error}");
    }
    Ok(document)
}
