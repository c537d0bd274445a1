//! Pure: statistics, search controller, loss ledger, diagnosis rules, experiments on what they claim.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod bursts;
mod causes;
pub mod changes;
pub mod clocks;
pub mod compare;
pub mod cost;
mod diagnosis;
mod estimates;
pub mod experiment;
mod flow_cache;
mod frame_cost;
mod judge;
pub mod ledger;
mod length_loss;
pub mod load_delay;
mod outage;
mod pair_loss;
pub mod published;
mod readings;
pub mod repetition;
pub mod responsiveness;
mod rise;
pub mod search;
pub mod slope;
pub mod stack;
pub mod statistics;
pub mod study;
mod thresholds;
mod token_bucket;

pub use causes::page as rules_page;
pub use diagnosis::{Counts, NextProbe, Observation, ObservedClass, any_probe, next_probe};
pub use estimates::estimates;
pub use flow_cache::flow_cache;
pub use frame_cost::frame_cost;
pub use judge::{conclude, diagnose};
pub use length_loss::{length_losses, why_bounds_are_wide};
pub use pair_loss::pair_losses;
