//! Payloads to frames, and frames to payloads: the same for every way that frames take.

use super::frame::{self, Flow, Layout, Refusal, Template};
use super::lengths::Lengths;
use super::probe::ProbeMark;
use crate::datapaths::{Arrivals, Span};
use linerate_wire::header::{HEADER_LEN, Header};

/// Makes the frames of a stream. Its user sees payloads of one length; where lengths are a mix, the numbers in the payloads
/// decide how long frames are.
pub(in crate::datapaths) struct Codec {
    layout: Layout,
    template: Template,
    empty: Template,
    payload: usize,
    lengths: Lengths,
    /// A template for each place of a mix of lengths.
    mix: Vec<Template>,
    /// The payload of one frame of a mix.
    scratch: Vec<u8>,
}

impl Codec {
    /// Of frames with payloads of `payload` bytes.
    pub(in crate::datapaths) fn new(layout: &Layout, payload: usize) -> Self {
        Self {
            template: Template::new(layout, payload),
            empty: Template::new(layout, 0),
            layout: layout.clone(),
            payload,
            lengths: Lengths::One(payload),
            mix: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// This codec with frames of these lengths.
    pub(in crate::datapaths) fn with_lengths(self, lengths: Lengths) -> Self {
        let each = lengths.places().iter();
        Self {
            mix: each
                .map(|length| Template::new(&self.layout, *length))
                .collect(),
            scratch: vec![0; lengths.longest()],
            lengths,
            ..self
        }
    }

    /// Bytes of a payload as its user sees it.
    pub(in crate::datapaths) const fn payload(&self) -> usize {
        self.payload
    }

    /// Places of the mix of lengths; zero without one.
    pub(in crate::datapaths) const fn places(&self) -> usize {
        self.mix.len()
    }

    /// Longest frame, bytes without FCS.
    pub(in crate::datapaths) fn longest(&self) -> usize {
        self.layout.payload_at() + self.lengths.longest().max(self.payload)
    }

    /// Changes the length of payloads; of a mix it stays that of the numbers.
    pub(in crate::datapaths) fn set_payload(&mut self, payload: usize) {
        self.template = Template::new(&self.layout, payload);
        self.payload = payload;
        if self.mix.is_empty() {
            self.lengths = Lengths::One(payload);
        }
    }

    /// Writes the frame of a payload to the start of `room`; its length.
    pub(in crate::datapaths) fn write(&mut self, payload: &[u8], room: &mut [u8]) -> usize {
        if self.mix.is_empty() {
            return self.template.write(payload, room);
        }
        // Behind the header a payload is zeros, of whatever length.
        self.scratch[..HEADER_LEN].copy_from_slice(&payload[..HEADER_LEN]);
        let sequence = Header::read(payload).map_or(0, |header| header.sequence);
        let template = &self.mix[Lengths::place(self.lengths.places(), sequence)];
        template.write(&self.scratch[..self.lengths.of(sequence)], room)
    }

    /// Writes a frame without payload.
    pub(in crate::datapaths) fn write_empty(&self, room: &mut [u8]) -> usize {
        self.empty.write(&[], room)
    }
}

/// Payloads of received frames, until the next batch.
pub(in crate::datapaths) struct Inbox {
    pub(in crate::datapaths) bytes: Vec<u8>,
    pub(in crate::datapaths) spans: Vec<Span>,
    /// Frames of the test that are not whole.
    pub(in crate::datapaths) malformed: u64,
}

impl Inbox {
    /// With room for a batch of so many frames.
    pub(in crate::datapaths) fn new(batch: usize) -> Self {
        Self {
            bytes: Vec::new(),
            spans: Vec::with_capacity(batch),
            malformed: 0,
        }
    }

    /// Forgets the batch.
    pub(in crate::datapaths) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// The batch, beside so many frames of the test that were dropped.
    pub(in crate::datapaths) fn arrivals(&self, dropped: u64) -> Arrivals<'_> {
        let lost = dropped + self.malformed;
        Arrivals {
            bytes: &self.bytes,
            spans: &self.spans,
            overflows: u32::try_from(lost).ok().filter(|lost| *lost > 0),
            runs: &[],
            came: None,
        }
    }

    /// Takes the payload of a frame, by the mark that it carries, or else by the addresses of `flow`.
    pub(in crate::datapaths) fn take(
        &mut self,
        codec: &Codec,
        mark: Option<ProbeMark>,
        flow: &Flow,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let payload = match mark {
            Some(mark) => mark.payload(bytes, codec.layout.payload_at(), &codec.lengths),
            None => frame::payload(flow, bytes),
        }?;
        let start = self.bytes.len();
        let seen = if codec.mix.is_empty() {
            payload.len()
        } else {
            codec.payload
        };
        self.bytes
            .extend_from_slice(&payload[..payload.len().min(seen)]);
        self.bytes.resize(start + seen, 0);
        self.spans.push(Span {
            offset: number(start),
            length: number(seen),
        });
        Ok(())
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("invariant: a batch is below 4 GiB")
}
