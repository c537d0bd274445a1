//! The receiving end: reads now and then what the program at the interface counted.

use super::code;
use super::code::Field;
use super::counter_code::{self as fields, Mark};
use super::{End, cores, host, report};
use crate::datapaths::af_xdp::open::{attach, load};
use crate::datapaths::af_xdp::probe::ProbeMark;
use crate::datapaths::af_xdp::route::FrameRoute;
use crate::datapaths::{Arrivals, Buffers, DatagramPath};
use crate::error::Result;
use linerate_model::one_way::SignedHistogram;
use linerate_model::sample::{LongestGap, XdpReport};
use linerate_model::{Histogram, MonoInstant, PacketCount};
use linerate_peers::Stamp;
use linerate_sys::bpf::{SharedValue, XdpLink, XdpMode, XdpProgram};
use linerate_sys::failure::Failure;
use std::net::UdpSocket;

/// The kernel's loop that counts a stream. Field order is teardown order: first no more frames are taken.
pub struct Counter {
    _link: XdpLink,
    _program: XdpProgram,
    state: SharedValue,
    mode: XdpMode,
    route: FrameRoute,
    /// Places of the mix of lengths; zero without one.
    places: usize,
    /// Next stretch, sample and event to read.
    stretch: u64,
    samples: u64,
    events: u64,
    _port: UdpSocket,
}

/// What was counted so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FrameCounts {
    /// Distinct frames.
    pub(crate) received: u64,
    /// Those that came again.
    pub(crate) duplicated: u64,
    /// Distinct ones after one with a larger number.
    pub(crate) reordered: u64,
    /// Those of the warm-up, each as often as it came.
    pub(crate) warm_up: u64,
    /// Those that came too late to be told from duplicates.
    pub(crate) too_old: u64,
    /// One above the highest number.
    pub(crate) next_expected: u64,
    /// When the first and the last counted frame came.
    pub(crate) first: Option<MonoInstant>,
    pub(crate) last: Option<MonoInstant>,
    /// When the last frame came, warm-up included.
    pub(crate) last_of_all: Option<MonoInstant>,
    /// Interarrival jitter, nanoseconds.
    pub(crate) jitter_ns: Option<u64>,
    /// The longest time between two counted frames.
    pub(crate) gap: Option<LongestGap>,
}

/// A frame's times, on the clocks of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameTime {
    /// Number of the arrival, or of the stretch of time.
    pub(crate) key: u64,
    /// When it was sent.
    pub(crate) sent: Stamp,
    /// Transit time modulo 2^48 nanoseconds.
    pub(crate) transit: u64,
}

/// What became of the order of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Numbers from this one on were skipped.
    Jump { first_missing: u64, arrival: u64 },
    /// This number came late.
    Late { sequence: u64, arrival: u64 },
}

impl Counter {
    pub(super) fn open(mut end: End<'_>) -> Result<Self> {
        let memory = SharedValue::new(fields::MEMORY_BYTES);
        let memory = memory.map_err(host("making memory to share with the kernel"))?;
        memory.set(fields::SAMPLE_MASK.at(), sample_mask(end.probe.expected));
        let mark = Mark {
            payload_at: end.route.layout.payload_at(),
            probe: ProbeMark::from(&end.probe),
        };
        fields::write_lengths(&end.lengths, &mut |at, number| memory.set(at, number));
        let cores = cores(&end.route);
        let code = fields::program(mark, &end.lengths, memory.descriptor(), cores);
        let program = load(&code, &end.route).map_err(host("loading the counting program"))?;
        let (link, mode) = attach(&program, &end.route, end.params.mode)?;
        end.route.wait_until_up()?;
        Ok(Self {
            _link: link,
            _program: program,
            state: memory,
            mode,
            route: end.route,
            places: end.lengths.places().len(),
            stretch: 0,
            samples: 0,
            events: 0,
            _port: end.socket,
        })
    }

    fn get(&self, field: Field) -> u64 {
        self.state.get(field.at())
    }

    /// What was counted so far.
    pub(crate) fn seen(&self) -> FrameCounts {
        let time = |field| {
            Some(self.get(field))
                .filter(|nanos| *nanos > 0)
                .map(MonoInstant::from_nanos)
        };
        FrameCounts {
            next_expected: self.get(fields::NEXT_EXPECTED),
            received: self.get(fields::COUNTED),
            duplicated: self.get(fields::DUPLICATED),
            reordered: self.get(fields::REORDERED),
            too_old: self.get(fields::TOO_OLD),
            warm_up: self.get(fields::WARM_UP),
            first: time(fields::FIRST),
            last: time(fields::LAST),
            last_of_all: time(fields::LAST_OF_ALL),
            jitter_ns: (self.get(fields::ARRIVALS) > 0).then(|| self.get(fields::JITTER) / 16),
            gap: time(fields::GAP).map(|gap| LongestGap {
                length: gap.saturating_since(MonoInstant::default()),
                // A late frame ends a gap too, and then none was missing.
                missing: PacketCount::new(
                    self.get(fields::GAP_MISSING)
                        .cast_signed()
                        .max(0)
                        .unsigned_abs(),
                ),
            }),
        }
    }

