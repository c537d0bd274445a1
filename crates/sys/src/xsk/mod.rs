//! AF_XDP sockets: frames of one queue of an interface, past the kernel's network stack.
//!
//! A socket has frame memory that it shares with the kernel and four single-producer, single-consumer rings. Received
//! frames are redirected to it by [`crate::bpf::XdpProgram`]. The kernel copies them unless the driver supports zero
//! copy; the socket reports which.
//!
//! # References
//! - `Documentation/networking/af_xdp.rst`, `linux/if_xdp.h`

mod memory;
mod ring;

use crate::clock::MonoClock;
use crate::failure::Failure;
use crate::mapping::Mapping;
use crate::netlink::InterfaceIndex;
use crate::sockopt;
use crate::thread::sleep_to;
use linerate_model::Clock as _;
use memory::{Frame, Frames};
use ring::{Consumer, Descriptor, Entry, Offsets, Producer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpOptionsFlags, XdpRingOffset,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt as xdp,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Frame memory of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XskLayout {
    /// Receive frames, a power of two.
    pub receive_frames: u32,
    /// Send frames, a power of two.
    pub send_frames: u32,
    /// Bytes of a frame: 2048 or 4096. The kernel reserves 256 of each received frame.
    pub frame_bytes: u32,
    /// How many of these a frame of the wire may take.
    pub segments: Segments,
}

/// Whether a frame of the wire may be longer than one frame of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Segments {
    /// It is not.
    #[default]
    One,
    /// It takes as many as it needs, up to [`MAX_SEGMENTS`] (`XDP_USE_SG`, Linux 6.6). The program must be one for
    /// fragments, see [`crate::bpf::XdpProgram::load_for_fragments`].
    Several,
}

/// Most frames of memory that a sent frame takes.
pub const MAX_SEGMENTS: u32 = 4;

/// Whether the driver may use the frame memory (zero copy).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    /// Always copy: required with a generic-mode program.
    Always,
    /// Copy only if the driver does not support zero copy.
    IfNeeded,
}

/// The kernel's counters of one socket (`XDP_STATISTICS`), since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XskStatistics {
    /// Frames dropped for lack of a free frame, or because they were too long.
    pub dropped: u64,
    /// Frames dropped because the receive ring was full; `None` before Linux 5.9.
    pub ring_full: Option<u64>,
    /// Times that the fill ring was empty when a frame was needed; with copying, each is also in `dropped`.
    pub fill_ring_empty: Option<u64>,
    /// Send descriptors that the kernel refused.
    pub invalid_sends: u64,
}

/// An AF_XDP socket of one queue. One thread uses all its rings.
///
/// Field order is teardown order: the rings, the socket, then the memory that the kernel used.
#[derive(Debug)]
pub struct Xsk {
    fill: Producer<Mapping>,
    completed: Consumer<Mapping>,
    received: Consumer<Mapping>,
    sending: Producer<Mapping>,
    socket: OwnedFd,
    frames: Frames,
    /// Send frames owned by this process.
    free: Vec<Frame>,
    receive_frames: u32,
    zero_copy: bool,
    /// Where a frame of several segments is written; empty where each has one.
    outgoing: Vec<u8>,
    /// Segments so far of a frame whose last one has not come.
    incoming: Vec<u8>,
}

