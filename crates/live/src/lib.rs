//! Pure: view of a running measurement on a full terminal, for `--live`.
//!
//! [`Live`] takes the events that also make the lines of an ordinary terminal; [`render`] draws it at any size. Keys,
//! signals and the terminal itself are the command's. Draws no conclusion: rates, losses and places come with the
//! events, and the path is that of `report`.
//!
//! Invariant: nothing is cut. Texts wrap; a panel that is too small for its text scrolls, and shows that there is more.
#![forbid(unsafe_code)]

mod charts;
mod draw;
mod panels;
mod state;
#[cfg(test)]
mod tests;

pub use draw::{MIN_HEIGHT, MIN_WIDTH, render};
pub use state::{Live, Scroll};
