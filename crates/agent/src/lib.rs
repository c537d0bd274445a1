//! Server side: `linerate serve`, and the peer in the demo.
#![forbid(unsafe_code)]

mod accept;
pub mod access;
mod allowance;
mod budget;
mod connections;
mod console;
mod data_streams;
mod delegation;
mod deployed;
mod facts;
mod greeting;
mod lease;
mod notices;
mod owner;
mod pending;
mod per_address;
mod port;
mod record;
mod serving;
mod state;
mod threads;

pub use budget::BudgetPart;
pub use console::{ConsolePlan, serve_console};
pub use deployed::{DeployedPlan, serve_deployed};
pub use linerate_peers::{Setting, SettingValues};
pub use owner::{Owner, Sockets};
pub use port::Speaking;

use accept::accept_loop;
use access::{Access, Network};
use anyhow::{Context as _, Result};
use linerate_model::agent::{AgentEvent, AgentStatus};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::MAX_DURATION;
use linerate_model::{BitRate, Clock as _};
use linerate_observe::{Observer, Scope, check_interface, is_emulated};
use linerate_peers::key::Key;
use linerate_peers::{EMULATED_TIMEOUT, PeerKind, TIMEOUT};
use linerate_session::login::Logins;
use linerate_sys::clock::MonoClock;
use linerate_sys::wake::Waker;
use linerate_testbed::Host;
use owner::Listener;
use port::Port;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Configuration of an agent.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Where to listen: the address for all protocols, and the port of the native one.
    pub listen: SocketAddr,
    /// Protocols to serve.
    pub speak: Vec<Speaking>,
    /// Which addresses clients may have.
    pub access: Access,
    /// Networks whose clients may run, without a key, tests that load this host beyond the traffic.
    pub allow_intrusive: Vec<Network>,
    /// Networks with whose agents it makes tests as their client, for holders of its key.
    pub allow_mesh: Vec<Network>,
    /// Networks whose clients get unlimited UDP, although no connection has validated their address.
    pub allow_unproved: Vec<Network>,
    /// The key that every client must hold.
    pub key: Option<Key>,
    /// Users that are accepted by protocols with users; `None`: no login required.
    pub logins: Option<Arc<Logins>>,
    /// Maximum concurrent clients.
    pub max_clients: u16,
    /// Maximum test duration.
    pub max_duration: Duration,
    /// Maximum intended load.
    pub max_rate: Option<BitRate>,
    /// What a client network and all of them may move in a day, and at which rate; empty: no limit.
    pub budget: Vec<BudgetPart>,
    /// Whether tests may have it imitate a slow application.
    pub allow_imitation: bool,
    /// Interface whose counters belong to the tests; `None`: the one that carries each client.
    pub interface: Option<String>,
    /// Where the native protocol's data streams arrive.
    pub data_ports: DataPorts,
    /// Protocol-specific settings, by their names in [`settings`].
    pub settings: SettingValues,
    /// Answers metrics; `None`: nobody can ask.
    pub metrics: Option<MetricsPlan>,
    /// Whether clients that have shown no key are told the host's name, boot, clock and PCI devices; those of loopback are.
    pub tell_name: bool,
    /// End after the first client.
    pub once: bool,
    /// Silence after which a client counts as gone.
    pub timeout: Duration,
}

/// Where metrics are answered over HTTP, and how they are written.
#[derive(Debug, Clone, Copy)]
pub struct MetricsPlan {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Writes the page.
    pub render: fn(&AgentStatus) -> String,
}

/// Where the data streams of the native protocol arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPorts {
    /// At ports that the system chooses for each test.
    OfEachTest,
    /// At the port of the control connections, TCP and UDP.
    OfControl,
}