impl Xsk {
    /// Opens a socket on `queue` of interface `index` of the calling thread's namespace. Needs `CAP_NET_RAW`.
    pub fn open(
        index: InterfaceIndex,
        queue: u32,
        layout: XskLayout,
        copying: Copying,
    ) -> io::Result<Self> {
        let family = AddressFamily::XDP;
        let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let total = layout.receive_frames + layout.send_frames;
        let (frames, own) = Frames::new(total, layout.frame_bytes)?;
        let memory = XdpUmemReg {
            addr: frames.address(),
            len: frames.length(),
            chunk_size: layout.frame_bytes,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        xdp::set_xdp_umem_reg(&socket, memory)?;
        let mut socket = Self::with_rings(socket, frames, layout)?;
        socket.lend_frames(own);
        socket.raise_budget(layout.send_frames);
        let mut flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        if copying == Copying::Always {
            flags |= SocketAddrXdpFlags::XDP_COPY;
        }
        if layout.segments == Segments::Several {
            flags |= SocketAddrXdpFlags::XDP_USE_SG;
            socket.outgoing = vec![0; MAX_SEGMENTS as usize * layout.frame_bytes as usize];
        }
        bind(&socket.socket, &SocketAddrXdp::new(flags, index.0, queue))?;
        let options = xdp::xdp_options(&socket.socket)?;
        socket.zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        Ok(socket)
    }

    /// [`Xsk::open`], which waits up to 3 s for a queue that the kernel still frees: after a socket is closed it does so
    /// in a worker, after a grace period of RCU (Linux `xp_put_pool`), which takes milliseconds unless its cores are
    /// taken. `ResourceBusy` if another socket has it.
    pub fn open_when_free(
        index: InterfaceIndex,
        queue: u32,
        layout: XskLayout,
        copying: Copying,
    ) -> io::Result<Self> {
        const RELEASE_LIMIT: Duration = Duration::from_secs(3);
        const RELEASE_STEP: Duration = Duration::from_millis(2);
        let deadline = MonoClock.now().after(RELEASE_LIMIT);
        loop {
            match Self::open(index, queue, layout, copying) {
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy
                        && MonoClock.now() < deadline =>
                {
                    sleep_to(MonoClock.now().after(RELEASE_STEP));
                }
                outcome => return outcome,
            }
        }
    }

    fn with_rings(socket: OwnedFd, frames: Frames, layout: XskLayout) -> io::Result<Self> {
        let (receive, send) = (layout.receive_frames, layout.send_frames);
        let fill = fill_entries(receive);
        xdp::set_xdp_umem_fill_ring_size(&socket, fill)?;
        xdp::set_xdp_umem_completion_ring_size(&socket, send)?;
        xdp::set_xdp_rx_ring_size(&socket, receive)?;
        xdp::set_xdp_tx_ring_size(&socket, send)?;
        let all = xdp::xdp_mmap_offsets(&socket)?;
        let double = <u64 as Entry>::BYTES;
        let descriptor = Descriptor::BYTES;
        let map = |offset: XdpRingOffset, entries: u32, bytes: usize, which: u64| {
            let offsets = offsets(offset)?;
            let length = offsets.entries + entries as usize * bytes;
            Ok::<_, io::Error>((Mapping::shared(&socket, length, which)?, offsets, entries))
        };
        let fill = map(all.fr, fill, double, XDP_UMEM_PGOFF_FILL_RING)?;
        let completed = map(all.cr, send, double, XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let received = map(all.rx, receive, descriptor, XDP_PGOFF_RX_RING)?;
        let sending = map(all.tx, send, descriptor, XDP_PGOFF_TX_RING)?;
        Ok(Self {
            fill: Producer::new(fill.0, fill.1, fill.2),
            completed: Consumer::new(completed.0, completed.1, completed.2),
            received: Consumer::new(received.0, received.1, received.2),
            sending: Producer::new(sending.0, sending.1, sending.2),
            socket,
            frames,
            free: Vec::new(),
            receive_frames: receive,
            zero_copy: false,
            outgoing: Vec::new(),
            incoming: Vec::new(),
        })
    }

    /// Gives the receive frames to the kernel and keeps the send frames.
    fn lend_frames(&mut self, mut own: Vec<Frame>) {
        self.free = own.split_off(self.receive_frames as usize);
        for frame in own {
            self.lend(frame);
        }
        self.fill.publish();
    }

    /// Gives the kernel a receive frame with the next publish.
    fn lend(&mut self, frame: Frame) {
        let taken = self.fill.push(self.frames.lend(frame));
        assert!(
            taken,
            "invariant: the ring has a place for each frame to receive"
        );
    }

    /// Lets one call send a whole ring instead of 32 frames. Kernels without support only need more calls.
    fn raise_budget(&self, frames: u32) {
        drop(sockopt::set(
            &self.socket,
            libc::SOL_XDP,
            XDP_MAX_TX_SKB_BUDGET,
            &frames.to_ne_bytes(),
        ));
    }

    /// Makes calls on the socket busy-poll the device for up to `time`, with its interrupts masked
    /// (`SO_PREFER_BUSY_POLL`, Linux 5.11). Needs `CAP_NET_ADMIN`.
    pub fn prefer_busy_poll(&self, time: Duration) -> io::Result<()> {
        const FRAMES_PER_POLL: i32 = 64;
        sockopt::set_busy_poll(&self.socket, time)?;
        let on = 1_i32.to_ne_bytes();
        sockopt::set(&self.socket, libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &on)?;
        let budget = FRAMES_PER_POLL.to_ne_bytes();
        sockopt::set(&self.socket, libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget)
    }

    /// Whether the driver uses the frame memory itself (zero copy).
    pub const fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Lower bound of received frames that wait.
    pub fn waiting(&self) -> usize {
        self.received.waiting() as usize
    }

    /// Passes up to `limit` received frames to `take`, in order, and frees them. Returns how many.
    pub fn receive(&mut self, limit: usize, mut take: impl FnMut(&[u8])) -> usize {
        let (mut taken, mut popped) = (0, false);
        while taken < limit
            && let Some(arrived) = self.received.pop::<Descriptor>()
        {
            popped = true;
            let is_last = arrived.options & CONTINUED == 0;
            taken += usize::from(is_last);
            let Some(frame) = self.frames.take_back(arrived.address) else {
                continue;
            };
            if let Some(bytes) = self.frames.bytes(&frame, arrived.address, arrived.length) {
                if is_last && self.incoming.is_empty() {
                    take(bytes);
                } else {
                    self.incoming.extend_from_slice(bytes);
                }
            }
            if is_last && !self.incoming.is_empty() {
                take(&self.incoming);
                self.incoming.clear();
            }
            self.lend(frame);
        }
        if popped {
            self.received.release();
            self.fill.publish();
        }
        if self.fill.wants_wakeup() {
            self.poll_device();
        }
        taken
    }

    /// Makes the kernel poll the device and refill from the fill ring, without waiting.
    pub fn poll_device(&self) {
        // The result is visible in the rings; a lost interface shows when sending.
        let _ = recv(&self.socket, &mut [0_u8; 0], RecvFlags::DONTWAIT);
    }

    /// Queues up to `count` frames: `write` fills frame number n and returns its length. Returns how many found room;
    /// [`flush`](Self::flush) sends them.
    pub fn queue(
        &mut self,
        count: usize,
        mut write: impl FnMut(usize, &mut [u8]) -> usize,
    ) -> usize {
        let per_frame = if self.outgoing.is_empty() {
            1
        } else {
            MAX_SEGMENTS as usize
        };
        if self.free.len() < count * per_frame {
            self.reclaim();
        }
        let mut queued = 0;
        while queued < count && self.free.len() >= per_frame {
            if per_frame == 1 {
                let Some(frame) = self.free.pop() else { break };
                let length = write(queued, self.frames.room(&frame));
                self.push(frame, length, 0);
            } else {
                let mut outgoing = std::mem::take(&mut self.outgoing);
                let length = write(queued, &mut outgoing);
                self.push_segments(&outgoing[..length]);
                self.outgoing = outgoing;
            }
            queued += 1;
        }
        self.sending.publish();
        queued
    }

    /// Queues a frame in as many segments as it takes, of free frames of memory that are there.
    fn push_segments(&mut self, bytes: &[u8]) {
        let chunk = self.frames.chunk();
        let mut segments = bytes.chunks(chunk).peekable();
        while let Some(segment) = segments.next()
            && let Some(frame) = self.free.pop()
        {
            self.frames.room(&frame)[..segment.len()].copy_from_slice(segment);
            let options = if segments.peek().is_some() {
                CONTINUED
            } else {
                0
            };
            self.push(frame, segment.len(), options);
        }
    }

    fn push(&mut self, frame: Frame, length: usize, options: u32) {
        let taken = self.sending.push(Descriptor {
            address: self.frames.lend(frame),
            length: u32::try_from(length).expect("invariant: frames are below 4 KiB"),
            options,
        });
        assert!(
            taken,
            "invariant: the ring has a place for each frame to send"
        );
    }

    /// Takes back the frames that were sent.
    fn reclaim(&mut self) {
        while let Some(address) = self.completed.pop::<u64>() {
            self.free.extend(self.frames.take_back(address));
        }
        self.completed.release();
    }

    /// Makes the kernel send what is queued. Returns whether it has taken all of it; if not, or if it dropped a frame
    /// for lack of space further on, call it again.
    pub fn flush(&mut self) -> Result<bool, Failure> {
        if !self.sending.wants_wakeup() {
            return Ok(true);
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(&self.socket, &[], flags) {
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::INTR | Errno::NOBUFS) => {
                Ok(self.sending.is_drained())
            }
            Err(errno) => Err(Failure::new("sendto", errno)),
        }
    }

    /// The kernel's counters.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        let all = xdp::xdp_statistics(&self.socket)?;
        Ok(XskStatistics {
            dropped: all.rx_dropped,
            ring_full: all.rx_ring_full,
            fill_ring_empty: all.rx_fill_ring_empty_descs,
            invalid_sends: all.tx_invalid_descs,
        })
    }
}

/// Fill ring entries for `frames` frames: twice as many. The kernel publishes a filled frame before it publishes that
/// it consumed the fill entry (`xsk_flush`), so a frame that is lent again in between finds its old entry still
/// occupied; at most one per frame.
const fn fill_entries(frames: u32) -> u32 {
    frames * 2
}

impl AsFd for Xsk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sleeps until a frame has arrived at one of `sockets`, at most `limit`.
pub fn wait_for_frame(sockets: &[Xsk], limit: Duration) -> Result<(), Failure> {
    let mut polled: Vec<_> = sockets
        .iter()
        .map(|socket| PollFd::new(socket, PollFlags::IN))
        .collect();
    let limit = Timespec::try_from(limit).map_err(|_| Failure::new("poll", Errno::INVAL))?;
    match poll(&mut polled, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Failure::new("poll", errno)),
    }
}

fn offsets(ring: XdpRingOffset) -> io::Result<Offsets> {
    let place = |offset: u64| usize::try_from(offset).map_err(io::Error::other);
    Ok(Offsets {
        producer: place(ring.producer)?,
        consumer: place(ring.consumer)?,
        flags: ring.flags.map(place).transpose()?,
        entries: place(ring.desc)?,
    })
}

/// `XDP_PKT_CONTD` of `linux/if_xdp.h`: the frame goes on in the next descriptor.
const CONTINUED: u32 = 1;
/// `linux/if_xdp.h`, Linux 6.18.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// `asm-generic/socket.h`, Linux 5.11.
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
/// `asm-generic/socket.h`, Linux 5.11.
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;
