//! sfnt-pingpong, which no distribution has: against the tool itself where the user names one
//! (`LINERATE_SFNT=/path/to/sfnt-pingpong make interop`), and with linerate at both ends. The wire is held to the tool's
//! by transcripts (`peers/src/sfnt/transcripts`).

use crate::ends::{OwnServer, loopback};
use crate::matrix::{Cell, Count, Role, Tool, Way, every_cell};
use crate::program::{Program, about};
use anyhow::{Context as _, Result, bail, ensure};
use linerate_agent::AgentPlan;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::sample::StreamReport;
use linerate_model::spec::{Stop, TestSpec, Transport, WaitMode};
use linerate_model::{ByteCount, Histogram};
use linerate_testkit::ports::free_address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::Command;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Messages of each size.
const MESSAGES: u64 = 300;

/// Sizes of a cell: the least, and one of several segments that a datagram still holds.
const SIZES: [u64; 2] = [1, 32_768];

pub(crate) struct Sfnt;

#[test]
fn sfnt_in_every_cell() {
    every_cell(&Sfnt);
}

impl Tool for Sfnt {
    fn name(&self) -> &'static str {
        "sfnt"
    }

    fn programs(&self) -> Vec<String> {
        Vec::new()
    }

    /// `1.6.0` of `version: 1.6.0`.
    fn version(&self, program: &str) -> Result<String> {
        Ok(Identity::of(program)?.version)
    }

    fn has(&self, cell: Cell) -> bool {
        cell.way == Way::Normal
    }

    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>> {
        let counts = match cell.role {
            Role::Client => as_client(program, cell)?,
            Role::Server => as_server(program, cell)?,
        };
        let count = |(size, answered): (u64, u64)| {
            let unit = if size == SIZES[0] {
                "short messages"
            } else {
                "long messages"
            };
            Count::new(unit, MESSAGES, answered)
        };
        Ok(counts.into_iter().map(count).collect())
    }
}

/// What both ends of sfnt-pingpong must have in common.
struct Identity {
    version: String,
    checksum: String,
}

impl Identity {
    fn of(program: &str) -> Result<Self> {
        let said = about(program, "--version")?;
        let after = |word: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(word));
            let told = line.with_context(|| format!("`{word}` in {said:?}"));
            told.map(|told| told.trim().to_owned())
        };
        Ok(Self {
            version: after("version:")?,
            checksum: after("src:")?,
        })
    }
}

const fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

/// What a stock server answered of each size. It tells nothing, and ends with its client.
fn as_client(program: &str, cell: Cell) -> Result<Vec<(u64, u64)>> {
    let address = free_address(loopback(cell.is_v6))?;
    let port = format!("--port={}", address.port());
    let family = if cell.is_v6 { "--ipv6" } else { "--ipv4" };
    let server = Program::start("stdbuf", ["-oL", program, &port, family])?;
    server.await_port(address, Transport::Tcp)?;
    let mut client = client(address)?;
    let counts = SIZES.map(|size| {
        let seen = measured(&mut client, &spec(cell.transport, size))?;
        ensure!(seen.bytes.get() == seen.packets.get() * size, "{seen:?}");
        Ok((size, seen.packets.get()))
    });
    counts.into_iter().collect()
}

/// How many messages of each size a stock client had answered.
fn as_server(program: &str, cell: Cell) -> Result<Vec<(u64, u64)>> {
    let Identity { version, checksum } = Identity::of(program)?;
    let settings = [("sfnt-version", version), ("sfnt-checksum", checksum)];
    let plan = AgentPlan {
        settings: settings.map(|(key, value)| (key.to_owned(), value)).into(),
        ..AgentPlan::private()
    };
    let server = OwnServer::with(loopback(cell.is_v6), "sfnt", plan)?;
    let family = if cell.is_v6 { "--ipv6" } else { "--ipv4" };
    let output = Command::new(program)
        .args([
            "--minms=0",
            "--maxms=60000",
            "--warmupms=0",
            "--warmupiter=10",
            family,
        ])
        .args([
            format!("--miniter={MESSAGES}"),
            format!("--maxiter={MESSAGES}"),
            format!("--sizes={}", SIZES.map(|size| size.to_string()).join(",")),
        ])
        .args([word(cell.transport), &server.address.to_string()])
        .output()
        .with_context(|| format!("starting {program}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    // `size mean min median max %ile stddev iter`, one row for each size.
    let row = |line: &str| {
        let fields: Vec<u64> = line
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        (fields.len() == 8).then(|| (fields[0], fields[7]))
    };
    let rows: Vec<_> = said.lines().filter_map(row).collect();
    ensure!(rows.len() == SIZES.len(), "a row for each size: {said}");
    Ok(rows)
}

fn server(ip: IpAddr) -> Result<OwnServer> {
    let plan = AgentPlan {
        settings: [("sfnt-version".to_owned(), "1.6.0-rc2".to_owned())].into(),
        ..AgentPlan::private()
    };
    OwnServer::with(ip, "sfnt", plan)
}

fn client(server: SocketAddr) -> Result<Client> {
    let far = PeerAddress::parse(&format!("sfnt://{server}"))?;
    Client::connect(&Target::new(far))
}

fn spec(transport: Transport, size: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(MESSAGES),
        ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(size))
    }
}