impl AgentPlan {
    /// Plan for `listen`, an address and port, with default limits.
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
            allow_imitation: false,
            tell_name: false,
            allow_unproved: Network::LOOPBACK.to_vec(),
            allow_intrusive: Network::LOOPBACK.to_vec(),
            allow_mesh: Vec::new(),
            timeout: if is_emulated() {
                EMULATED_TIMEOUT
            } else {
                TIMEOUT
            },
            ..Self::private()
        })
    }

    /// Plan for any free port, for tests in a network namespace of their own.
    pub fn private() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            speak: vec![Speaking::own()],
            access: Access::NearAnd(Vec::new()),
            allow_unproved: Network::ALL.to_vec(),
            allow_intrusive: Network::ALL.to_vec(),
            allow_mesh: Network::ALL.to_vec(),
            key: None,
            logins: None,
            max_clients: 16,
            max_duration: MAX_DURATION,
            max_rate: None,
            budget: Vec::new(),
            allow_imitation: true,
            interface: None,
            settings: SettingValues::new(),
            metrics: None,
            tell_name: true,
            data_ports: DataPorts::OfEachTest,
            once: false,
            timeout: TIMEOUT,
        }
    }
}

impl AgentPlan {
    /// This plan with what another says of keys, networks and limits, which can change while it serves. What it listens
    /// on and which protocols it speaks stay.
    ///
    /// # Errors
    ///
    /// A key where a protocol is spoken whose clients cannot show it.
    pub fn renewed(&self, by: Self) -> Result<Self, Failure> {
        let kept = self.clone();
        let renewed = Self {
            listen: kept.listen,
            speak: kept.speak,
            interface: kept.interface,
            data_ports: kept.data_ports,
            settings: kept.settings,
            metrics: kept.metrics,
            once: kept.once,
            timeout: kept.timeout,
            ..by
        };
        check_keys(&renewed)?;
        Ok(renewed)
    }

    /// Whether clients of this protocol must authenticate with the key first.
    pub(crate) fn asks_for_key(&self, kind: &dyn PeerKind) -> bool {
        self.key.is_some() && kind.about().has_keys()
    }
}

/// All protocol-specific settings, in the order of the protocols.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    linerate_peers::served().flat_map(|kind| kind.about().settings)
}

/// Serves until `stop` is set. `tell` receives every event.
pub fn serve(plan: &AgentPlan, stop: &AtomicBool, tell: &mut dyn FnMut(&AgentEvent)) -> Result<()> {
    serve_for(plan, Sockets::default(), stop, &mut Listener(tell))
}

/// Serves for `owner` until `stop` is set, at ports of its own and at `sockets` that listen already.
///
/// # Errors
///
/// A port that cannot be had, and a socket at whose port nothing is served.
pub fn serve_for(
    plan: &AgentPlan,
    mut sockets: Sockets,
    stop: &AtomicBool,
    owner: &mut dyn Owner,
) -> Result<()> {
    check_keys(plan)?;
    let scope = Scope::live(plan.interface.clone());
    check_interface(&scope).map_err(|why| Failure::new(ExitCode::HostLacks, why))?;
    let ports = open_all(plan, &mut sockets)?;
    sockets.must_be_used()?;
    warm_up(plan);
    let metrics = plan
        .metrics
        .map(|metrics| linerate_metrics::open(metrics.listen));
    let metrics = metrics.transpose()?;
    for port in &ports {
        owner.event(&port.event());
    }
    if let Some(metrics) = &metrics {
        owner.event(&AgentEvent::Listening {
            protocol: "metrics".to_owned(),
            name: "metrics".to_owned(),
            address: metrics.local_addr()?,
        });
    }
    accept_loop(&ports, metrics.as_ref(), plan, stop, &wakeup_fd()?, owner)
}

/// Reads the host's facts once. The first reading of a process causes page faults: 10 to 20 ms in which the first
/// datagrams of an unannounced stream would wait in its socket, and seconds from an SD card, in which the first client
/// would time out.
fn warm_up(plan: &AgentPlan) {
    let observer = Observer::new(Scope::live(plan.interface.clone()));
    drop((observer.facts(), observer.snapshot(MonoClock.now())));
}

/// Waker of a listener.
fn wakeup_fd() -> Result<Waker> {
    Waker::new().context("an eventfd")
}

