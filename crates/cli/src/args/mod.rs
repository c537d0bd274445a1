//! Arguments that several commands share: groups of options, and how values are read.

pub(crate) mod closed_loop;
pub(crate) mod limits;
pub(crate) mod live;
pub(crate) mod open_loop;
pub(crate) mod output;
pub(crate) mod stored;
pub(crate) mod target;
pub(crate) mod traffic;
pub(crate) mod values;
