//! Two hosts, an agent on one, and commands run from the other.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::Run;
use linerate_studies::context::{Context, unattended};
use linerate_testbed::{HostId, Link, LinkConfig, LinkCounters, TwoHosts};

/// Two hosts with an agent on host B.
pub(crate) struct Rig {
    hosts: TwoHosts,
    agent: Agent,
    target: Target,
}

impl Rig {
    /// Joins the hosts by a link element that treats both directions alike.
    pub(crate) fn shaped(config: LinkConfig) -> Self {
        Self::over(Link::symmetric(config))
    }

    /// Joins the hosts by `link`.
    pub(crate) fn over(link: Link) -> Self {
        let hosts = TwoHosts::create(link, 1).unwrap();
        let far = hosts.host(HostId::B);
        let agent = Agent::start_on(far, AgentPlan::private()).unwrap();
        let target =
            Target::new(PeerAddress::parse(&format!("{}:{}", far.ipv4(), agent.port())).unwrap());
        Self {
            hosts,
            agent,
            target,
        }
    }

    /// Runs a command on host A.
    pub(crate) fn run(
        &self,
        command: impl FnOnce(&mut Context<'_>, &Target) -> anyhow::Result<Run> + Send + 'static,
    ) -> Run {
        let target = self.target.clone();
        let work = move || unattended(|context| command(context, &target));
        let run = self
            .hosts
            .host(HostId::A)
            .spawn("client", work)
            .unwrap()
            .join()
            .unwrap()
            .unwrap();
        let document = serde_json::to_value(&run).unwrap();
        assert_eq!(linerate_schema_check::validate(&document), Ok(()));
        run
    }

    /// What the link element did.
    pub(crate) fn link(&self) -> LinkCounters {
        let counters = self.hosts.link().unwrap().counters().unwrap();
        assert!(
            counters.a_to_b.faults.is_none() && counters.b_to_a.faults.is_none(),
            "{counters:?}"
        );
        counters
    }

    /// Takes everything down.
    pub(crate) fn close(self) {
        self.agent.stop().unwrap();
        self.hosts.close().unwrap();
    }
}
