//! The intervention: a group alone, and parts of it alone, its core among them, in turns. Only flows of the group differ
//! between them, so a flow that gets more in its half was held back by the others.

use super::members::Members;
use super::reference::{Rates, References};
use super::{LEAST_GAIN, READINGS};
use linerate_analysis::statistics::{Moments, USUAL_CONFIDENCE, mean};
use linerate_model::estimate::{Estimate, Interval};
use linerate_model::mesh::{CrowdPurpose, GainRatio, LinkCertainty};
use linerate_model::random::Random;
use std::ops::Range;

/// Crowds of one reading: all, two halves, three quarters, and the core.
const CROWDS: usize = 5;
/// Crowds of one reading in which each flow runs without some others once: the halves.
const HALVES: Range<usize> = 1..3;
/// A flow of a link gets at least so many times as much without the other half. Where it is the direction of a connection's
/// acknowledgements that is full, its data lose some 10 %.
const LEAST_MEMBER_GAIN: f64 = 1.15;
/// Two flows may meet on one of two links by chance in every reading (ECMP).
const FEWEST_PROVEN: usize = 3;
/// Root mean square of the logarithm by which the sums of a link's flows may miss what one link carries: TCP fills a link to
/// some 3 %, however unevenly its flows share it; two links that are taken for one, or of which each test takes another
/// (ECMP), miss by more.
const MOST_DEVIATION: f64 = 0.1;

/// What an intervention showed.
#[derive(Debug)]
pub(super) enum Outcome {
    /// These flows share a link.
    Link {
        flows: Vec<usize>,
        capacity: Estimate,
        certainty: LinkCertainty,
        gain: GainRatio,
    },
    /// They do not.
    Refuted,
    /// They hold each other back, and their sums are not those of one link.
    Unsteady,
}

/// The intervention under way.
#[derive(Debug)]
pub(super) struct Confirmation {
    flows: Vec<usize>,
    /// The fewest of them that were seen to fill one link: they carry as much as all.
    core: Vec<usize>,
    /// The half that is left out next, or was.
    half: Vec<usize>,
    /// Those of each reading, one after the other.
    crowds: Vec<Rates>,
}

impl Confirmation {
    /// Of a group whose core was seen to fill one link.
    pub(super) fn new(members: Members) -> Self {
        Self {
            flows: members.all,
            core: members.core,
            half: Vec::new(),
            crowds: Vec::new(),
        }
    }

    /// The group.
    pub(super) fn flows(&self) -> &[usize] {
        &self.flows
    }

    /// The flows to run next.
    pub(super) fn next(&mut self, random: &mut Random) -> (Vec<usize>, CrowdPurpose) {
        let mut active = self.flows.clone();
        match self.crowds.len() % CROWDS {
            0 => {
                random.shuffle(&mut active);
                self.half = active[..active.len() / 2].to_vec();
                active.sort_unstable();
                return (active, CrowdPurpose::Group);
            }
            1 => active.retain(|flow| self.half.contains(flow)),
            2 => active.retain(|flow| !self.half.contains(flow)),
            3 => active.clone_from(&self.core),
            // What fills the link without the others, or does not if they are of another.
            _ => {
                random.shuffle(&mut active);
                active.truncate(active.len() - active.len().div_ceil(4));
                active.sort_unstable();
            }
        }
        (active, CrowdPurpose::WithoutOthers)
    }

    /// Takes their rates; the outcome after the last.
    pub(super) fn record(&mut self, rates: &Rates, reference: &References) -> Option<Outcome> {
        self.crowds.push(rates.clone());
        (self.crowds.len() == READINGS * CROWDS).then(|| self.outcome(reference))
    }

    /// The crowds of each reading.
    fn readings(&self) -> impl Iterator<Item = &[Rates]> {
        self.crowds.chunks_exact(CROWDS)
    }

