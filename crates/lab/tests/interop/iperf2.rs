//! linerate and the real iperf2, in both roles: what one end counted is what the other says.
//!
//! iperf2 tells nothing of TCP over the wire, so what it prints is compared. It counts what is no data: bytes of
//! headers, and the datagram that ends a stream.

use crate::ends::OwnServer;
use anyhow::{Context as _, Result, bail, ensure};
use linerate_lab::address::FarEnd;
use linerate_lab::client::{Client, DirectionOutcome, Target};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The tool as Debian installs it (ci/packages).
const IPERF: &str = "iperf";

const STREAMS: u16 = 2;
const RATE: u64 = 4_000_000;
/// A payload that no TCP segment and no default has.
const PAYLOAD: u64 = 1100;
/// Bytes of a plain test's header that iperf2 from 2.1 on counts.
const COUNTED: u64 = 20;
/// Bytes of the header of its own tests, which it counts as sent: 2.1 and 2.2.
const HEADERS: [u64; 2] = [60, 64];

/// One combination.
#[derive(Debug, Clone, Copy)]
struct Cell {
    transport: Transport,
    way: Direction,
    is_v6: bool,
}

impl Cell {
    fn host(self) -> IpAddr {
        if self.is_v6 {
            Ipv6Addr::LOCALHOST.into()
        } else {
            Ipv4Addr::LOCALHOST.into()
        }
    }

    /// Streams of our client. iperf2 may count a datagram of another stream that begins while it has not
    /// made the socket of the first, so exact counts need one.
    fn streams(self) -> u16 {
        match self.transport {
            Transport::Tcp => STREAMS,
            Transport::Udp => 1,
        }
    }

    fn spec(self) -> TestSpec {
        let pace = Pace::At(BitRate::from_bps(RATE));
        let base = match self.transport {
            Transport::Tcp => TestSpec::tcp_bulk(),
            Transport::Udp => TestSpec::udp_datagrams(pace),
        };
        TestSpec {
            direction: self.way,
            streams: self.streams(),
            payload_bytes: ByteCount::new(PAYLOAD),
            pace,
            stop: Stop::After(Duration::from_secs(1)),
            ..base
        }
    }

    /// What iperf2 is told of it, but for its role and the address.
    fn options(self) -> Vec<&'static str> {
        let mut options = Vec::new();
        if self.transport == Transport::Udp {
            options.push("-u");
        }
        if self.is_v6 {
            options.push("-V");
        }
        options
    }
}

/// Every cell of a transport and a way.
fn cells(transport: Transport, way: Direction) -> [Cell; 2] {
    [false, true].map(|is_v6| Cell {
        transport,
        way,
        is_v6,
    })
}

fn sum(report: &EndpointReport, packets: bool) -> u64 {
    let part = |stream: &StreamReport| {
        if packets {
            stream.packets.get()
        } else {
            stream.bytes.get()
        }
    };
    report.streams.iter().map(part).sum()
}

fn own(done: &DirectionOutcome, side: Side) -> Result<&EndpointReport> {
    let report = match side {
        Side::Sender => done.sender.as_ref(),
        Side::Receiver => done.receiver.as_ref(),
    };
    let report = report.with_context(|| format!("a report of the {side:?}"))?;
    Ok(report)
}

/// A stock server, and what it prints.
struct RealServer {
    child: Child,
    address: SocketAddr,
    lines: mpsc::Receiver<String>,
}

impl RealServer {
    fn start(cell: Cell) -> Result<Self> {
        // The tool does not say which port it got, so one that was free a moment ago is asked for.
        let address = TcpListener::bind((cell.host(), 0))?.local_addr()?;
        let (host, port) = (cell.host().to_string(), address.port().to_string());
        // Without a terminal it prints nothing before it ends, unless told to.
        let mut child = Command::new("stdbuf")
            .args([
                "-oL", IPERF, "-s", "-e", "-f", "B", "-B", &host, "-p", &port,
            ])
            .args(cell.options())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("starting iperf: install the packages in ci/packages")?;
        let out = child.stdout.take().context("its output")?;
        let (say, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(out).lines();
            lines
                .map_while(Result::ok)
                .try_for_each(|line| say.send(line))
        });
        let server = Self {
            child,
            address,
            lines,
        };
        server.await_line(|line| line.contains("buffer size") || line.contains("window size"))?;
        Ok(server)
    }

    /// The next line that it is looked for.
    fn await_line(&self, is_it: impl Fn(&str) -> bool) -> Result<String> {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(10));
            let line = line.context("a line of the server's that did not come")?;
            if is_it(&line) {
                return Ok(line);
            }
        }
    }

    fn client(&self) -> Result<Client> {
        let far = FarEnd::parse(&format!("iperf2://{}", self.address))?;
        Client::connect(&Target::new(far))
    }

    /// The bytes of each stream that it received, as it prints them.
    fn received(&self) -> Result<u64> {
        let mut sum = 0;
        for _ in 0..STREAMS {
            let line = self.await_line(|line| {
                line.starts_with('[') && line.contains(" sec ") && !line.contains("SUM")
            })?;
            sum += printed_bytes(&line)?;
        }
        Ok(sum)
    }
}

