//! iperf2 as the peer, in both roles.
//!
//! It tells nothing of TCP over the wire, so what it prints is compared. It counts what is no data: bytes of
//! headers, and the datagram that ends a stream.

use crate::ends::{OwnServer, both, connect, loopback, spec as usual};
use crate::matrix::{Cell, Count, Deviation, Role, Tool, Way, every_cell, programs};
use crate::program::{Program, about, unpacked};
use anyhow::{Context as _, Result, bail, ensure};
use linerate_client::{Client, DirectionOutcome};
use linerate_model::agent::{AgentEvent, CountedTraffic};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
use linerate_testkit::ports::free_address;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

/// The tool as Debian installs it (ci/packages).
const IPERF: &str = "iperf";

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Of every test but those of datagrams that say otherwise.
const STREAMS: u16 = 2;

/// Seconds for a stock client, which may hang.
const LIMIT: &str = "60";

/// Bytes of a datagram.
const PAYLOAD: u64 = 1100;

/// Of each of two streams.
static HEADER: Deviation = Deviation {
    words: "iperf2 counts 20 of the 24 bytes of a plain stream's header, and all 64 of one that goes both ways, as data that it received.",
    explains: |sent, received| received == sent + 2 * 20 || received == sent + 2 * 64,
};

/// The header of its own streams, of two of them: 60 bytes in 2.1, 64 in 2.2.
static OWN_HEADER: Deviation = Deviation {
    words: "iperf2 counts the header of its own streams, 60 or 64 bytes, as data that it sent.",
    explains: |sent, received| sent == received + 2 * 60 || sent == received + 2 * 64,
};

/// Of each of one or two streams.
static END: Deviation = Deviation {
    words: "An iperf2 client counts the datagram that ends a stream as data, and one more in `Sent … datagrams`.",
    explains: |sent, received| {
        let beside = sent.abs_diff(received);
        [1, 2, 4, PAYLOAD, 2 * PAYLOAD].contains(&beside)
    },
};

pub(crate) struct Iperf2;

#[test]
fn iperf2_in_every_cell() {
    every_cell(&Iperf2);
}

impl Tool for Iperf2 {
    fn name(&self) -> &'static str {
        "iperf2"
    }

    fn programs(&self) -> Vec<String> {
        vec![IPERF.to_owned(), unpacked("iperf-trixie")]
    }

    /// `2.1.8` of `iperf version 2.1.8 (12 August 2022) pthreads`.
    fn version(&self, program: &str) -> Result<String> {
        let text = about(program, "--version")?;
        let (_, rest) = text.split_once("version ").context("it says no version")?;
        Ok(rest.split(' ').next().unwrap_or_default().to_owned())
    }

    fn has(&self, _cell: Cell) -> bool {
        true
    }

    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>> {
        match cell.role {
            Role::Client => as_client(program, cell),
            Role::Server => as_server(program, cell),
        }
    }
}

/// The usual test. iperf2 may count a datagram of another stream that begins while it has not made the socket of the
/// first, so exact counts of datagrams need one stream.
fn spec(cell: Cell) -> TestSpec {
    TestSpec {
        streams: match cell.transport {
            Transport::Tcp => STREAMS,
            Transport::Udp => 1,
        },
        ..usual(cell)
    }
}

/// What iperf2 is told of a cell, but for its role and the address.
fn options(transport: Transport, is_v6: bool) -> Vec<&'static str> {
    let udp = (transport == Transport::Udp).then_some("-u");
    udp.into_iter().chain(is_v6.then_some("-V")).collect()
}

/// A stock server, and what it prints.
struct RealServer {
    program: Program,
    address: SocketAddr,
}

impl RealServer {
    fn start(iperf: &str, transport: Transport, is_v6: bool) -> Result<Self> {
        let address = free_address(loopback(is_v6))?;
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        // Without a terminal it prints nothing before it ends, unless told to.
        let usual = [
            "-oL", iperf, "-s", "-e", "-f", "B", "-B", &host, "-p", &port,
        ];
        let all = usual.into_iter().chain(options(transport, is_v6));
        let program = Program::start("stdbuf", all)?;
        program.await_port(address, transport)?;
        Ok(Self { program, address })
    }

