//! `serve --speak iperf3` after ten thousand short tests, fifty at a time: no descriptor, no thread and no
//! memory is left behind, and Prometheus has counted every one.
//!
//! The clients are scripted, so that a test takes as long as the server makes it take.

mod prometheus;

use anyhow::{Context as _, Result, bail, ensure};
use linerate_testkit::child::KilledChild;
use prometheus::{Prometheus, get};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const TESTS: usize = 10_000;
const AT_ONCE: usize = 50;

/// Tests after which buffers and pools have their size: growth is counted from there.
const SETTLED: usize = 1_000;

/// Most growth of resident memory over the other tests: 900 bytes for each. What one test leaves behind at least,
/// if its streams' reports were kept, is several times that.
const MARGIN: u64 = 8 << 20;

/// Longest wait for one step of one test.
const LIMIT: Duration = Duration::from_secs(30);

/// Between two looks at what the server's process holds.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Bytes per block and datagram, and how many of them a client sends.
const BLOCK: usize = 1000;
const BLOCKS: u64 = 5;

#[test]
#[ignore = "needs prometheus; takes one to two minutes, and the machine alone"]
fn a_server_of_ten_thousand_tests_keeps_nothing_of_them() -> Result<()> {
    let server = Server::start()?;
    let prometheus = Prometheus::of(server.metrics)?;
    let idle = server.usage()?;
    server.make_tests(0..SETTLED)?;
    let before = server.usage()?;
    let busy = prometheus.newest(RESIDENT)?;
    server.make_tests(SETTLED..TESTS)?;
    let still_busy = prometheus.newest(RESIDENT)?;
    // Alone: meanwhile the threads of the last fifty end.
    server.make_tests(TESTS..TESTS + 1)?;
    let after = server.usage_at_rest(idle)?;
    println!("idle {idle:?}\nafter {SETTLED} tests {before:?}\nafter {TESTS} {after:?}");
    let made = u64::try_from(TESTS + 1)?;
    prometheus.wait_for("sum(linerate_tests_total)", made)?;
    let complete = "linerate_tests_total{protocol=\"iperf3\",result=\"complete\"}";
    assert_eq!(prometheus.newest(complete)?, made);
    let received = "linerate_payload_bytes_total{protocol=\"iperf3\",direction=\"received\"}";
    assert_eq!(prometheus.newest(received)?, sent_bytes(0..TESTS + 1));
    let resets = "sum(resets(linerate_tests_total[1h]))";
    assert_eq!(prometheus.newest(resets)?, 0);
    assert_eq!(prometheus.newest("min_over_time(up[1h])")?, 1);
    let most = prometheus.newest("max_over_time(scrape_samples_scraped[1h])")?;
    let fewest = prometheus.newest("min_over_time(scrape_samples_scraped[1h])")?;
    assert_eq!(fewest, most, "series");
    let scrapes = prometheus.newest("count_over_time(up[1h])")?;
    println!(
        "{scrapes} scrapes of {most} series; under load {busy} bytes after {SETTLED} tests, {still_busy} after {TESTS}"
    );
    assert!(still_busy.saturating_sub(busy) <= MARGIN);
    assert_eq!(after.descriptors, idle.descriptors);
    // The thread of the last client ends just after it said so.
    assert!(after.threads <= idle.threads + 1, "{after:?}");
    let growth = after.resident.saturating_sub(before.resident);
    assert!(
        growth <= MARGIN,
        "{growth} bytes more: {before:?}, {after:?}"
    );
    Ok(())
}

/// The most that was resident in the newest scrapes.
const RESIDENT: &str = "max_over_time(process_resident_memory_bytes[5s])";

/// Whether it becomes so in time.
fn settled(mut is_so: impl FnMut() -> Result<bool>) -> Result<bool> {
    for _ in 0..LIMIT.as_millis() / POLL_INTERVAL.as_millis() {
        if is_so()? {
            return Ok(true);
        }
        thread::park_timeout(POLL_INTERVAL);
    }
    is_so()
}

/// What the clients of these tests send.
fn sent_bytes(numbers: Range<usize>) -> u64 {
    let sends = numbers.filter(|number| Kind::with_number(*number).sends);
    sends.map(|_| BLOCKS * BLOCK as u64).sum()
}

