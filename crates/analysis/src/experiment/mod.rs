//! Experiments on what a run's verdict claims: which two tests to run, and what their trials say.
//!
//! An experiment compares pairs of short trials, a baseline and the same test with one change, in
//! random order within each pair, so that what drifts between pairs cancels. A prediction is true
//! when the whole 95 % interval over the pairs is inside its bounds, false when the whole interval is
//! outside, and otherwise not shown. Does no I/O: `studies` runs what is designed here.
//!
//! Looking after [`FIRST_LOOK`] pairs and after each one more up to [`MAX_PAIRS`] costs certainty:
//! with the truth right on a bound, about 5 % of experiments (not 2.5 %) call a prediction true, and as
//! many call it false; clear of the bound by twice the spread between pairs, less than 1 in 1000
//! (simulated with log-normal noise, see the tests).
//!
//! # References
//! - Student's interval on the logarithms of pair ratios: see [`crate::statistics::paired_ratio`]

mod design;
mod judge;
mod observe;
mod prepare;

#[cfg(test)]
mod tests;

pub use design::{Design, NotRun, may_help, relieved, repeatable};
pub(crate) use design::{short_test, wire_that_carries_more, wire_that_drops_nothing};
pub(crate) use judge::figures;
pub use judge::{Next, describe, describe_relief, judge, next};
pub use observe::observe;
pub(crate) use prepare::{changed_test, took_effect};

/// Pairs before the first look at the answer: fewer have intervals that are too wide for most noise.
pub const FIRST_LOOK: u32 = 4;
/// Pairs after which an experiment ends undecided.
pub const MAX_PAIRS: u32 = 6;
/// Pairs that are made at most, with those that are left out.
const MAX_TRIES: u32 = 10;
/// Pairs that are made where each had to be left out: what spoils three in a row spoils the next.
const VAIN_TRIES: u32 = 3;
