//! Sending frames in batches.

use super::{bind, open_socket, set_option};
use crate::netlink::InterfaceIndex;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// Maximum frames per call. 32 reduces a system call's cost to a few per cent of a frame's and takes under 50 µs, the
/// delay that a later frame may see.
pub const BATCH: usize = 32;

/// Sends frames on an interface, bypassing its queueing discipline.
#[derive(Debug)]
pub struct FrameSender(OwnedFd);

impl FrameSender {
    /// For interface `index` of the calling thread's namespace.
    pub fn open(index: InterfaceIndex) -> io::Result<Self> {
        const NOTHING_RECEIVED: u16 = 0;
        let socket = open_socket()?;
        set_option(&socket, PACKET_QDISC_BYPASS, 1)?;
        bind(&socket, index, NOTHING_RECEIVED)?;
        Ok(Self(socket))
    }

    /// Sends the first frames of `frames`, at most [`BATCH`], each from its destination MAC address on and without FCS.
    /// Returns how many were sent; an error is about the first.
    pub fn send(&self, frames: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut headers = [EMPTY; BATCH];
        let count = frames.len().min(BATCH);
        for (header, frame) in headers.iter_mut().zip(frames) {
            // IoSlice has the layout of iovec (std guarantees it); the kernel only reads it.
            header.msg_hdr.msg_iov = ptr::from_ref(frame).cast_mut().cast();
            header.msg_hdr.msg_iovlen = 1;
        }
        let length = u32::try_from(count).expect("invariant: BATCH is small");
        // SAFETY: the first `length` headers each name one iovec of `frames`, which outlives
        // the call, and have no address and no control data.
        let sent = unsafe { libc::sendmmsg(self.0.as_raw_fd(), headers.as_mut_ptr(), length, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// A message without address, data and control data.
// SAFETY: all-zero bytes are null pointers and zero lengths, which every field allows.
const EMPTY: libc::mmsghdr = unsafe { std::mem::zeroed() };

/// `linux/if_packet.h`.
const PACKET_QDISC_BYPASS: libc::c_int = 20;