/// A server in a process of its own.
struct Server {
    child: KilledChild,
    address: SocketAddr,
    /// Where its metrics are.
    metrics: SocketAddr,
}

/// What its process has.
#[derive(Debug, Clone, Copy)]
struct Usage {
    descriptors: usize,
    threads: u64,
    /// Bytes of resident memory.
    resident: u64,
}

impl Server {
    fn start() -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
        // The last ones' threads end a little after the clients.
        command.args(["serve", "--speak", "iperf3:0", "--max-clients", "1000"]);
        let mut child = command
            // Of as many pools as there are threads, one or the other grows by chance, and holes between large
            // blocks come and go with what is under way at once: so one pool, of small blocks only.
            .env("MALLOC_ARENA_MAX", "1")
            .env("MALLOC_MMAP_THRESHOLD_", "16384")
            .env("MALLOC_TRIM_THRESHOLD_", "65536")
            .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().context("its messages")?;
        let (say, said) = channel();
        // It stands still while nobody reads what it says.
        thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.for_each(|line| drop(say.send(line)));
        });
        let place = |what: &str| -> Result<SocketAddr> {
            let mut lines = said.iter();
            let line = lines.find(|line| line.contains(what));
            let line = line.context("the server ended at once")?;
            let address = line.rsplit(' ').next().unwrap_or_default();
            address.parse().context(line.clone())
        };
        // In the order in which it says them.
        let (address, metrics) = (place("serving iperf3")?, place("serving metrics")?);
        Ok(Self {
            metrics,
            address,
            child: child.into(),
        })
    }

    /// Makes the tests of these numbers, and waits until the server has counted all so far and no client is left: it
    /// has given up all it had of them by then.
    fn make_tests(&self, numbers: Range<usize>) -> Result<()> {
        let made = numbers.end;
        make_tests(self.address, numbers);
        let mut page = String::new();
        let is_over = settled(|| {
            page = get(self.metrics, "/metrics")?;
            let tests =
                format!("linerate_tests_total{{protocol=\"iperf3\",result=\"complete\"}} {made}");
            let wanted = [&*tests, "linerate_clients 0"];
            Ok(wanted
                .iter()
                .all(|line| page.lines().any(|other| other == *line)))
        })?;
        ensure!(is_over, "{made} tests were made: {page}");
        Ok(())
    }

    /// What its process has once it holds no more descriptors than `idle`, or after all if it never does: it counts a
    /// test before it has closed the last of its sockets.
    fn usage_at_rest(&self, idle: Usage) -> Result<Usage> {
        settled(|| Ok(self.usage()?.descriptors <= idle.descriptors))?;
        self.usage()
    }

    fn usage(&self) -> Result<Usage> {
        let of = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{of}/status"))?;
        let number = |key: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Ok(Usage {
            descriptors: std::fs::read_dir(format!("{of}/fd"))?.count(),
            threads: number("Threads:").context("threads")?,
            resident: number("VmRSS:").context("memory")? * 1024,
        })
    }
}

/// Makes the tests of these numbers, some at a time.
fn make_tests(server: SocketAddr, numbers: Range<usize>) {
    let next = AtomicUsize::new(numbers.start);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            make_test(server, number).unwrap_or_else(|error| panic!("test {number}: {error:#}"));
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
}

/// What a test moves.
#[derive(Debug, Clone, Copy)]
struct Kind {
    udp: bool,
    sends: bool,
    receives: bool,
}

impl Kind {
    fn with_number(number: usize) -> Self {
        let (udp, sends, receives) = [
            (false, true, false),
            (false, false, true),
            (false, true, true),
            (true, true, false),
            (true, false, true),
        ][number % 5];
        Self {
            udp,
            sends,
            receives,
        }
    }

    fn params(self) -> Value {
        let mut params = json!({
            "omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 1, "len": BLOCK,
            "bandwidth": 1_000_000, "udp_counters_64bit": 1, "client_version": "3.17",
        });
        params[if self.udp { "udp" } else { "tcp" }] = true.into();
        match (self.sends, self.receives) {
            (true, true) => params["bidirectional"] = true.into(),
            (false, _) => params["reverse"] = true.into(),
            _ => {}
        }
        params
    }
}

