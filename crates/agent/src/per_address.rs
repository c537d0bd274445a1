//! Counters in total and by address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Counts by address; zero counts are removed.
#[derive(Default)]
pub(crate) struct PerAddress(Mutex<BTreeMap<IpAddr, u32>>);

/// One count, released on drop.
pub(crate) struct Counted<'a> {
    counts: &'a PerAddress,
    from: IpAddr,
}

/// Counts including the one just added.
pub(crate) struct Counts {
    /// Total.
    pub(crate) total: u32,
    /// Count of its address.
    pub(crate) of_address: u32,
    /// Number of other addresses with a nonzero count.
    pub(crate) other_addresses: u32,
}

impl PerAddress {
    /// The counts as one more from `from` would make them.
    pub(crate) fn with_one_more(&self, from: IpAddr) -> Counts {
        self.one_more(from).1
    }

    /// Adds one from `from`.
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
    /// Number of addresses with a nonzero count.
    pub(crate) fn addresses(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
