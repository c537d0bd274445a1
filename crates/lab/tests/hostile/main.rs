//! Peers and clients that are broken or mean, in every protocol and both roles: what they say is refused in clear
//! words or passed over, in bounded time and memory, and who serves them goes on.
//!
//! What each protocol makes of which bytes is tested in `linerate-peers`; here whole programs meet over sockets.

mod admission;
mod attacks;
mod reflection;

use anyhow::{Context as _, Result, bail, ensure};
use attacks::{Attack, PATIENCE, peer, strike};
use linerate_agent::{AgentPlan, serve};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::{Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_peers::PeerKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Most memory that this process may ever have had: whole servers and clients, many at once, and no length that
/// somebody announced.
const MOST_KIB: u64 = 400 << 10;

/// How long a hostile peer may be silent.
const IMPATIENCE: Duration = Duration::from_millis(300);

/// Tests under way at once.
const AT_ONCE: usize = 24;

/// One short test of each kind that a protocol carries.
fn specs(kind: &dyn PeerKind) -> Vec<TestSpec> {
    let pace = Pace::At(BitRate::from_bps(1_000_000));
    let all = [
        TestSpec::tcp_bulk().with_pace(pace),
        TestSpec::udp_datagrams(pace),
        TestSpec::ping_pong(Transport::Tcp),
        TestSpec::ping_pong(Transport::Udp),
    ];
    let short = |spec: TestSpec| TestSpec {
        // netperf and sockperf have whole seconds and least lengths.
        stop: Stop::After(Duration::from_secs(1)),
        warm_up: Duration::ZERO,
        ..spec.with_payload(ByteCount::new(100))
    };
    let all = all.into_iter().map(short);
    all.filter(|spec| kind.check(spec).is_ok()).collect()
}

/// Makes a test with a peer that may be silent for so long, or says why not.
fn test(kind: &dyn PeerKind, far: SocketAddr, spec: &TestSpec, timeout: Duration) -> Result<()> {
    let far = PeerAddress::parse(&format!("{}://{far}", kind.id()))?;
    let target = Target {
        timeout,
        ..Target::new(far)
    };
    Client::connect(&target)?.run(spec, &mut |_| true)?;
    Ok(())
}

/// What `work` returns, if it does within bounded time.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (done, outcome) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    let outcome = outcome.recv_timeout(PATIENCE);
    outcome.with_context(|| format!("it went on for {PATIENCE:?}"))
}

/// The most memory that this process has had.
fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    Ok(figure.context("a peak")?.parse()?)
}

/// Does `work` for each item, some at once; everything that went wrong.
fn for_each<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut wrong = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(work(item).err().map(|error| format!("{error:#}")));
        }
        wrong
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(|wrong| wrong.expect("no panic")).collect()
    })
}

/// One hostile peer.
fn client_meets(kind: &'static dyn PeerKind, spec: &TestSpec, attack: Attack) -> Result<()> {
    let name = format!("{} {} {attack:?}", kind.id(), spec.transport());
    let far = peer(attack)?;
    let spec = spec.clone();
    // Of a TCP stream an iperf2 server says nothing, so one that says nothing is as good as any.
    let is_sink = kind.id() == "iperf2" && spec.transport() == Transport::Tcp;
    let outcome = in_time(move || test(kind, far, &spec, IMPATIENCE)).context(name.clone())?;
    match outcome {
        Err(error) => ensure!(format!("{error:#}").len() > 30, "{name}: {error:#}"),
        Ok(()) if is_sink => {}
        Ok(()) => bail!("{name}: it passed for a test"),
    }
    Ok(())
}

#[test]
fn a_hostile_peer_of_any_protocol_is_named_in_time() {
    let meetings: Vec<_> = linerate_peers::served()
        .flat_map(|kind| specs(kind).into_iter().map(move |spec| (kind, spec)))
        .flat_map(|(kind, spec)| Attack::all().map(move |attack| (kind, spec.clone(), attack)))
        .collect();
    let wrong = for_each(&meetings, |(kind, spec, attack)| {
        client_meets(*kind, spec, *attack)
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        peak_kib().unwrap() < MOST_KIB,
        "{} KiB",
        peak_kib().unwrap()
    );
}

/// A server of this protocol on a port of this host.
fn plan(kind: &dyn PeerKind) -> Result<AgentPlan> {
    Ok(AgentPlan {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        speak: vec![format!("{}:0", kind.id()).parse()?],
        max_clients: 64,
        max_duration: Duration::from_secs(2),
        settings: [("sfnt-version".to_owned(), "1.6.0-rc2".to_owned())].into(),
        ..AgentPlan::private()
    })
}

/// Meets hostile clients, all at once, and then one that is none.
fn server_meets_all(kind: &'static dyn PeerKind) -> Result<()> {
    with_server(&plan(kind)?, |address, _| attack_all(kind, address))
}

/// Does `work` with a server's address and what the server says, then ends the server.
fn with_server<T>(
    plan: &AgentPlan,
    work: impl FnOnce(SocketAddr, &mpsc::Receiver<AgentEvent>) -> Result<T>,
) -> Result<T> {
    let stop = AtomicBool::new(false);
    let (say, said) = mpsc::channel();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve(plan, &stop, &mut |event| {
                let _ = say.send(event.clone());
            })
        });
        let done = said
            .recv()
            .context("the server ended at once")
            .and_then(|first| match first {
                AgentEvent::Listening { address, .. } => work(address, &said),
                other => bail!("it says first where it listens, not {other:?}"),
            });
        stop.store(true, Ordering::Relaxed);
        server.join().expect("no panic")?;
        done
    })
}

fn attack_all(kind: &'static dyn PeerKind, address: SocketAddr) -> Result<()> {
    let attacks: Vec<_> = Attack::all().collect();
    let wrong = for_each(&attacks, |attack| {
        strike(address, *attack).with_context(|| format!("{} {attack:?}", kind.id()))
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let thrower = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    for words in attacks.iter().filter_map(Attack::words) {
        // Where nobody takes datagrams they are refused.
        let _ = thrower.send_to(&words, address);
    }
    for spec in specs(kind) {
        test(kind, address, &spec, linerate_peers::TIMEOUT)
            .with_context(|| format!("{} afterwards", kind.id()))?;
    }
    Ok(())
}

#[test]
fn a_server_of_any_protocol_outlives_hostile_clients() {
    let kinds: Vec<_> = linerate_peers::served().collect();
    let wrong = for_each(&kinds, |kind| server_meets_all(*kind));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        peak_kib().unwrap() < MOST_KIB,
        "{} KiB",
        peak_kib().unwrap()
    );
}
