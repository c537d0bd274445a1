//! Measures the link element: how much it carries, what delay it adds, how exact its rate is.
//!
//! `cargo run --release -p linerate-testbed --example link_element [SECONDS [capacity|flood|delay|rate]]`
#![expect(clippy::unwrap_used, reason = "an example for developers")]

use linerate_model::{BitRate, ByteCount, Clock, FrameOverhead, Layer, MonoInstant};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::link::DirectionCounters;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts, enter_user_namespace};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::io::{self, Write};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const PAYLOAD: u64 = 1448;

/// Payload to send, of [`PAYLOAD`] bytes.
const DATAGRAM: [u8; 1448] = [0; 1448];

fn main() -> io::Result<()> {
    enter_user_namespace().map_err(io::Error::other)?;
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(2));
    let mut out = io::stdout();
    let part = std::env::args().nth(2);
    let wants = |name| part.as_deref().is_none_or(|part| part == name);
    if wants("capacity") {
        for mbit in [0, 1500, 2000] {
            capacity(mbit, time, &mut out)?;
        }
    }
    if wants("flood") {
        flood(time, &mut out)?;
    }
    if wants("delay") {
        delay(&mut out)?;
    }
    if wants("rate") {
        for mbit in [1, 10, 100, 1000] {
            rate(mbit, time, &mut out)?;
        }
    }
    Ok(())
}

/// Datagrams of 1448 bytes that a sender offers at `mbit` (L1) with an unlimited link; zero is
/// as many as it can.
fn capacity(mbit: u64, time: Duration, out: &mut impl Write) -> io::Result<()> {
    let hosts = TwoHosts::create(Link::symmetric(LinkConfig::default()), 1).unwrap();
    let seen = stream(&hosts, BitRate::from_bps(mbit * 1_000_000), time);
    let counters = hosts.link().unwrap().counters().unwrap().a_to_b;
    let carried = wire_rate(&counters, seen.sending);
    writeln!(
        out,
        "offered {}: carried {carried} (L1), {} datagrams of {PAYLOAD} B, receiver got {}, element faults {:?}, \
         element CPU {:.0} %",
        if mbit == 0 {
            "flood".to_owned()
        } else {
            format!("{mbit} Mbit/s")
        },
        counters.data.forwarded,
        seen.count,
        counters.faults,
        seen.element_cpu * 100.0,
    )
}

/// As many datagrams as the sender can, into a link of 100 Mbit/s: all that is lost must be lost
/// in the link's queue.
fn flood(time: Duration, out: &mut impl Write) -> io::Result<()> {
    let link = BitRate::from_bps(100_000_000);
    let config = LinkConfig::with_rate(link, ByteCount::new(128 * 1024));
    let hosts = TwoHosts::create(Link::symmetric(config), 1).unwrap();
    let seen = stream(&hosts, BitRate::default(), time);
    let counters = hosts.link().unwrap().counters().unwrap().a_to_b;
    writeln!(
        out,
        "flood into {link}: arrived {}, dropped by queue {}, receiver got {}, element faults {:?}, \
         element CPU {:.0} %",
        counters.data.arrived,
        counters.data.dropped_by_queue,
        seen.count,
        counters.faults,
        seen.element_cpu * 100.0,
    )
}

fn wire_rate(counters: &DirectionCounters, time: Duration) -> BitRate {
    let bytes = counters.data.forwarded_bytes.get() + 24 * counters.data.forwarded.get();
    BitRate::from_bytes(ByteCount::new(bytes), time).unwrap()
}

/// Ping-pong of 64 bytes through a direct link and through the element, alternating.
fn delay(out: &mut impl Write) -> io::Result<()> {
    for round in 1..=3 {
        let direct = round_trip(&TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap());
        let element =
            round_trip(&TwoHosts::create(Link::symmetric(LinkConfig::default()), 1).unwrap());
        writeln!(
            out,
            "delay {round}: direct p50 {:?} p99 {:?}, element p50 {:?} p99 {:?}, added each way p50 {:?}",
            direct[0],
            direct[1],
            element[0],
            element[1],
            element[0].saturating_sub(direct[0]) / 2,
        )?;
    }
    Ok(())
}

/// Median and 99th percentile round-trip time.
fn round_trip(hosts: &TwoHosts) -> [Duration; 2] {
    const ROUNDS: usize = 5_000;
    let (client, server) = sockets(hosts);
    let echo = hosts
        .host(HostId::B)
        .spawn("echo", move || {
            let mut buffer = [0; 2000];
            for _ in 0..ROUNDS {
                let (length, from) = server.recv_from(&mut buffer).unwrap();
                server.send_to(&buffer[..length], from).unwrap();
            }
        })
        .unwrap();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let before = MonoClock.now();
            client.send(&[0; 64]).unwrap();
            client.recv(&mut [0; 2000]).unwrap();
            MonoClock.now().saturating_since(before)
        })
        .collect();
    echo.join().unwrap();
    times.sort_unstable();
    [times[ROUNDS / 2], times[ROUNDS * 99 / 100]]
}

