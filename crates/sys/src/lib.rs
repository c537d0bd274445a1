//! All unsafe code and all clocks: typed socket options, rings, namespaces, affinity.
//!
//! Thin and typed: one function per kernel facility, no policy. Other rooms see no raw pointer,
//! no `errno` integer and no untyped file descriptor.

pub mod affinity;
pub mod clock;
pub mod failure;
pub mod memory;
pub mod sockopt;
pub mod tcp;
pub mod tcp_info;
pub mod thread;
pub mod udp;
