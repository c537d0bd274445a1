//! Tests between two other hosts: the peer plays the client.

use crate::address::Endpoint;
use crate::client::Client;
use crate::outcome::TestOutcome;
use anyhow::{Result, bail};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Host;
use linerate_model::spec::TestSpec;
use linerate_peers::{Delegation, Fence, PeerEvent};
use linerate_session::SessionEvent;
use linerate_sys::ending;
use std::time::Duration;

/// Longest name of a host (RFC 1035 §2.3.4).
const MAX_HOST: usize = 255;

impl Client {
    /// Has the peer make this test with the agent at `endpoint`, under its lease `fence`, `delay` after it is asked, while
    /// `go_on` returns true; the reports of both ends, and both hosts.
    pub fn delegate(
        &mut self,
        endpoint: &Endpoint,
        fence: Option<Fence>,
        spec: &TestSpec,
        delay: Duration,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(TestOutcome, Vec<Host>)> {
        if endpoint.host.len() > MAX_HOST {
            let message = format!("a host's name has at most {MAX_HOST} characters");
            return Err(Failure::new(ExitCode::Plan, message).into());
        }
        let delegation = Delegation {
            host: endpoint.host.clone(),
            port: endpoint.port,
            key: endpoint.key.clone(),
            fence,
            spec: Box::new(spec.clone()),
            delay,
        };
        let asked = self.driver().delegate(delegation);
        asked.map_err(|error| self.failed(error))?;
        let mut done = None;
        let mut is_ending = false;
        loop {
            let event = self.driver().turn();
            match self.of_test(event)? {
                Some(SessionEvent::Peer(PeerEvent::Delegated(test))) => done = Some(*test),
                Some(SessionEvent::TestOver) => break,
                _ => {}
            }
            if !is_ending && (ending::is_asked() || !go_on()) {
                is_ending = true;
                self.driver().end_traffic()?;
            }
        }
        match done {
            Some(test) => Ok(TestOutcome::from_delegated(spec.direction, test)),
            None => bail!("bug in linerate: a delegated test ended without its outcome"),
        }
    }
}
