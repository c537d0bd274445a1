//! One cell of the matrix, measured: a test between linerate and an iperf3 on this machine.

use anyhow::{Context as _, Result, bail, ensure};
use linerate_lab::address::FarEnd;
use linerate_lab::agent::{AgentPlan, serve, sfnt_release};
use linerate_lab::client::{Client, DirectionOutcome, Target};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Which end linerate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// Who sends, seen from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Normal,
    Reverse,
    Both,
}

/// One combination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) role: Role,
    pub(crate) transport: Transport,
    pub(crate) way: Way,
    pub(crate) is_v6: bool,
}

/// What both ends of one direction counted.
#[derive(Debug)]
pub(crate) struct Count {
    sent: u64,
    received: u64,
    /// Packets of a UDP test.
    packets: Option<(u64, u64)>,
    /// An iperf3 client stops counting when it ends the test; its server goes on until it hears that.
    is_cut: bool,
}

impl Count {
    /// Whether they are the same as far as the protocol lets them.
    pub(crate) fn agrees(&self) -> bool {
        let same = |sent: u64, received: u64| received == sent || (self.is_cut && received < sent);
        self.received > 0
            && same(self.sent, self.received)
            && self
                .packets
                .is_none_or(|(sent, received)| same(sent, received))
    }
}

const STREAMS: u16 = 2;
const RATE: u64 = 4_000_000;
/// A payload that no TCP segment and no default of either tool has.
const PAYLOAD: u64 = 1100;

/// Runs one cell against the program `iperf3`.
pub(crate) fn measure(iperf3: &str, cell: Cell) -> Result<Vec<Count>> {
    match cell.role {
        Role::Client => as_client(iperf3, cell),
        Role::Server => as_server(iperf3, cell),
    }
}

fn loopback(is_v6: bool) -> IpAddr {
    if is_v6 {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    }
}

fn as_client(iperf3: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = RealServer::start(iperf3, loopback(cell.is_v6), &["-1"])?;
    let mut client = server.connect()?;
    let outcome = client.run(&spec(cell), &mut |_| true)?;
    outcome
        .directions
        .iter()
        .map(|done| both(cell, done))
        .collect()
}

/// The test of a cell.
pub(crate) fn spec(cell: Cell) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(RATE));
    let base = match cell.transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec::udp_datagrams(pace),
    };
    TestSpec {
        direction: match cell.way {
            Way::Normal => Direction::Forward,
            Way::Reverse => Direction::Reverse,
            Way::Both => Direction::Duplex,
        },
        streams: STREAMS,
        payload_bytes: ByteCount::new(PAYLOAD),
        pace,
        stop: Stop::After(Duration::from_secs(1)),
        ..base
    }
}

/// What both reports of a direction say, each end on its own.
pub(crate) fn both(cell: Cell, done: &DirectionOutcome) -> Result<Count> {
    let (sender, receiver) = done
        .sender
        .as_ref()
        .zip(done.receiver.as_ref())
        .context("a report of each end")?;
    let bytes = |report: &EndpointReport| report.streams.iter().map(|s| s.bytes.get()).sum();
    let packets = |report: &EndpointReport| report.streams.iter().map(|s| s.packets.get()).sum();
    ensure!(sender.streams.len() == usize::from(STREAMS));
    ensure!(receiver.streams.len() == usize::from(STREAMS));
    Ok(Count {
        sent: bytes(sender),
        received: bytes(receiver),
        packets: (cell.transport == Transport::Udp).then(|| (packets(sender), packets(receiver))),
        is_cut: false,
    })
}

fn as_server(iperf3: &str, cell: Cell) -> Result<Vec<Count>> {
    let server = OwnServer::start(loopback(cell.is_v6))?;
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
    let end = server.client(iperf3, &options)?;
    let forward = || of_json(&end, cell, "");
    let backward = |suffix| of_json(&end, cell, suffix);
    match cell.way {
        Way::Normal => Ok(vec![forward()?]),
        Way::Reverse => Ok(vec![backward("")?.cut()]),
        Way::Both => Ok(vec![forward()?, backward("_bidir_reverse")?.cut()]),
    }
}

