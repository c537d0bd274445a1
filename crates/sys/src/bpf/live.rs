//! Frames that the kernel makes for a program, and carries out as the program says (`BPF_PROG_RUN` with
//! `BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18).
//!
//! # References
//! - `Documentation/bpf/bpf_prog_run.rst`, section "Running XDP programs in live frame mode"

use super::{XdpProgram, bpf_answering, number};
use std::io;

/// Most frames of one batch.
pub const MAX_LIVE_BATCH: u32 = 256;

/// Longest frame that fits the page in which the kernel makes each, with headroom (256 bytes) and what it keeps of a
/// frame, bytes without FCS.
pub const LIVE_FRAME_BYTES: usize = 3_200;

impl XdpProgram {
    /// Runs the program `repeat` times on frames that start as copies of `frame`, in batches of `batch`, on the calling
    /// thread's core. A frame that the program redirects is carried out; one for which it returns `XDP_DROP` is used
    /// again. A batch is not interrupted; a signal ends the call between two of them (`EINTR`). An error of
    /// `EINVAL` before the program ran: this kernel has no live frames.
    pub fn run_live(&self, frame: &[u8], repeat: u32, batch: u32) -> io::Result<()> {
        let size = u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut attributes = ProgRun {
            prog_fd: number(&self.0),
            data_size_in: size,
            data_in: frame.as_ptr().expose_provenance() as u64,
            repeat,
            flags: LIVE_FRAMES,
            batch_size: batch,
            ..ProgRun::default()
        };
        // SAFETY: `ProgRun` is laid out as this command's attributes; the kernel only reads `frame`, of as many bytes
        // as it is told, which lives until the call returns, and all fields of `attributes` are plain numbers.
        unsafe { bpf_answering(PROG_RUN, &mut attributes) }.map(drop)
    }
}

/// The `test` part of uapi's `union bpf_attr`.
#[repr(C)]
#[derive(Default)]
struct ProgRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    padding: u32,
}

const _: () = assert!(size_of::<ProgRun>() == 80);

const PROG_RUN: libc::c_long = 10;
const LIVE_FRAMES: u32 = 1 << 1;