/// What the requester saw of one test.
fn measured(client: &mut Client, spec: &TestSpec) -> Result<StreamReport> {
    let outcome = client.run(spec, &mut |_| true)?;
    let done = outcome.directions.first().context("a direction")?;
    ensure!(done.receiver.is_none(), "the protocol tells nothing of it");
    let sender = done.sender.as_ref().context("a report")?;
    Ok(sender.streams[0].clone())
}

fn every_size(transport: Transport, sizes: &[u64]) -> Result<()> {
    for ip in [HERE, Ipv6Addr::LOCALHOST.into()] {
        // Two sessions of a server that a stock one would have to be started for again.
        let server = server(ip)?;
        for wait in [WaitMode::Block, WaitMode::Spin] {
            let mut client = client(server.address)?;
            for size in sizes {
                let spec = TestSpec {
                    wait,
                    ..spec(transport, *size)
                };
                let seen = measured(&mut client, &spec)?;
                assert_eq!(seen.packets.get(), 300, "{ip} {size} {wait:?}: {seen:?}");
                assert_eq!(seen.bytes.get(), 300 * size);
                assert_eq!(seen.work.rtt().map(Histogram::len), Some(300));
            }
        }
    }
    Ok(())
}

#[test]
fn every_size_comes_back_over_tcp() {
    every_size(Transport::Tcp, &[1, 64, 65_536]).unwrap();
}

#[test]
fn every_size_comes_back_over_udp() {
    every_size(Transport::Udp, &[0, 64, 1473, 32_768]).unwrap();
}

#[test]
fn many_clients_are_served_at_once_and_by_time() {
    let server = server(HERE).unwrap();
    std::thread::scope(|scope| {
        for transport in [Transport::Tcp, Transport::Udp].repeat(3) {
            let server = server.address;
            scope.spawn(move || {
                let spec = TestSpec {
                    stop: Stop::After(Duration::from_millis(300)),
                    warm_up: Duration::from_millis(50),
                    ..spec(transport, 32)
                };
                let seen = measured(&mut client(server).unwrap(), &spec).unwrap();
                assert!(seen.packets.get() > 0, "{seen:?}");
            });
        }
    });
}

#[test]
fn one_client_changes_transport_by_connecting_again() {
    let server = server(HERE).unwrap();
    let mut client = client(server.address).unwrap();
    for transport in [Transport::Udp, Transport::Tcp, Transport::Udp] {
        let seen = measured(&mut client, &spec(transport, 8)).unwrap();
        assert_eq!(seen.packets.get(), 300);
    }
}

#[test]
fn a_bulk_transfer_is_refused_and_the_next_test_is_made() {
    let server = server(HERE).unwrap();
    let mut client = client(server.address).unwrap();
    let error = client.run(&TestSpec::tcp_bulk(), &mut |_| true);
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("linerate latency"), "{text}");
    let mut next = self::client(server.address).unwrap();
    measured(&mut next, &spec(Transport::Tcp, 8)).unwrap();
}

#[test]
fn a_datagram_that_is_lost_ends_the_run_with_what_to_do() {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let far = PeerAddress::parse(&format!("sfnt://{}", listener.local_addr().unwrap())).unwrap();
    let server = std::thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        // A socket that answers nothing.
        let data = UdpSocket::bind((HERE, 0)).unwrap();
        let port = data.local_addr().unwrap().port().to_be_bytes();
        control
            .write_all(b"\x04\x00\x00\x001.6\x00\x02\x00\x00\x00x\x00")
            .unwrap();
        // It says where its socket is when it has the options, as the tool does.
        control.read_exact(&mut [0; 4]).unwrap();
        let place = [&[0; 4][..], &[2, 0, 0, 0], &port, &[127, 0, 0, 1]].concat();
        control.write_all(&place).unwrap();
        let mut rest = Vec::new();
        control.read_to_end(&mut rest).unwrap();
        drop(data);
    });
    let mut client = Client::connect(&Target::new(far)).unwrap();
    let error = client.run(&spec(Transport::Udp, 8), &mut |_| true);
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("lost"), "{text}");
    drop(client);
    server.join().unwrap();
}