impl Count {
    const fn cut(self) -> Self {
        Self {
            is_cut: true,
            ..self
        }
    }
}

/// What the client printed of one direction: its own count, and what it got from the server.
fn of_json(end: &Value, cell: Cell, suffix: &str) -> Result<Count> {
    let of = |sum: &str, key: &str| {
        let value = end[format!("{sum}{suffix}")][key].as_u64();
        value.with_context(|| format!("no {key} in {sum}{suffix}: {end}"))
    };
    let packets = match cell.transport {
        Transport::Tcp => None,
        Transport::Udp => {
            let missing = of("sum_received", "lost_packets")?;
            let seen = of("sum_received", "packets")?;
            Some((of("sum_sent", "packets")?, seen.saturating_sub(missing)))
        }
    };
    Ok(Count {
        sent: of("sum_sent", "bytes")?,
        received: of("sum_received", "bytes")?,
        packets,
        is_cut: false,
    })
}

/// A stock server.
pub(crate) struct RealServer {
    child: Child,
    address: SocketAddr,
}

impl RealServer {
    pub(crate) fn start(iperf3: &str, ip: IpAddr, options: &[&str]) -> Result<Self> {
        // The tool does not say which port it got, so one that was free a moment ago is asked for.
        let address = TcpListener::bind((ip, 0))?.local_addr()?;
        let (host, port) = (ip.to_string(), address.port().to_string());
        let mut child = Command::new(iperf3)
            .args(["-s", "--forceflush", "-B", &host, "-p", &port])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {iperf3}: install the packages in ci/packages"))?;
        let out = child.stdout.take().context("its output")?;
        let mut lines = BufReader::new(out).lines();
        let listens = lines.any(|line| line.is_ok_and(|line| line.contains("listening")));
        let server = Self { child, address };
        ensure!(listens, "{iperf3} does not listen on {address}");
        // What it prints later must go somewhere.
        std::thread::spawn(move || lines.count());
        Ok(server)
    }

    /// A client of it.
    pub(crate) fn connect(&self) -> Result<Client> {
        let far = FarEnd::parse(&format!("iperf3://{}", self.address))?;
        Client::connect(&Target::new(far))
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// linerate's server on a thread, with one protocol.
pub(crate) struct OwnServer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl OwnServer {
    pub(crate) fn start(ip: IpAddr) -> Result<Self> {
        Self::speaking("iperf3:0", ip)
    }

    /// Speaks this, on any port.
    pub(crate) fn speaking(protocol: &str, ip: IpAddr) -> Result<Self> {
        let plan = AgentPlan {
            listen: SocketAddr::new(ip, 0),
            speak: vec![protocol.parse()?],
            sfnt: sfnt_release("1.6.0-rc2", None)?,
            max_clients: 64,
            ..AgentPlan::private()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (say, said) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            serve(&plan, &seen, &mut |line| {
                let _ = say.send(line.to_owned());
            })
        });
        let first = said.recv().context("the server ended at once")?;
        let address = first.rsplit(' ').next().unwrap_or_default();
        Ok(Self {
            stop,
            address: address.parse()?,
            thread: Some(thread),
        })
    }

    /// What a stock client's JSON says at its end.
    pub(crate) fn client(&self, iperf3: &str, options: &[&str]) -> Result<Value> {
        let document = self.document(iperf3, options)?;
        Ok(document["end"].clone())
    }

    /// All that it says.
    pub(crate) fn document(&self, iperf3: &str, options: &[&str]) -> Result<Value> {
        let (host, port) = (
            self.address.ip().to_string(),
            self.address.port().to_string(),
        );
        let output = Command::new(iperf3)
            .args(["-J", "-c", &host, "-p", &port])
            .args(options)
            .output()
            .with_context(|| format!("starting {iperf3}: install the packages in ci/packages"))?;
        let document: Value = serde_json::from_slice(&output.stdout)?;
        if let Some(error) = document["error"].as_str() {
            bail!("iperf3 {options:?}: {error}");
        }
        Ok(document)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(Ok(())))), "{ended:?}");
        }
    }
}
