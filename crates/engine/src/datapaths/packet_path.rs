//! Frames by packet sockets: for interfaces whose driver has neither AF_XDP nor XDP, and kernels without it.
//!
//! Frames leave past the queueing discipline, many with a call, and arrive in a mapped ring. Others' frames arrive there
//! too and are left out; all of them pass the kernel's stack as well, which drops what is not for this host.

use super::af_xdp::codec::{Codec, Inbox};
use super::af_xdp::frame::Refusal;
use super::af_xdp::lengths::Lengths;
use super::af_xdp::open::refused;
use super::af_xdp::probe::ProbeMark;
use super::af_xdp::route::FrameRoute;
use super::{Arrivals, Buffers, CALL_LIMIT, DatagramPath, PathDiagnostics, PathSetup};
use crate::error::{EngineError, Result};
use linerate_model::Clock as _;
use linerate_model::spec::WaitMode;
use linerate_sys::clock::MonoClock;
use linerate_sys::failure::Failure;
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, RingLayout};
use std::io::{self, IoSlice};
use std::net::UdpSocket;

/// Memory of received frames: some 16 000 short ones.
const RING_BYTES: u32 = 32 << 20;

/// Bytes behind the longest frame that a device may have added in headers.
const ADDED: usize = 64;

/// Frames between two ports by packet sockets. Field order is teardown order: the port last.
pub(super) struct PacketPath {
    sender: FrameSender,
    ring: PacketRing,
    codec: Codec,
    /// Payloads to send.
    slots: Vec<u8>,
    /// Frames of a batch.
    frames: Vec<Vec<u8>>,
    batch: usize,
    inbox: Inbox,
    route: FrameRoute,
    mark: Option<ProbeMark>,
    wait: WaitMode,
    /// Frames dropped at the ring at the last reading.
    dropped: u64,
    _port: UdpSocket,
}

impl PacketPath {
    /// Opens the sockets of the interface of `route`; `port` stays open and silent.
    pub(super) fn open(
        port: UdpSocket,
        route: FrameRoute,
        mark: Option<ProbeMark>,
        lengths: Lengths,
        setup: &PathSetup<'_>,
    ) -> Result<Self> {
        let codec = Codec::new(&route.layout, setup.payload).with_lengths(lengths);
        let (longest, most) = (
            codec.longest(),
            route.layout.most_frame(route.link.mtu_bytes as usize),
        );
        if longest > most {
            let why = format!(
                "over {} (MTU {}) a frame has at most {most} B without FCS, and these have {longest}: raise the MTU (ip link set {} mtu N)",
                route.link.name, route.link.mtu_bytes, route.link.name
            );
            return Err(EngineError::plan("payload", &setup.payload, why));
        }
        let room = u32::try_from(longest + ADDED).ok();
        let layout = room.and_then(|bytes| RingLayout::new(bytes, RING_BYTES));
        let layout = layout.ok_or_else(|| {
            EngineError::plan(
                "payload",
                &setup.payload,
                "no ring has room for such frames",
            )
        })?;
        let failed = |error: io::Error| EngineError::Host {
            what: format!("opening packet sockets on {}", route.link.name),
            why: refused(&error),
            remedy: "run as root (CAP_NET_RAW)",
        };
        let batch = setup.calls.most().min(BATCH);
        Ok(Self {
            sender: FrameSender::open(route.interface).map_err(failed)?,
            ring: PacketRing::open(route.interface, layout).map_err(failed)?,
            slots: vec![0; setup.payload * batch],
            frames: vec![vec![0; longest]; batch],
            batch,
            inbox: Inbox::new(batch),
            codec,
            mark,
            wait: setup.wait,
            dropped: 0,
            _port: port,
            route,
        })
    }

    /// Takes what has arrived; whether any of it is the test's.
    fn take(&mut self) -> bool {
        self.inbox.clear();
        let (mark, flow) = (self.mark, &self.route.flow);
        let (codec, inbox) = (&self.codec, &mut self.inbox);
        self.ring.drain(self.batch, |frame| {
            match inbox.take(codec, mark, flow, frame.bytes) {
                Ok(()) | Err(Refusal::NotOurs) => {}
                Err(Refusal::Checksum | Refusal::Length) => inbox.malformed += 1,
            }
        });
        !inbox.spans.is_empty()
    }

    /// Sends frames, for at most one call's time; how many.
    fn send_frames(&self, lengths: &[usize]) -> Result<usize, Failure> {
        let all = self.frames.iter().zip(lengths);
        let slices: Vec<_> = all
            .map(|(frame, length)| IoSlice::new(&frame[..*length]))
            .collect();
        let deadline = MonoClock.now().after(CALL_LIMIT);
        loop {
            match self.sender.send(&slices) {
                Ok(sent) => return Ok(sent),
                Err(error) if is_full(&error) && MonoClock.now() < deadline => {
                    std::thread::yield_now();
                }
                Err(error) => return Err(Failure::from_io("sendmmsg", &error)),
            }
        }
    }
}

/// Whether an interface had no room for a frame.
pub(crate) fn is_full(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(ENOBUFS)
}

impl DatagramPath for PacketPath {
    fn batch(&self) -> usize {
        self.batch
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.slots
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let payload = self.codec.payload();
        let slots = self.slots.chunks(payload).take(count);
        let codec = &mut self.codec;
        let lengths: Vec<_> = slots
            .zip(&mut self.frames)
            .map(|(slot, frame)| codec.write(slot, frame))
            .collect();
        self.send_frames(&lengths)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        let length = self.codec.write_empty(&mut self.frames[0]);
        self.send_frames(&[length]).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        if !self.take() {
            if self.wait == WaitMode::Block {
                self.ring.wait(CALL_LIMIT)?;
            }
            if !self.take() {
                return Err(Failure::would_block("poll"));
            }
        }
        Ok(self.inbox.arrivals(self.dropped))
    }

    fn overflows(&mut self) -> Option<u64> {
        self.dropped = self.ring.dropped().ok()?.get();
        Some(self.dropped + self.inbox.malformed)
    }

    fn places(&self) -> usize {
        self.codec.places()
    }

    fn buffers(&self) -> Buffers {
        Buffers {
            receive: Some(RING_BYTES.into()),
            ..Buffers::default()
        }
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        let mut notes = Vec::new();
        if self.inbox.malformed > 0 {
            notes.push(format!(
                "{} frames of the test at {} were not whole: cut, or with a wrong checksum",
                self.inbox.malformed, self.route.link.name
            ));
        }
        PathDiagnostics {
            helper_cpu: None,
            notes,
        }
    }
}
