//! Clients that mean harm, all at once, at a server of every protocol: it stays small, serves others as if they were
//! not there, and ends when it is asked to.
//!
//! They have one address and the others another, so that a server can tell them apart. What they say is what the
//! parsers of a protocol are tested with, so a new protocol is attacked without a line here.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[path = "../program/harness.rs"]
#[expect(dead_code, reason = "shared with the tests of the program")]
mod harness;

use harness::{Place, Server};
use linerate_model::spec::{Pace, Stop, TestSpec, TestWork, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant};
use linerate_peers::{Action, ClientConfig, Control, Input, PeerEvent, PeerKind, RANDOM_BYTES};
use linerate_testkit::disturbance::observed;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// Where harm comes from.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Most memory that a server ever has. Without optimisation a stream takes some 200 KiB of stack and heap, of which one
/// address has 512 that go on and 160 that have proved nothing.
const MOST_KIB: u64 = if cfg!(debug_assertions) { 160 } else { 64 } << 10;

/// Most threads: two for each of 160 connections of one address that have proved nothing, and for each of those above
/// that go on with what they began.
const MOST_THREADS: u64 = 600;

/// How long a server may take to end.
const PROMPT: Duration = Duration::from_secs(2);

/// How long it may take on a machine that others use.
const PATIENCE: Duration = Duration::from_mins(1);

/// Between two bytes of a slow opening, and between two connections or datagrams of a flood.
const PAUSE: Duration = Duration::from_millis(1);

/// Connections of an attack that holds them.
const HELD: usize = 100;

/// A server under attack.
struct Victim {
    kind: &'static dyn PeerKind,
    address: SocketAddr,
    end: End,
}

/// The end of an attack.
#[derive(Default)]
struct End {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Waits so long; whether the attack is over.
    fn within(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap();
        *self.changed.wait_timeout(is_over, time).unwrap().0
    }
}

/// Ends an attack, also where the test of it fails.
struct Ending<'a>(&'a End);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap() = true;
        self.0.changed.notify_all();
    }
}

/// One way to harm a server; ends with the attack.
type Attack = fn(&Victim);

const ATTACKS: [(&str, Attack); 6] = [
    ("connections that say nothing", say_nothing),
    ("openings of a byte at a time", open_slowly),
    ("tests that stop half-way", stop_half_way),
    ("the same words for ever", repeat),
    ("a flood of connections", flood),
    ("a flood of datagrams", flood_datagrams),
];

/// What is too long or too deep for anybody.
const TOO_MUCH: [&[u8]; 4] = [
    &[0xff; 1 << 16],
    &[b'['; 1 << 16],
    &[b'{'; 1 << 16],
    &[0; 1 << 16],
];

impl Victim {
    /// A connection from the hostile address; `None` where the server refuses it.
    fn connect(&self) -> Option<TcpStream> {
        let made = || -> io::Result<TcpStream> {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            bind(&socket, &SocketAddr::from((HOSTILE, 0)))?;
            connect(&socket, &self.address)?;
            Ok(socket.into())
        };
        made().ok()
    }

    /// What clients and others said to ends of this protocol, right and wrong.
    fn words(&self) -> Vec<Vec<u8>> {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../peers/src")
            .join(self.kind.id())
            .join("seeds");
        let seeds = std::fs::read_dir(seeds).unwrap();
        let mut paths: Vec<_> = seeds.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let words = paths.iter().map(|path| std::fs::read(path).unwrap());
        words.chain(TOO_MUCH.map(<[u8]>::to_vec)).collect()
    }

    /// Holds what there is until the attack is over.
    fn hold<T>(&self, _held: T) {
        while !self.end.within(PROMPT) {}
    }

    /// Does `work` again and again until the attack is over.
    fn again(&self, mut work: impl FnMut(usize)) {
        let mut round = 0;
        while !self.end.within(PAUSE) {
            work(round);
            round += 1;
        }
    }
}

fn say_nothing(victim: &Victim) {
    victim.hold((0..HELD).map(|_| victim.connect()).collect::<Vec<_>>());
}

fn open_slowly(victim: &Victim) {
    let words = victim.words();
    let mut held = Vec::new();
    victim.again(|round| {
        let words = &words[round % words.len()];
        if held.len() < words.len().min(HELD) {
            held.extend(
                victim
                    .connect()
                    .map(|stream| (stream, words.clone().into_iter())),
            );
        }
        held.retain_mut(|(stream, words)| {
            let next = words.next();
            next.is_some_and(|byte| stream.write_all(&[byte]).is_ok())
        });
    });
}

/// The first half of what was said by others, and a session's own words up to where its streams would open.
fn stop_half_way(victim: &Victim) {
    let words = victim.words();
    let halves = words.iter().map(|words| {
        let mut stream = victim.connect()?;
        stream.write_all(&words[..words.len() / 2]).ok()?;
        Some(stream)
    });
    let mut held: Vec<_> = halves.collect();
    if victim.kind.about().control == Control::Connection {
        held.extend((0..HELD).map(|_| agree(victim)));
    }
    victim.hold(held);
}