/// What arrives through a link of `mbit` (L1) offered a tenth more.
fn rate(mbit: u64, time: Duration, out: &mut impl Write) -> io::Result<()> {
    let link = BitRate::from_bps(mbit * 1_000_000);
    // Long enough that the queue never runs empty while the sender waits for its turn.
    let queue = link
        .bytes_in(Duration::from_millis(100))
        .get()
        .max(16 * 1024);
    let config = LinkConfig::with_rate(link, ByteCount::new(queue));
    let hosts = TwoHosts::create(Link::symmetric(config), 1).unwrap();
    let offered = BitRate::from_bps(mbit * 1_100_000);
    let seen = stream(&hosts, offered, time);
    let counters = hosts.link().unwrap().counters().unwrap().a_to_b;
    let wanted = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, link, PAYLOAD);
    let payload = ByteCount::new((seen.count - 1) * PAYLOAD);
    let got = BitRate::from_bytes(payload, seen.receiving()).unwrap();
    let error = (got.as_f64() / wanted.as_f64() - 1.0) * 100.0;
    writeln!(
        out,
        "rate {link}: payload {got} over {:?}, wanted {wanted}, error {error:+.4} %, dropped by queue {}, \
         receiver missed {}, element faults {:?}, element CPU {:.0} %",
        seen.receiving(),
        counters.data.dropped_by_queue,
        counters.data.forwarded.get() - seen.count,
        counters.faults,
        seen.element_cpu * 100.0,
    )
}

/// What a receiver saw.
struct Seen {
    count: u64,
    first: MonoInstant,
    last: MonoInstant,
    sending: Duration,
    element_cpu: f64,
}

impl Seen {
    fn receiving(&self) -> Duration {
        self.last.saturating_since(self.first)
    }
}

fn sockets(hosts: &TwoHosts) -> (UdpSocket, UdpSocket) {
    let [a, b] = [HostId::A, HostId::B].map(|id| {
        let address = hosts.host(id).ipv4();
        let bind = move || UdpSocket::bind((address, 5201)).unwrap();
        hosts.host(id).spawn("bind", bind).unwrap().join().unwrap()
    });
    // As much as the kernel allows, so that a receiver that waits for its turn loses nothing.
    set_socket_recv_buffer_size(&b, 4 << 20).unwrap();
    a.connect((hosts.host(HostId::B).ipv4(), 5201)).unwrap();
    (a, b)
}

/// Sends from A to B at `offered` (L1; zero is unlimited) for `time`.
fn stream(hosts: &TwoHosts, offered: BitRate, time: Duration) -> Seen {
    let (sender, receiver) = sockets(hosts);
    let done = Arc::new(AtomicBool::new(false));
    let thread = receive(hosts, receiver, Arc::clone(&done));
    let (start, cpu) = (MonoClock.now(), element_cpu());
    send(&sender, offered, start, time);
    let sending = MonoClock.now().saturating_since(start);
    let busy = element_cpu().saturating_sub(cpu).as_secs_f64() / sending.as_secs_f64();
    done.store(true, Ordering::Relaxed);
    let mut seen = thread.join().unwrap();
    seen.sending = sending;
    seen.element_cpu = busy;
    seen
}

fn send(socket: &UdpSocket, offered: BitRate, start: MonoInstant, time: Duration) {
    let frame = FrameOverhead::UDP_IPV4.bytes_at(Layer::L1, PAYLOAD);
    let mut sent = 0;
    loop {
        let passed = MonoClock.now().saturating_since(start);
        if passed >= time {
            return;
        }
        let due = if offered.bps() == 0 {
            sent + 64
        } else {
            offered.bytes_in(passed).get() / frame
        };
        while sent < due {
            socket.send(&DATAGRAM).unwrap();
            sent += 1;
        }
        if offered.bps() != 0 {
            sleep_until(start.after(passed + Duration::from_micros(200)));
        }
    }
}

fn receive(hosts: &TwoHosts, socket: UdpSocket, done: Arc<AtomicBool>) -> JoinHandle<Seen> {
    let read = move || {
        socket
            .set_read_timeout(Some(Duration::from_millis(800)))
            .unwrap();
        let mut buffer = [0; 2000];
        let start = MonoClock.now();
        let (mut count, mut first, mut last) = (0, start, start);
        loop {
            match socket.recv(&mut buffer) {
                Ok(_) => {
                    last = MonoClock.now();
                    count += 1;
                    if count == 1 {
                        first = last;
                    }
                }
                Err(_) if done.load(Ordering::Relaxed) => break,
                Err(_) => {}
            }
        }
        let (sending, element_cpu) = (Duration::ZERO, 0.0);
        Seen {
            count,
            first,
            last,
            sending,
            element_cpu,
        }
    };
    hosts.host(HostId::B).spawn("receiver", read).unwrap()
}

/// CPU time of the element's thread so far, found by its name.
fn element_cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| {
            let path = task.ok()?.path();
            let name = std::fs::read_to_string(path.join("comm")).ok()?;
            let spent = std::fs::read_to_string(path.join("schedstat")).ok()?;
            let nanos = spent.split(' ').next()?.parse().ok()?;
            (name.trim_end() == "link-element").then_some(Duration::from_nanos(nanos))
        })
        .sum()
}
