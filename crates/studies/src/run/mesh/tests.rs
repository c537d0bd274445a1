use super::*;
use crate::context::unattended;
use linerate_agent::{AgentPlan, serve};
use linerate_model::agent::AgentEvent;
use linerate_model::time::MonoInstant;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

const AGENTS: usize = 3;

/// Of each test.
const TIME: Duration = Duration::from_millis(500);

/// An agent hears of the end of a test later than it is: so far may two seem to overlap.
const DELAY_OF_EVENTS: Duration = Duration::from_millis(200);

fn key() -> Key {
    Key::new(b"a key of these tests, no other").unwrap()
}

/// Serves until `stop` is set; tells where it listens, and when each test began and ended.
fn agent(stop: &AtomicBool, at: &Sender<SocketAddr>, tests: &Sender<[MonoInstant; 2]>) {
    let plan = AgentPlan {
        key: Some(key()),
        ..AgentPlan::private()
    };
    let mut told = |event: &AgentEvent| match event {
        AgentEvent::Listening { address, .. } => {
            let address = SocketAddr::from(([127, 0, 0, 1], address.port()));
            at.send(address).unwrap();
        }
        AgentEvent::TestOver { volume, .. } => {
            let end = MonoClock.now();
            let before = end.as_nanos() - u64::try_from(volume.duration.as_nanos()).unwrap();
            tests.send([MonoInstant::from_nanos(before), end]).unwrap();
        }
        _ => {}
    };
    serve(&plan, stop, &mut told).unwrap();
}

/// Ends the agents with the test, however that ends.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn measured(text: &str) -> (Run, MeshReport) {
    let inventory = Inventory::from_toml("lab.toml", text).unwrap();
    let hosts = Hosts::new(inventory, Some(&key())).unwrap();
    unattended(|context| mesh(context, &hosts)).unwrap()
}

/// Any two pairs of three hosts share one: all tests of both controllers must come one after the other.
#[test]
fn two_controllers_of_the_same_agents_take_turns_and_both_measure_all() {
    let stop = AtomicBool::new(false);
    let (tell_address, addresses) = channel();
    let (tell_test, tests) = channel();
    let reports = thread::scope(|scope| {
        let _end = Stopped(&stop);
        for _ in 0..AGENTS {
            let (tell_address, tell_test, stop) = (tell_address.clone(), tell_test.clone(), &stop);
            scope.spawn(move || agent(stop, &tell_address, &tell_test));
        }
        let mut text = format!("[mesh]\ntime = \"{}ms\"\n", TIME.as_millis());
        for (number, address) in addresses.iter().take(AGENTS).enumerate() {
            writeln!(text, "[hosts.h{number}]\naddress = \"{address}\"").unwrap();
        }
        let controllers = [(); 2].map(|()| {
            let text = text.clone();
            scope.spawn(move || measured(&text))
        });
        controllers.map(|controller| controller.join().unwrap())
    });
    let flows = AGENTS * (AGENTS - 1);
    for (run, report) in &reports {
        assert_eq!(report.flows.len(), flows);
        for flow in &report.flows {
            assert_ne!(flow.standing, FlowStanding::Failed, "{flow:?}");
        }
        assert_eq!(report.notes, [""; 0]);
        let RunWork::Study { parts, .. } = &run.work else {
            panic!("a mesh is a study")
        };
        for host in parts.iter().flat_map(|part| &part.hosts) {
            // All agents are on this host.
            let clock = host.wall_clock.unwrap();
            assert!(
                clock.offset_ns.unsigned_abs() <= clock.error_ns,
                "{clock:?}"
            );
        }
    }
    drop(tell_test);
    let mut tests: Vec<_> = tests.iter().collect();
    tests.sort();
    // Slow pairs are tested again.
    assert!(tests.len() >= reports.len() * flows, "{tests:?}");
    for two in tests.windows(2) {
        let [[_, end], [begin, _]] = [two[0], two[1]];
        let overlap = end.saturating_since(begin);
        assert!(overlap <= DELAY_OF_EVENTS, "{overlap:?}: {tests:?}");
    }
}
