//! Route to a host on which an agent is started by ssh.

use super::resolve::connect;
use super::{Endpoint, Reached, Route, RouteHelp, RouteKind, is_own};
use crate::address::PeerAddress;
use crate::target::Target;
use anyhow::Result;
use linerate_deploy::{Deployment, SshHost};
use linerate_model::consent::Effect;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::PeerKind;
use std::fmt;
use std::sync::Arc;

/// Kind of this route.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &["ssh"],
    carries: is_own,
    help: |_| {
        Some(RouteHelp {
            addresses: vec!["ssh://USER@HOST".to_owned()],
            what: "a host where linerate is copied to, started, and removed from".to_owned(),
        })
    },
    examples: |_| {
        ["ssh://user@host", "ssh://host:2222"]
            .map(str::to_owned)
            .into()
    },
    read: |kind, _, rest| {
        let host = SshHost::read(rest)?;
        Ok(PeerAddress::by(kind, Deployment::new(host)))
    },
};

impl Route for Deployment {
    fn show(&self, _kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.host(), f)
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        if target.key.is_some() {
            let message = format!(
                "--key: the agent of {} gets a key of its own; leave --key out",
                target.far
            );
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
        let agent = self.agent()?;
        let line = connect(target, &agent.host, agent.port)?;
        Ok(Reached {
            key: Some(agent.key),
            ..Reached::over(line, target)
        })
    }

    fn endpoint(&self, _target: &Target) -> Result<Option<Endpoint>> {
        let agent = self.agent()?;
        Ok(Some(Endpoint {
            host: agent.host,
            port: agent.port,
            key: Some(agent.key),
        }))
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        let decided = self.host().decided_by();
        let decided = decided.map(Effect::Runs);
        [Effect::Connects(address)]
            .into_iter()
            .chain(decided)
            .collect()
    }

    fn restarted(&self) -> Option<Arc<dyn Route>> {
        Some(Arc::new(Self::new(self.host().clone())))
    }

    fn note(&self) -> Option<String> {
        Self::note(self)
    }
}