    /// The first frame; `None` if nothing came.
    pub(crate) fn first(&self) -> Option<FrameTime> {
        (self.get(fields::HEARD) > 0).then(|| FrameTime {
            key: 0,
            sent: Stamp::from_bits(self.get(fields::FIRST_SENT)),
            transit: self.get(fields::FIRST_TRANSIT) & MASK_48,
        })
    }

    fn note(&self, at: usize) -> FrameTime {
        let transit = self
            .state
            .get(at + 16)
            .wrapping_add(self.get(fields::FIRST_TRANSIT));
        FrameTime {
            key: self.state.get(at),
            sent: Stamp::from_bits(self.state.get(at + 8)),
            transit: transit & MASK_48,
        }
    }

    /// The fastest frames of stretches that ended before `now`; at the end of the traffic of all.
    pub(crate) fn fastest(&mut self, now: MonoInstant, each: &mut dyn FnMut(FrameTime)) {
        let present = now.as_nanos() >> fields::STRETCH_SHIFT;
        let places = u64::from(fields::STRETCH_PLACES.unsigned_abs());
        let oldest = present.saturating_sub(places - 1);
        for stretch in self.stretch.max(oldest)..present {
            let place = usize::try_from(stretch % places).unwrap_or(0);
            let note = self.note(offset(fields::STRETCHES, fields::NOTE_BYTES, place));
            if note.key == stretch {
                each(note);
            }
        }
        self.stretch = self.stretch.max(present);
    }

    /// Samples since the last call.
    pub(crate) fn samples(&mut self, each: &mut dyn FnMut(FrameTime)) {
        let places = u64::from(fields::SAMPLE_PLACES.unsigned_abs());
        let noted = self.get(fields::SAMPLES);
        for sample in self.samples.max(noted.saturating_sub(places))..noted {
            let place = usize::try_from(sample % places).unwrap_or(0);
            each(self.note(offset(fields::SAMPLE_NOTES, fields::NOTE_BYTES, place)));
        }
        self.samples = noted;
    }

    /// Jumps and late frames since the last call. Returns how many were noted in places that were needed again.
    pub(crate) fn events(&mut self, each: &mut dyn FnMut(Event)) -> u64 {
        let places = u64::from(fields::EVENT_PLACES.unsigned_abs());
        let noted = self.get(fields::EVENTS);
        let first = self.events.max(noted.saturating_sub(places));
        let missed = first - self.events;
        for event in first..noted {
            let place = usize::try_from(event % places).unwrap_or(0);
            let at = offset(fields::EVENT_NOTES, fields::EVENT_BYTES, place);
            let (number, arrival) = (self.state.get(at), self.state.get(at + 8));
            each(if number & fields::LATE == 0 {
                Event::Jump {
                    first_missing: number,
                    arrival,
                }
            } else {
                Event::Late {
                    sequence: number & !fields::LATE,
                    arrival,
                }
            });
        }
        self.events = noted;
        missed
    }

    fn histogram(&self, start: i32) -> Histogram {
        code::histogram(&|at| self.state.get(at), start)
    }

    /// Transit times less that of the first frame.
    pub(crate) fn transits(&self) -> SignedHistogram {
        SignedHistogram {
            above: self.histogram(fields::ABOVE),
            below: self.histogram(fields::BELOW),
        }
    }

    /// Distinct frames that came at each place of a mix of lengths.
    pub(crate) fn by_place(&self) -> Vec<PacketCount> {
        let places = (0..self.places).map(|place| offset(fields::PLACE_COUNTS, 8, place));
        places
            .map(|at| PacketCount::new(self.state.get(at)))
            .collect()
    }

    /// Inter-packet delay variation.
    pub(crate) fn ipdv(&self) -> SignedHistogram {
        SignedHistogram {
            above: self.histogram(fields::IPDV_ABOVE),
            below: self.histogram(fields::IPDV_BELOW),
        }
    }
}

/// Byte of a place.
fn offset(start: i32, bytes: i32, place: usize) -> usize {
    start.unsigned_abs() as usize + place * bytes.unsigned_abs() as usize
}

/// Mask by which some thousand of `expected` frames are noted.
fn sample_mask(expected: u64) -> u64 {
    let every = expected / u64::from(fields::SAMPLE_PLACES.unsigned_abs() / 2);
    (every + 1).next_power_of_two() - 1
}

const MASK_48: u64 = (1 << 48) - 1;

impl DatagramPath for Counter {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut []
    }

    fn send(&mut self, _count: usize) -> Result<usize, Failure> {
        Err(Failure::would_block("sendto"))
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        Err(Failure::would_block("sendto"))
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        Err(Failure::would_block("recvfrom"))
    }

    fn overflows(&mut self) -> Option<u64> {
        Some(0)
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }

    fn counter(&mut self) -> Option<&mut Counter> {
        Some(self)
    }

    fn xdp(&mut self) -> Option<XdpReport> {
        Some(report(&self.route, self.mode, self.get(fields::MALFORMED)))
    }
}
