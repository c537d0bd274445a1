//! Streams that are tests of their own: their number per address.

use crate::per_address::{Counted, PerAddress};
use linerate_model::spec::MAX_THREADS;
use std::net::IpAddr;

/// Number of streams by address.
#[derive(Default)]
pub(crate) struct Addresses(PerAddress);

impl Addresses {
    /// Counts one more stream; returns the number of addresses before, or a value above the limit if this address has
    /// too many streams.
    pub(crate) fn one_more(&self, from: IpAddr) -> (Counted<'_>, u32) {
        let (counted, counts) = self.0.one_more(from);
        // A client that ends a test with all its streams begins the next before the old ones are removed.
        let before = if counts.of_address > u32::from(MAX_THREADS) * 4 {
            u32::MAX
        } else {
            counts.other_addresses
        };
        (counted, before)
    }
}
