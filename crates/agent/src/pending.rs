//! Limits on connections that are not admitted yet, and on streams of which only the opening is known: in total and per
//! address.

use crate::per_address::{Counted, PerAddress};
use linerate_model::agent::AdmissionLimit;
use linerate_model::spec::MAX_THREADS;
use std::net::IpAddr;

/// Limit over all addresses.
const MAX_PENDING: u32 = 512;

/// Limit per address: the streams of a test, and some reserve.
const MAX_PENDING_PER_ADDRESS: u32 = MAX_THREADS as u32 * 5 / 4;

/// Pending connections by address.
#[derive(Default)]
pub(crate) struct Pending(PerAddress);

impl Pending {
    /// Adds one from `from`, until dropped; or returns the limit that is reached.
    pub(crate) fn enter(&self, from: IpAddr) -> Result<Counted<'_>, AdmissionLimit> {
        let (place, counts) = self.0.one_more(from);
        if counts.total > MAX_PENDING {
            return Err(AdmissionLimit::Pending { limit: MAX_PENDING });
        }
        if counts.of_address > MAX_PENDING_PER_ADDRESS {
            return Err(AdmissionLimit::PendingOfAddress {
                limit: MAX_PENDING_PER_ADDRESS,
            });
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn fill(pending: &Pending, last: u8, count: u32) -> Vec<Counted<'_>> {
        let from = IpAddr::from(Ipv4Addr::new(192, 0, 2, last));
        (0..count)
            .map(|_| pending.enter(from).unwrap_or_else(|why| panic!("{why:?}")))
            .collect()
    }

    #[test]
    fn one_address_cannot_take_all_places_and_all_have_an_end() {
        let pending = Pending::default();
        let first = fill(&pending, 1, MAX_PENDING_PER_ADDRESS);
        assert!(
            pending
                .enter(IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)))
                .is_err()
        );
        let _second = fill(&pending, 2, MAX_PENDING_PER_ADDRESS);
        let _third = fill(&pending, 3, MAX_PENDING_PER_ADDRESS);
        let _fourth = fill(&pending, 4, MAX_PENDING - 3 * MAX_PENDING_PER_ADDRESS);
        let fifth = IpAddr::from(Ipv4Addr::new(192, 0, 2, 5));
        assert!(pending.enter(fifth).is_err());
        drop(first);
        assert!(pending.enter(fifth).is_ok());
        assert_eq!(pending.0.addresses(), 3);
    }
}
