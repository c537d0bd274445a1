//! The state of one end of the link.

use super::frame::{End, Frame, Kind, MAX_LETTERS, MAX_PAYLOAD, Reader};
use super::packing::{Packer, Unpacker};
use linerate_model::MonoInstant;
use std::collections::VecDeque;
use std::time::Duration;

/// Send window in frames: at 9600 baud an acknowledgement is back before the third is written, and a damaged frame
/// costs at most these.
const WINDOW: u8 = 4;

/// Keep-alive interval: silence of this end after which it sends an acknowledgement.
const IDLE: Duration = Duration::from_secs(2);

/// Time without a frame after which the other end counts as gone: several messages of a kernel of ten lines each, at
/// 9600 baud.
const GONE: Duration = Duration::from_secs(30);

/// Time without a frame after which the link is dropped once this end has closed its stream: the peer may have closed
/// first.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Allowance in the retransmission timeout for a peer that is busy or waits for a timer.
const TURNAROUND: Duration = Duration::from_millis(300);

/// Maximum doublings of the retransmission timeout.
const MAX_BACKOFF: u32 = 3;

/// Bits of one byte on a serial line: a start bit, eight, a stop bit.
const BITS_PER_BYTE: u64 = 10;

/// Compressed bytes queued before no more are accepted.
const MAX_WAITING: usize = 8 * MAX_PAYLOAD;

/// Event for the owner of an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// Bytes of the stream.
    Bytes(Vec<u8>),
    /// The peer has closed its direction of the stream.
    Closed,
    /// Both directions are closed, or the peer is gone: the link is over.
    Over,
}

/// One end of a byte stream over a line.
#[derive(Debug)]
pub struct Carrier {
    end: End,
    /// Session number; `None` at a server before the stream is opened.
    session: Option<u16>,
    reader: Reader,
    packer: Packer,
    unpacker: Unpacker,
    /// Compressed bytes that are not in a frame yet.
    waiting: VecDeque<u8>,
    /// Unacknowledged frames; the first has the number `first`.
    sent: VecDeque<(Kind, Vec<u8>)>,
    first: u8,
    /// How many of `sent` were written since the last retransmission.
    written: usize,
    /// `first` at the last retransmission that a gap caused.
    mended: Option<u8>,
    /// Next number expected from the peer.
    awaited: u8,
    /// Unnumbered frame to send.
    answer: Option<Kind>,
    own: Closing,
    theirs: Closing,
    heard: MonoInstant,
    spoken: MonoInstant,
    /// Retransmission time, if frames are under way.
    again: Option<MonoInstant>,
    backoff: u32,
    window_time: Duration,
    carried: VecDeque<Carried>,
    is_over: bool,
}

/// State of closing one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    /// Requested: the close frame follows the queued bytes.
    Asked,
    /// Close frame sent at this time.
    Said(MonoInstant),
    Done,
}

impl Carrier {
    /// Client end of a stream with this session number (which no recent stream had), at this line rate.
    pub fn client(session: u16, baud: u32, now: MonoInstant) -> Self {
        let mut carrier = Self::new(End::Client, baud, now);
        carrier.session = Some(session);
        carrier.sent.push_back((Kind::Open, Vec::new()));
        carrier
    }

    /// Server end, at this line rate.
    pub fn server(baud: u32, now: MonoInstant) -> Self {
        Self::new(End::Server, baud, now)
    }

    fn new(end: End, baud: u32, now: MonoInstant) -> Self {
        let letters = u64::from(WINDOW) * MAX_LETTERS as u64;
        let window_time =
            Duration::from_millis(letters * BITS_PER_BYTE * 1000 / u64::from(baud.max(1)));
        Self {
            end,
            session: None,
            reader: Reader::default(),
            packer: Packer::new(),
            unpacker: Unpacker::new(),
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            first: 0,
            written: 0,
            mended: None,
            awaited: 0,
            answer: None,
            own: Closing::Open,
            theirs: Closing::Open,
            heard: now,
            spoken: now,
            again: None,
            backoff: 0,
            window_time,
            carried: VecDeque::new(),
            is_over: false,
        }
    }

    /// Whether the stream was opened.
    pub const fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// Whether more bytes of the stream are accepted now.
    pub fn has_room(&self) -> bool {
        self.session.is_some() && self.own == Closing::Open && self.waiting.len() < MAX_WAITING
    }

    /// Queues bytes of the stream.
    pub fn send(&mut self, bytes: &[u8]) {
        let packed = self.packer.pack(bytes);
        self.waiting.extend(packed);
    }

    /// Closes this end's direction of the stream.
    pub fn close(&mut self) {
        if self.own == Closing::Open {
            self.own = Closing::Asked;
        }
    }

    /// Next event for the owner.
    pub fn poll_carried(&mut self) -> Option<Carried> {
        self.carried.pop_front()
    }

    /// Takes bytes received on the line.
    pub fn hear(&mut self, now: MonoInstant, bytes: &[u8]) {
        for byte in bytes {
            if let Some(frame) = self.reader.take(*byte) {
                self.take(now, &frame);
            }
        }
    }

