//! The agents of a mesh, and tests that they make with each other.

use super::Hosts;
use anyhow::Result;
use linerate_client::address::{Endpoint, endpoint_for_others};
use linerate_client::{Client, Target, TestOutcome};
use linerate_model::Clock as _;
use linerate_model::mesh::MeshPair;
use linerate_model::run::Host;
use linerate_model::spec::TestSpec;
use linerate_model::time::MonoInstant;
use linerate_sys::clock::MonoClock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Hosts that are reached at once before the first test: each may start an ssh.
const AT_ONCE: usize = 16;

/// What a test came to, or why it was not made.
pub(super) type Made = Result<(TestOutcome, Vec<Host>), String>;

/// A pair, and its tests.
pub(super) type Job = (MeshPair, Vec<TestSpec>);

/// The agents, by the places of their hosts.
pub(super) struct Agents {
    targets: Vec<Target>,
    /// Where others dial them; why not, where they are away.
    endpoints: Vec<Result<Endpoint, String>>,
}

impl Agents {
    /// Reaches every host once, starting agents where the address says so.
    pub(super) fn reach(hosts: &Hosts) -> Self {
        let targets = hosts.targets.clone();
        let mut endpoints = Vec::with_capacity(targets.len());
        for some in targets.chunks(AT_ONCE) {
            thread::scope(|scope| {
                let reached = some.iter().map(|target| scope.spawn(|| reach(target)));
                let reached: Vec<_> = reached.collect();
                let panicked =
                    || Err("its thread panicked: please report this as a bug".to_owned());
                let joined = reached.into_iter();
                endpoints.extend(joined.map(|one| one.join().unwrap_or_else(|_| panicked())));
            });
        }
        Self { targets, endpoints }
    }

    /// Why a host is away.
    pub(super) fn away(&self, host: usize) -> Option<&str> {
        self.endpoints[host].as_ref().err().map(String::as_str)
    }

    /// Makes these tests of each pair, one after the other, all pairs at once; in the order of the pairs.
    /// The tests of several pairs begin together, `delay` from now on.
    pub(super) fn at_once(
        &self,
        jobs: &[Job],
        delay: Duration,
        interrupt: &AtomicBool,
    ) -> Vec<Vec<Made>> {
        let begin = MonoClock.now().after(delay);
        thread::scope(|scope| {
            let started = jobs.iter().map(|(pair, specs)| {
                let work = move || self.of_pair(*pair, specs, begin, interrupt);
                (
                    specs.len(),
                    thread::Builder::new().spawn_scoped(scope, work),
                )
            });
            let started: Vec<_> = started.collect();
            let joined = started.into_iter().map(|(count, started)| {
                let made = match started {
                    Ok(thread) => thread
                        .join()
                        .map_err(|_| "its thread panicked: please report this as a bug".to_owned()),
                    Err(error) => Err(format!("no thread for it: {error}")),
                };
                made.unwrap_or_else(|why| vec![Err(why); count])
            });
            joined.collect()
        })
    }

    fn of_pair(
        &self,
        pair: MeshPair,
        specs: &[TestSpec],
        begin: MonoInstant,
        interrupt: &AtomicBool,
    ) -> Vec<Made> {
        let all = |why: String| vec![Err(why); specs.len()];
        for host in [pair.dialer, pair.listener] {
            if let Some(why) = self.away(host) {
                return all(why.to_owned());
            }
        }
        let Ok(endpoint) = &self.endpoints[pair.listener] else {
            return all("it is away".to_owned());
        };
        let mut client = match Client::connect(&self.targets[pair.dialer]) {
            Ok(client) => client,
            Err(error) => return all(format!("{error:#}")),
        };
        let mut go_on = || !interrupt.load(Ordering::Relaxed);
        let mut broken = None;
        let one = |spec: &TestSpec| {
            if let Some(why) = &broken {
                return Err(String::clone(why));
            }
            let delay = begin.saturating_since(MonoClock.now());
            let made = client.delegate(endpoint, None, spec, delay, &mut go_on);
            made.map_err(|error| {
                let why = format!("{error:#}");
                // Neither direction is likelier than the other to pass a session that failed.
                broken = Some(why.clone());
                why
            })
        };
        specs.iter().map(one).collect()
    }
}

fn reach(target: &Target) -> Result<Endpoint, String> {
    let reached = Client::connect(target).and_then(|client| {
        drop(client);
        endpoint_for_others(target)
    });
    reached.map_err(|error| format!("{error:#}"))
}
