//! Datagrams of one flow as frames.

use super::frame::{self, Refusal, Template};
use super::lengths::Lengths;
use super::open::Open;
use super::probe::payload_at;
use crate::datapaths::{
    Arrivals, Buffers, CALL_LIMIT, DatagramPath, PathDiagnostics, PathSetup, Span,
};
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
use linerate_wire::header::{HEADER_LEN, Header};

/// Ring polls per spinning call: some 0.2 µs, so that the caller's checks of clock and control cost little.
const RING_POLLS_PER_CALL: u32 = 64;

/// Sending calls between checks for ICMP errors on the port: 64 calls take some 50 µs.
const CALLS_PER_LOOK: u32 = 64;

/// Frames between one process and one peer.
pub(in crate::datapaths) struct FramePath {
    open: Open,
    template: Template,
    empty: Template,
    outgoing: PageBuffer,
    payload: usize,
    lengths: Lengths,
    /// A template for each place of a mix of lengths.
    mix: Vec<Template>,
    /// The payload of one frame of a mix.
    scratch: Vec<u8>,
    batch: usize,
    incoming: Vec<u8>,
    spans: Vec<Span>,
    wait: WaitMode,
    /// Queue on which the flow last arrived.
    current: usize,
    /// Redirected frames that could not be parsed.
    malformed: u64,
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
        let flow = &open.route.flow;
        Self {
            template: Template::new(flow, payload),
            empty: Template::new(flow, 0),
            outgoing: PageBuffer::new(payload * batch, 0),
            payload,
            lengths: Lengths::One(payload),
            mix: Vec::new(),
            scratch: Vec::new(),
            batch,
            incoming: Vec::with_capacity(batch * MAX_PAYLOAD),
            spans: Vec::with_capacity(batch),
            wait: setup.wait,
            current: 0,
            malformed: 0,
            stray: 0,
            dropped: 0,
            calls: 0,
            failure: None,
            notes: Vec::new(),
            open,
        }
    }

    /// The path with frames of these lengths. Its user sees payloads of one length, that of the setup: the numbers decide
    /// how long frames are.
    pub(in crate::datapaths) fn with_lengths(mut self, lengths: Lengths) -> Self {
        let flow = &self.open.route.flow;
        let each = lengths.places().iter();
        self.mix = each.map(|length| Template::new(flow, *length)).collect();
        self.scratch = vec![0; lengths.longest()];
        self.lengths = lengths;
        self
    }

    /// The path with a note for its report.
    pub(in crate::datapaths) fn noting(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// Takes a batch from the first queue that has frames; returns whether it contained datagrams.
    fn take(&mut self) -> bool {
        self.incoming.clear();
        self.spans.clear();
        let queues = self.open.queues.len();
        for index in (self.current..queues).chain(0..self.current) {
            let arrived = self.take_from(index);
            if arrived > 0 {
                self.current = index;
                return !self.spans.is_empty();
            }
        }
        false
    }

    fn take_from(&mut self, index: usize) -> usize {
        let (flow, mark) = (&self.open.route.flow, self.open.mark);
        let usual = payload_at(flow.remote.address.is_ipv4());
        let (lengths, is_mix, nominal) = (&self.lengths, !self.mix.is_empty(), self.payload);
        let queue = &mut self.open.queues[index];
        let (incoming, spans, malformed) =
            (&mut self.incoming, &mut self.spans, &mut self.malformed);
        queue.receive(self.batch, |bytes| {
            let read = match mark {
                Some(mark) => mark.payload(bytes, usual, lengths),
                None => frame::payload(flow, bytes),
            };
            match read {
                Ok(payload) => {
                    let start = incoming.len();
                    let seen = if is_mix { nominal } else { payload.len() };
                    incoming.extend_from_slice(&payload[..payload.len().min(seen)]);
                    incoming.resize(start + seen, 0);
                    spans.push(Span {
                        offset: number(start),
                        length: number(seen),
                    });
                }
                Err(Refusal::Checksum | Refusal::Length | Refusal::NotOurs) => *malformed += 1,
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
        Some(self.dropped + self.malformed + self.stray)
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
        &mut self.outgoing.bytes_mut()[..self.payload * self.batch]
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        if payload > self.open.most_payload() {
            return false;
        }
        if payload * self.batch > self.outgoing.bytes().len() {
            self.outgoing = PageBuffer::new(payload * self.batch, 0);
        }
        self.template = Template::new(&self.open.route.flow, payload);
        self.payload = payload;
        if self.mix.is_empty() {
            self.lengths = Lengths::One(payload);
        }
        true
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.listen()?;
        let (template, payload) = (&self.template, self.payload);
        let (lengths, mix, scratch) = (&self.lengths, &self.mix, &mut self.scratch);
        let bytes = self.outgoing.bytes();
        let queued = self.open.queues[0].queue(count, |index, room| {
            let start = index * payload;
            let slot = &bytes[start..start + payload];
            if mix.is_empty() {
                return template.write(slot, room);
            }
            // Behind the header a payload is zeros, of whatever length.
            scratch[..HEADER_LEN].copy_from_slice(&slot[..HEADER_LEN]);
            let sequence = Header::read(slot).map_or(0, |header| header.sequence);
            let template = &mix[Lengths::place(lengths.places(), sequence)];
            template.write(&scratch[..lengths.of(sequence)], room)
        });
        self.flush(queued)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        self.listen()?;
        let empty = &self.empty;
        let queued = self.open.queues[0].queue(1, |_, room| empty.write(&[], room));
        self.flush(queued).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        if self.is_crowded() {
            self.drops();
        }
        if !self.take() && !self.await_frame()? {
            return Err(Failure::would_block("poll"));
        }
        let drops = self.dropped + self.malformed + self.stray;
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: &self.spans,
            overflows: u32::try_from(drops).ok().filter(|drops| *drops > 0),
            runs: &[],
            came: None,
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        self.count_strays();
        self.drops()
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
            malformed: PacketCount::new(self.malformed),
            stray: PacketCount::new(self.stray),
        })
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("invariant: a batch is below 4 GiB")
}

/// Maximum payload of one frame of 4 KiB.
const MAX_PAYLOAD: usize = 4096;
