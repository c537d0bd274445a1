//! The faults, by what they are made in.

mod first_hour;
mod path;
mod receiver;
mod router;
mod sender;
mod tcp;

use crate::fault::Fault;

/// Every family. A new one: its file, its `mod` line above, its entry here.
pub(crate) static ALL: &[&[Fault]] = &[
    path::FAULTS,
    router::FAULTS,
    sender::FAULTS,
    receiver::FAULTS,
    tcp::FAULTS,
    first_hour::FAULTS,
];
