//! One socket by `io_uring`: a receive is always under way, a send takes its turn, and completions are
//! looked for in memory that the kernel writes.
//!
//! The socket, both buffers and the ring belong to one value. The kernel writes into the incoming buffer
//! only between giving it a receive and taking that receive's completion, and the buffer is shown only in
//! between; the outgoing buffer it only reads. A value that is dropped while a
//! receive is under way cancels it first, and where the kernel does not confirm that, leaves the buffers to
//! it for ever.
//!
//! The ring is made by the thread that opens it and used by the first one that sends or receives.
//!
//! # References
//! - `io_uring_setup(2)`: `IORING_SETUP_SINGLE_ISSUER`, `IORING_SETUP_DEFER_TASKRUN`, `IORING_SETUP_SQPOLL`

// The supported architectures are also listed in Cargo.toml.
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )),
    path = "absent.rs"
)]
mod ring;

pub use ring::{UringSocket, available};

use std::fs;

/// Who passes submissions to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// The calling thread, by system calls.
    Calls,
    /// A kernel thread that polls the queue (`IORING_SETUP_SQPOLL`).
    KernelThread,
}

/// Maximum payload per call: the longest datagram, rounded up.
pub const ROOM: usize = 1 << 16;

/// `kernel.io_uring_disabled`: 1 denies it to unprivileged processes, 2 to all. `None` where this kernel has no such
/// setting.
pub fn disabled() -> Option<u8> {
    let text = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?;
    text.trim().parse().ok()
}
