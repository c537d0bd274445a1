//! Rounds of tests that share no interface and no declared link.

use crate::apart;
use crate::colouring;
use crate::inventory::Inventory;
use crate::pairs::{self, Pairs};
use crate::shared;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::mesh::{MeshPair, MeshPlan, SCHEMA, SearchBounds};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a round takes beyond its tests: connections, facts of the hosts, reports.
const BETWEEN: Duration = Duration::from_secs(2);

/// What only one test at a time may use: interfaces of hosts, declared links.
struct Resources {
    /// Interface of each host.
    nic: Vec<usize>,
    /// Resources in all.
    count: usize,
    /// Interfaces among them.
    nics: usize,
    /// Hosts behind each declared link.
    behind: Vec<Vec<bool>>,
}

/// Plans the tests of a mesh; refuses one whose byte budget is exceeded.
pub fn plan(inventory: &Inventory) -> Result<MeshPlan, Failure> {
    let resources = Resources::new(inventory);
    let Pairs {
        coverage,
        rounds,
        more,
        unreachable,
    } = pairs::choose(inventory);
    let all: Vec<MeshPair> = rounds.iter().flatten().chain(&more).copied().collect();
    let bound = resources.bound(&all);
    let rounds = if resources.are_hosts_alone() {
        let drawn = rounds.iter().filter(|round| !round.is_empty()).count();
        // The rounds in which complete meshes are drawn are the fewest; what NAT leaves out, or racks add, may do with less.
        if more.is_empty() && drawn <= bound {
            rounds
        } else {
            let edges: Vec<_> = all.iter().map(|pair| pair.ends()).collect();
            collect(&all, &colouring::rounds(inventory.hosts.len(), &edges))
        }
    } else {
        resources.busiest_first(all)
    };
    let rounds: Vec<_> = rounds
        .into_iter()
        .filter(|round| !round.is_empty())
        .collect();
    let bytes = most_bytes(inventory, inventory.time, rounds.iter().flatten());
    let times = u64::from(inventory.repetitions);
    let bytes = bytes.map(|once| ByteCount::new(once.get().saturating_mul(times)));
    let search = inventory.shared_links.then(|| search(inventory, &rounds));
    let all = match &search {
        Some(search) => bytes
            .zip(search.bytes)
            .map(|(tests, crowds)| ByteCount::new(tests.get().saturating_add(crowds.get()))),
        None => bytes,
    };
    check_budget(inventory, all)?;
    let count = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let count = count.saturating_mul(inventory.repetitions);
    Ok(MeshPlan {
        schema: SCHEMA.to_owned(),
        title: inventory.title.clone(),
        hosts: inventory
            .hosts
            .iter()
            .map(|host| host.name.clone())
            .collect(),
        coverage,
        seed: inventory.seed,
        rounds_bound: bound,
        unreachable,
        repetitions: inventory.repetitions,
        test: inventory.time,
        time: round_time(inventory) * count,
        bytes,
        search,
        rounds,
    })
}

/// Bounds of the search for shared links: as many crowds as it may take, each as large as the largest round.
fn search(inventory: &Inventory, rounds: &[Vec<MeshPair>]) -> SearchBounds {
    let most = rounds.iter().map(Vec::len).max().unwrap_or_default();
    let crowds = shared::most_crowds(most);
    let bytes = rounds.iter().map(|round| {
        let sent = |time| most_bytes(inventory, time, round.iter());
        // A round's tests in one direction after the other are a crowd's in both at once.
        sent(inventory.time + shared::WARM_UP + shared::TAIL)
    });
    let bytes = bytes.max().flatten();
    let times = u64::try_from(crowds).unwrap_or(u64::MAX);
    let bytes = bytes.map(|once| once.get().saturating_mul(times));
    let again = most_bytes_again(inventory, rounds);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let pairs = rounds.iter().map(Vec::len).sum::<usize>();
    let crowd = shared::DELAY + shared::WARM_UP + shared::TAIL + inventory.time + BETWEEN;
    SearchBounds {
        crowds,
        time: crowd * count(crowds) + round_time(inventory) * count(pairs.min(apart::MOST)),
        bytes: bytes
            .zip(again)
            .map(|(crowds, again)| ByteCount::new(crowds.saturating_add(again))),
    }
}

/// What the pairs send at most that are tested again, bytes: they may be those of the fastest interfaces.
fn most_bytes_again(inventory: &Inventory, rounds: &[Vec<MeshPair>]) -> Option<u64> {
    let each = rounds.iter().flatten().map(|pair| {
        let bytes = most_bytes(inventory, inventory.time, std::iter::once(pair))?;
        Some(bytes.get())
    });
    let mut each: Vec<u64> = each.collect::<Option<_>>()?;
    each.sort_unstable_by_key(|bytes| Reverse(*bytes));
    let most = each.into_iter().take(apart::MOST);
    Some(most.fold(0, u64::saturating_add))
}

/// A round with both directions of its tests.
fn round_time(inventory: &Inventory) -> Duration {
    inventory.time * 2 + BETWEEN
}

