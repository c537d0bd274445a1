//! netperf as the peer, in both roles: `netserver`, and `netperf`, which prints what both ends counted.

use crate::ends::{OwnServer, both, connect, loopback};
use crate::matrix::{Cell, Count, Deviation, Role, Tool, Way, every_cell};
use crate::program::{Program, about, unpacked};
use anyhow::{Context as _, Result, bail};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_testkit::ports::free_address;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The client that ci/need unpacks, beside which the server lies, or an installed one.
fn program() -> String {
    let unpacked = unpacked("netperf");
    if Path::new(&unpacked).exists() {
        unpacked
    } else {
        "netperf".to_owned()
    }
}

/// A client that receives has its own clock, and does not count what comes after it.
static OWN_CLOCK: Deviation = Deviation {
    words: "A netperf client that receives stops by its own clock; what the server had sent by then and it had not read, it does not count.",
    explains: |sent, received| received < sent,
};

/// The clock interrupts a call that has handed over a part.
static LAST_WRITE: Deviation = Deviation {
    words: "A netperf client that sends leaves out its last write if its clock cut that short.",
    explains: |sent, received| received > sent && received - sent < PAYLOAD,
};

/// Debian's client is built without a pace, as by default, so it overruns the receiver's socket.
static NO_PACE: Deviation = Deviation {
    words: "A netperf built without a pace sends UDP as fast as it can: what overruns the receiver's socket buffer is lost.",
    explains: |sent, received| received < sent,
};

/// A payload that no default of the tool is.
const PAYLOAD: u64 = 1100;

pub(crate) struct Netperf;

#[test]
fn netperf_in_every_cell() {
    every_cell(&Netperf);
}

impl Tool for Netperf {
    fn name(&self) -> &'static str {
        "netperf"
    }

    fn programs(&self) -> Vec<String> {
        vec![program()]
    }

    /// `2.7.0` of `Netperf version 2.7.0`.
    fn version(&self, program: &str) -> Result<String> {
        let text = about(program, "-V")?;
        let version = text.split_whitespace().nth(2);
        Ok(version.context("it says no version")?.to_owned())
    }

    /// One way per test, and no UDP from the server.
    fn has(&self, cell: Cell) -> bool {
        match cell.way {
            Way::Normal => true,
            Way::Reverse => cell.transport == Transport::Tcp,
            Way::Both => false,
        }
    }

    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>> {
        match cell.role {
            Role::Client => {
                let server = RealServer::start(program, loopback(cell.is_v6))?;
                let outcome = connect(&server.url())?.run(&spec(cell), &mut |_| true)?;
                let done = outcome.directions.first().context("a direction")?;
                both(cell, done)
            }
            Role::Server => as_server(program, cell),
        }
    }
}

/// Requests and responses over one IP version: what each end counted, linerate as client and as server.
fn transactions(transport: Transport, is_v6: bool) -> Result<[Count; 2]> {
    let server = RealServer::start(&program(), loopback(is_v6))?;
    let outcome = connect(&server.url())?.run(&TestSpec::ping_pong(transport), &mut |_| true)?;
    let done = outcome.directions.first().context("a direction")?;
    // A request over UDP whose answer came too late was sent and received all the same.
    let count = |report: &Option<EndpointReport>| {
        let stream = report.as_ref().and_then(|report| report.streams.first());
        stream.map_or(0, |stream| {
            let unanswered = stream.work.timeouts().unwrap_or_default();
            stream.packets.get() + unanswered.get()
        })
    };
    let as_client = Count::new("requests", count(&done.sender), count(&done.receiver));

    let server = OwnServer::start(loopback(is_v6), "netperf")?;
    let name = match transport {
        Transport::Tcp => "TCP_RR",
        Transport::Udp => "UDP_RR",
    };
    let said = client(&program(), server.address, name, &["-r", "32,32"])?;
    let of = |key: &str| -> Result<u64> {
        let value = said.get(key).with_context(|| format!("no {key}"))?;
        Ok(value.parse()?)
    };
    let as_server = Count::new(
        "requests",
        of("LOCAL_SEND_CALLS")?,
        of("REMOTE_RECV_CALLS")?,
    );
    Ok([as_client, as_server])
}

#[track_caller]
fn each_end_counts_every_request(transport: Transport) {
    for is_v6 in [false, true] {
        let counts = transactions(transport, is_v6);
        let counts = counts.unwrap_or_else(|error| panic!("{error:#}"));
        assert!(counts.iter().all(Count::agrees), "{counts:?}");
    }
}

#[test]
fn each_end_counts_every_request_over_tcp() {
    each_end_counts_every_request(Transport::Tcp);
}

#[test]
fn each_end_counts_every_request_over_udp() {
    each_end_counts_every_request(Transport::Udp);
}

