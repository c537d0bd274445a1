//! Arguments that several commands share: groups of options, and how values are read.

pub(crate) mod live;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod stored;
pub(crate) mod target;
pub(crate) mod values;
