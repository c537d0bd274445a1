//! Route to a network stack that is started for each client.

use super::resolve::{connect_to, fitting};
use super::{Reached, Route, RouteHelp, RouteKind, Started, is_own};
use crate::address::{IpChoice, PeerAddress};
use crate::target::Target;
use anyhow::Result;
use linerate_model::consent::Effect;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::{Control, PeerKind};
use linerate_stacks::{Places, Stack, StackAddresses, StackSpec};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// A stack to start, and its address once it runs.
#[derive(Clone)]
struct StackRoute {
    stack: Stack,
    port: u16,
    at: Option<StackAddresses>,
}

/// Kind of this route.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &["stack"],
    carries: is_own,
    help: |_| {
        let names: Vec<_> = linerate_stacks::ALL.iter().map(|kind| kind.id).collect();
        Some(RouteHelp {
            addresses: vec!["stack://NAME".to_owned()],
            what: format!(
                "a network stack that is started for the test: {}",
                names.join(", ")
            ),
        })
    },
    examples: |_| Vec::new(),
    read: |_, scheme, rest| {
        let spec: StackSpec = rest.parse()?;
        Ok(of_stack(spec)
            .map_err(|error| Failure::new(error.code, format!("\"{scheme}://{rest}\": {error}")))?)
    },
};

/// The address of a stack.
pub(crate) fn of_stack(spec: StackSpec) -> Result<PeerAddress, Failure> {
    // Its protocol and port are those of any address.
    let there = PeerAddress::parse(&spec.peer(Ipv4Addr::LOCALHOST.into()))?;
    Ok(there.moved_to(StackRoute {
        port: there.port(),
        stack: Stack::new(spec),
        at: None,
    }))
}

impl Route for StackRoute {
    fn show(&self, _kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stack://{}", self.stack.spec())
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        let spec = self.stack.spec().to_string();
        let Some(at) = self.at else {
            let message = format!("the stack {spec} does not run");
            return Err(Failure::new(ExitCode::Other, message).into());
        };
        let found = [at.ipv4().into(), at.ipv6().into()];
        let found = found.map(|address| SocketAddr::new(address, self.port));
        let line = connect_to(target, &fitting(&spec, found, target.ip)?)?;
        Ok(Reached::over(line, target))
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        vec![match self.stack.spec().command() {
            Some(command) => Effect::Runs(command.to_owned()),
            None => Effect::Starts(address),
        }]
    }

    fn port(&self, _kind: &dyn PeerKind) -> u16 {
        self.port
    }

    fn is_stack(&self) -> bool {
        true
    }

    fn prepared(
        &self,
        places: &Places,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Option<Arc<dyn Route>>, Failure> {
        let mut prepared = self.clone();
        prepared.stack.prepare(places, tell)?;
        Ok(Some(Arc::new(prepared)))
    }

    fn start(&self, peer: &PeerAddress, ip: IpChoice) -> Result<Option<Started>, Failure> {
        let running = self.stack.start()?;
        let at = running.addresses();
        let peer = if peer.kind().about().control == Control::Shell {
            // Its shell is there as well.
            let address = match ip {
                IpChoice::V6 => at.ipv6().into(),
                IpChoice::Any | IpChoice::V4 => at.ipv4().into(),
            };
            PeerAddress::parse(&self.stack.spec().peer(address))?
        } else {
            peer.moved_to(Self {
                at: Some(at),
                ..self.clone()
            })
        };
        Ok(Some(Started { running, peer }))
    }

    /// A new stack is started for each run.
    fn restarted(&self) -> Option<Arc<dyn Route>> {
        Some(Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_written_with_its_options_and_is_resolved_where_it_runs() {
        let text = "stack://lwip?buffers=base&opt=O2";
        let stack = PeerAddress::parse(text).unwrap();
        assert!(stack.is_stack());
        assert_eq!(stack.to_string(), text);
        let error = PeerAddress::parse("stack://lwip?opt=O9").unwrap_err();
        assert_eq!(error.code, ExitCode::Usage);
        assert!(!PeerAddress::parse("10.0.0.2").unwrap().is_stack());
    }
}
