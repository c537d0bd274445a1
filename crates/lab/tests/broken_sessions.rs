//! A search whose peer, another tool's server, goes away between two tests: what it measured is kept, and if the
//! server comes back the search goes on.
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_agent::{AgentPlan, serve};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_model::spec::{Pace, TestSpec};
use linerate_model::{BitRate, Ratio};
use linerate_store::Store;
use linerate_studies::context::Context;
use linerate_studies::run::{SaturatePlan, saturate};
use linerate_studies::watch::{Event, Watcher};
use linerate_testkit::ports::free_address;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// A server of iperf3's protocol that can be ended and started again on the same port.
struct Server {
    port: u16,
    running: Option<(JoinHandle<()>, Arc<AtomicBool>)>,
}

impl Server {
    fn started() -> Self {
        let port = free_address(Ipv4Addr::LOCALHOST.into()).unwrap().port();
        let mut server = Self {
            port,
            running: None,
        };
        server.start();
        server
    }

    fn start(&mut self) {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, port) = (Arc::clone(&stop), self.port);
        let (tell, told) = std::sync::mpsc::channel();
        let thread = spawn(move || {
            let plan = AgentPlan {
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                speak: vec![format!("iperf3:{port}").parse().unwrap()],
                ..AgentPlan::private()
            };
            serve(&plan, &seen, &mut |event| drop(tell.send(event.clone()))).unwrap();
        });
        told.recv().unwrap();
        self.running = Some((thread, stop));
    }

    fn end(&mut self) {
        if let Some((thread, stop)) = self.running.take() {
            stop.store(true, Ordering::Relaxed);
            thread.join().unwrap();
        }
    }
}

/// Ends the server after the first trial, and starts it again once a trial has failed, if it shall.
struct Keeper<'a> {
    server: &'a mut Server,
    trials: u32,
    restarts: bool,
}

impl Watcher for Keeper<'_> {
    fn event(&mut self, event: Event<'_>) {
        let Event::Trial(trial) = event else { return };
        self.trials += 1;
        if self.trials == 1 {
            self.server.end();
        } else if !trial.valid && self.restarts && self.server.running.is_none() {
            self.server.start();
        }
    }
}

/// Searches up to 4 Mbit/s, which loopback carries without loss.
fn search(restarts: bool, store: Option<Store>) -> anyhow::Result<Run> {
    let mut server = Server::started();
    let far = PeerAddress::parse(&format!("iperf3://127.0.0.1:{}", server.port)).unwrap();
    let plan = SaturatePlan {
        min_load: BitRate::from_bps(1_000_000),
        max_load: BitRate::from_bps(4_000_000),
        width: Ratio::clamped(0.2),
        budget: Duration::from_secs(10),
        loss_goals: vec![Ratio::ZERO],
        ..SaturatePlan::new(TestSpec::udp_datagrams(Pace::Unpaced))
    };
    let mut keeper = Keeper {
        server: &mut server,
        trials: 0,
        restarts,
    };
    let run = saturate(
        &mut Context {
            store,
            watcher: &mut keeper,
            command: String::new(),
            title: None,
            unsaved: None,
            device: None,
            interrupt: &AtomicBool::new(false),
        },
        &Target::new(far),
        &plan,
    );
    server.end();
    run
}

#[test]
fn a_search_goes_on_when_the_server_comes_back() {
    let run = search(true, None).unwrap();
    let broken: Vec<_> = run.trials.iter().filter(|trial| !trial.valid).collect();
    assert_eq!(broken.len(), 1, "{:?}", run.trials);
    assert!(
        broken[0].reasons[0].contains("127.0.0.1"),
        "{:?}",
        broken[0].reasons
    );
    assert!(broken[0].intended_load.is_some());
    let last = run.trials.last().unwrap();
    assert!(last.valid && last.received_rate.is_some(), "{last:?}");
}

#[test]
fn a_search_whose_server_stays_away_ends_with_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let error = search(false, Some(store)).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    assert_eq!(failure.code, ExitCode::Peer, "{error:#}");
    let store = Store::open(folder.path()).unwrap();
    let run = store.load("last").unwrap();
    // The one before, two that are passed over, and the one that ends it leaves its reason.
    assert_eq!(run.trials.len(), 3);
    assert!(run.trials[0].valid && !run.trials[2].valid);
    assert!(
        run.notes.iter().any(|note| note.contains("ended early")),
        "{:?}",
        run.notes
    );
}
