//! Batches of datagrams over a UDP socket, connected or with an address each: `sendmmsg` and `recvmmsg`.
//!
//! Both types own their memory; message headers point into it only during a call, because they
//! are rebuilt before each one. Nothing is allocated after construction.
#![expect(
    unsafe_code,
    reason = "sendmmsg, recvmmsg and their control messages are not in rustix"
)]

mod address;

pub use address::Address;

use crate::control::{Control, messages};
use crate::failure::Failure;
use crate::memory::PageBuffer;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Whether a call may sleep in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// Never sleeps (`MSG_DONTWAIT`).
    No,
    /// Sleeps up to the socket's timeout.
    Yes,
}

/// Datagrams of one length, back to back, given to the kernel in one call.
pub struct SendBatch {
    bytes: PageBuffer,
    payload: usize,
    group: usize,
    headers: Headers,
}

impl SendBatch {
    /// Buffer for `capacity` datagrams of `payload` bytes; `group` of them share one message, which the kernel segments
    /// if `UDP_SEGMENT` is set to `payload` (1: no segmentation).
    pub fn new(capacity: usize, payload: usize, group: usize) -> Self {
        let group = group.max(1);
        let messages = capacity.div_ceil(group);
        Self {
            bytes: PageBuffer::new(capacity * payload, 0),
            payload,
            group,
            headers: Headers::new(messages),
        }
    }

    /// The payloads, back to back.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.bytes_mut()
    }

    /// Sends the first `count` datagrams. Returns how many the kernel accepted, at least one unless `count` is zero;
    /// those behind were not sent.
    pub fn send<Fd: AsFd>(
        &mut self,
        socket: Fd,
        count: usize,
        blocking: Blocking,
    ) -> Result<usize, Failure> {
        let messages = self.prepare(count);
        self.send_messages(socket, messages, blocking)
            .map(|sent| (sent * self.group).min(count))
    }

    /// Sends the first datagrams to an address each, one for each of `to`; not for segmented ones. Returns how many the
    /// kernel accepted, at least one unless there is none.
    pub fn send_to<Fd: AsFd>(
        &mut self,
        socket: Fd,
        to: &[Address],
        blocking: Blocking,
    ) -> Result<usize, Failure> {
        assert_eq!(
            self.group, 1,
            "invariant: a segmented message has one address"
        );
        let messages = self.prepare(to.len());
        for (message, to) in self.headers.messages.iter_mut().zip(to) {
            // The kernel only reads it.
            message.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
            message.msg_hdr.msg_namelen = fit(to.used());
        }
        let sent = self.send_messages(socket, messages, blocking);
        for message in &mut self.headers.messages {
            message.msg_hdr.msg_name = ptr::null_mut();
            message.msg_hdr.msg_namelen = 0;
        }
        sent
    }

    /// Sends the first `messages` messages, which are prepared; returns how many were accepted.
    fn send_messages<Fd: AsFd>(
        &mut self,
        socket: Fd,
        messages: usize,
        blocking: Blocking,
    ) -> Result<usize, Failure> {
        let flags = fit(libc::MSG_NOSIGNAL | dont_wait(blocking));
        let fd = socket.as_fd().as_raw_fd();
        let headers = self.headers.messages[..messages].as_mut_ptr();
        // SAFETY: `prepare` made the first `messages` headers point at live iovecs and bytes of this value, which
        // stay where they are during the call; their addresses are null, or borrowed by `send_to` during the call; `fd`
        // is borrowed and so open.
        let sent = unsafe { libc::sendmmsg(fd, headers, fit(messages), flags) };
        usize::try_from(sent).map_err(|_| Failure::last("sendmmsg"))
    }

    /// Points the headers at the first `count` datagrams; returns the number of messages.
    fn prepare(&mut self, count: usize) -> usize {
        let used = &mut self.bytes.bytes_mut()[..count * self.payload];
        let messages = count.div_ceil(self.group);
        let chunk = (self.group * self.payload).max(1);
        let mut chunks = used.chunks_mut(chunk);
        for index in 0..messages {
            // A message without payload has no chunk.
            self.headers.point(index, chunks.next().unwrap_or_default());
        }
        messages
    }
}

/// One received message and its place in [`RecvBatch::bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Offset of the first byte.
    pub offset: usize,
    /// Bytes received.
    pub length: usize,
    /// Length of each datagram in it except the last, if the kernel joined several (`UDP_GRO`).
    pub segment: Option<usize>,
    /// Datagrams dropped at the socket before this one was queued (`SO_RXQ_OVFL`); absent while there are none.
    pub overflow: Option<u32>,
}

/// Buffers for messages received in one call.
pub struct RecvBatch {
    bytes: PageBuffer,
    slot: usize,
    headers: Headers,
    controls: Box<[Control<CONTROL_LEN>]>,
    /// Room for the senders' addresses; empty unless they are wanted.
    sources: Box<[Address]>,
    received: usize,
    overflow: Option<u32>,
}

impl RecvBatch {
    /// Buffers for `messages` messages of at most `slot` bytes; longer ones are truncated.
    pub fn new(messages: usize, slot: usize) -> Self {
        Self {
            bytes: PageBuffer::new(messages * slot, 0),
            slot,
            headers: Headers::new(messages),
            controls: vec![Control([0; CONTROL_LEN]); messages].into_boxed_slice(),
            sources: Box::default(),
            received: 0,
            overflow: None,
        }
    }