    fn client(&self) -> Result<Client> {
        connect(&format!("iperf2://{}", self.address))
    }

    /// What it prints of so many streams.
    fn printed(&self, streams: usize) -> Result<Vec<Printed>> {
        let next = |_| {
            let line = self
                .program
                .await_line(|line| Printed::read(line).is_some());
            Printed::read(&line?).context("a line of a stream")
        };
        (0..streams).map(next).collect()
    }
}

/// What iperf2 prints at the end of a stream.
#[derive(Debug, Clone, Copy)]
struct Printed {
    /// From the server to the client, in a test that goes both ways.
    is_back: bool,
    bytes: u64,
    /// Of a receiver of datagrams: lost, and all.
    lost: Option<(u64, u64)>,
}

impl Printed {
    /// Of `[ *1] 0.00-1.00 sec  501600 Bytes  4012800 bits/sec   0.005 ms 0/456 (0%)`.
    fn read(line: &str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let number = id.trim_start().trim_start_matches('*');
        let _: u32 = number.trim().parse().ok()?;
        let (_, rest) = rest.split_once(" sec ")?;
        let bytes = rest.split_whitespace().next()?.parse().ok()?;
        let share = rest.split_once(" ms ").and_then(|(_, rest)| {
            let (lost, all) = rest.split_once('/')?;
            let all = all.split_whitespace().next()?;
            Some((lost.trim().parse().ok()?, all.parse().ok()?))
        });
        Some(Self {
            is_back: id.contains('*'),
            bytes,
            lost: share,
        })
    }
}

/// Our client against the stock server.
fn as_client(iperf: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = RealServer::start(iperf, cell.transport, cell.is_v6)?;
    let outcome = server.client()?.run(&spec(cell), &mut |_| true)?;
    let directions = &outcome.directions;
    if cell.transport == Transport::Udp {
        for sender in directions.iter().filter_map(|done| done.sender.as_ref()) {
            // A second, also where only the stamps of what came tell it.
            let took = sender
                .streams
                .iter()
                .map(|stream| stream.duration.as_secs_f64());
            ensure!(
                took.clone().all(|took| (0.5..2.0).contains(&took)),
                "{took:?}"
            );
        }
        let counts: Result<Vec<_>> = directions.iter().map(|done| both(cell, done)).collect();
        return Ok(counts?.concat());
    }
    let lines = server.printed(usize::from(STREAMS) * directions.len())?;
    let count = |done: &DirectionOutcome| {
        let is_forward = done.direction == Direction::Forward;
        let is_back = cell.way == Way::Both && !is_forward;
        let theirs = sum(&lines, |line| line.is_back == is_back);
        let [ours, told] = if is_forward {
            [&done.sender, &done.receiver]
        } else {
            [&done.receiver, &done.sender]
        };
        let told = told.as_ref().context("a report of the peer")?;
        ensure!(told.streams.is_empty(), "it tells nothing of TCP: {told:?}");
        let ours = bytes(ours.as_ref().context("our report")?);
        Ok(if is_forward {
            Count::new("B", ours, theirs).with(&HEADER)
        } else {
            Count::new("B", theirs, ours)
        })
    };
    directions.iter().map(count).collect()
}

fn bytes(report: &EndpointReport) -> u64 {
    report.streams.iter().map(|stream| stream.bytes.get()).sum()
}

fn packets(report: &EndpointReport) -> u64 {
    let streams = report.streams.iter();
    streams.map(|stream| stream.packets.get()).sum()
}

fn sum(lines: &[Printed], is_it: impl Fn(&Printed) -> bool) -> u64 {
    let lines = lines.iter().filter(|line| is_it(line));
    lines.map(|line| line.bytes).sum()
}

