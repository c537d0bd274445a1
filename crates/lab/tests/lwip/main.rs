//! linerate and lwIP's real stack with its lwiperf, on a TAP device: needs user namespaces, `ip`, `cc` and
//! the Debian archive, so run with `--ignored`.
//!
//! lwIP is the board here (`board.c`, `lwipopts.h`), from Debian's source package. What its report callback
//! says is what linerate says, up to the 24 bytes of the settings that an iperf2 stream begins with. So is the
//! responder for C (`responder.c`), which `ci/firmware lib-host` builds.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench;
mod source;

use anyhow::Result;
use bench::{BOARD, Board, HOST};
use linerate_agent::{AgentPlan, serve};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main, not_run};
use source::Program;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "lwiperf_counts_what_linerate_sends",
        run: lwiperf_counts_what_linerate_sends,
    },
    Case {
        name: "linerate_counts_what_lwiperf_sends",
        run: linerate_counts_what_lwiperf_sends,
    },
    Case {
        name: "the_responder_on_lwip_counts_what_linerate_sends_and_asks",
        run: the_responder_on_lwip_counts_what_linerate_sends_and_asks,
    },
];

/// Bytes of the settings: lwiperf counts them at both ends, linerate at neither.
const SETTINGS: u64 = 24;

/// A server that says nothing for this long has nothing to say.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the package was fetched, and into which folder.
static FETCHED: OnceLock<Result<PathBuf, String>> = OnceLock::new();

fn main() -> ExitCode {
    let prepare = || {
        // In the namespace there is no way to the archive.
        FETCHED.get_or_init(|| fetch().map_err(|error| format!("{error:#}")));
        enter_user_namespace()
    };
    namespace_main(prepare, CASES)
}

fn fetch() -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lwip");
    // Of an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    linerate_stacks::debian::source("lwip", &folder)?;
    Ok(folder)
}

/// The board's program; built once.
fn program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(&Program::Board)).clone()
}

fn build(program: &Program) -> PathBuf {
    match FETCHED.get() {
        Some(Ok(folder)) => source::build(folder, program).unwrap(),
        Some(Err(why)) => not_run(format!("Debian's source package lwip cannot be had: {why}")),
        None => unreachable!("it is fetched before any case"),
    }
}

fn lwiperf_counts_what_linerate_sends() {
    let program = program();
    bench::enter().unwrap();
    let mut board = Board::start(&program, &["server", &BOARD.to_string()]).unwrap();
    let far = PeerAddress::parse(&format!("iperf2://{BOARD}")).unwrap();
    let mut client = Client::connect(&Target::new(far)).unwrap();
    // By time, with blocks as iperf's; and by bytes, in small ones, on the same server.
    for spec in [
        TestSpec {
            stop: Stop::After(Duration::from_secs(2)),
            ..TestSpec::tcp_bulk()
        },
        TestSpec {
            stop: Stop::Bytes(ByteCount::new(3_000_000)),
            ..TestSpec::tcp_bulk().with_payload(ByteCount::new(1000))
        },
    ] {
        let outcome = client.run(&spec, &mut |_| true).unwrap();
        let sender = outcome.directions[0].sender.clone().unwrap();
        let sent = sender.streams[0].bytes.get();
        assert!(sent > 1_000_000, "{sent}");
        assert_eq!(
            board.report().unwrap(),
            ("received".to_owned(), sent + SETTINGS)
        );
    }
}

fn linerate_counts_what_lwiperf_sends() {
    let program = program();
    bench::enter().unwrap();
    let plan = AgentPlan {
        listen: SocketAddr::new(HOST.into(), 0),
        speak: vec!["iperf2".parse().unwrap()],
        ..AgentPlan::private()
    };
    let stop = AtomicBool::new(false);
    let (say, said) = mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve(&plan, &stop, &mut |event| {
                let _ = say.send(event.clone());
            })
        });
        // It listens once it says so.
        said.recv().unwrap();
        let (local, remote) = (BOARD.to_string(), HOST.to_string());
        let mut board = Board::start(&program, &["client", &local, &remote]).unwrap();
        let (kind, sent) = board.report().unwrap();
        assert_eq!(kind, "sent");
        let mut events = std::iter::from_fn(|| said.recv_timeout(PATIENCE).ok());
        let received = events.find_map(|event| received(&event));
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
        let received = received.unwrap();
        assert!(received > 1_000_000, "{received}");
        assert_eq!((received + SETTINGS) % LWIP_COUNTS, sent);
    });
}

/// The responder for C, fed by lwIP's raw callbacks: numbered datagrams both ways, answers, and TCP streams both ways.
fn the_responder_on_lwip_counts_what_linerate_sends_and_asks() {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let library = target.join("firmware/lib-host");
    if !library.is_dir() {
        not_run("the responder for C is not built: `ci/firmware lib-host` does it");
    }
    let program = build(&Program::Responder(library));
    bench::enter().unwrap();
    let _board = Board::start(&program, &[&BOARD.to_string()]).unwrap();
    let far = PeerAddress::parse(&BOARD.to_string()).unwrap();
    let mut client = Client::connect(&Target::new(far)).unwrap();
    assert_eq!(
        client.hosts()[1].facts.os.as_deref(),
        Some("lwIP of Debian")
    );
    // Slow enough that lwIP's queues hold what comes.
    let pace = Pace::At(BitRate::from_bps(1_600_000));
    let datagrams = TestSpec {
        stop: Stop::Transactions(2000),
        ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(200))
    };
    let bytes = TestSpec {
        stop: Stop::Bytes(ByteCount::new(3_000_000)),
        ..TestSpec::tcp_bulk()
    };
    for direction in [Direction::Forward, Direction::Reverse] {
        for spec in [&datagrams, &bytes] {
            let spec = TestSpec {
                direction,
                ..spec.clone()
            };
            let outcome = client.run(&spec, &mut |_| true).unwrap();
            let ends = &outcome.directions[0];
            let [sent, received] = [&ends.sender, &ends.receiver].map(|report| {
                let stream = &report.as_ref().unwrap().streams[0];
                (stream.bytes.get(), stream.packets.get())
            });
            assert_eq!(sent, received, "{direction:?} {:?}", spec.work);
        }
    }
    for transport in [Transport::Udp, Transport::Tcp] {
        let spec = TestSpec {
            stop: Stop::Transactions(200),
            ..TestSpec::ping_pong(transport)
        };
        let outcome = client.run(&spec, &mut |_| true).unwrap();
        let answered = outcome.directions[0].receiver.as_ref().unwrap();
        assert_eq!(answered.streams[0].packets.get(), 200, "{transport}");
    }
}

/// lwIP counts bytes in 32 bits, and a fast host takes more in the ten seconds of its client.
const LWIP_COUNTS: u64 = 1 << 32;

/// The bytes that the server says it received.
fn received(event: &AgentEvent) -> Option<u64> {
    match event {
        AgentEvent::Counted { traffic, .. } if traffic.side == Side::Receiver => {
            Some(traffic.bytes.get())
        }
        _ => None,
    }
}
