//! The receiving end: reads now and then what the program at the interface counted.

use super::code;
use super::code::Field;
use super::counter_code::{self as fields, Mark, Reference};
use super::dispatcher::Dispatcher;
use super::{End, cores, host, report};
use crate::datapaths::af_xdp::open::{attach, load};
use crate::datapaths::af_xdp::probe::ProbeMark;
use crate::datapaths::af_xdp::route::FrameRoute;
use crate::datapaths::{Arrivals, Buffers, DatagramPath};
use crate::error::Result;
use linerate_model::one_way::SignedHistogram;
use linerate_model::sample::{LongestGap, PortCount, XdpReport};
use linerate_model::{Histogram, MonoInstant, PacketCount};
use linerate_peers::Stamp;
use linerate_sys::bpf::{SharedValue, XdpLink, XdpMode, XdpProgram};
use linerate_sys::failure::Failure;
use std::net::UdpSocket;
use std::sync::Arc;

/// The kernel's loops that count a stream, one at each port to which its frames go. Field order is teardown order: first no
/// more frames are taken.
pub struct Counter {
    loops: Vec<Loop>,
    mode: XdpMode,
    /// Places of the mix of lengths; zero without one.
    places: usize,
    _port: UdpSocket,
}

/// The loop at one port.
struct Loop {
    _attachment: Attachment,
    _program: XdpProgram,
    state: SharedValue,
    route: FrameRoute,
    /// Next stretch, sample and event to read.
    stretch: u64,
    samples: u64,
    events: u64,
}

/// What has the loop run on frames.
enum Attachment {
    /// The interface.
    Own { _link: XdpLink },
    /// The program of a port that several streams have.
    Shared { _dispatcher: Arc<Dispatcher> },
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

impl FrameCounts {
    /// Both together, of frames that came at different ports; jitter and gap are the larger ones, since each port has its own.
    fn and(self, other: Self) -> Self {
        let first = |a: Option<MonoInstant>, b: Option<MonoInstant>| a.into_iter().chain(b).min();
        Self {
            received: self.received + other.received,
            duplicated: self.duplicated + other.duplicated,
            reordered: self.reordered + other.reordered,
            warm_up: self.warm_up + other.warm_up,
            too_old: self.too_old + other.too_old,
            next_expected: self.next_expected + other.next_expected,
            first: first(self.first, other.first),
            last: self.last.max(other.last),
            last_of_all: self.last_of_all.max(other.last_of_all),
            jitter_ns: self.jitter_ns.max(other.jitter_ns),
            gap: [self.gap, other.gap]
                .into_iter()
                .flatten()
                .max_by_key(|gap| gap.length),
        }
    }
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
        let routes = std::mem::take(&mut end.routes);
        let mut loops = Vec::with_capacity(routes.len());
        let mut mode = XdpMode::Native;
        let is_alone = routes.len() == 1;
        for (stream, route) in (end.first_stream_of(routes.len())..).zip(routes) {
            let mark = ProbeMark {
                token: end.probe.token,
                stream,
            };
            let reference = if is_alone {
                Reference::FirstFrame
            } else {
                Reference::Clock
            };
            let (opened, its) = Loop::open(&end, route, mark, reference)?;
            if its == XdpMode::Generic {
                mode = its;
            }
            loops.push(opened);
        }
        Ok(Self {
            loops,
            mode,
            places: end.lengths.places().len(),
            _port: end.socket,
        })
    }

    /// What was counted so far, at all ports.
    pub(crate) fn seen(&self) -> FrameCounts {
        let each = self.loops.iter().map(Loop::seen);
        each.reduce(FrameCounts::and).unwrap_or_default()
    }

    /// The first frame; `None` if nothing came. Times of several ports are relative to the clock that both ends have.
    pub(crate) fn first(&self) -> Option<FrameTime> {
        let firsts = self.loops.iter().filter_map(Loop::first);
        firsts.min_by_key(|first| first.sent.bits())
    }

    /// The fastest frames of stretches that ended before `now`; at the end of the traffic of all.
    pub(crate) fn fastest(&mut self, now: MonoInstant, each: &mut dyn FnMut(FrameTime)) {
        for one in &mut self.loops {
            one.fastest(now, each);
        }
    }

    /// Samples since the last call.
    pub(crate) fn samples(&mut self, each: &mut dyn FnMut(FrameTime)) {
        for one in &mut self.loops {
            one.samples(each);
        }
    }