    /// These buffers, which also keep the senders' addresses.
    #[must_use]
    pub fn with_sources(self) -> Self {
        let messages = self.headers.messages.len();
        Self {
            sources: vec![Address::EMPTY; messages].into_boxed_slice(),
            ..self
        }
    }

    /// Address of the sender of message `index` of the last call; `None` unless they are wanted.
    pub fn source(&self, index: usize) -> Option<&Address> {
        self.sources[..self.received.min(self.sources.len())].get(index)
    }

    /// Receives messages, waiting for the first one if `blocking`. Returns their number.
    pub fn receive<Fd: AsFd>(&mut self, socket: Fd, blocking: Blocking) -> Result<usize, Failure> {
        self.received = 0;
        self.prepare();
        let flags = fit(libc::MSG_WAITFORONE | dont_wait(blocking));
        let fd = socket.as_fd().as_raw_fd();
        let headers = &mut self.headers.messages;
        let (first, count) = (headers.as_mut_ptr(), fit(headers.len()));
        // SAFETY: `prepare` made all `count` headers point at live iovecs, bytes, control buffers and addresses of this
        // value, which stay where they are during the call; `fd` is borrowed and so open.
        let got = unsafe { libc::recvmmsg(fd, first, count, flags, ptr::null_mut()) };
        self.received = usize::try_from(got).map_err(|_| Failure::last("recvmmsg"))?;
        Ok(self.received)
    }

    /// All slots; [`Message`] gives the place of each message.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }

    /// Message `index` of the last call; `index` below what [`receive`](Self::receive) returned.
    pub fn message(&mut self, index: usize) -> Message {
        assert!(
            index < self.received,
            "invariant: index {index} was received"
        );
        let header = &self.headers.messages[index];
        let used: usize = fit(header.msg_hdr.msg_controllen);
        let facts = parse_control(&self.controls[index].0[..used.min(CONTROL_LEN)]);
        self.overflow = facts.overflow.or(self.overflow);
        Message {
            offset: index * self.slot,
            length: (header.msg_len as usize).min(self.slot),
            segment: facts.segment,
            overflow: facts.overflow,
        }
    }

    /// Latest drop count of the socket (`SO_RXQ_OVFL`), if one was received.
    pub const fn overflow(&self) -> Option<u32> {
        self.overflow
    }

    fn prepare(&mut self) {
        let slots = self.bytes.bytes_mut().chunks_exact_mut(self.slot.max(1));
        for (index, (slot, control)) in slots.zip(&mut self.controls).enumerate() {
            let header = self.headers.point(index, slot);
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = fit(CONTROL_LEN);
            header.msg_flags = 0;
            if let Some(source) = self.sources.get_mut(index) {
                // The kernel writes as much as the family has: the rest would be left over of a longer one.
                *source = Address::EMPTY;
                header.msg_name = source.as_mut_ptr().cast();
                header.msg_namelen = fit(Address::size());
            }
        }
    }
}

/// Message headers with one buffer each.
struct Headers {
    iovecs: Box<[libc::iovec]>,
    messages: Box<[libc::mmsghdr]>,
}

// SAFETY: the raw pointers in both make the type !Send. They point at memory of the batch that the headers belong to,
// are set anew before each call, and are read by nothing else.
unsafe impl Send for Headers {}

impl Headers {
    fn new(messages: usize) -> Self {
        const EMPTY: libc::iovec = libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        };
        Self {
            iovecs: vec![EMPTY; messages].into(),
            // SAFETY: `mmsghdr` is plain C data of integers and pointers; all zero is a valid value.
            messages: (0..messages).map(|_| unsafe { zeroed() }).collect(),
        }
    }

    /// Points message `index` at `bytes`.
    fn point(&mut self, index: usize, bytes: &mut [u8]) -> &mut libc::msghdr {
        let iovec = &mut self.iovecs[index];
        *iovec = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        let header = &mut self.messages[index].msg_hdr;
        header.msg_iov = iovec;
        header.msg_iovlen = 1;
        header
    }
}

/// Bytes for two control messages of one word each, with their headers and padding, on any target.
const CONTROL_LEN: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
struct ControlFacts {
    segment: Option<usize>,
    overflow: Option<u32>,
}

/// Parses the control messages in `bytes`.
fn parse_control(bytes: &[u8]) -> ControlFacts {
    let mut facts = ControlFacts::default();
    for (level, kind, data) in messages(bytes) {
        let Some(value) = data.first_chunk().map(|word| u32::from_ne_bytes(*word)) else {
            break;
        };
        match (level, kind) {
            (libc::SOL_UDP, libc::UDP_GRO) => facts.segment = usize::try_from(value).ok(),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => facts.overflow = Some(value),
            _ => {}
        }
    }
    facts
}

const fn dont_wait(blocking: Blocking) -> i32 {
    match blocking {
        Blocking::No => libc::MSG_DONTWAIT,
        Blocking::Yes => 0,
    }
}

/// Converts between integer types that C libraries choose differently (glibc `size_t`, musl `socklen_t`).
pub(crate) fn fit<A, B: TryFrom<A>>(value: A) -> B {
    let Ok(value) = B::try_from(value) else {
        unreachable!("invariant: lengths and flags of one call are small")
    };
    value
}

#[cfg(test)]
mod tests;
