//! Connections and flows that have not been admitted: how many there may be, in all and of one address.

use linerate_model::spec::MAX_STREAMS;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Most of all addresses.
const MAX_PENDING: u32 = 512;

/// Most of one address: the streams of a test that ends and of the one that follows it.
const MAX_PENDING_PER_ADDRESS: u32 = MAX_STREAMS as u32 * 2;

/// What waits, by address.
#[derive(Default)]
pub(crate) struct Pending(Mutex<BTreeMap<IpAddr, u32>>);

/// Counts what waits as long as it lives.
pub(crate) struct Place<'a> {
    pending: &'a Pending,
    from: IpAddr,
}

impl Pending {
    /// A place for one more from `from`; the reason if there is none.
    pub(crate) fn enter(&self, from: IpAddr) -> Result<Place<'_>, String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total: u32 = all.values().sum();
        if total >= MAX_PENDING {
            return Err(format!("{total} connections wait to be admitted already"));
        }
        let of_address = all.entry(from).or_default();
        if *of_address >= MAX_PENDING_PER_ADDRESS {
            return Err(format!(
                "{of_address} connections of this address wait to be admitted already"
            ));
        }
        *of_address += 1;
        drop(all);
        Ok(Place {
            pending: self,
            from,
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self
            .pending
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn fill(pending: &Pending, last: u8, count: u32) -> Vec<Place<'_>> {
        let from = IpAddr::from(Ipv4Addr::new(192, 0, 2, last));
        (0..count)
            .map(|_| pending.enter(from).unwrap_or_else(|why| panic!("{why}")))
            .collect()
    }

    #[test]
    fn one_address_cannot_take_all_places_and_all_have_an_end() {
        let pending = Pending::default();
        let first = fill(&pending, 1, MAX_PENDING_PER_ADDRESS);
        assert!(pending.enter(first[0].from).is_err());
        let _second = fill(&pending, 2, MAX_PENDING - MAX_PENDING_PER_ADDRESS);
        let third = IpAddr::from(Ipv4Addr::new(192, 0, 2, 3));
        assert!(pending.enter(third).is_err());
        drop(first);
        assert!(pending.enter(third).is_ok());
        assert_eq!(pending.0.lock().unwrap().len(), 1);
    }
}