#[test]
fn clients_of_every_kind_are_served_at_once() {
    let server = OwnServer::start(loopback(false), "netperf").unwrap();
    let kinds = ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM", "TCP_RR", "UDP_RR"];
    let ask = |test: &str| {
        let options: &[&str] = if test == "UDP_STREAM" {
            &["-R", "1"]
        } else {
            &[]
        };
        client(&program(), server.address, test, options)
    };
    std::thread::scope(|scope| {
        let ask = &ask;
        let asked = kinds.iter().cycle().take(10);
        let clients: Vec<_> = asked.map(|test| scope.spawn(move || ask(test))).collect();
        for client in clients {
            client.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_test_that_is_not_made_is_refused_in_netperfs_own_words() {
    let server = OwnServer::start(loopback(false), "netperf").unwrap();
    let error = client(&program(), server.address, "TCP_CRR", &[]).unwrap_err();
    assert!(error.to_string().contains("not supported"), "{error}");
    // The server goes on.
    client(&program(), server.address, "TCP_RR", &[]).unwrap();
}

/// A second of one stream; at 4 Mbit/s where linerate sends.
fn spec(cell: Cell) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(4_000_000));
    let base = match cell.transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec::udp_datagrams(pace),
    };
    let (direction, pace) = match cell.way {
        Way::Reverse => (Direction::Reverse, Pace::Unpaced),
        Way::Normal | Way::Both => (Direction::Forward, pace),
    };
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..base.with_pace(pace).with_payload(ByteCount::new(PAYLOAD))
    }
}

fn as_server(netperf: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = OwnServer::start(loopback(cell.is_v6), "netperf")?;
    let (name, own, far) = match (cell.transport, cell.way) {
        (Transport::Tcp, Way::Reverse) => ("TCP_MAERTS", "LOCAL_BYTES_RECVD", "REMOTE_BYTES_SENT"),
        (Transport::Tcp, _) => ("TCP_STREAM", "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
        (Transport::Udp, _) => ("UDP_STREAM", "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
    };
    let mut options = vec!["-m", "1100"];
    if cell.transport == Transport::Udp {
        options.extend(["-R", "1"]);
    }
    let said = client(netperf, server.address, name, &options)?;
    let of = |key: &str| -> Result<u64> {
        let value = said
            .get(key)
            .with_context(|| format!("no {key}: {said:?}"))?;
        Ok(value.parse()?)
    };
    let (own, far) = (of(own)?, of(far)?);
    let (sent, received) = match cell.way {
        Way::Reverse => (far, own),
        Way::Normal | Way::Both => (own, far),
    };
    let bytes = Count::new("B", sent, received);
    Ok(match (cell.transport, cell.way) {
        (Transport::Tcp, Way::Reverse) => vec![bytes.with(&OWN_CLOCK)],
        (Transport::Tcp, _) => vec![bytes.with(&LAST_WRITE)],
        (Transport::Udp, _) => {
            let packets = (of("LOCAL_SEND_CALLS")?, of("REMOTE_RECV_CALLS")?);
            let packets = Count::new("packets", packets.0, packets.1);
            vec![bytes.with(&NO_PACE), packets.with(&NO_PACE)]
        }
    })
}

/// What a stock client prints of a second: values by their names.
fn client(
    netperf: &str,
    server: SocketAddr,
    name: &str,
    options: &[&str],
) -> Result<BTreeMap<String, String>> {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let mut command = Command::new(netperf);
    command.args(["-H", &host, "-p", &port, "-t", name, "-l", "1", "-P", "0"]);
    if name == "UDP_STREAM" {
        // KeptStreams by builds that have a pace.
        command.args(["-b", "1", "-w", "2"]);
    }
    let output = command
        .arg("--")
        .args(options)
        .args(["-k", "all"])
        .output()
        .with_context(|| format!("starting {netperf}: see ci/packages"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("netperf {name}: {text}{error}");
    }
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect())
}

/// A stock server.
struct RealServer {
    _program: Program,
    address: SocketAddr,
}

impl RealServer {
    /// Starts the server that lies beside the client `netperf`.
    fn start(netperf: &str, ip: IpAddr) -> Result<Self> {
        let netserver = match netperf.strip_suffix("netperf") {
            Some(folder) => format!("{folder}netserver"),
            None => bail!("{netperf} is not a path to netperf, beside which netserver lies"),
        };
        let address = free_address(ip)?;
        let (host, port) = (ip.to_string(), address.port().to_string());
        let program = Program::start(&netserver, ["-D", "-N", "-L", &host, "-p", &port])?;
        program.await_line(|line| line.starts_with("Starting"))?;
        Ok(Self {
            _program: program,
            address,
        })
    }

    fn url(&self) -> String {
        format!("netperf://{}", self.address)
    }
}