/// What a stock client prints.
fn stock_client(
    iperf: &str,
    server: SocketAddr,
    transport: Transport,
    more: &[&str],
) -> Result<String> {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new("timeout")
        .args(["-s", "KILL", LIMIT, iperf])
        .args(["-e", "-c", &host, "-p", &port, "-f", "B"])
        .args(options(transport, server.is_ipv6()))
        .args(more)
        .output()
        .with_context(|| format!("starting {iperf}: see ci/packages"))?;
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() || err.contains("WARNING") || err.contains("failed") {
        bail!("iperf {more:?}: {out}{err}");
    }
    Ok(out)
}

/// linerate's server, with iperf2 only.
fn own_server(ip: IpAddr) -> Result<OwnServer> {
    OwnServer::start(ip, "iperf2")
}

/// What our server says of so many streams.
fn said(server: &OwnServer, count: usize) -> Result<Vec<CountedTraffic>> {
    let mut said = Vec::new();
    while said.len() < count {
        if let AgentEvent::Counted { traffic, .. } =
            server.said.recv_timeout(Duration::from_secs(10))?
        {
            said.push(traffic);
        }
    }
    Ok(said)
}

/// A stock client against our server.
fn as_server(iperf: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = own_server(loopback(cell.is_v6))?;
    // A 2.2.1 client that receives several streams of datagrams may hang, with its own server too.
    let (streams, given) = match (cell.transport, cell.way) {
        (Transport::Udp, Way::Reverse | Way::Both) => (1, "1"),
        _ => (STREAMS, "2"),
    };
    let mut options = vec!["-P", given, "-t", "1", "-b", "2m", "-l", "1100"];
    let (forth, back) = match cell.way {
        Way::Normal => (true, false),
        Way::Reverse => (false, true),
        Way::Both => (true, true),
    };
    options.extend(match cell.way {
        Way::Normal => None,
        Way::Reverse => Some("--reverse"),
        Way::Both => Some("--full-duplex"),
    });
    let printed = stock_client(iperf, server.address, cell.transport, &options)?;
    let ways = usize::from(forth) + usize::from(back);
    let said = said(&server, usize::from(streams) * ways)?;
    let mut counts = Vec::new();
    if forth {
        counts.extend(forward(&printed, &said, cell.transport));
    }
    if back {
        counts.extend(backward(&printed, &said, cell.transport));
    }
    Ok(counts)
}

/// What a stock client printed that it sent, and what our server says that it received.
fn forward(printed: &str, said: &[CountedTraffic], transport: Transport) -> Vec<Count> {
    let lines: Vec<_> = printed.lines().filter_map(Printed::read).collect();
    // Of datagrams it prints the server's report too.
    let sent = sum(&lines, |line| !line.is_back && line.lost.is_none());
    let ours = || said.iter().filter(|said| said.side == Side::Receiver);
    let bytes = Count::new("B", sent, ours().map(|said| said.bytes.get()).sum());
    if transport == Transport::Tcp {
        return vec![bytes.with(&OWN_HEADER)];
    }
    let datagrams = printed.lines().filter_map(|line| {
        let (id, rest) = line.split_once("] Sent ")?;
        let _: u32 = id.trim_start_matches('[').trim().parse().ok()?;
        rest.strip_suffix(" datagrams")?.parse::<u64>().ok()
    });
    let received = ours().filter_map(|said| Some(said.packets?.get())).sum();
    let packets = Count::new("packets", datagrams.sum(), received);
    vec![bytes.with(&END), packets.with(&END)]
}

/// What our server says that it sent, and what a stock client printed that it received.
fn backward(printed: &str, said: &[CountedTraffic], transport: Transport) -> Vec<Count> {
    let lines: Vec<_> = printed.lines().filter_map(Printed::read).collect();
    let back = || lines.iter().filter(|line| line.is_back);
    let ours = || said.iter().filter(|said| said.side == Side::Sender);
    let sent = ours().map(|said| said.bytes.get()).sum();
    let bytes = Count::new("B", sent, back().map(|line| line.bytes).sum());
    if transport == Transport::Tcp {
        return vec![bytes];
    }
    let received = back().filter_map(|line| line.lost);
    let received = received.map(|(lost, all)| all.saturating_sub(lost)).sum();
    let sent = ours().filter_map(|said| Some(said.packets?.get())).sum();
    let packets = Count::new("packets", sent, received);
    vec![bytes.with(&END), packets.with(&END)]
}

