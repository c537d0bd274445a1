//! What a receiver keeps of each stream: which numbers came, and the last transit times.
//!
//! Where streams take turns on a thread, number `n` is number `n / streams` of stream `n % streams`: each stream is
//! judged by its own order, whatever came of the others in between.

use crate::ipdv::{Ipdv, Neighbour};
use crate::sequence::Remembered;
use linerate_model::sample::FlowCounts;
use linerate_wire::Jitter;
use linerate_wire::sequence::{Arrival, Counts, Tracker};
use std::collections::BTreeMap;

/// Words of the window of one of many streams: it tells apart 1024 numbers in 256 bytes, and its jumps take at most
/// 8 KiB, also where every other datagram is lost.
const WORDS_IN_TURNS: usize = 32;

/// The streams of one receiver.
pub(super) enum Sequences {
    One(Stream<{ crate::sequence::WORDS }>),
    InTurns(Turns),
}

/// One stream.
#[derive(Default)]
pub(super) struct Stream<const WORDS: usize> {
    tracker: Tracker<Remembered<WORDS>>,
    jitter: Jitter,
    last: Neighbour,
}

impl<const WORDS: usize> Stream<WORDS> {
    #[inline]
    fn record(&mut self, sequence: u64, transit: u64, ipdv: Option<&mut Ipdv>) -> Arrival {
        if let Some(ipdv) = ipdv {
            ipdv.record(&mut self.last, sequence, transit);
        }
        self.jitter.record(transit);
        self.tracker.record(sequence)
    }
}

/// Streams that take turns.
pub(super) struct Turns {
    /// At least one.
    all: Box<[Stream<WORDS_IN_TURNS>]>,
    /// Sum of the streams' next expected numbers.
    expected: u64,
    received: u64,
}

impl Turns {
    #[inline]
    fn record(&mut self, number: u64, transit: u64, ipdv: Option<&mut Ipdv>) -> Arrival {
        let streams = self.all.len() as u64;
        let place = usize::try_from(number % streams).unwrap_or(0);
        let stream = &mut self.all[place];
        let before = stream.tracker.next_expected();
        let arrival = stream.record(number / streams, transit, ipdv);
        self.expected += stream.tracker.next_expected() - before;
        self.received += u64::from(arrival == Arrival::Distinct);
        arrival
    }
}

impl Sequences {
    /// Of one stream, or of so many that take turns.
    pub(super) fn new(in_turns: Option<usize>) -> Self {
        match in_turns {
            None => Self::One(Stream::default()),
            Some(streams) => Self::InTurns(Turns {
                all: (0..streams.max(1)).map(|_| Stream::default()).collect(),
                expected: 0,
                received: 0,
            }),
        }
    }

    /// Records the datagram with this number, 48 bits in each stream; its delay variation in `ipdv`, if it counts.
    #[inline]
    pub(super) fn record(&mut self, number: u64, transit: u64, ipdv: Option<&mut Ipdv>) -> Arrival {
        match self {
            Self::One(stream) => stream.record(number, transit, ipdv),
            Self::InTurns(streams) => streams.record(number, transit, ipdv),
        }
    }

    /// Datagrams received or skipped so far.
    #[inline]
    pub(super) const fn next_expected(&self) -> u64 {
        match self {
            Self::One(stream) => stream.tracker.next_expected(),
            Self::InTurns(streams) => streams.expected,
        }
    }

    /// Distinct datagrams so far.
    pub(super) const fn received(&self) -> u64 {
        match self {
            Self::One(stream) => stream.tracker.received(),
            Self::InTurns(streams) => streams.received,
        }
    }

    /// Sums over the streams; the reordering extent is the greatest of any.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::One(stream) => stream.tracker.counts(),
            Self::InTurns(streams) => {
                let each = streams.all.iter().map(|stream| stream.tracker.counts());
                each.fold(Counts::default(), |sum, one| Counts {
                    received: sum.received + one.received,
                    duplicated: sum.duplicated + one.duplicated,
                    reordered: sum.reordered + one.reordered,
                    extent_max: sum.extent_max.max(one.extent_max),
                    next_expected: sum.next_expected + one.next_expected,
                    too_old: sum.too_old + one.too_old,
                })
            }
        }
    }

    /// Distinct datagrams of each stream, where several take turns.
    pub(super) fn by_stream(&self) -> Option<FlowCounts> {
        match self {
            Self::One(_) => None,
            Self::InTurns(streams) => {
                let each = streams.all.iter().map(|stream| stream.tracker.received());
                Some(each.collect())
            }
        }
    }

    /// Forgets the jitter so far.
    pub(super) fn restart_jitter(&mut self) {
        match self {
            Self::One(stream) => stream.jitter = Jitter::default(),
            Self::InTurns(streams) => {
                for stream in &mut streams.all {
                    stream.jitter = Jitter::default();
                }
            }
        }
    }

    /// The jitter in nanoseconds, the mean over the streams of which something came; `None` if nothing did.
    pub(super) fn jitter_ns(&self) -> Option<u64> {
        match self {
            Self::One(stream) => stream.jitter.finish(),
            Self::InTurns(streams) => {
                let each = streams.all.iter();
                let heard: Vec<_> = each.filter_map(|stream| stream.jitter.finish()).collect();
                heard.iter().sum::<u64>().checked_div(heard.len() as u64)
            }
        }
    }
}

