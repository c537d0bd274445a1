//! A bucket of tokens: a burst passes at any rate, and only what follows it is lost.

use super::Evidence;
use crate::thresholds::bucket::{CHANCE, LONGER, SAME_LOAD};
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Direction;

/// Two trials that differ in length, of which the shorter passed whole at a load at which the
/// longer lost: only something that counts volume does that without a queue.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Bucket {
    /// Load that passed whole, bit/s of L4 payload.
    pub(in crate::causes) passed_load: f64,
    /// Packets that passed at it.
    pub(in crate::causes) passed: u64,
    /// Load of the longer trial that lost, about as high at most.
    pub(in crate::causes) lost_load: f64,
    /// Share that it lost.
    pub(in crate::causes) loss: f64,
}

/// Whether trials of `run` in `direction` emptied a bucket of tokens, or filled a queue.
pub(crate) fn has_bucket(run: &Run, direction: Direction) -> bool {
    Bucket::from_evidence(&Evidence::new(run, direction, &[])).is_some()
}

impl Bucket {
    /// The plainest such pair of trials, if there is one.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let pairs = evidence.trials().iter().flat_map(|passed| {
            let others = evidence.trials().iter();
            others.filter_map(|lossy| Self::from_pair(passed, lossy))
        });
        pairs.max_by(|a, b| a.loss.total_cmp(&b.loss))
    }

    fn from_pair(passed: &Trial, lossy: &Trial) -> Option<Self> {
        let here = passed.packets()?;
        let whole = here.sent?;
        let passed_load = passed.offered_load?.as_f64();
        let lost_load = lossy.offered_load?.as_f64();
        let loss = lossy.loss_ratio()?.get();
        // At a load that is lower by a little, what exceeded the path's rate would not have been lost.
        let fits = ((1.0 - loss) * (lost_load / passed_load).max(1.0)).min(1.0);
        let chance = fits.powf(whole.as_f64());
        let is_bucket = here.lost?.get() == 0
            && passed_load >= lost_load * SAME_LOAD
            && passed.duration?.mul_f64(LONGER) <= lossy.duration?
            && chance < CHANCE;
        is_bucket.then_some(Self {
            passed_load,
            passed: whole.get(),
            lost_load,
            loss,
        })
    }
}