/// The transfer of a line such as `[  1] 0.00-1.00 sec  501600 Bytes  …`.
fn printed_bytes(line: &str) -> Result<u64> {
    let (_, rest) = line.split_once(" sec ").context("an interval")?;
    let bytes = rest.split_whitespace().next().context("a transfer")?;
    bytes.parse().with_context(|| line.to_owned())
}

impl Drop for RealServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Our client against the stock server.
fn as_client(cell: Cell) -> Result<()> {
    let server = RealServer::start(cell)?;
    let mut client = server.client()?;
    let outcome = client.run(&cell.spec(), &mut |_| true)?;
    for done in &outcome.directions {
        let is_forward = done.direction == Direction::Forward;
        match (cell.transport, is_forward) {
            (Transport::Udp, _) => {
                let (sender, receiver) = (own(done, Side::Sender)?, own(done, Side::Receiver)?);
                let streams = usize::from(cell.streams());
                ensure!(sender.streams.len() == streams && receiver.streams.len() == streams);
                for packets in [true, false] {
                    let (sent, got) = (sum(sender, packets), sum(receiver, packets));
                    let told: Vec<_> = receiver.streams.iter().map(|s| s.told).collect();
                    // Its sender may read one of ours when it looks for the answer to its own end.
                    let eats = is_forward && cell.way == Direction::Duplex;
                    let lacking = match (eats, packets) {
                        (false, _) => 0,
                        (true, true) => 1,
                        (true, false) => PAYLOAD,
                    };
                    let missing = sent.checked_sub(got);
                    ensure!(
                        sent > 0 && missing.is_some_and(|missing| missing <= lacking),
                        "{sent} sent, {got} received: {told:?}"
                    );
                }
            }
            (Transport::Tcp, true) => {
                let sent = sum(own(done, Side::Sender)?, false);
                ensure!(own(done, Side::Receiver)?.streams.is_empty());
                if cell.way == Direction::Forward {
                    let got = server.received()?;
                    let headers = COUNTED * u64::from(STREAMS);
                    ensure!(got == sent + headers, "{got} received, {sent} sent");
                }
            }
            (Transport::Tcp, false) => {
                let got = sum(own(done, Side::Receiver)?, false);
                ensure!(own(done, Side::Sender)?.streams.is_empty());
                ensure!(got > 0, "nothing received");
                if cell.way == Direction::Reverse {
                    let sent = server.received()?;
                    ensure!(got == sent, "{got} received, {sent} sent");
                }
            }
        }
    }
    Ok(())
}

/// What a stock client prints: the lines of its summary, one for each stream and direction.
fn stock_client(server: SocketAddr, cell: Cell, more: &[&str]) -> Result<String> {
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new(IPERF)
        .args(["-c", &host, "-p", &port, "-f", "B"])
        .args(cell.options())
        .args(more)
        .output()
        .context("starting iperf: install the packages in ci/packages")?;
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

/// The next lines of it that say what was done, `(what, bytes, rest)`.
fn seen(server: &OwnServer, count: usize) -> Result<Vec<String>> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let line = server.said.recv_timeout(Duration::from_secs(10))?;
        if line.contains(" iperf2: ") {
            seen.push(line);
        }
    }
    Ok(seen)
}

