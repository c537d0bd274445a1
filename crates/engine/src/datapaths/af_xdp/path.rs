//! Datagrams of one flow as frames.

use super::codec::{Codec, Inbox};
use super::lengths::Lengths;
use super::open::Open;
use crate::datapaths::{Arrivals, Buffers, CALL_LIMIT, DatagramPath, PathDiagnostics, PathSetup};
use linerate_model::sample::XdpReport;
use linerate_model::spec::WaitMode;
use linerate_model::{Clock as _, PacketCount};
use linerate_sys::bpf::XdpMode;
use linerate_sys::clock::MonoClock;
use linerate_sys::failure::Failure;
use linerate_sys::memory::PageBuffer;
use linerate_sys::tcp;
use linerate_sys::udp::Blocking;
use linerate_sys::xsk::{Xsk, XskStatistics, wait_for_frame};

/// Ring polls per spinning call: some 0.2 µs, so that the caller's checks of clock and control cost little.
const RING_POLLS_PER_CALL: u32 = 64;

/// Sending calls between checks for ICMP errors on the port: 64 calls take some 50 µs.
const CALLS_PER_LOOK: u32 = 64;

/// Frames between one process and one peer.
pub(in crate::datapaths) struct FramePath {
    open: Open,
    codec: Codec,
    outgoing: PageBuffer,
    batch: usize,
    inbox: Inbox,
    wait: WaitMode,
    /// Queue on which the flow last arrived.
    current: usize,
    /// Datagrams of the flow that arrived at the ordinary socket.
    stray: u64,
    /// Drops at the sockets at the last reading.
    dropped: u64,
    calls: u32,
    /// Error of the kernel after it had accepted frames.
    failure: Option<Failure>,
    /// What the report is to say of the way.
    notes: Vec<String>,
}

impl FramePath {
    pub(in crate::datapaths) fn new(open: Open, setup: &PathSetup<'_>) -> Self {
        let (payload, batch) = (setup.payload, setup.calls.most());
        Self {
            codec: Codec::new(&open.route.layout, payload),
            outgoing: PageBuffer::new(payload * batch, 0),
            batch,
            inbox: Inbox::new(batch),
            wait: setup.wait,
            current: 0,
            stray: 0,
            dropped: 0,
            calls: 0,
            failure: None,
            notes: Vec::new(),
            open,
        }
    }

    /// The path with frames of these lengths.
    pub(in crate::datapaths) fn with_lengths(mut self, lengths: Lengths) -> Self {
        self.codec = self.codec.with_lengths(lengths);
        self
    }