/// The bytes of every line of a stream that iperf printed.
fn printed_streams(text: &str) -> Vec<u64> {
    let lines = text.lines().filter_map(Printed::read);
    lines.map(|line| line.bytes).collect()
}

/// What our server says it sent and received when a client asks for a test in both directions.
fn both_ways_over_two_streams(option: &'static str, transport: Transport) -> Result<()> {
    for program in programs(&Iperf2) {
        let server = own_server(HERE)?;
        // The client listens where it is told, and the tool does not say where it does.
        let port = free_address(HERE)?.port().to_string();
        let options = [option, "-L", &port, "-t", "1", "-b", "2m", "-l", "1100"];
        let printed = stock_client(&program, server.address, transport, &options)?;
        let said = said(&server, 2)?;
        for side in [Side::Receiver, Side::Sender] {
            let found = said.iter().any(|said| said.side == side);
            assert!(found, "{program}: {said:?}");
        }
        assert!(printed_streams(&printed).len() >= 2, "{printed}");
    }
    Ok(())
}

#[test]
fn a_client_that_wants_a_connection_back_at_once_gets_it() {
    both_ways_over_two_streams("-d", Transport::Tcp).unwrap();
    both_ways_over_two_streams("-d", Transport::Udp).unwrap();
}

#[test]
fn a_client_that_wants_a_connection_back_afterwards_gets_it() {
    both_ways_over_two_streams("-r", Transport::Tcp).unwrap();
    both_ways_over_two_streams("-r", Transport::Udp).unwrap();
}

#[test]
fn clients_of_every_kind_are_served_at_once() {
    let server = own_server(HERE).unwrap();
    let address = server.address;
    let kinds: [(Transport, &[&str]); 4] = [
        (Transport::Tcp, &["-P", "3"]),
        (Transport::Tcp, &["--reverse"]),
        (Transport::Udp, &["-P", "3"]),
        (Transport::Udp, &["--full-duplex"]),
    ];
    let run = |(transport, more): (Transport, &[&str])| {
        let mut options = vec!["-t", "1", "-b", "1m", "-l", "1000"];
        options.extend(more);
        stock_client(IPERF, address, transport, &options).unwrap()
    };
    let printed: Vec<_> = std::thread::scope(|scope| {
        let run = &run;
        let twelve = kinds.iter().cycle().take(12);
        let clients: Vec<_> = twelve.map(|kind| scope.spawn(move || run(*kind))).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    for text in printed {
        let streams = printed_streams(&text);
        assert!(
            !streams.is_empty() && streams.iter().all(|bytes| *bytes > 10_000),
            "{text}"
        );
    }
}

#[test]
fn one_client_makes_test_after_test() {
    for program in programs(&Iperf2) {
        let server = RealServer::start(&program, Transport::Udp, false).unwrap();
        let mut client = server.client().unwrap();
        // One stream: a server of 2.1.8 may crash after several at once.
        for _ in 0..3 {
            let spec = TestSpec {
                stop: Stop::After(Duration::from_millis(300)),
                ..spec(CELL)
            };
            let outcome = client.run(&spec, &mut |_| true).unwrap();
            let done = &outcome.directions[0];
            let [sender, receiver] =
                [&done.sender, &done.receiver].map(|end| end.as_ref().unwrap());
            let (sent, got) = (packets(sender), packets(receiver));
            assert!(
                sent > 0 && sent == got,
                "{program}: {sent} sent, {got} received, {:?}",
                receiver.streams[0].work
            );
        }
    }
}

/// Any cell of datagrams.
const CELL: Cell = Cell {
    role: Role::Client,
    transport: Transport::Udp,
    way: Way::Normal,
    is_v6: false,
};

#[test]
fn a_server_that_is_not_there_is_named() {
    let mut nobody = connect("iperf2://127.0.0.1:9").unwrap();
    let error = nobody.run(&spec(CELL), &mut |_| true).unwrap_err();
    assert!(format!("{error:#}").contains("iperf -s"), "{error:#}");
}