    fn outcome(&self, reference: &References) -> Outcome {
        let gain = |flow: &usize| {
            let gains = self.readings().filter_map(|crowds| gain(*flow, crowds));
            average(gains).unwrap_or_default()
        };
        let mut flows = self.flows.clone();
        flows.retain(|flow| gain(flow) >= LEAST_MEMBER_GAIN.ln());
        if flows.len() < 2 {
            return Outcome::Refuted;
        }
        let Some(flows) = self.of_one_link(flows, reference) else {
            return Outcome::Unsteady;
        };
        let sums: Vec<f64> = self.sums(&flows).collect();
        let (Some(gain), Ok(mut capacity)) = (self.gain(&flows), mean(&sums, USUAL_CONFIDENCE))
        else {
            return Outcome::Refuted;
        };
        capacity.interval = capacity.interval.map(|interval| Interval {
            low: interval.low.max(0.0),
            ..interval
        });
        let excludes_none = gain.interval.is_some_and(|interval| interval.low > 1.0);
        let is_proven = excludes_none && gain.point >= LEAST_GAIN && flows.len() >= FEWEST_PROVEN;
        let certainty = if is_proven {
            LinkCertainty::Proven
        } else {
            LinkCertainty::Suspected
        };
        Outcome::Link {
            flows,
            capacity,
            certainty,
            gain,
        }
    }

    /// What the flows carried together while all were active.
    fn sums(&self, flows: &[usize]) -> impl Iterator<Item = f64> {
        self.readings()
            .filter_map(|crowds| flows.iter().map(|flow| crowds[0].get(flow)).sum())
    }

    /// Leaves out flows until the sums are those of one link; `None` if they never are.
    fn of_one_link(&self, mut flows: Vec<usize>, reference: &References) -> Option<Vec<usize>> {
        let mut deviation = self.deviation(&flows, reference)?;
        while deviation > MOST_DEVIATION && flows.len() > 2 {
            let without = |place: usize| {
                let mut rest = flows.clone();
                rest.remove(place);
                Some((self.deviation(&rest, reference)?, rest))
            };
            let rests = (0..flows.len()).filter_map(without);
            let best = rests.min_by(|a, b| a.0.total_cmp(&b.0))?;
            if best.0 >= deviation {
                return None;
            }
            (deviation, flows) = best;
        }
        (deviation <= MOST_DEVIATION).then_some(flows)
    }

    /// By how much the sums of these flows miss what one link carries: its capacity, or what its active flows carry alone,
    /// whichever is less. Root mean square of the logarithm.
    fn deviation(&self, flows: &[usize], reference: &References) -> Option<f64> {
        let capacity = average(self.sums(flows))?;
        let miss = |rates: &Rates| {
            let (mut sum, mut alone) = (0.0, 0.0);
            for flow in flows {
                if let Some(rate) = rates.get(flow) {
                    sum += rate;
                    alone += reference.rate(*flow)?;
                }
            }
            (sum > 0.0).then(|| (sum / capacity.min(alone)).ln().powi(2))
        };
        average(self.crowds.iter().filter_map(miss)).map(f64::sqrt)
    }

    /// The gain of the group: of each reading the mean over its flows, since flows of one crowd are not independent.
    fn gain(&self, flows: &[usize]) -> Option<GainRatio> {
        let of_reading =
            |crowds: &[Rates]| average(flows.iter().filter_map(|flow| gain(*flow, crowds)));
        let logs: Vec<f64> = self.readings().filter_map(of_reading).collect();
        let estimate = mean(&logs, USUAL_CONFIDENCE).ok()?;
        let count = u64::try_from(logs.len()).unwrap_or(u64::MAX);
        Some(GainRatio {
            point: estimate.point.exp(),
            interval: estimate.interval.map(|interval| Interval {
                low: interval.low.exp(),
                high: interval.high.exp(),
            }),
            with_others: count,
            without_others: count,
        })
    }
}

/// Logarithm of how much more a flow got without the other half, in the crowds of one reading.
fn gain(flow: usize, crowds: &[Rates]) -> Option<f64> {
    let half = crowds[HALVES].iter().find_map(|rates| rates.get(&flow))?;
    Some((half / crowds[0].get(&flow)?).ln())
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    Moments::from_samples(&values.collect::<Vec<_>>()).map(|moments| moments.mean)
}
