//! Connections to the port of linerate's own protocol that have not shown yet who they are: a small pool of their own, from
//! which the oldest goes when another comes. Whoever can greet does so within milliseconds; silence costs only silent ones.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limit over all networks, each with a thread.
pub(crate) const MAX_GREETING: usize = 64;

/// Limit per network: [`network`].
const MAX_GREETING_PER_NETWORK: usize = 16;

/// The connections that have not greeted, by their numbers, the oldest first, with their addresses.
#[derive(Default)]
pub(crate) struct Greeting(Mutex<BTreeMap<u64, IpAddr>>);

/// A place in the pool, until dropped.
pub(crate) struct GreetingPlace<'a> {
    pool: &'a Greeting,
    connection: u64,
}

impl Greeting {
    /// Adds the connection of this number, which must be higher than all before. Returns the one that has to go for it, if
    /// any, from its own network where that has its share, else from the network that has most; there from the address
    /// that has most, and of that the oldest that has not said enough to be told from noise, which `is_silent` tells.
    ///
    /// Who holds places by silence and comes again as soon as one is taken so takes them from himself, also where
    /// somebody who greets comes from the same address.
    pub(crate) fn enter(
        &self,
        connection: u64,
        from: IpAddr,
        is_silent: impl Fn(u64) -> bool,
    ) -> (GreetingPlace<'_>, Option<u64>) {
        let mut all = self.lock();
        let networks = count_by(&all, network);
        let own = networks.get(&network(from)).copied().unwrap_or_default();
        let crowded = if own >= MAX_GREETING_PER_NETWORK {
            Some(network(from))
        } else if all.len() >= MAX_GREETING {
            let most = networks.iter().max_by_key(|(_, count)| **count);
            most.map(|(network, _)| *network)
        } else {
            None
        };
        let gone = crowded.and_then(|crowded| {
            let mut of_it = all.clone();
            of_it.retain(|_, of| network(*of) == crowded);
            let addresses = count_by(&of_it, |of| of);
            let most = addresses.values().max().copied();
            of_it.retain(|_, of| addresses.get(of).copied() == most);
            let mut silent = of_it.keys().copied().filter(|number| is_silent(*number));
            silent.next().or_else(|| of_it.keys().next().copied())
        });
        if let Some(gone) = gone {
            all.remove(&gone);
        }
        all.insert(connection, from);
        drop(all);
        let place = GreetingPlace {
            pool: self,
            connection,
        };
        (place, gone)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, IpAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GreetingPlace<'_> {
    fn drop(&mut self) {
        self.pool.lock().remove(&self.connection);
    }
}

/// How many connections there are of each value of `key`.
fn count_by(
    all: &BTreeMap<u64, IpAddr>,
    key: impl Fn(IpAddr) -> IpAddr,
) -> BTreeMap<IpAddr, usize> {
    let mut counts = BTreeMap::new();
    for of in all.values() {
        *counts.entry(key(*of)).or_default() += 1;
    }
    counts
}

/// The /24 of IPv4 or the /64 of IPv6, which one user commonly has whole.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(ip) => Ipv4Addr::from(u32::from(ip) & !0xff).into(),
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip) & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: fn(u64) -> bool = |_| true;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_that_has_its_share_loses_its_own_oldest() {
        let pool = Greeting::default();
        let mut places = Vec::new();
        assert_eq!(MAX_GREETING_PER_NETWORK, 16);
        for number in 0..16_u8 {
            let from = IpAddr::from([192, 0, 2, number]);
            let (place, gone) = pool.enter(number.into(), from, SILENT);
            assert_eq!(gone, None);
            places.push(place);
        }
        let (other, gone) = pool.enter(100, ip("192.0.3.1"), SILENT);
        assert_eq!(gone, None);
        let (next, gone) = pool.enter(101, ip("192.0.2.15"), SILENT);
        assert_eq!(gone, Some(0));
        // One that has greeted has left: its network has room again.
        places.remove(5);
        let (_last, gone) = pool.enter(102, ip("192.0.2.201"), SILENT);
        assert_eq!(gone, None);
        drop((other, next));
    }

    #[test]
    fn who_has_sent_something_stays_where_silent_ones_come_again_and_again() {
        let pool = Greeting::default();
        let mut places = Vec::new();
        let [holder, attacker] = [100, 0];
        let is_silent = |number: u64| number != holder;
        for number in attacker..holder {
            places.push(pool.enter(number, ip("192.0.2.1"), is_silent).0);
        }
        let (_held, _) = pool.enter(holder, ip("192.0.2.1"), is_silent);
        for number in holder + 1..10_000 {
            let (place, gone) = pool.enter(number, ip("192.0.2.1"), is_silent);
            assert!(gone.is_some_and(|gone| gone != holder));
            places.push(place);
        }
    }

    #[test]
    fn an_address_takes_from_itself_before_its_neighbours() {
        let pool = Greeting::default();
        let mut places = vec![pool.enter(0, ip("192.0.2.9"), SILENT).0];
        for number in 1..10_000 {
            let from = IpAddr::from([192, 0, 2, 1 + u8::try_from(number % 4).unwrap()]);
            let (place, gone) = pool.enter(number, from, SILENT);
            assert_ne!(gone, Some(0));
            places.push(place);
        }
    }

    #[test]
    fn loopback_is_a_network_as_any_other() {
        let pool = Greeting::default();
        let enter =
            |number: u8| pool.enter(number.into(), IpAddr::from([127, 0, 0, 1 + number]), SILENT);
        let places: Vec<_> = (0..16).map(enter).collect();
        assert!(places.iter().all(|(_, gone)| gone.is_none()));
        assert_eq!(enter(16).1, Some(0));
    }

    #[test]
    fn a_full_pool_takes_from_the_network_with_most_and_never_has_more() {
        let pool = Greeting::default();
        let mut number = 0;
        let mut gone_of = Vec::new();
        let mut places = Vec::new();
        for round in 0..200 {
            for network in [
                "2001:db8:0:1::",
                "2001:db8:0:2::",
                "2001:db8:0:3::",
                "2001:db8:0:4::",
            ] {
                let (place, gone) = pool.enter(number, ip(&format!("{network}{round:x}")), SILENT);
                number += 1;
                places.push(place);
                gone_of.extend(gone);
                assert!(pool.lock().len() <= MAX_GREETING);
            }
        }
        let sorted = gone_of.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(sorted, "oldest first: {gone_of:?}");
        // Whoever comes from another network is none of those that go for the crowd's next.
        let newcomer = number;
        let (_place, gone) = pool.enter(newcomer, ip("192.0.2.1"), SILENT);
        assert!(gone.is_some());
        for round in 0..200 {
            let (place, gone) = pool.enter(newcomer + 1 + round, ip("2001:db8:0:1::"), SILENT);
            places.push(place);
            assert_ne!(gone, Some(newcomer));
        }
        drop(places);
        assert_eq!(pool.lock().len(), 1);
    }
}