    /// The path with a note for its report.
    pub(in crate::datapaths) fn noting(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// Takes a batch from the first queue that has frames; returns whether it contained datagrams.
    fn take(&mut self) -> bool {
        self.inbox.clear();
        let queues = self.open.queues.len();
        for index in (self.current..queues).chain(0..self.current) {
            let arrived = self.take_from(index);
            if arrived > 0 {
                self.current = index;
                return !self.inbox.spans.is_empty();
            }
        }
        false
    }

    fn take_from(&mut self, index: usize) -> usize {
        let (mark, flow) = (self.open.mark, &self.open.route.flow);
        let (codec, inbox) = (&self.codec, &mut self.inbox);
        self.open.queues[index].receive(self.batch, |bytes| {
            if inbox.take(codec, mark, flow, bytes).is_err() {
                inbox.malformed += 1;
            }
        })
    }

    /// Waits for frames according to the wait mode.
    fn await_frame(&mut self) -> Result<bool, Failure> {
        match self.wait {
            WaitMode::Block => {
                wait_for_frame(&self.open.queues, CALL_LIMIT)?;
                Ok(self.take())
            }
            WaitMode::BusyPoll => {
                let deadline = MonoClock.now().after(CALL_LIMIT);
                while MonoClock.now() < deadline {
                    self.open.queues.iter().for_each(Xsk::poll_device);
                    if self.take() {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            WaitMode::Spin => Ok((0..RING_POLLS_PER_CALL).any(|_| self.take())),
        }
    }

    /// Whether the receive ring is so full that frames may have been dropped.
    fn is_crowded(&self) -> bool {
        let frames = self.open.receive_frames;
        let queue = &self.open.queues[self.current];
        queue.waiting() * 2 >= frames as usize
    }

    fn statistics(&self) -> Option<XskStatistics> {
        let all = self.open.queues.iter().map(|queue| queue.statistics().ok());
        all.reduce(|sum, one| {
            let (sum, one) = (sum?, one?);
            let add = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
            Some(XskStatistics {
                dropped: sum.dropped + one.dropped,
                ring_full: add(sum.ring_full, one.ring_full),
                fill_ring_empty: add(sum.fill_ring_empty, one.fill_ring_empty),
                invalid_sends: sum.invalid_sends + one.invalid_sends,
            })
        })?
    }

    /// Drops at this end so far; `None` if unknown.
    fn drops(&mut self) -> Option<u64> {
        let counted = self.statistics()?;
        self.dropped = counted.dropped + counted.ring_full.unwrap_or(0);
        Some(self.dropped + self.inbox.malformed + self.stray)
    }

    /// Counts datagrams at the ordinary socket: fragments, frames with tags or options, or on a queue that is not ours.
    /// None of them is read.
    fn count_strays(&mut self) {
        let mut byte = [0; 1];
        while tcp::receive(&self.open.port, &mut byte, Blocking::No).is_ok() {
            self.stray += 1;
        }
    }

    /// Reports the error of the last call and, every [`CALLS_PER_LOOK`], an ICMP port unreachable.
    fn listen(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.calls = self.calls.wrapping_add(1);
        if !self.calls.is_multiple_of(CALLS_PER_LOOK) {
            return Ok(());
        }
        match self.open.port.take_error() {
            Ok(None) | Err(_) => Ok(()),
            Ok(Some(error)) => Err(Failure::from_io("sendto", &error)),
        }
    }

    /// Makes the kernel take the queued frames, for at most one call's time; the rest goes with the next call. Returns
    /// `queued`: the frames belong to the kernel whatever error the interface has.
    fn flush(&mut self, queued: usize) -> Result<usize, Failure> {
        let queue = &mut self.open.queues[0];
        let mut deadline = None;
        loop {
            match queue.flush() {
                Ok(true) => break,
                Ok(false) => {
                    let now = MonoClock.now();
                    if now >= *deadline.get_or_insert_with(|| now.after(CALL_LIMIT)) {
                        break;
                    }
                }
                Err(failure) if queued == 0 => return Err(failure),
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            }
        }
        if queued == 0 {
            return Err(Failure::would_block("sendto"));
        }
        Ok(queued)
    }
}

impl DatagramPath for FramePath {
    fn batch(&self) -> usize {
        self.batch
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.outgoing.bytes_mut()[..self.codec.payload() * self.batch]
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        if payload > self.open.most_payload() {
            return false;
        }
        if payload * self.batch > self.outgoing.bytes().len() {
            self.outgoing = PageBuffer::new(payload * self.batch, 0);
        }
        self.codec.set_payload(payload);
        true
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.listen()?;
        let payload = self.codec.payload();
        let (codec, bytes) = (&mut self.codec, self.outgoing.bytes());
        let queued = self.open.queues[0].queue(count, |index, room| {
            let start = index * payload;
            codec.write(&bytes[start..start + payload], room)
        });
        self.flush(queued)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        self.listen()?;
        let codec = &self.codec;
        let queued = self.open.queues[0].queue(1, |_, room| codec.write_empty(room));
        self.flush(queued).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        if self.is_crowded() {
            self.drops();
        }
        if !self.take() && !self.await_frame()? {
            return Err(Failure::would_block("poll"));
        }
        Ok(self.inbox.arrivals(self.dropped + self.stray))
    }

    fn overflows(&mut self) -> Option<u64> {
        self.count_strays();
        self.drops()
    }

    fn places(&self) -> usize {
        self.codec.places()
    }

    fn buffers(&self) -> Buffers {
        Buffers {
            path_mtu: None,
            send: Some(self.open.send_bytes),
            receive: Some(self.open.receive_bytes),
        }
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        PathDiagnostics {
            helper_cpu: None,
            notes: self.notes.clone(),
        }
    }

    fn xdp(&mut self) -> Option<XdpReport> {
        self.count_strays();
        let counted = self.statistics()?;
        Some(XdpReport {
            interface: self.open.route.link.name.clone(),
            native: self.open.mode == XdpMode::Native,
            zero_copy: self.open.queues.iter().all(Xsk::is_zero_copy),
            queues: u16::try_from(self.open.queues.len()).unwrap_or(u16::MAX),
            dropped: PacketCount::new(counted.dropped),
            ring_full: counted.ring_full.map(PacketCount::new),
            fill_ring_empty: counted.fill_ring_empty,
            malformed: PacketCount::new(self.inbox.malformed),
            stray: PacketCount::new(self.stray),
        })
    }
}
