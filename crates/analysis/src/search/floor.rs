//! Loss that is there at every load: lowering the load does not cure it, so a goal below it is
//! out of reach and searching on would only measure chance.

use super::config::SearchGoal;
use super::history::History;
use linerate_model::{BitRate, Ratio};
use statrs::distribution::{Binomial, DiscreteCDF};

/// What the trials below saturation say of the loss there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Floor {
    /// Loss does not depend on the load, and is not below the goal: its ratio.
    AboveGoal(Ratio),
    /// There is none, or it falls with the load, or it is below the goal.
    Absent,
    /// Too few packets at low load to tell.
    Unknown,
}

/// Loads up to this share of the highest forwarding rate are low.
const LOW_SHARE: f64 = 0.75;
/// Where to make a trial when there are too few packets at low load, as a share of the same: low,
/// and high enough for many packets.
const PROBE_SHARE: f64 = 0.5;
/// Fewer expected losses at low load than this cannot show that there are too few.
const EXPECTED_LEAST: f64 = 5.0;
/// One lossy trial at low load may be an accident that hit many packets at once.
const LOSSY_LEAST: u32 = 2;
/// Chance of taking a loss that does not depend on load for one that does.
const FALSE_ALARM: f64 = 0.01;

/// Whether the loss that makes `upper` miss its goal is there at every load.
pub(super) fn examine(history: &History, goal: &SearchGoal, upper: BitRate) -> Floor {
    let peak = history.peak_forwarding();
    if upper.as_f64() > peak {
        return Floor::Absent;
    }
    let (mut low, mut all) = (Tally::default(), Tally::default());
    let mut lossy_low = 0;
    for outcome in history.outcomes() {
        let load = outcome.intended_load.as_f64();
        if load <= peak * LOW_SHARE {
            low.add(outcome.lost(), outcome.sent.as_f64());
            lossy_low += u32::from(outcome.lost() > 0.0);
        }
        if load <= peak {
            all.add(outcome.lost(), outcome.sent.as_f64());
        }
    }
    if all.lost <= 0.0 {
        return Floor::Absent;
    }
    let share = low.sent / all.sent;
    if all.lost * share < EXPECTED_LEAST {
        return Floor::Unknown;
    }
    let too_few = binomial_at_most(low.lost, all.lost, share) < FALSE_ALARM;
    // Two standard deviations of a Poisson count: a floor at the goal itself is no chance to meet it.
    let at_most = (all.lost + 2.0 * all.lost.sqrt()) / all.sent;
    if too_few || at_most < goal.loss_goal.get() {
        Floor::Absent
    } else if lossy_low < LOSSY_LEAST {
        Floor::Unknown
    } else {
        Floor::AboveGoal(Ratio::clamped(all.lost / all.sent))
    }
}

/// The load at which another trial tells most about loss at low load.
pub(super) fn probe_load(history: &History) -> BitRate {
    BitRate::from_f64(history.peak_forwarding() * PROBE_SHARE)
}

/// Packets lost and sent.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    lost: f64,
    sent: f64,
}

impl Tally {
    fn add(&mut self, lost: f64, sent: f64) {
        self.lost += lost;
        self.sent += sent;
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
