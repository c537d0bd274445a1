//! How many of something there are, in all and of one address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Counts by address; an address with none is forgotten.
#[derive(Default)]
pub(crate) struct PerAddress(Mutex<BTreeMap<IpAddr, u32>>);

/// Counts one as long as it lives.
pub(crate) struct Counted<'a> {
    counts: &'a PerAddress,
    from: IpAddr,
}

/// How many there are with the one just counted.
pub(crate) struct Counts {
    /// Of all addresses.
    pub(crate) total: u32,
    /// Of its address.
    pub(crate) of_address: u32,
    /// Addresses other than its own that have some.
    pub(crate) other_addresses: u32,
}

impl PerAddress {
    /// Counts one more from `from`.
    pub(crate) fn one_more(&self, from: IpAddr) -> (Counted<'_>, Counts) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = all.entry(from).or_default();
        *of_address = of_address.saturating_add(1);
        let counts = Counts {
            of_address: *of_address,
            total: all
                .values()
                .fold(0, |sum, count| sum.saturating_add(*count)),
            other_addresses: u32::try_from(all.len() - 1).unwrap_or(u32::MAX),
        };
        drop(all);
        let counted = Counted { counts: self, from };
        (counted, counts)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut all = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.from) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                all.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
impl PerAddress {
    /// Addresses that have some.
    pub(crate) fn addresses(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