    fn take(&mut self, now: MonoInstant, frame: &Frame) {
        // An echo, or a frame of an earlier stream.
        let is_new = self.end == End::Server && self.session.is_none() && frame.kind == Kind::Open;
        if frame.from == self.end || !(is_new || self.session == Some(frame.session)) {
            return;
        }
        self.session = Some(frame.session);
        self.heard = now;
        self.acknowledge(now, frame.awaited);
        if frame.kind == Kind::Gap && self.mended != Some(self.first) {
            self.mended = Some(self.first);
            self.written = 0;
        }
        if !frame.kind.is_numbered() {
            return;
        }
        if frame.number != self.awaited {
            let ahead = frame.number.wrapping_sub(self.awaited);
            let kind = if ahead < WINDOW {
                Kind::Gap
            } else {
                Kind::Acknowledge
            };
            self.answer = Some(kind);
            return;
        }
        self.awaited = self.awaited.wrapping_add(1);
        self.answer = Some(Kind::Acknowledge);
        self.deliver(frame);
    }

    /// Takes the next frame in sequence.
    fn deliver(&mut self, frame: &Frame) {
        match frame.kind {
            Kind::Data => match self.unpacker.unpack(&frame.payload) {
                Some(bytes) if bytes.is_empty() => {}
                Some(bytes) => self.carried.push_back(Carried::Bytes(bytes)),
                None => self.end_link(),
            },
            Kind::Close => {
                self.theirs = Closing::Done;
                self.carried.push_back(Carried::Closed);
            }
            Kind::Acknowledge | Kind::Gap | Kind::Open => {}
        }
    }

    /// Drops frames before `awaited`: they were received.
    fn acknowledge(&mut self, now: MonoInstant, awaited: u8) {
        let came = usize::from(awaited.wrapping_sub(self.first));
        if came == 0 || came > self.sent.len() {
            return;
        }
        let gone: Vec<_> = self.sent.drain(..came).collect();
        self.first = awaited;
        self.written = self.written.saturating_sub(came);
        self.backoff = 0;
        self.again = (self.written > 0).then(|| now.after(self.timeout()));
        if gone.iter().any(|(kind, _)| *kind == Kind::Close) {
            self.own = Closing::Done;
        }
    }

    /// Next bytes to write to the line.
    pub fn poll_line(&mut self, now: MonoInstant) -> Option<Vec<u8>> {
        self.look_at_time(now);
        if self.is_over {
            return None;
        }
        let session = self.session?;
        self.fill();
        if let Some((kind, payload)) = self.sent.get(self.written).cloned() {
            let number = self
                .first
                .wrapping_add(u8::try_from(self.written).unwrap_or(u8::MAX));
            let frame = self.frame(session, kind, number, payload);
            // A numbered frame acknowledges too, but cannot report a gap.
            if self.answer == Some(Kind::Acknowledge) {
                self.answer = None;
            }
            self.written += 1;
            self.spoken = now;
            if self.again.is_none() {
                self.again = Some(now.after(self.timeout()));
            }
            if kind == Kind::Close && self.own == Closing::Asked {
                self.own = Closing::Said(now);
            }
            return Some(frame);
        }
        let is_idle = now >= self.spoken.after(IDLE);
        let kind = self
            .answer
            .take()
            .or_else(|| is_idle.then_some(Kind::Acknowledge))?;
        self.spoken = now;
        Some(self.frame(session, kind, 0, Vec::new()))
    }

    fn frame(&self, session: u16, kind: Kind, number: u8, payload: Vec<u8>) -> Vec<u8> {
        let frame = Frame {
            from: self.end,
            kind,
            session,
            number,
            awaited: self.awaited,
            payload,
        };
        frame.encode()
    }

    /// Turns queued bytes into frames, as far as the window allows.
    fn fill(&mut self) {
        while self.sent.len() < usize::from(WINDOW) && !self.waiting.is_empty() {
            let length = self.waiting.len().min(MAX_PAYLOAD);
            let payload = self.waiting.drain(..length).collect();
            self.sent.push_back((Kind::Data, payload));
        }
        let is_closed = self.sent.iter().any(|(kind, _)| *kind == Kind::Close);
        if self.own == Closing::Asked
            && self.waiting.is_empty()
            && !is_closed
            && self.sent.len() < usize::from(WINDOW)
        {
            self.sent.push_back((Kind::Close, Vec::new()));
        }
    }

    /// Runs the timers that have expired.
    fn look_at_time(&mut self, now: MonoInstant) {
        if self.again.is_some_and(|again| now >= again) {
            self.written = 0;
            self.mended = None;
            self.again = None;
            self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        }
        let is_gone = now >= self.heard.after(GONE);
        let is_left = self.left().is_some_and(|left| now >= left);
        let has_both_ends = self.own == Closing::Done
            && self.theirs == Closing::Done
            && self.answer.is_none()
            && self.sent.is_empty();
        if is_gone || is_left || has_both_ends {
            self.end_link();
        }
    }

    fn end_link(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.carried.push_back(Carried::Over);
        }
    }

    /// Retransmission timeout; both directions may be full.
    fn timeout(&self) -> Duration {
        (self.window_time * 2 + TURNAROUND) * 2_u32.pow(self.backoff)
    }

    /// When an unacknowledged close counts as unheard. While frames arrive, earlier ones may still be retransmitted.
    fn left(&self) -> Option<MonoInstant> {
        match self.own {
            Closing::Said(since) => Some(since.max(self.heard).after(CLOSE_LIMIT)),
            Closing::Asked | Closing::Done | Closing::Open => None,
        }
    }

    /// When to call [`Self::poll_line`] if nothing arrives.
    pub fn deadline(&self) -> MonoInstant {
        let idle = self.session.map(|_| self.spoken.after(IDLE));
        let all = [Some(self.heard.after(GONE)), idle, self.again, self.left()];
        let first = all.into_iter().flatten().min();
        first.expect("invariant: the first of them is there")
    }
}
