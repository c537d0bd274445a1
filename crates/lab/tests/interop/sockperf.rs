//! sockperf as the peer, in both roles: its server says at its end how many messages it handled, its client how
//! many it sent and how many came back.

use crate::ends::{OwnServer, connect, loopback};
use crate::matrix::{Cell, Count, Deviation, Role, Tool, Way, every_cell};
use crate::program::{Program, about};
use anyhow::{Context as _, Result, bail, ensure};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::{Stop, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use linerate_testkit::ports::free_address;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// The tool as Debian installs it (ci/packages).
const SOCKPERF: &str = "sockperf";

/// Bytes of each message: a length that is no default.
const SIZE: &str = "100";
const MESSAGES: u64 = 1000;

/// Of a client under load: every tenth of a thousand messages a second is to come back.
const EVERY: u64 = 10;

/// Its own count goes on when its clock has stopped it.
static LAST: Deviation = Deviation {
    words: "A sockperf client in ping-pong counts its last message as sent and does not wait for the answer, with its own server too.",
    explains: |sent, received| sent == received + 1,
};

/// The timer that ends its time ends its receiving thread too. On a busy machine some answers come later, of those that
/// are wanted every 10 ms.
static LATE: Deviation = Deviation {
    words: "A sockperf client under load reads no more when its time is over: answers on their way are not counted, with its own server too.",
    explains: |sent, received| received < sent && sent - received <= 10,
};

pub(crate) struct Sockperf;

#[test]
fn sockperf_in_every_cell() {
    every_cell(&Sockperf);
}

impl Tool for Sockperf {
    fn name(&self) -> &'static str {
        "sockperf"
    }

    fn programs(&self) -> Vec<String> {
        vec![SOCKPERF.to_owned()]
    }

    /// `3.7` of `sockperf, version 3.7-no.git`.
    fn version(&self, program: &str) -> Result<String> {
        let text = about(program, "--version")?;
        let (_, rest) = text.split_once("version ").context("it says no version")?;
        let version = rest.split(['-', '\n', ' ']).next();
        Ok(version.unwrap_or_default().to_owned())
    }

    /// Messages there and back; up to 3.7 it knows IPv4 only.
    fn has(&self, cell: Cell) -> bool {
        cell.way == Way::Normal && !cell.is_v6
    }

    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>> {
        match cell.role {
            Role::Client => as_client(program, cell),
            Role::Server => Ok(vec![ping_pong(program, cell)?, under_load(program, cell)?]),
        }
    }
}

const fn way(transport: Transport) -> Option<&'static str> {
    match transport {
        Transport::Tcp => Some("--tcp"),
        Transport::Udp => None,
    }
}

/// What a stock server handled, and what came back from it.
fn as_client(program: &str, cell: Cell) -> Result<Vec<Count>> {
    let address = free_address(loopback(cell.is_v6))?;
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let arguments = ["-oL", program, "server", "-i", &host, "-p", &port];
    let server = Program::start("stdbuf", arguments.into_iter().chain(way(cell.transport)))?;
    server.await_line(|line| line.contains("using recvfrom"))?;
    let spec = TestSpec {
        stop: Stop::Transactions(MESSAGES),
        warm_up: Duration::ZERO,
        ..TestSpec::ping_pong(cell.transport).with_payload(ByteCount::new(SIZE.parse()?))
    };
    let outcome = connect(&format!("sockperf://{address}"))?.run(&spec, &mut |_| true)?;
    let done = outcome.directions.first().context("a direction")?;
    let sender = done.sender.as_ref().context("a report")?;
    let answered = sender.streams.first().context("a stream")?.packets;
    let said = server.interrupt()?;
    let handled = said.iter().find_map(|line| number(line, "Total "));
    let handled = handled.with_context(|| format!("what it handled: {said:?}"))?;
    Ok(vec![Count::new("messages", handled, answered.get())])
}

/// What a stock client sent one after the other, and what came back.
fn ping_pong(program: &str, cell: Cell) -> Result<Count> {
    let server = OwnServer::start(loopback(cell.is_v6), "sockperf")?;
    let said = client(program, server.address, "ping-pong", &[], cell)?;
    let (sent, received) = totals(&said)?;
    all_answered(&server, cell, sent)?;
    Ok(Count::new("messages", sent, received).with(&LAST))
}

/// This end of a byte stream ends with it, and says what it answered.
fn all_answered(server: &OwnServer, cell: Cell, wanted: u64) -> Result<()> {
    if cell.transport == Transport::Tcp {
        let event = server.said.recv_timeout(Duration::from_secs(10))?;
        let answered = match &event {
            AgentEvent::Counted { traffic, .. } => traffic.packets,
            _ => None,
        };
        let is_all = answered == Some(PacketCount::new(wanted));
        ensure!(is_all, "{wanted} wanted: {event:?}");
    }
    Ok(())
}

/// What a stock client wanted back of a thousand messages a second, and what came.
fn under_load(program: &str, cell: Cell) -> Result<Count> {
    let server = OwnServer::start(loopback(cell.is_v6), "sockperf")?;
    let every = EVERY.to_string();
    let load = ["--mps", "1000", "--reply-every", &every];
    let said = client(program, server.address, "under-load", &load, cell)?;
    let (sent, received) = totals(&said)?;
    let wanted = sent / EVERY;
    all_answered(&server, cell, wanted)?;
    Ok(Count::new("answers under load", wanted, received).with(&LATE))
}

/// What a stock client prints of a second.
fn client(
    program: &str,
    server: SocketAddr,
    mode: &str,
    options: &[&str],
    cell: Cell,
) -> Result<String> {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new(program)
        .args([mode, "-i", &host, "-p", &port, "-t", "1", "-m", SIZE])
        .args(options)
        .args(way(cell.transport))
        .output()
        .context("see ci/packages")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let none = "# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0";
    if !output.status.success() || !said.contains(none) {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("sockperf {mode}: {said}{error}");
    }
    Ok(said)
}

/// Sent and received of `[Total Run] RunTime=1.000 sec; …; SentMessages=1000; ReceivedMessages=999`.
fn totals(said: &str) -> Result<(u64, u64)> {
    let line = said.lines().find(|line| line.contains("[Total Run]"));
    let line = line.with_context(|| format!("no totals: {said}"))?;
    let sent = number(line, "SentMessages=").context("sent")?;
    Ok((sent, number(line, "ReceivedMessages=").context("received")?))
}

/// The number that stands behind a word.
fn number(line: &str, word: &str) -> Option<u64> {
    let (_, rest) = line.split_once(word)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}
