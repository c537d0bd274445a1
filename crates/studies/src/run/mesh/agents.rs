//! The agents of a mesh, and tests that they make with each other.

use super::Hosts;
use super::leases::RoundLeases;
use anyhow::Result;
use linerate_client::address::{Endpoint, endpoint_for_others};
use linerate_client::{Client, Leased, Target, TestOutcome};
use linerate_model::Clock as _;
use linerate_model::mesh::MeshPair;
use linerate_model::run::{Host, HostRole};
use linerate_model::spec::TestSpec;
use linerate_model::time::MonoInstant;
use linerate_sys::clock::MonoClock;
use std::collections::BTreeSet;
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
    /// What is known of them; why not, where they are away.
    reached: Vec<Result<Reached, String>>,
}

/// An agent that answers.
struct Reached {
    /// Where others dial it.
    endpoint: Endpoint,
    grants_leases: bool,
}

impl Agents {
    /// Reaches every host once, starting agents where the address says so.
    pub(super) fn reach(hosts: &Hosts) -> Self {
        let targets = hosts.targets.clone();
        let mut all = Vec::with_capacity(targets.len());
        for some in targets.chunks(AT_ONCE) {
            thread::scope(|scope| {
                let reached = some.iter().map(|target| scope.spawn(|| reach(target)));
                let reached: Vec<_> = reached.collect();
                let panicked =
                    || Err("its thread panicked: please report this as a bug".to_owned());
                let joined = reached.into_iter();
                all.extend(joined.map(|one| one.join().unwrap_or_else(|_| panicked())));
            });
        }
        Self {
            targets,
            reached: all,
        }
    }

    /// Why a host is away.
    pub(super) fn away(&self, host: usize) -> Option<&str> {
        self.reached[host].as_ref().err().map(String::as_str)
    }

    /// Whether a host answers and grants no leases.
    pub(super) fn is_open(&self, host: usize) -> bool {
        let reached = self.reached[host].as_ref();
        reached.is_ok_and(|reached| !reached.grants_leases)
    }

    /// The hosts of these pairs that grant leases.
    pub(super) fn leasing(&self, jobs: &[Job]) -> Vec<&Target> {
        let hosts = jobs
            .iter()
            .flat_map(|(pair, _)| [pair.dialer, pair.listener]);
        let hosts: BTreeSet<_> = hosts.collect();
        let grants = |host: &usize| {
            self.reached[*host]
                .as_ref()
                .is_ok_and(|one| one.grants_leases)
        };
        let granting = hosts.into_iter().filter(grants);
        granting.map(|host| &self.targets[host]).collect()
    }

    /// Makes these tests of each pair under the leases `held`, one after the other, all pairs at once; in the order of the
    /// pairs.
    /// The tests of several pairs begin together, `delay` from now on.
    pub(super) fn at_once(
        &self,
        jobs: &[Job],
        held: &RoundLeases,
        delay: Duration,
        interrupt: &AtomicBool,
    ) -> Vec<Vec<Made>> {
        let begin = MonoClock.now().after(delay);
        thread::scope(|scope| {
            let started = jobs.iter().map(|(pair, specs)| {
                let leases = [pair.dialer, pair.listener].map(|host| held.of(&self.targets[host]));
                let work = move || self.of_pair(*pair, leases, specs, begin, interrupt);
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
        leases: [Result<Option<Leased>, String>; 2],
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
        let Ok(Reached { endpoint, .. }) = &self.reached[pair.listener] else {
            return all("it is away".to_owned());
        };
        let (dialer, listener) = match leases {
            [Ok(dialer), Ok(listener)] => (dialer, listener),
            [Err(why), _] | [_, Err(why)] => return all(why),
        };
        let fence_of = |lease: Option<Leased>| lease.map(|lease| lease.fence);
        let target = Target {
            fence: fence_of(dialer),
            ..self.targets[pair.dialer].clone()
        };
        let mut client = match Client::connect(&target) {
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
            let made = client.delegate(endpoint, fence_of(listener), spec, delay, &mut go_on);
            let (outcome, mut hosts) = made.map_err(|error| {
                let why = format!("{error:#}");
                // Neither direction is likelier than the other to pass a session that failed.
                broken = Some(why.clone());
                why
            })?;
            for host in &mut hosts {
                let lease = match host.role {
                    HostRole::Client => dialer,
                    HostRole::Server => listener,
                };
                host.wall_clock = lease.and_then(|lease| lease.wall_clock);
            }
            Ok((outcome, hosts))
        };
        specs.iter().map(one).collect()
    }
}

fn reach(target: &Target) -> Result<Reached, String> {
    let reached = Client::connect(target).and_then(|client| {
        let grants_leases = client.grants_leases();
        drop(client);
        Ok(Reached {
            endpoint: endpoint_for_others(target)?,
            grants_leases,
        })
    });
    reached.map_err(|error| format!("{error:#}"))
}
