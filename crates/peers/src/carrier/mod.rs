//! A byte stream over a console: a serial line on which bytes are lost, changed and added, by noise, by an echo, and by
//! what a kernel prints in the middle of all else.
//!
//! Does no I/O and reads no clock; what the stream carries is no business of its own. Invariant: the bytes that come out
//! are those that went in, in their order, or the link ends.
//!
//! ```text
//!  client                                       server
//!    | Open, number 0 ---------------------------> |  a new stream
//!    | <------------------------- Acknowledge 1    |
//!    | Data 1, Data 2 (damaged), Data 3 ---------> |
//!    | <-------------------- Acknowledge 2, Gap 2  |  3 came, and 2 did not
//!    | Data 2, Data 3 ---------------------------> |
//!    | Close 4 ----------------------------------> |  the stream's end; the same the other way
//!  either end, after IDLE without a word:  Acknowledge
//!  either end, after GONE without a frame: the link is over
//! ```
//!
//! A frame is text, so that it passes terminals that eat control characters, and says which way it goes, so that an
//! echo is told from an answer. It is believed by its checksum alone; whatever else stands between two marks is passed
//! over. Frames that were not acknowledged are sent again from the first one on (go-back-N). What is carried is
//! compressed: messages of JSON take a fifth of the line's time so.

mod frame;
mod link;
mod packing;
#[cfg(test)]
mod tests;

pub use frame::End;
pub use link::{Carried, Carrier};
