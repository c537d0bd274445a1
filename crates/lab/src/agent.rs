//! The answering end: `linerate serve`, and the far host of the demo.

use crate::access::{Network, credential, is_allowed, plain};
use crate::context::host_lacks;
use crate::driver::{Driver, News};
use anyhow::{Context as _, Result};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{MAX_DURATION, MAX_STREAMS};
use linerate_model::{BitRate, Clock as _};
use linerate_observe::{Observer, Scope};
use linerate_peers::key::Key;
use linerate_peers::native::Native;
use linerate_peers::{Limits, PeerKind as _, RefusalCode, ServerConfig, TIMEOUT};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::Host;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Whom to serve, and how far.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Networks beside loopback, private and link-local ones.
    pub allow: Vec<Network>,
    /// The key that every client must hold; those that do may come from anywhere.
    pub key: Option<Key>,
    /// Most clients at once.
    pub max_clients: u16,
    /// Longest test.
    pub max_duration: Duration,
    /// Highest intended load.
    pub max_rate: Option<BitRate>,
    /// Interface whose counters belong to the tests; `None` finds the one that carries each client.
    pub interface: Option<String>,
    /// End after the first client.
    pub once: bool,
}

impl AgentPlan {
    /// Serves on `listen`, an address and port, with default limits.
    pub fn listening_on(listen: &str) -> Result<Self, Failure> {
        let address = listen
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .ok_or_else(|| {
                let message = format!(
                    "\"{listen}\" is not an address and port such as 0.0.0.0:5301 or [::]:5301"
                );
                Failure::new(ExitCode::Usage, message)
            })?;
        Ok(Self {
            listen: address,
            ..Self::private()
        })
    }

    /// Serves on any free port of this network namespace.
    pub fn private() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            allow: Vec::new(),
            key: None,
            max_clients: 16,
            max_duration: MAX_DURATION,
            max_rate: None,
            interface: None,
            once: false,
        }
    }
}

/// How often the listener looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until `stop` is set. `tell` gets one line per event.
pub fn serve(plan: &AgentPlan, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> Result<()> {
    let listener = bind(plan)?;
    tell(&format!(
        "serving the native protocol on {}",
        listener.local_addr()?
    ));
    accept_loop(&listener, plan, stop, tell)
}

/// An agent on a thread of its own, on a host of the testbed.
pub struct Agent {
    thread: JoinHandle<Result<()>>,
    stop: Arc<AtomicBool>,
    port: u16,
}

impl Agent {
    /// Starts an agent in the network namespace of `host`.
    pub fn start_on(host: &Host, plan: AgentPlan) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (tell_port, port) = mpsc::channel();
        let thread = host.spawn("agent", move || {
            let listener = bind(&plan)?;
            let _ = tell_port.send(listener.local_addr()?.port());
            accept_loop(&listener, &plan, &seen, &mut |_| {})
        })?;
        let Ok(port) = port.recv() else {
            thread.join().map_err(|_| {
                anyhow::anyhow!("the agent panicked: please report this as a bug")
            })??;
            anyhow::bail!("the agent ended before it listened");
        };
        Ok(Self { thread, stop, port })
    }

    /// The port it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Ends it; tests under way are dropped.
    pub fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("the agent panicked: please report this as a bug"))?
    }
}

fn bind(plan: &AgentPlan) -> Result<TcpListener> {
    let listener = TcpListener::bind(plan.listen).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program listens there: stop it, or choose another port with --listen"
            }
            ErrorKind::PermissionDenied => {
                "ports below 1024 need privileges: choose a higher one with --listen"
            }
            _ => "choose an address of this host with --listen",
        };
        host_lacks(format!("cannot listen on {}: {error}; {hint}", plan.listen))
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Counts and limits of all clients of one agent.
struct Shared<'a> {
    plan: &'a AgentPlan,
    stop: &'a AtomicBool,
    clients: AtomicU32,
    sessions: AtomicU64,
}

fn accept_loop(
    listener: &TcpListener,
    plan: &AgentPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let shared = Shared {
        plan,
        stop,
        clients: AtomicU32::new(0),
        sessions: AtomicU64::new(0),
    };
    let (lines, inbox) = mpsc::channel::<String>();
    thread::scope(|scope| {
        let mut served = Vec::new();
        loop {
            while let Ok(line) = inbox.try_recv() {
                tell(&line);
            }
            let one_done = plan.once && served.iter().any(thread::ScopedJoinHandle::is_finished);
            if stop.load(Ordering::Relaxed) || one_done {
                return Ok(());
            }
            match listener.accept() {
                Ok((stream, from)) => {
                    let from = SocketAddr::new(plain(from.ip()), from.port());
                    let (shared, lines) = (&shared, lines.clone());
                    served.retain(|thread| plan.once || !thread.is_finished());
                    served.push(scope.spawn(move || {
                        let said = match serve_one(stream, from, shared) {
                            Ok(()) => format!("{from} left"),
                            Err(error) => format!("{from}: {error:#}"),
                        };
                        let _ = lines.send(said);
                    }));
                }
                // Nobody yet; a client that is gone before it was accepted; a moment without descriptors.
                Err(_) => sleep_until(MonoClock.now().after(LOOK)),
            }
        }
    })
}

/// Serves one client to its end.
fn serve_one(stream: TcpStream, from: SocketAddr, shared: &Shared<'_>) -> Result<()> {
    let turn_away = admission(from.ip(), shared);
    shared.clients.fetch_add(1, Ordering::Relaxed);
    let result = converse(stream, turn_away, shared);
    shared.clients.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Why this client is turned away, if it is.
fn admission(from: IpAddr, shared: &Shared<'_>) -> Option<(RefusalCode, String)> {
    if shared.plan.key.is_none() && !is_allowed(from, &shared.plan.allow) {
        let from = plain(from);
        let message = format!(
            "{from} is not a loopback, private or link-local address; start the server with --allow {from}, or with --key"
        );
        return Some((RefusalCode::Denied, message));
    }
    let most = u32::from(shared.plan.max_clients);
    (shared.clients.load(Ordering::Relaxed) >= most).then(|| {
        let message = format!("this server has {most} clients already; try again later, or start it with a higher --max-clients");
        (RefusalCode::Busy, message)
    })
}

fn converse(
    stream: TcpStream,
    turn_away: Option<(RefusalCode, String)>,
    shared: &Shared<'_>,
) -> Result<()> {
    stream.set_nonblocking(false)?;
    let (local, remote) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
    let found = || linerate_observe::interface_for(&Scope::live(None), remote, local);
    let observer = Observer::new(Scope::live(shared.plan.interface.clone().or_else(found)));
    let number = shared.sessions.fetch_add(1, Ordering::Relaxed);
    let config = ServerConfig {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        timeout: TIMEOUT,
        session: format!("{number:08}"),
        facts: observer.facts(),
        limits: Limits {
            max_duration: shared.plan.max_duration,
            max_streams: MAX_STREAMS,
            max_rate: shared.plan.max_rate,
        },
        turn_away,
        credential: credential(shared.plan.key.as_ref())?,
    };
    let session = Native.server(config, MonoClock.now());
    let mut driver = Driver::new(stream, session, observer, TIMEOUT)?;
    let result = answer(&mut driver, shared.stop);
    driver.bye();
    result
}

/// Answers until the client leaves or the agent is stopped.
fn answer(driver: &mut Driver, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(News::Closed) = driver.turn().context("the session ended")? {
            break;
        }
    }
    Ok(())
}
