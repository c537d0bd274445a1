//! linerate and lwIP's real stack with its lwiperf, on a TAP device: needs user namespaces, `ip`, `cc` and
//! the Debian archive, so run with `--ignored`.
//!
//! lwIP is the board here (`board.c`, `lwipopts.h`), from Debian's source package. What its report callback
//! says is what linerate says, up to the 24 bytes of the settings that an iperf2 stream begins with.
#![expect(clippy::unwrap_used, reason = "a test")]

mod bench;
mod source;

use anyhow::Result;
use bench::{BOARD, Board, HOST};
use linerate_agent::{AgentPlan, serve};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::ByteCount;
use linerate_model::spec::{Stop, TestSpec};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main, not_run};
use std::net::SocketAddr;
use std::path::PathBuf;
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
    match FETCHED.get() {
        Some(Ok(folder)) => BUILT.get_or_init(|| source::build(folder).unwrap()).clone(),
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
    let (say, said) = mpsc::channel::<String>();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve(&plan, &stop, &mut |line| {
                let _ = say.send(line.to_owned());
            })
        });
        // It listens once it says so.
        said.recv().unwrap();
        let (local, remote) = (BOARD.to_string(), HOST.to_string());
        let mut board = Board::start(&program, &["client", &local, &remote]).unwrap();
        let (kind, sent) = board.report().unwrap();
        assert_eq!(kind, "sent");
        let mut lines = std::iter::from_fn(|| said.recv_timeout(PATIENCE).ok());
        let received = lines.find_map(|line| bytes_in(&line));
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
        let received = received.unwrap();
        assert!(received > 1_000_000, "{received}");
        assert_eq!((received + SETTINGS) % LWIP_COUNTS, sent);
    });
}

/// lwIP counts bytes in 32 bits, and a fast host takes more in the ten seconds of its client.
const LWIP_COUNTS: u64 = 1 << 32;

/// The bytes in `… received 1000 bytes in 1.000 s …`.
fn bytes_in(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("received ")?;
    rest.split(' ').next()?.parse().ok()
}