    /// Jumps and late frames since the last call, with the numbers of each port. Returns how many were noted in places that
    /// were needed again.
    pub(crate) fn events(&mut self, each: &mut dyn FnMut(usize, Event)) -> u64 {
        let loops = self.loops.iter_mut().enumerate();
        let missed = loops.map(|(port, one)| one.events(&mut |event| each(port, event)));
        missed.sum()
    }

    /// Transit times less that of the first frame, or of the clock.
    pub(crate) fn transits(&self) -> SignedHistogram {
        self.signed([fields::ABOVE, fields::BELOW])
    }

    /// Inter-packet delay variation.
    pub(crate) fn ipdv(&self) -> SignedHistogram {
        self.signed([fields::IPDV_ABOVE, fields::IPDV_BELOW])
    }

    fn signed(&self, [above, below]: [i32; 2]) -> SignedHistogram {
        let mut all = SignedHistogram::default();
        for one in &self.loops {
            all.merge(&SignedHistogram {
                above: one.histogram(above),
                below: one.histogram(below),
            });
        }
        all
    }

    /// Distinct frames that came at each place of a mix of lengths.
    pub(crate) fn by_place(&self) -> Vec<PacketCount> {
        let places = (0..self.places).map(|place| offset(fields::PLACE_COUNTS, 8, place));
        let count = |at| self.loops.iter().map(|one| one.state.get(at)).sum();
        places.map(|at| PacketCount::new(count(at))).collect()
    }

    /// Distinct frames that came at each port, where those are several.
    pub(crate) fn by_port(&self) -> Vec<PortCount> {
        let each = self.loops.iter().filter(|_| self.loops.len() > 1);
        let count = |one: &Loop| PortCount {
            interface: one.route.link.name.clone(),
            received: PacketCount::new(one.get(fields::COUNTED)),
        };
        each.map(count).collect()
    }
}

impl Loop {
    fn open(
        end: &End<'_>,
        mut route: FrameRoute,
        mark: ProbeMark,
        reference: Reference,
    ) -> Result<(Self, XdpMode)> {
        let memory = SharedValue::new(fields::MEMORY_BYTES);
        let memory = memory.map_err(host("making memory to share with the kernel"))?;
        memory.set(fields::SAMPLE_MASK.at(), sample_mask(end.probe.expected));
        let known_by = Mark {
            payload_at: route.layout.payload_at(),
            probe: mark,
        };
        fields::write_lengths(&end.lengths, &mut |at, number| memory.set(at, number));
        let (map, cores) = (memory.descriptor(), cores(&route));
        let code = fields::program(known_by, &end.lengths, map, cores, reference);
        let program = load(&code, &route).map_err(host("loading the counting program"))?;
        let wanted = end.params.mode;
        let (attachment, mode) = match reference {
            Reference::FirstFrame => {
                let (link, mode) = attach(&program, &route, wanted)?;
                (Attachment::Own { _link: link }, mode)
            }
            Reference::Clock => {
                let dispatcher = end.setup.ports.add(&route, wanted, mark, &program)?;
                let mode = dispatcher.mode;
                let shared = Attachment::Shared {
                    _dispatcher: dispatcher,
                };
                (shared, mode)
            }
        };
        route.wait_until_up()?;
        let opened = Self {
            _attachment: attachment,
            _program: program,
            state: memory,
            route,
            stretch: 0,
            samples: 0,
            events: 0,
        };
        Ok((opened, mode))
    }

    fn get(&self, field: Field) -> u64 {
        self.state.get(field.at())
    }

    fn seen(&self) -> FrameCounts {
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

    fn first(&self) -> Option<FrameTime> {
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

    fn fastest(&mut self, now: MonoInstant, each: &mut dyn FnMut(FrameTime)) {
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

    fn samples(&mut self, each: &mut dyn FnMut(FrameTime)) {
        let places = u64::from(fields::SAMPLE_PLACES.unsigned_abs());
        let noted = self.get(fields::SAMPLES);
        for sample in self.samples.max(noted.saturating_sub(places))..noted {
            let place = usize::try_from(sample % places).unwrap_or(0);
            each(self.note(offset(fields::SAMPLE_NOTES, fields::NOTE_BYTES, place)));
        }
        self.samples = noted;
    }

    fn events(&mut self, each: &mut dyn FnMut(Event)) -> u64 {
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
        let malformed = self.loops.iter().map(|one| one.get(fields::MALFORMED));
        let first = self.loops.first()?;
        Some(report(&first.route, self.mode, malformed.sum()))
    }
}
