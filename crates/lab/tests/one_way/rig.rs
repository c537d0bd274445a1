//! Two hosts, an agent on one, and single tests from the other.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::Trial;
use linerate_model::spec::TestSpec;
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use std::time::Duration;

pub(crate) struct Rig {
    hosts: TwoHosts,
    agent: Agent,
}

impl Rig {
    pub(crate) fn over(link: Link) -> Self {
        let hosts = TwoHosts::create(link, 1).unwrap();
        let agent = Agent::start_on(hosts.host(HostId::B), AgentPlan::private()).unwrap();
        Self { hosts, agent }
    }

    /// Gives the link a delay in each direction.
    pub(crate) fn delay(&self, a_to_b: Duration, b_to_a: Duration) {
        for (from, delay) in [(HostId::A, a_to_b), (HostId::B, b_to_a)] {
            let config = LinkConfig {
                delay,
                ..LinkConfig::default()
            };
            self.hosts
                .link()
                .unwrap()
                .reconfigure(from, config)
                .unwrap();
        }
    }

    /// Runs one test from host A: its only trial.
    pub(crate) fn run(&self, spec: &TestSpec) -> Trial {
        let far = self.hosts.host(HostId::B).ipv4();
        let target = PeerAddress::parse(&format!("{far}:{}", self.agent.port())).unwrap();
        let spec = spec.clone();
        let work = move || unattended(|context| single(context, &Target::new(target), &spec));
        let client = self.hosts.host(HostId::A).spawn("client", work).unwrap();
        let mut run = client.join().unwrap().unwrap();
        let document = serde_json::to_value(&run).unwrap();
        assert_eq!(linerate_schema_check::validate(&document), Ok(()));
        assert_eq!(run.trials.len(), 1);
        run.trials.remove(0)
    }

    pub(crate) fn close(self) {
        self.agent.stop().unwrap();
        self.hosts.close().unwrap();
    }
}
