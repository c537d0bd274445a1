//! The search for saturation: at which load does a goal stop being met?
//!
//! A search is a pure value: [`Search::next_step`] says which trial to make, [`Search::record`]
//! takes its outcome. It does no I/O, reads no clock and knows nothing of sockets.
//!
//! # Bounds
//!
//! A load is a lower or upper bound of a goal by the draft's load classification, over all valid
//! trials at that load. A trial is high-loss if its *sustained loss* is above the goal: the loss
//! ratio it would have if it went on for ever, so a queue that was still filling at the end counts
//! (see [`TrialOutcome::sustained_loss`]). A sender that could not offer the load is a reason of
//! its own and never loss. Bounds are reported as the load that was offered.
//!
//! A sender that falls a little short of a load that it has offered before was interrupted. Such trials
//! are repeated, some times; then they are judged by what the path did with what was sent. The lower bound is what
//! was offered on average, the upper one what was intended, so interruptions make bounds wider and not wrong.
//!
//! # Default durations
//!
//! Full-length trials of 1 s, duration sum 5 s, exceed ratio ½: three agreeing trials settle a
//! load, and two of five may be spoilt by an accident. An overload of share `e` for time `T` either
//! overflows a queue (loss) or adds a delay of `e × T`. At the upper load of a 0.5 % interval about
//! the capacity `e` is some 0.23 %, so 1 s adds 2.3 ms: four times what scheduling does to single
//! packets ([`GROWTH_FLOOR`]). Half a second would leave a factor of two; two seconds would double
//! the time.
//! Initial trials of 0.2 s need only find the neighbourhood.
//!
//! # References
//! - Goals, load classification, conditional throughput: RFC 9971
//! - Ramp: in the manner of RFC 9097 §8.1 (fast increase from the lowest load until the path shows
//!   congestion)
//! - Bisection: RFC 2544 §26.1

mod binary;
mod burst;
mod classify;
mod config;
mod curve;
mod floor;
mod from_trial;
mod goal_state;
mod history;
mod mlrsearch;
mod order;
mod outcome;
pub mod plr;
mod ramp;
mod shortfall;
pub mod simulated;

pub use binary::Binary;
pub use classify::{Class, ClassifiedTrial, Leaning, classify, conditional_throughput};
pub use config::{DelayGoal, LoadUnit, SearchConfig, SearchError, SearchGoal};
pub use mlrsearch::{Controller, MlrSearch};
pub use outcome::{
    DelayQuantiles, GROWTH_FLOOR, Judgement, Resolution, SENDER_TOLERANCE, Step, TrialOutcome,
};

use linerate_model::Ratio;
use linerate_model::run::{CurveFacts, GoalResult};

/// A search under way.
pub trait Search: Send {
    /// What to do next. Stays the same until [`record`](Self::record) is called.
    fn next_step(&mut self) -> Step;
    /// Takes the outcome of the trial that [`next_step`](Self::next_step) asked for.
    fn record(&mut self, outcome: TrialOutcome);
    /// Each goal's result as it stands, in the order of the configuration.
    fn goals(&self) -> Vec<GoalResult>;
    /// Notable points of the load curve as it stands.
    fn curve(&self) -> CurveFacts;
    /// How far the search is (never goes back) and what it is doing.
    fn progress(&self) -> (Ratio, String);
    /// What the user should know of the search, one sentence each: goals out of reach and why,
    /// loads that could not be measured.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A way to search.
pub trait SearchKind: Sync {
    /// The name on the command line, in the store and in reports.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// Checks the configuration and starts.
    fn start(&self, config: SearchConfig) -> Result<Box<dyn Search>, SearchError>;
}

/// Every search algorithm, the default first. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn SearchKind] = &[&MlrSearch, &Binary];

/// The algorithm with this id.
pub fn find(id: &str) -> Option<&'static dyn SearchKind> {
    ALL.iter().copied().find(|kind| kind.id() == id)
}

#[cfg(test)]
mod tests;