fn collect(pairs: &[MeshPair], of: &[usize]) -> Vec<Vec<MeshPair>> {
    let count = of.iter().max().map_or(0, |last| last + 1);
    let mut rounds = vec![Vec::new(); count];
    for (pair, round) in pairs.iter().zip(of) {
        rounds[*round].push(*pair);
    }
    rounds
}

/// Both directions of each pair at the rate of its slower interface; unknown where one does not declare it.
fn most_bytes<'a>(
    inventory: &Inventory,
    time: Duration,
    pairs: impl Iterator<Item = &'a MeshPair>,
) -> Option<ByteCount> {
    let mut bytes = 0u64;
    for pair in pairs {
        let rate = |place: usize| inventory.hosts[place].rate;
        let slower = rate(pair.dialer)?.min(rate(pair.listener)?);
        let one = slower.bytes_in(time).get();
        bytes = bytes.saturating_add(one.saturating_mul(2));
    }
    Some(ByteCount::new(bytes))
}

fn check_budget(inventory: &Inventory, bytes: Option<ByteCount>) -> Result<(), Failure> {
    let Some(budget) = inventory.budget else {
        return Ok(());
    };
    let message = match bytes {
        Some(bytes) if bytes <= budget => return Ok(()),
        Some(bytes) => format!(
            "the tests of this mesh send up to {bytes}, its budget is {budget}: shorten `time`, leave out hosts, or do not search for shared links"
        ),
        None => format!(
            "budget = {budget}: what the tests send is known only if every host declares its `rate`"
        ),
    };
    Err(Failure::new(ExitCode::Plan, message))
}

impl Resources {
    fn new(inventory: &Inventory) -> Self {
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        let mut nics = 0;
        let mut next = || {
            nics += 1;
            nics - 1
        };
        let mut nic = Vec::with_capacity(inventory.hosts.len());
        for host in &inventory.hosts {
            nic.push(match host.nic.as_deref() {
                Some(name) => *named.entry(name).or_insert_with(&mut next),
                None => next(),
            });
        }
        let places = 0..inventory.hosts.len();
        let behind: Vec<Vec<bool>> = inventory
            .links
            .iter()
            .map(|link| {
                places
                    .clone()
                    .map(|place| link.hosts.contains(&place))
                    .collect()
            })
            .collect();
        Self {
            nic,
            count: nics + behind.len(),
            nics,
            behind,
        }
    }

    /// Whether each host has an interface of its own and no link is declared.
    const fn are_hosts_alone(&self) -> bool {
        self.nics == self.nic.len() && self.behind.is_empty()
    }

    /// What a test of this pair uses.
    fn used_by(&self, pair: MeshPair) -> Vec<usize> {
        let (a, b) = (self.nic[pair.dialer], self.nic[pair.listener]);
        let mut used = vec![a];
        used.extend((a != b).then_some(b));
        let crossed = self.behind.iter().enumerate();
        let crossed = crossed.filter(|(_, behind)| behind[pair.dialer] != behind[pair.listener]);
        used.extend(crossed.map(|(link, _)| self.nics + link));
        used
    }

    /// Rounds that these pairs cannot do without: one for each test of the busiest resource, and no round has more tests
    /// than half of the interfaces, or more that cross two links than half of the links.
    fn bound(&self, pairs: &[MeshPair]) -> usize {
        let mut load = vec![0; self.count];
        let (mut alone, mut across) = (0, 0);
        for pair in pairs {
            let used = self.used_by(*pair);
            let links = used.iter().filter(|resource| **resource >= self.nics);
            across += usize::from(links.count() > 1);
            alone += usize::from(self.nic[pair.dialer] == self.nic[pair.listener]);
            for resource in used {
                load[resource] += 1;
            }
        }
        let busiest = load.into_iter().max().unwrap_or_default();
        // A test inside a machine uses one interface, so only the others count by halves.
        let halves = (pairs.len() - alone).div_ceil((self.nics / 2).max(1));
        // Of an odd number of links, one is left over where each test takes two.
        let links = across.div_ceil((self.behind.len() / 2).max(1));
        busiest.max(halves).max(links)
    }

    /// Each round takes the tests whose resources have most left to do, while they share nothing.
    fn busiest_first(&self, pairs: Vec<MeshPair>) -> Vec<Vec<MeshPair>> {
        let mut left: Vec<(MeshPair, Vec<usize>)> = pairs
            .into_iter()
            .map(|pair| (pair, self.used_by(pair)))
            .collect();
        let mut load = vec![0usize; self.count];
        for resource in left.iter().flat_map(|(_, used)| used) {
            load[*resource] += 1;
        }
        let mut rounds = Vec::new();
        while !left.is_empty() {
            left.sort_by_cached_key(|(_, used)| {
                let loads = used.iter().map(|resource| load[*resource]);
                let busiest = loads.clone().max().unwrap_or_default();
                Reverse((busiest, loads.sum::<usize>()))
            });
            let mut taken = vec![false; self.count];
            let mut round = Vec::new();
            left.retain(|(pair, used)| {
                if used.iter().any(|resource| taken[*resource]) {
                    return true;
                }
                for resource in used {
                    taken[*resource] = true;
                    load[*resource] -= 1;
                }
                round.push(*pair);
                false
            });
            rounds.push(round);
        }
        rounds
    }
}
