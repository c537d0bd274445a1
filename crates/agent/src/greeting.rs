//! Connections to the port of linerate's own protocol that have not shown yet who they are: a small pool of their own, from
//! which the oldest goes when another comes. Whoever can greet does so within milliseconds; silence costs only silent ones.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limit over all networks, each with a thread.
pub(crate) const MAX_GREETING: usize = 64;

/// Limit per network: [`network`].
const MAX_GREETING_PER_NETWORK: usize = 16;

/// The connections that have not greeted, by their numbers, the oldest first, with their networks.
#[derive(Default)]
pub(crate) struct Greeting(Mutex<BTreeMap<u64, IpAddr>>);

/// A place in the pool, until dropped.
pub(crate) struct GreetingPlace<'a> {
    pool: &'a Greeting,
    connection: u64,
}

impl Greeting {
    /// Adds the connection of this number, which must be higher than all before. Returns the one that has to go for it, if
    /// any: the oldest of its network where that has its share, else the oldest of the network that has most.
    pub(crate) fn enter(&self, connection: u64, from: IpAddr) -> (GreetingPlace<'_>, Option<u64>) {
        let mut all = self.lock();
        let network = network(from);
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for of in all.values() {
            *counts.entry(*of).or_default() += 1;
        }
        let own = counts.get(&network).copied().unwrap_or_default();
        let crowded = if own >= MAX_GREETING_PER_NETWORK {
            Some(network)
        } else if all.len() >= MAX_GREETING {
            let most = counts.iter().max_by_key(|(_, count)| **count);
            most.map(|(network, _)| *network)
        } else {
            None
        };
        let oldest = crowded.and_then(|crowded| {
            let mut of_it = all.iter().filter(|(_, of)| **of == crowded);
            of_it.next().map(|(number, _)| *number)
        });
        if let Some(oldest) = oldest {
            all.remove(&oldest);
        }
        all.insert(connection, network);
        drop(all);
        let place = GreetingPlace {
            pool: self,
            connection,
        };
        (place, oldest)
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
            let (place, gone) = pool.enter(number.into(), from);
            assert_eq!(gone, None);
            places.push(place);
        }
        let (other, gone) = pool.enter(100, ip("192.0.3.1"));
        assert_eq!(gone, None);
        let (next, gone) = pool.enter(101, ip("192.0.2.200"));
        assert_eq!(gone, Some(0));
        // One that has greeted has left: its network has room again.
        places.remove(5);
        let (_last, gone) = pool.enter(102, ip("192.0.2.201"));
        assert_eq!(gone, None);
        drop((other, next));
    }

    #[test]
    fn loopback_is_a_network_as_any_other() {
        let pool = Greeting::default();
        let enter = |number: u8| pool.enter(number.into(), IpAddr::from([127, 0, 0, 1 + number]));
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
                let (place, gone) = pool.enter(number, ip(&format!("{network}{round:x}")));
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
        let (_place, gone) = pool.enter(newcomer, ip("192.0.2.1"));
        assert!(gone.is_some());
        for round in 0..200 {
            let (place, gone) = pool.enter(newcomer + 1 + round, ip("2001:db8:0:1::"));
            places.push(place);
            assert_ne!(gone, Some(newcomer));
        }
        drop(places);
        assert_eq!(pool.lock().len(), 1);
    }
}