/// A stock client against our server.
fn as_server(cell: Cell) -> Result<()> {
    let server = own_server(cell.host())?;
    let mut options = vec!["-P", "2", "-t", "1", "-b", "2m", "-l", "1100"];
    let ways = match cell.way {
        Direction::Forward => 1,
        Direction::Reverse => {
            options.push("--reverse");
            1
        }
        Direction::Duplex => {
            options.push("--full-duplex");
            2
        }
    };
    let printed = stock_client(server.address, cell, &options)?;
    let seen = seen(&server, usize::from(STREAMS) * ways)?;
    let ours = |what: &str| -> Vec<u64> {
        let bytes = |line: &String| {
            let (_, rest) = line.split_once(what)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        let mut all: Vec<u64> = seen.iter().filter_map(bytes).collect();
        all.sort_unstable();
        all
    };
    let (received, sent) = (ours(" received "), ours(" sent "));
    ensure!(received.len() + sent.len() == seen.len(), "{seen:?}");
    let theirs = printed_streams(&printed);
    let beside = |is_received: bool| match (cell.transport, is_received) {
        (Transport::Tcp, true) => HEADERS.to_vec(),
        (Transport::Tcp, false) => vec![0],
        (Transport::Udp, _) => vec![PAYLOAD],
    };
    for (all, is_received) in [(&received, true), (&sent, false)] {
        for bytes in all {
            let mut same = beside(is_received).into_iter().map(|more| bytes + more);
            ensure!(*bytes > 0, "{seen:?}\n{printed}");
            ensure!(
                same.any(|it| theirs.contains(&it)),
                "{bytes}: {seen:?}\n{printed}"
            );
        }
    }
    if cell.transport == Transport::Udp && cell.way != Direction::Reverse {
        ensure!(seen.iter().any(|line| line.contains(", 0 of ")), "{seen:?}");
    }
    Ok(())
}

/// The bytes of every line of a stream that iperf printed.
fn printed_streams(text: &str) -> Vec<u64> {
    let lines = text.lines().filter(|line| line.starts_with('['));
    lines.filter_map(|line| printed_bytes(line).ok()).collect()
}

#[track_caller]
fn agree(cell: fn(Cell) -> Result<()>, transport: Transport, way: Direction) {
    for each in cells(transport, way) {
        if let Err(error) = cell(each) {
            panic!("{each:?}: {error:#}");
        }
    }
}

macro_rules! cells {
    ($($name:ident: $role:ident $transport:ident $way:ident;)*) => {
        $(#[test]
        fn $name() {
            agree($role, Transport::$transport, Direction::$way);
        })*
    };
}

cells! {
    client_tcp_normal: as_client Tcp Forward;
    client_tcp_reverse: as_client Tcp Reverse;
    client_tcp_both_ways: as_client Tcp Duplex;
    client_udp_normal: as_client Udp Forward;
    client_udp_reverse: as_client Udp Reverse;
    client_udp_both_ways: as_client Udp Duplex;
    server_tcp_normal: as_server Tcp Forward;
    server_tcp_reverse: as_server Tcp Reverse;
    server_tcp_both_ways: as_server Tcp Duplex;
    server_udp_normal: as_server Udp Forward;
    server_udp_reverse: as_server Udp Reverse;
    server_udp_both_ways: as_server Udp Duplex;
}

/// What our server says it sent and received when a client asks for a test in both directions.
fn both_ways_over_two_streams(option: &'static str, transport: Transport) -> Result<()> {
    let [cell, _] = cells(transport, Direction::Forward);
    let server = own_server(cell.host())?;
    // The client listens where it is told, and the tool does not say where it does.
    let back = TcpListener::bind((cell.host(), 0))?;
    let port = back.local_addr()?.port().to_string();
    drop(back);
    let options = [option, "-L", &port, "-t", "1", "-b", "2m", "-l", "1100"];
    let printed = stock_client(server.address, cell, &options)?;
    let seen = seen(&server, 2)?;
    for what in [" received ", " sent "] {
        assert!(seen.iter().any(|line| line.contains(what)), "{seen:?}");
    }
    assert!(printed_streams(&printed).len() >= 2, "{printed}");
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
    let server = own_server(Ipv4Addr::LOCALHOST.into()).unwrap();
    let address = server.address;
    let kinds: [(Transport, &[&str]); 4] = [
        (Transport::Tcp, &["-P", "3"]),
        (Transport::Tcp, &["--reverse"]),
        (Transport::Udp, &["-P", "3"]),
        (Transport::Udp, &["--full-duplex"]),
    ];
    let run = |(transport, more): (Transport, &[&str])| {
        let [cell, _] = cells(transport, Direction::Forward);
        let mut options = vec!["-t", "1", "-b", "1m", "-l", "1000"];
        options.extend(more);
        printed_streams(&stock_client(address, cell, &options).unwrap())
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
    for streams in printed {
        assert!(
            !streams.is_empty() && streams.iter().all(|bytes| *bytes > 10_000),
            "{streams:?}"
        );
    }
}

#[test]
fn one_client_makes_test_after_test_and_a_server_that_is_not_there_is_named() {
    let [cell, _] = cells(Transport::Udp, Direction::Forward);
    let server = RealServer::start(cell).unwrap();
    let mut client = server.client().unwrap();
    // One stream: a server of 2.1.8 may crash after several at once.
    for _ in 0..3 {
        let spec = TestSpec {
            streams: 1,
            stop: Stop::After(Duration::from_millis(300)),
            ..cell.spec()
        };
        let outcome = client.run(&spec, &mut |_| true).unwrap();
        let done = &outcome.directions[0];
        let [sent, got] =
            [Side::Sender, Side::Receiver].map(|side| sum(own(done, side).unwrap(), true));
        assert!(sent > 0 && sent == got, "{sent} sent, {got} received");
    }
    let far = FarEnd::parse("iperf2://127.0.0.1:9").unwrap();
    let mut nobody = Client::connect(&Target::new(far)).unwrap();
    let error = nobody.run(&cell.spec(), &mut |_| true).unwrap_err();
    assert!(format!("{error:#}").contains("iperf -s"), "{error:#}");
}
