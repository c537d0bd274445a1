//! All unsafe code and all clocks: typed socket options, rings, namespaces, affinity.
//!
//! Thin and typed: one function per kernel facility, no policy. Other rooms see no raw pointer,
//! no `errno` integer and no untyped file descriptor.
#![expect(
    unsafe_code,
    reason = "the one crate that may; each block says why it is sound"
)]

pub mod affinity;
pub mod allocations;
pub mod bounded;
pub mod bpf;
pub mod clock;
mod control;
pub mod ending;
pub mod epoll;
mod error_queue;
pub mod ethtool;
pub mod failure;
pub mod host_files;
pub mod interface;
mod mapping;
pub mod memory;
pub mod netlink;
pub mod netns;
pub mod packet;
pub mod perf;
pub mod piped;
pub mod privilege;
pub mod process;
pub mod random;
pub mod serial;
pub mod shared;
pub mod sockopt;
pub mod tap;
pub mod tcp;
pub mod tcp_info;
pub mod thread;
pub mod timestamps;
pub mod tsc;
pub mod udp;
pub mod uring;
pub mod wake;
pub mod xsk;
pub mod zero_copy;