/// A control connection on which a test is agreed on whose streams never open; `None` where the server does not agree.
fn agree(victim: &Victim) -> Option<TcpStream> {
    let now = MonoInstant::default();
    let mut stream = victim.connect()?;
    let config = ClientConfig::new(victim.address.ip(), [7; RANDOM_BYTES]);
    let mut session = victim.kind.client(config, now);
    let mut room = [0; 4096];
    loop {
        while let Some(action) = session.poll_action() {
            match action {
                Action::Send(bytes) => stream.write_all(&bytes).ok()?,
                Action::Peer(PeerEvent::Hello(_)) => {
                    let spec = Box::new(test_of(victim.kind));
                    session.handle(now, Input::Begin(spec)).ok()?;
                }
                Action::OpenStreams { .. } => return Some(stream),
                _ => {}
            }
        }
        let length = stream.read(&mut room).ok().filter(|length| *length > 0)?;
        session.handle(now, Input::Bytes(&room[..length])).ok()?;
    }
}

/// All that was ever said, and a session's own words, again and again on one connection until the server ends it.
fn repeat(victim: &Victim) {
    let words = victim.words();
    let mut held: Vec<Option<TcpStream>> = words.iter().map(|_| None).collect();
    victim.again(|_| {
        for (stream, words) in held.iter_mut().zip(&words) {
            let still = stream.take().or_else(|| victim.connect());
            *stream = still.and_then(|mut stream| {
                stream.set_nonblocking(true).ok()?;
                match stream.write(words) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => None,
                    _ => Some(stream),
                }
            });
        }
    });
}

fn flood(victim: &Victim) {
    victim.again(|_| drop(victim.connect()));
}

/// Each datagram from another port: to the server a stream of its own.
fn flood_datagrams(victim: &Victim) {
    let words = victim.words();
    victim.again(|round| {
        let words = &words[round % words.len()];
        let socket = UdpSocket::bind((HOSTILE, 0)).unwrap();
        // Refused where nobody takes datagrams.
        let _ = socket.send_to(&words[..words.len().min(1400)], victim.address);
    });
}

/// A short test that the protocol carries, of datagrams if it can: so few that a socket holds them while the machine
/// is busy with the attack.
fn test_of(kind: &dyn PeerKind) -> TestSpec {
    let specs = [
        TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(100_000))),
        TestSpec::ping_pong(Transport::Udp),
        TestSpec::ping_pong(Transport::Tcp),
    ];
    let short = |spec: TestSpec| TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        warm_up: Duration::ZERO,
        ..spec.with_payload(ByteCount::new(100))
    };
    let mut specs = specs.into_iter().map(short);
    specs.find(|spec| kind.check(spec).is_ok()).unwrap()
}

/// The test of somebody who means no harm is as if there were no others, where the machine is this test's alone.
#[track_caller]
fn serves_others(victim: &Victim, under: &str) {
    let spec = test_of(victim.kind);
    let is_datagrams = matches!(spec.work, TestWork::Datagrams(_));
    let test: &[&str] = if is_datagrams {
        &[
            "udp",
            "--rate",
            "100k",
            "--payload",
            "100",
            "--diagnose",
            "0s",
        ]
    } else {
        &[
            "latency",
            "--sizes",
            "100",
            "--warm-up",
            "0s",
            "--rounds",
            "1",
        ]
    };
    let address = format!("{}://{}", victim.kind.id(), victim.address);
    let args = [test, &["-t", "1s", "--json", &address]].concat();
    let measured = observed(|| Place::new().run(&args));
    if measured.is_disturbed() {
        // Who else is on this machine may have held up any of them.
        return;
    }
    let ended = measured.value;
    assert_eq!(ended.code, Some(0), "{under}: {}", ended.err);
    let run: Value = serde_json::from_str(&ended.out).unwrap();
    let trial = &run["trials"][0];
    assert_eq!(trial["valid"], true, "{under}: {}", trial["reasons"]);
    if is_datagrams {
        assert_eq!(trial["packets"]["lost"], 0, "{under}");
        let [offered, received] = ["offered_bps", "received_bps"].map(|rate| trial[rate].as_f64());
        let ratio = received.unwrap() / offered.unwrap();
        assert!((0.95..1.05).contains(&ratio), "{under}: {ratio}");
    } else {
        let answered = trial["delay"]["count"].as_u64();
        assert!(answered > Some(100), "{under}: {answered:?}");
    }
}

fn besieged(kind: &'static dyn PeerKind) {
    let speak = format!("{}:0", kind.id());
    let server = Server::with(&["--listen", "127.0.0.1:0", "--speak", &speak]);
    let victim = Victim {
        kind,
        address: server.address().parse().unwrap(),
        end: End::default(),
    };
    thread::scope(|scope| {
        let ending = Ending(&victim.end);
        for (name, attack) in ATTACKS {
            let victim = &victim;
            scope.spawn(move || attack(victim));
            let under = format!("{} under {name}", kind.id());
            serves_others(victim, &under);
            let [memory, threads] = ["VmHWM", "Threads"].map(|field| server.status(field));
            assert!(memory < MOST_KIB, "{under}: {memory} KiB");
            assert!(threads < MOST_THREADS, "{under}: {threads} threads");
        }
        let (done, ended) = mpsc::channel();
        scope.spawn(move || done.send(server.stop(Signal::TERM)));
        let prompt = observed(|| ended.recv_timeout(PROMPT).ok());
        let code = match prompt.value {
            None if prompt.is_disturbed() => ended.recv_timeout(PATIENCE).ok(),
            code => code,
        };
        drop(ending);
        let (code, said) = code.expect("it ends when it is asked to");
        assert_eq!(code, Some(0), "{said}");
    });
}

#[test]
fn a_server_of_any_protocol_stands_a_siege() {
    for kind in linerate_peers::served() {
        besieged(kind);
    }
}
