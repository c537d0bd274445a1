//! Loss that is there at every load: lowering the load does not cure it, so a goal below it is
//! out of reach and searching on would only measure chance.

use super::config::{SearchConfig, SearchGoal};
use super::history::History;
use super::shortfall::Loss;
use linerate_model::{BitRate, Ratio};
use statrs::distribution::{Binomial, DiscreteCDF};
use std::time::Duration;

/// What the trials say of loss that does not depend on load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Floor {
    /// Loss does not depend on the load, and is not below the goal.
    AboveGoal(Loss),
    /// It is below the goal.
    BelowGoal,
    /// Loss falls with the load, or there is none.
    Absent,
    /// Too few packets at low load to tell.
    Unknown,
}

/// What to do about a load that misses its goal by loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Advice {
    /// The goal is out of reach.
    GiveUp(Loss),
    /// Make this trial and ask again.
    Probe {
        /// Load to offer.
        load: BitRate,
        /// How long.
        duration: Duration,
    },
    /// Look at lower loads; what is lost says nothing of how much lower.
    Bisect,
    /// Look at lower loads.
    SearchOn,
}

/// Loads up to this share of the highest forwarding rate are below saturation.
const LOW_SHARE: f64 = 0.75;
/// Where to make a trial when there are too few packets there, as a share of the same: low,
/// and high enough for many packets.
const PROBE_SHARE: f64 = 0.5;
/// Loads up to this share of one that misses the goal are far below it: a step of the ramp, with its dither.
const FAR_SHARE: f64 = 0.27;
/// Where to make a trial at most when there are too few packets there.
const FAR_PROBE_SHARE: f64 = 0.25;
/// Fewer expected losses at low load than this cannot show that there are too few.
const EXPECTED_LEAST: f64 = 5.0;
/// A trial far below the goal aims at so many, as the ratio is known from few losses.
const EXPECTED_AIM: f64 = 10.0;
/// One lossy trial at low load may be an accident that hit many packets at once.
const LOSSY_LEAST: u32 = 2;
/// Chance of taking a loss that does not depend on load for one that does.
const FALSE_ALARM: f64 = 0.01;
/// Trials below saturation for one goal, and then so many far below the load that misses it.
const PROBE_LIMIT: u32 = 3;
/// The part of the time budget that one of the latter may take, if that is more than a full-length trial.
const FAR_TIME_PART: u32 = 12;

/// What to do about `upper`, which misses its goal by loss, after `probes` trials that were advised here.
///
/// Loads below saturation are compared with all up to it: there, packets are many and trials short. A receiver that
/// stands still now and then loses the same share over much of that range, and nothing where its buffer holds what
/// comes meanwhile, so loads far below `upper` have to lose as much, too, unless showing that takes too long.
pub(super) fn advise(
    history: &History,
    config: &SearchConfig,
    goal: &SearchGoal,
    upper: BitRate,
    probes: u32,
) -> Advice {
    let peak = history.peak_forwarding();
    if upper.as_f64() > peak {
        return Advice::SearchOn;
    }
    let below_saturation = examine(history, goal, peak * LOW_SHARE, peak);
    let loss = match below_saturation {
        Floor::AboveGoal(loss) => loss,
        Floor::Unknown if probes < PROBE_LIMIT => {
            return Advice::Probe {
                // One load for all probes, so that every goal profits from each.
                load: BitRate::from_f64(peak * PROBE_SHARE).max(config.min_load),
                duration: config.full_length(goal),
            };
        }
        Floor::Unknown | Floor::BelowGoal | Floor::Absent => return Advice::SearchOn,
    };
    match examine(history, goal, upper.as_f64() * FAR_SHARE, upper.as_f64()) {
        Floor::AboveGoal(loss) => Advice::GiveUp(loss),
        Floor::BelowGoal => Advice::SearchOn,
        Floor::Absent => Advice::Bisect,
        Floor::Unknown if probes < 2 * PROBE_LIMIT => {
            far_probe(history, config, goal, upper).unwrap_or(Advice::GiveUp(loss))
        }
        Floor::Unknown => Advice::GiveUp(loss),
    }
}

/// Whether the trials up to `low` lose as large a share of their packets as all up to `high`, in bit/s.
fn examine(history: &History, goal: &SearchGoal, low: f64, high: f64) -> Floor {
    let (all, low) = (Tally::up_to(history, high), Tally::up_to(history, low));
    let Some(lowest_load) = all.lowest_load else {
        return Floor::Absent;
    };
    let share = low.sent / all.sent;
    if all.lost * share < EXPECTED_LEAST {
        return Floor::Unknown;
    }
    let too_few = binomial_at_most(low.lost, all.lost, share) < FALSE_ALARM;
    // Two standard deviations of a Poisson count: a floor at the goal itself is no chance to meet it.
    let at_most = (all.lost + 2.0 * all.lost.sqrt()) / all.sent;
    if too_few {
        Floor::Absent
    } else if at_most < goal.loss_goal.get() {
        Floor::BelowGoal
    } else if low.lossy_trials < LOSSY_LEAST {
        Floor::Unknown
    } else {
        Floor::AboveGoal(Loss {
            ratio: all.ratio(),
            lowest_load,
        })
    }
}

/// The trial at the lowest load at which the loss seen up to `upper` would show in the time there is for it.
fn far_probe(
    history: &History,
    config: &SearchConfig,
    goal: &SearchGoal,
    upper: BitRate,
) -> Option<Advice> {
    let seen = Tally::up_to(history, upper.as_f64());
    let least = config.full_length(goal);
    let most = least.max(config.time_budget / FAR_TIME_PART);
    // In as many trials as have to be lossy.
    let bits = EXPECTED_AIM / f64::from(LOSSY_LEAST) / seen.ratio().get() * seen.bits / seen.sent;
    let load = BitRate::from_f64(bits / most.as_secs_f64())
        .max(config.min_load)
        .min(BitRate::from_f64(upper.as_f64() * FAR_PROBE_SHARE));
    let duration = Duration::try_from_secs_f64(bits / load.as_f64())
        .ok()?
        .max(least);
    (load >= config.min_load && duration <= most).then_some(Advice::Probe { load, duration })
}

/// What the trials up to a load sent and lost.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Packets.
    lost: f64,
    /// Packets.
    sent: f64,
    /// L4 payload of those sent.
    bits: f64,
    lossy_trials: u32,
    /// The lowest load at which a packet was lost.
    lowest_load: Option<BitRate>,
}

impl Tally {
    fn up_to(history: &History, load: f64) -> Self {
        let mut tally = Self::default();
        let outcomes = history.outcomes();
        for outcome in outcomes.take_while(|outcome| outcome.intended_load.as_f64() <= load) {
            let lost = outcome.lost();
            tally.lost += lost;
            tally.sent += outcome.sent.as_f64();
            tally.bits += outcome.offered_load.as_f64() * outcome.duration.as_secs_f64();
            if lost > 0.0 {
                tally.lossy_trials += 1;
                tally.lowest_load.get_or_insert(outcome.intended_load);
            }
        }
        tally
    }

    fn ratio(self) -> Ratio {
        Ratio::clamped(self.lost / self.sent)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "packet counts, never negative, far below 2^53"
)]
fn binomial_at_most(successes: f64, trials: f64, share: f64) -> f64 {
    Binomial::new(share.clamp(0.0, 1.0), trials.round() as u64)
        .map_or(1.0, |binomial| binomial.cdf(successes.round() as u64))
}