/// How many of `sent` datagrams, which went in turns, each of `streams` has.
pub(super) fn sent_in_turns(sent: u64, streams: usize) -> impl Iterator<Item = u64> {
    let all = streams.max(1) as u64;
    (0..all).map(move |place| sent / all + u64::from(place < sent % all))
}

/// Numbers of streams that took their turns in vain: one whose socket takes nothing must not hold up the others.
#[derive(Default)]
pub(super) struct PassedOver {
    by_place: BTreeMap<u64, u64>,
    /// Turns in vain since the last that was not.
    in_row: usize,
}

impl PassedOver {
    /// Whether each of `streams` has failed since any has not: then it is not one of them that fails.
    pub(super) const fn are_all(&self, streams: usize) -> bool {
        self.in_row >= streams
    }

    pub(super) const fn success(&mut self) {
        self.in_row = 0;
    }

    /// The stream of this number, of so many, is passed over; `counts` if it is missing from what was sent.
    pub(super) fn pass(&mut self, number: u64, streams: usize, counts: bool) {
        self.in_row += 1;
        if counts {
            let place = number % streams.max(1) as u64;
            *self.by_place.entry(place).or_default() += 1;
        }
    }

    /// What each of `streams` sent, if they sent so many together.
    pub(super) fn sent(&self, together: u64, streams: usize) -> FlowCounts {
        let numbers = together + self.by_place.values().sum::<u64>();
        let each = (0..).zip(sent_in_turns(numbers, streams));
        let passed = |place| self.by_place.get(&place).copied().unwrap_or(0);
        each.map(|(place, sent)| sent - passed(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records `numbers` of `streams` streams.
    fn recorded(streams: usize, numbers: impl IntoIterator<Item = u64>) -> Sequences {
        let mut sequences = Sequences::new(Some(streams));
        for number in numbers {
            sequences.record(number, 7, None);
        }
        sequences
    }

    #[test]
    fn each_stream_is_judged_by_its_own_order() {
        // All of stream 1, then all of stream 0, with one lost, one twice and one late.
        let of = |stream: u64| move |sequence: u64| sequence * 2 + stream;
        let numbers = (0..500).map(of(1)).chain([0, 1, 3, 3, 2, 6].map(of(0)));
        let sequences = recorded(2, numbers);
        let counts = sequences.counts();
        assert_eq!((counts.received, counts.duplicated), (505, 1));
        assert_eq!((counts.reordered, counts.extent_max), (1, 1));
        assert_eq!((counts.next_expected, counts.too_old), (507, 0));
        assert_eq!(sequences.next_expected(), 507);
        assert_eq!(sequences.received(), 505);
        let each: Vec<_> = sequences.by_stream().unwrap().iter().collect();
        assert_eq!(each, [5, 500]);
        assert_eq!(sequences.jitter_ns(), Some(0));
    }

    #[test]
    fn what_is_sent_in_turns_is_what_each_receives() {
        for (sent, streams) in [(0, 3), (2, 3), (3, 3), (1_000_003, 1000)] {
            let received = recorded(streams, 0..sent).by_stream().unwrap();
            let each = PassedOver::default().sent(sent, streams);
            assert_eq!(received, each, "{sent}, {streams}");
        }
    }

    #[test]
    fn a_silent_stream_has_no_jitter() {
        assert_eq!(recorded(3, []).jitter_ns(), None);
        assert_eq!(recorded(3, [1]).jitter_ns(), Some(0));
    }

    #[test]
    fn one_of_many_streams_takes_little_memory_also_with_loss() {
        let lossy = recorded(1, (0..100_000).step_by(2));
        let Sequences::InTurns(streams) = &lossy else {
            unreachable!()
        };
        let own = size_of::<Stream<WORDS_IN_TURNS>>();
        let memory = own + streams.all[0].tracker.memory().allocated();
        assert!(memory < 10 << 10, "{memory} bytes");
        assert_eq!(lossy.received(), 50_000);
    }
}