fn open_all(plan: &AgentPlan, sockets: &mut Sockets) -> Result<Vec<Port>> {
    for (index, one) in plan.speak.iter().enumerate() {
        let address = one.address(plan);
        let mut before = plan.speak.iter().take(index);
        let is_taken = |other: &&Speaking| other.address(plan) == address;
        if let Some(other) = before.find(is_taken).filter(|_| address.port() != 0) {
            let (one, other) = (one.kind.id(), other.kind.id());
            let message = format!(
                "--speak: {other} and {one} cannot both answer at {address}: leave one out, or give it another port, such as {one}:{}",
                address.port().checked_add(1).unwrap_or(1024)
            );
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
    }
    let open = |speaking| Port::open(speaking, plan, sockets);
    plan.speak.iter().map(open).collect()
}

/// Refuses protocols without keys where every client must hold the key.
fn check_keys(plan: &AgentPlan) -> Result<(), Failure> {
    if plan.key.is_none() {
        return Ok(());
    }
    let asks_who = |kind: &dyn PeerKind| {
        kind.about().has_keys() || (kind.about().has_users() && plan.logins.is_some())
    };
    let Some(open) = plan.speak.iter().find(|speaking| !asks_who(speaking.kind)) else {
        return Ok(());
    };
    let users = if open.kind.about().has_users() {
        ", give it users by --logins"
    } else {
        ""
    };
    let message = format!(
        "--key: clients of {} cannot show a key, so anybody in reach would be served: leave it out of --speak{users}, or serve it by a second `linerate serve` without --key",
        open.id()
    );
    Err(Failure::new(ExitCode::Usage, message))
}

/// An agent on its own thread, on a host of the testbed.
pub struct Agent {
    thread: JoinHandle<Result<()>>,
    stop: Arc<AtomicBool>,
    wakeup_fd: Arc<Waker>,
    ports: Vec<u16>,
}

impl Agent {
    /// Starts an agent in the network namespace of `host`.
    pub fn start_on(host: &Host, plan: AgentPlan) -> Result<Self> {
        Self::start_by(plan, |work| Ok(host.spawn("agent", work)?))
    }

    /// Starts an agent on this host.
    pub fn start(plan: AgentPlan) -> Result<Self> {
        let named = std::thread::Builder::new().name("agent".to_owned());
        Self::start_by(plan, |work| {
            named.spawn(work).context("starting a thread for the agent")
        })
    }

    fn start_by(
        plan: AgentPlan,
        spawn: impl FnOnce(Box<dyn FnOnce() -> Result<()> + Send>) -> Result<JoinHandle<Result<()>>>,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let wakeup_fd = Arc::new(wakeup_fd()?);
        let (seen, heard) = (Arc::clone(&stop), Arc::clone(&wakeup_fd));
        let (tell_ports, ports) = mpsc::channel();
        let thread = spawn(Box::new(move || {
            let open = open_all(&plan, &mut Sockets::default())?;
            let _ = tell_ports.send(open.iter().map(|port| port.address.port()).collect());
            accept_loop(
                &open,
                None,
                &plan,
                &seen,
                &heard,
                &mut Listener(&mut |_| {}),
            )
        }))?;
        let Ok(ports) = ports.recv() else {
            thread.join().map_err(|_| {
                anyhow::anyhow!("the agent panicked: please report this as a bug")
            })??;
            anyhow::bail!("the agent ended before it listened");
        };
        Ok(Self {
            thread,
            stop,
            wakeup_fd,
            ports,
        })
    }

    /// The port it listens on: of the first protocol in its plan.
    pub fn port(&self) -> u16 {
        self.ports.first().copied().unwrap_or_default()
    }

    /// Stops it; tests under way are aborted.
    pub fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.wakeup_fd.wake().context("waking the agent")?;
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("the agent panicked: please report this as a bug"))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_key(speak: &[&str]) -> AgentPlan {
        AgentPlan {
            speak: speak.iter().map(|text| text.parse().unwrap()).collect(),
            key: Some(Key::new(b"a key of these tests, no other").unwrap()),
            ..AgentPlan::private()
        }
    }

    #[test]
    fn a_server_with_a_key_speaks_nothing_that_has_none() {
        assert!(check_keys(&with_key(&["native"])).is_ok());
        for kind in linerate_peers::served().filter(|kind| !kind.about().has_keys()) {
            let error = check_keys(&with_key(&["native", kind.id()])).unwrap_err();
            assert!(error.message.contains(kind.id()), "{error}");
            assert_eq!(
                error.message.contains("--logins"),
                kind.about().has_users(),
                "{error}"
            );
            assert_eq!(error.code, ExitCode::Usage);
        }
    }
}
