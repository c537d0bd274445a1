//! Collectors of facts and counters on this host.
#![forbid(unsafe_code)]
