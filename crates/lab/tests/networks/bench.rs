//! Two hosts on one cable, an agent on host B, tests from host A.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::Run;
use linerate_model::spec::{Stop, TestSpec};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, TwoHosts};
use std::net::SocketAddr;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

/// Two hosts and an agent on host B.
pub(crate) struct Bench {
    hosts: TwoHosts,
    agent: Agent,
}

impl Bench {
    pub(crate) fn with(plan: AgentPlan) -> Self {
        let hosts = TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap();
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
        let work = move || {
            let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{script}: {complaint}");
        };
        self.hosts.host(host).spawn("script", work).unwrap()
    }

    /// Runs one test on host A, to host B's address of this version of IP.
    pub(crate) fn run(&self, is_v6: bool, spec: &TestSpec) -> anyhow::Result<Run> {
        let (far, port) = (self.hosts.host(HostId::B), self.port());
        let address = if is_v6 {
            format!("[{}]:{port}", far.ipv6())
        } else {
            format!("{}:{port}", far.ipv4())
        };
        let (target, spec) = (
            Target::new(PeerAddress::parse(&address).unwrap()),
            spec.clone(),
        );
        let work = move || unattended(|context| single(context, &target, &spec));
        self.hosts
            .host(HostId::A)
            .spawn("client", work)
            .unwrap()
            .join()
            .unwrap()
    }

    /// Takes everything down.
    pub(crate) fn close(self) {
        self.agent.stop().unwrap();
        self.hosts.close().unwrap();
    }
}

/// `spec` for this many seconds.
pub(crate) fn lasting(seconds: f64, spec: TestSpec) -> TestSpec {
    TestSpec {
        stop: Stop::After(Duration::from_secs_f64(seconds)),
        ..spec
    }
}
