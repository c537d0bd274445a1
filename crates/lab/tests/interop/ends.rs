//! linerate's part of a cell: its server, its client, and what its reports say.

use crate::matrix::{Cell, Count, Way};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use linerate_agent::{AgentPlan, serve};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, DirectionOutcome, Target};
use linerate_model::agent::AgentEvent;
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Of every test.
const STREAMS: u16 = 2;
/// Over all streams, bit/s.
const RATE: u64 = 4_000_000;
/// A payload that no TCP segment and no default of any tool has.
const PAYLOAD: u64 = 1100;

pub(crate) fn loopback(is_v6: bool) -> IpAddr {
    if is_v6 {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    }
}

/// The usual test of a cell: a second at 4 Mbit/s on two streams.
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
        stop: Stop::After(Duration::from_secs(1)),
        ..base.with_payload(ByteCount::new(PAYLOAD)).with_pace(pace)
    }
}

/// A client of `url`.
pub(crate) fn connect(url: &str) -> Result<Client> {
    Client::connect(&Target::new(PeerAddress::parse(url)?))
}

/// Makes the usual test of a cell as a client of `url`.
pub(crate) fn measure(url: &str, cell: Cell) -> Result<Vec<Count>> {
    let outcome = connect(url)?.run(&spec(cell), &mut |_| true)?;
    let counts: Result<Vec<_>> = outcome
        .directions
        .iter()
        .map(|done| both(cell, done))
        .collect();
    Ok(counts?.concat())
}

/// What both reports of a direction say, each end on its own: bytes, and packets for UDP.
pub(crate) fn both(cell: Cell, done: &DirectionOutcome) -> Result<Vec<Count>> {
    let (sender, receiver) = done
        .sender
        .as_ref()
        .zip(done.receiver.as_ref())
        .context("a report of each end")?;
    ensure!(sender.streams.len() == receiver.streams.len());
    let count = |unit, of: fn(&StreamReport) -> u64| {
        let sum = |report: &EndpointReport| report.streams.iter().map(of).sum();
        Count::new(unit, sum(sender), sum(receiver))
    };
    let mut counts = vec![count("B", |stream| stream.bytes.get())];
    if cell.transport == Transport::Udp {
        counts.push(count("packets", |stream| stream.packets.get()));
    }
    Ok(counts)
}

/// linerate's server on a thread, with one protocol only.
pub(crate) struct OwnServer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
    pub(crate) address: SocketAddr,
    /// What it says after where it listens.
    pub(crate) said: mpsc::Receiver<AgentEvent>,
}

impl OwnServer {
    /// Speaks `protocol` on any free port of `ip`.
    pub(crate) fn start(ip: IpAddr, protocol: &str) -> Result<Self> {
        Self::with(ip, protocol, AgentPlan::private())
    }

    /// Speaks `protocol` on any free port of `ip`, with what else this plan says.
    pub(crate) fn with(ip: IpAddr, protocol: &str, plan: AgentPlan) -> Result<Self> {
        let plan = AgentPlan {
            listen: SocketAddr::new(ip, 0),
            speak: vec![format!("{protocol}:0").parse()?],
            max_clients: 64,
            ..plan
        };
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (say, said) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            serve(&plan, &seen, &mut |event| {
                let _ = say.send(event.clone());
            })
        });
        let Ok(AgentEvent::Listening { address, .. }) = said.recv() else {
            let ended = thread.join().map_err(|_| anyhow!("the server panicked"))?;
            bail!("the server ended at once: {ended:?}");
        };
        Ok(Self {
            stop,
            address,
            thread: Some(thread),
            said,
        })
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
