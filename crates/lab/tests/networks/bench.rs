//! Two hosts on one cable, an agent on host B, tests from host A.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{Run, Trial};
use linerate_model::spec::{Stop, TestSpec};
use linerate_studies::context::Context;
use linerate_studies::run::single;
use linerate_studies::watch::{Event, Watcher};
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

/// Two hosts and an agent on host B.
pub(crate) struct Bench {
    hosts: TwoHosts,
    agent: Agent,
}

impl Bench {
    pub(crate) fn with(plan: AgentPlan) -> Self {
        Self::over(Link::Direct { mtu: 1500 }, plan)
    }

    /// The same, joined by this link.
    pub(crate) fn over(link: Link, plan: AgentPlan) -> Self {
        let hosts = TwoHosts::create(link, 1).unwrap();
        let agent = Agent::start_on(hosts.host(HostId::B), plan).unwrap();
        Self { hosts, agent }
    }

    /// The agent's port.
    pub(crate) fn port(&self) -> u16 {
        self.agent.port()
    }

    /// The agent's IPv4 address and port.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.hosts.host(HostId::B).ipv4().into(), self.port())
    }

    /// Starts `work` on a thread of a host.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        host: HostId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.hosts.host(host).spawn("work", work).unwrap()
    }

    /// Runs a shell script on a host.
    pub(crate) fn shell(&self, host: HostId, script: &str) {
        self.start(host, script).join().unwrap();
    }

    /// Starts a shell script on a host.
    pub(crate) fn start(&self, host: HostId, script: &str) -> JoinHandle<()> {
        let script = script.to_owned();
        let work = move || run_script(&script);
        self.hosts.host(host).spawn("script", work).unwrap()
    }

    /// Runs a shell script on the router between the hosts.
    pub(crate) fn route(&self, script: &str) {
        let script = script.to_owned();
        let router = self.hosts.router().unwrap();
        let work = move || run_script(&script);
        router.spawn("script", work).unwrap().join().unwrap();
    }

    /// Runs one test on host A, to host B's address of this version of IP.
    pub(crate) fn run(&self, is_v6: bool, spec: &TestSpec) -> anyhow::Result<Run> {
        self.watched(is_v6, spec).0
    }

    /// The same, with the trials that were recorded, also of a run that ended in an error.
    pub(crate) fn watched(&self, is_v6: bool, spec: &TestSpec) -> Watched {
        let (far, port) = (self.hosts.host(HostId::B), self.port());
        let address = if is_v6 {
            format!("[{}]:{port}", far.ipv6())
        } else {
            format!("{}:{port}", far.ipv4())
        };
        self.client(HostId::A, &address, spec).join().unwrap()
    }

    /// Starts one test on a host, to an address.
    pub(crate) fn client(&self, on: HostId, to: &str, spec: &TestSpec) -> JoinHandle<Watched> {
        let target = Target::new(PeerAddress::parse(to).unwrap());
        let spec = spec.clone();
        self.spawn(on, move || {
            let mut trials = Trials::default();
            let run = single(&mut trials.context(&AtomicBool::new(false)), &target, &spec);
            (run, trials.0)
        })
    }

    /// Has the link do so with what both hosts send from now on.
    pub(crate) fn set_link(&self, config: &LinkConfig) {
        let link = self.hosts.link().unwrap();
        for host in [HostId::A, HostId::B] {
            link.reconfigure(host, config.clone()).unwrap();
        }
    }

    /// Takes everything down.
    pub(crate) fn close(self) {
        self.agent.stop().unwrap();
        self.hosts.close().unwrap();
    }
}

/// What came of a test, and the trials that were recorded.
pub(crate) type Watched = (anyhow::Result<Run>, Vec<Trial>);

/// The trials of a run that nobody else watches.
#[derive(Default)]
struct Trials(Vec<Trial>);

impl Watcher for Trials {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Trial(trial) = event {
            self.0.push(trial.clone());
        }
    }
}

impl Trials {
    fn context<'a>(&'a mut self, interrupt: &'a AtomicBool) -> Context<'a> {
        Context {
            store: None,
            watcher: self,
            command: String::new(),
            title: None,
            unsaved: None,
            device: None,
            interrupt,
        }
    }
}

fn run_script(script: &str) {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
}

/// `spec` for this many seconds.
pub(crate) fn lasting(seconds: f64, spec: TestSpec) -> TestSpec {
    TestSpec {
        stop: Stop::After(Duration::from_secs_f64(seconds)),
        ..spec
    }
}
