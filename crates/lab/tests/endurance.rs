//! `serve --speak iperf3` after ten thousand short tests, fifty at a time: no descriptor, no thread and no
//! memory is left behind.
//!
//! The clients are scripted here, so that a test takes as long as the server makes it take. They share the process with
//! the server: what they leave behind would be seen too. Alone in its target, because it counts all
//! that this process has.

use anyhow::{Context as _, Result, bail, ensure};
use linerate_lab::agent::{AgentPlan, serve};
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const TESTS: usize = 10_000;
const AT_ONCE: usize = 50;

/// Tests after which buffers and pools have their size: growth is counted from there.
const SETTLED: usize = 1_000;

/// Most growth of resident memory over the other tests: 900 bytes for each. What one test leaves behind at least,
/// if its streams' reports were kept, is several times that.
const MARGIN: u64 = 8 << 20;

/// Longest wait for one step of one test, and for the server to be idle again.
const LIMIT: Duration = Duration::from_secs(30);

/// Bytes per block and datagram, and how many of them a client sends.
const BLOCK: usize = 1000;
const BLOCKS: u64 = 5;

#[test]
#[ignore = "takes one to two minutes; run with the privileged tests, which have the machine alone"]
fn a_server_of_ten_thousand_tests_keeps_nothing_of_them() {
    let (server, stop) = start();
    let idle = Usage::now();
    make_tests(server, 0..SETTLED);
    let before = Usage::when_idle(idle);
    make_tests(server, SETTLED..TESTS);
    let after = Usage::when_idle(idle);
    stop();
    println!("idle {idle:?}\nafter {SETTLED} tests {before:?}\nafter {TESTS} {after:?}");
    assert_eq!(after.descriptors, idle.descriptors);
    assert_eq!(after.threads, idle.threads);
    let growth = after.resident.saturating_sub(before.resident);
    assert!(
        growth <= MARGIN,
        "{growth} bytes more: {before:?}, {after:?}"
    );
}

/// A server, and what stops it.
fn start() -> (SocketAddr, impl FnOnce()) {
    let plan = AgentPlan {
        listen: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
        speak: vec!["iperf3:0".parse().expect("a protocol")],
        // The last ones' threads end a little after the clients.
        max_clients: 1000,
        ..AgentPlan::private()
    };
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let (say, said) = mpsc::channel();
    let mut say = Some(say);
    let thread = thread::spawn(move || {
        // Only its first line is wanted; the others would pile up.
        serve(&plan, &seen, &mut |line| {
            if let Some(say) = say.take() {
                let _ = say.send(line.to_owned());
            }
        })
    });
    let first = said.recv().expect("the server ended at once");
    let address = first.rsplit(' ').next().and_then(|word| word.parse().ok());
    let stop = move || {
        stop.store(true, Ordering::Relaxed);
        let ended = thread.join();
        assert!(matches!(ended, Ok(Ok(()))), "{ended:?}");
    };
    (address.expect("its address"), stop)
}

/// What this process has.
#[derive(Debug, Clone, Copy)]
struct Usage {
    descriptors: usize,
    threads: u64,
    /// Bytes of resident memory.
    resident: u64,
}

impl Usage {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("a readable status");
        let number = |key: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let descriptors = std::fs::read_dir("/proc/self/fd").expect("a readable list");
        Self {
            descriptors: descriptors.count(),
            threads: number("Threads:").expect("threads"),
            resident: number("VmRSS:").expect("memory") * 1024,
        }
    }

    /// Once there are as few descriptors and threads as in `idle`: the last clients' threads end after they left.
    fn when_idle(idle: Self) -> Self {
        let deadline = MonoClock.now().after(LIMIT);
        loop {
            let now = Self::now();
            let is_idle = now.descriptors <= idle.descriptors && now.threads <= idle.threads;
            if is_idle || MonoClock.now() >= deadline {
                return now;
            }
            sleep_until(MonoClock.now().after(Duration::from_millis(20)));
        }
    }
}

/// Makes the tests of these numbers, some at a time.
fn make_tests(server: SocketAddr, numbers: std::ops::Range<usize>) {
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
    fn of(number: usize) -> Self {
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
    let kind = Kind::of(number);
    let mut cookie = [b'a'; 37];
    cookie[36] = 0;
    cookie[..8].copy_from_slice(format!("{number:08}").as_bytes());
    let mut control = open(server, &cookie)?;
    expect(&mut control, &[9])?;
    say(&mut control, &kind.params())?;
    expect(&mut control, &[10])?;
    if kind.udp {
        let stream = invited(server)?;
        expect(&mut control, &[1, 2])?;
        move_datagrams(kind, &stream)?;
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
