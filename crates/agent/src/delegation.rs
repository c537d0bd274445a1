//! Tests that a client has this agent make with another agent, as its client: the tests of a mesh.
//!
//! Only holders of this agent's key may ask, and only agents in the networks of `--allow-mesh` are dialled. The test ends
//! with the session that asked for it, with the lease that it is of, and with this agent.

use crate::AgentPlan;
use crate::access::is_in;
use crate::lease::AdmittedTest;
use crate::threads::start_thread;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::time::MonoInstant;
use linerate_peers::{DelegatedTest, Delegation, MAX_DELAY, Refusal, RefusalCode};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// How long a test that begins later does not notice that it is stopped.
const WAIT_STEP: Duration = Duration::from_millis(50);

type Outcome = Result<Box<DelegatedTest>, Refusal>;

/// A delegated test under way. Dropping it ends the test.
pub(crate) struct DelegatedRun {
    admitted: Arc<AdmittedTest>,
    outcome: Receiver<Outcome>,
    stop: Arc<AtomicBool>,
}

impl DelegatedRun {
    /// Starts the test on a thread of `scope`; an error if it is not allowed here.
    pub(crate) fn start<'scope>(
        scope: &'scope thread::Scope<'scope, '_>,
        plan: &AgentPlan,
        delegation: &Delegation,
        admitted: AdmittedTest,
    ) -> Result<Self, Refusal> {
        let to = allowed(plan, delegation)?;
        let admitted = Arc::new(admitted);
        let sending = Arc::clone(&admitted);
        let (tell, outcome) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let delegation = delegation.clone();
        let begin = MonoClock.now().after(delegation.delay.min(MAX_DELAY));
        let work = move || {
            let made = make(to, &delegation, begin, &stopped);
            drop(sending);
            // The session that asked may be over.
            let _ = tell.send(made.map_err(|error| refusal(&error)));
        };
        start_thread(scope, thread::Builder::new(), work).map_err(|error| Refusal {
            code: RefusalCode::Internal,
            message: format!("a thread for the test: {error}"),
        })?;
        Ok(Self {
            admitted,
            outcome,
            stop,
        })
    }

    /// What came of it, once it is over or must end.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => self.admitted.check().err().map(Err),
            Err(TryRecvError::Disconnected) => Some(Err(Refusal {
                code: RefusalCode::Internal,
                message: "the thread of the test panicked: please report this as a bug".to_owned(),
            })),
        }
    }
}

impl Drop for DelegatedRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The address to dial, if the operator allowed it.
fn allowed(plan: &AgentPlan, delegation: &Delegation) -> Result<SocketAddr, Refusal> {
    let deny = |message: String| Refusal {
        code: RefusalCode::Denied,
        message,
    };
    if plan.key.is_none() {
        let message = "this agent makes tests with other agents only for holders of its key: start it with --key FILE and --allow-mesh NETWORK";
        return Err(deny(message.to_owned()));
    }
    let Delegation { host, port, .. } = delegation;
    let found = (host.as_str(), *port).to_socket_addrs();
    let found =
        found.map_err(|error| deny(format!("this agent cannot resolve {host}: {error}")))?;
    let mut found = found.peekable();
    let first = found.peek().copied();
    let may_dial = |address: &SocketAddr| is_in(address.ip(), &plan.allow_mesh);
    // What is dialled is the address that was checked.
    found.find(may_dial).ok_or_else(|| {
        let address = first.map_or_else(|| host.clone(), |first| first.ip().to_string());
        deny(format!(
            "this agent may not dial {address}: start it with --allow-mesh {address} as well"
        ))
    })
}

fn make(
    to: SocketAddr,
    delegation: &Delegation,
    begin: MonoInstant,
    stop: &AtomicBool,
) -> anyhow::Result<Box<DelegatedTest>> {
    let target = Target {
        key: delegation.key.clone(),
        fence: delegation.fence,
        ..Target::new(PeerAddress::from(to))
    };
    let mut client = Client::connect(&target)?;
    while MonoClock.now() < begin && !stop.load(Ordering::Relaxed) {
        sleep_until(begin.min(MonoClock.now().after(WAIT_STEP)));
    }
    let outcome = client.run(&delegation.spec, &mut |_| !stop.load(Ordering::Relaxed))?;
    Ok(Box::new(outcome.into_delegated(client.hosts())))
}

fn refusal(error: &anyhow::Error) -> Refusal {
    let code = match Failure::of(error.as_ref()).map(|failure| failure.code) {
        Some(ExitCode::Usage) => RefusalCode::Invalid,
        Some(ExitCode::HostLacks) => RefusalCode::Unsupported,
        _ => RefusalCode::Internal,
    };
    Refusal {
        code,
        message: format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::spec::TestSpec;
    use linerate_peers::key::Key;

    fn asked(plan: &AgentPlan, host: &str) -> Result<SocketAddr, Refusal> {
        let spec = Box::new(TestSpec::tcp_bulk());
        let delegation = Delegation {
            host: host.to_owned(),
            port: 5301,
            key: None,
            fence: None,
            spec,
            delay: Duration::ZERO,
        };
        allowed(plan, &delegation)
    }

    #[test]
    fn an_agent_dials_only_where_its_operator_allows_and_for_holders_of_its_key() {
        let key = Key::new(b"a key of these tests, no other").unwrap();
        let plan = AgentPlan {
            key: Some(key),
            allow_mesh: vec!["10.0.0.0/8".parse().unwrap()],
            ..AgentPlan::listening_on("127.0.0.1:0").unwrap()
        };
        let dialled = asked(&plan, "10.1.2.3").unwrap();
        assert_eq!(dialled, "10.1.2.3:5301".parse().unwrap());
        let refused = asked(&plan, "192.0.2.1").unwrap_err();
        assert_eq!(refused.code, RefusalCode::Denied);
        assert!(
            refused.message.contains("--allow-mesh 192.0.2.1"),
            "{refused:?}"
        );
        let without_key = AgentPlan { key: None, ..plan };
        let refused = asked(&without_key, "10.1.2.3").unwrap_err();
        assert!(refused.message.contains("--key"), "{refused:?}");
        let usual = AgentPlan::listening_on("127.0.0.1:0").unwrap();
        assert!(usual.allow_mesh.is_empty());
    }
}