/// A client from its first byte to its last.
fn make_test(server: SocketAddr, number: usize) -> Result<()> {
    let kind = Kind::with_number(number);
    let mut cookie = [b'a'; 37];
    cookie[36] = 0;
    cookie[..8].copy_from_slice(format!("{number:08}").as_bytes());
    let mut control = open(server, &cookie)?;
    expect(&mut control, &[9])?;
    say(&mut control, &kind.params())?;
    expect(&mut control, &[10])?;
    // As long as the test: another client may get its port once it is closed.
    let datagrams = kind.udp.then(|| invited(server)).transpose()?;
    if let Some(stream) = &datagrams {
        expect(&mut control, &[1, 2])?;
        move_datagrams(kind, stream)?;
        control.write_all(&[4])?;
    } else {
        let mut outgoing = kind.sends.then(|| open(server, &cookie)).transpose()?;
        let mut incoming = kind.receives.then(|| open(server, &cookie)).transpose()?;
        expect(&mut control, &[1, 2])?;
        for _ in 0..BLOCKS {
            if let Some(stream) = &mut outgoing {
                stream.write_all(&[7; BLOCK])?;
            }
        }
        if let Some(stream) = &mut incoming {
            stream.read_exact(&mut [0; BLOCK])?;
        }
        control.write_all(&[4])?;
        if let Some(stream) = &mut incoming {
            stream.read_to_end(&mut Vec::new())?;
        }
    }
    expect(&mut control, &[13])?;
    say(&mut control, &own_results(kind))?;
    let results = hear(&mut control)?;
    if kind.sends {
        let received = results["streams"][0]["bytes"].as_u64();
        ensure!(
            received == Some(BLOCKS * BLOCK as u64),
            "{kind:?}: {results}"
        );
    }
    expect(&mut control, &[14])?;
    control.write_all(&[16])?;
    ensure!(control.read(&mut [0])? == 0, "the server does not close");
    Ok(())
}

/// A TCP connection that has shown its cookie.
fn open(server: SocketAddr, cookie: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(cookie)?;
    Ok(stream)
}

/// A datagram stream that the server has answered.
fn invited(server: SocketAddr) -> Result<UdpSocket> {
    let stream = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    stream.connect(server)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.send(b"9876")?;
    let mut answer = [0; 4];
    stream.recv(&mut answer).context("the answer to a stream")?;
    ensure!(answer == *b"6789", "{answer:?}");
    Ok(stream)
}

fn move_datagrams(kind: Kind, stream: &UdpSocket) -> Result<()> {
    if kind.sends {
        for number in 1..=BLOCKS {
            let mut datagram = [0; BLOCK];
            datagram[8..16].copy_from_slice(&number.to_be_bytes());
            stream.send(&datagram)?;
        }
    }
    if kind.receives {
        stream.recv(&mut [0; BLOCK]).context("a datagram")?;
    }
    Ok(())
}

fn own_results(kind: Kind) -> Value {
    let stream = |id: u32, packets: u64| {
        json!({"id": id, "bytes": packets * BLOCK as u64, "retransmits": -1, "jitter": 0, "errors": 0,
               "packets": packets, "omitted_errors": 0, "omitted_packets": 0, "start_time": 0, "end_time": 0.1})
    };
    let mut streams = vec![stream(1, if kind.sends { BLOCKS } else { 1 })];
    if kind.sends && kind.receives {
        streams.push(stream(3, 1));
    }
    json!({"cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0, "sender_has_retransmits": 0,
           "streams": streams})
}

/// Reads exactly these states.
fn expect(control: &mut TcpStream, states: &[u8]) -> Result<()> {
    for state in states {
        let mut said = [0];
        control
            .read_exact(&mut said)
            .with_context(|| format!("waiting for state {state}"))?;
        if said != [*state] {
            bail!("state {} instead of {state}", said[0]);
        }
    }
    Ok(())
}

fn say(control: &mut TcpStream, value: &Value) -> Result<()> {
    let body = value.to_string();
    let length = u32::try_from(body.len())?.to_be_bytes();
    control.write_all(&[&length, body.as_bytes()].concat())?;
    Ok(())
}

fn hear(control: &mut TcpStream) -> Result<Value> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let mut body = vec![0; usize::try_from(u32::from_be_bytes(length))?];
    control.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
