//! What one endpoint and each of its streams have to do, derived from the test that both ends know.

use crate::error::{EngineError, Result};
use linerate_model::spec::{
    CatchUp, Direction, Imitation, MAX_OVERTIME, Observe, Side, SocketChoice, Stall, Stop,
    TestSpec, TestWork, TransactionBounds, Transport, WaitMode,
};
use linerate_model::{BitRate, ByteCount, MonoInstant};
use linerate_peers::{DatagramFormat, MessageFormat, StreamFormat};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Role of an endpoint on the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Requested the test; runs on `pinning.local`.
    Client,
    /// Serves the test; runs on `pinning.remote`.
    Server,
}

/// One direction of a test at one of its ends.
#[derive(Debug, Clone)]
pub struct EndpointPlan {
    /// Whether this end sends or receives (ping-pong: requests or responds).
    pub side: Side,
    /// Whether this end is the client or the server.
    pub role: Role,
    /// The test, identical at both ends.
    pub spec: TestSpec,
    /// Format of the streams, from the peer's protocol.
    pub format: Arc<dyn StreamFormat>,
}

impl EndpointPlan {
    /// Core to pin the traffic threads to.
    pub(crate) const fn core(&self) -> Option<u32> {
        match self.role {
            Role::Client => self.spec.pinning.local,
            Role::Server => self.spec.pinning.remote,
        }
    }

    /// Whether this end opened the way of a stream of datagrams, as the handshake does, and then only receives.
    fn keeps_way_open(&self, index: u8) -> bool {
        let only_receives = self.role == Role::Client && self.spec.direction == Direction::Reverse;
        only_receives && self.format.handshake(index.into()).is_some()
    }

    /// TCP connections that traffic thread `thread` has open at once.
    pub(crate) fn connections(&self, thread: u16) -> u64 {
        let streams = self.spec.streams_of_thread(thread);
        match self.spec.work.connections() {
            Some(work) => share(work.concurrent.into(), &streams, self.spec.streams),
            None => (streams.end - streams.start).into(),
        }
    }

    /// Plan of stream `index`.
    pub(crate) fn stream(&self, index: u8) -> StreamPlan {
        let spec = &self.spec;
        let streams = spec.streams_of_thread(index.into());
        let share = |total| share(total, &streams, spec.streams);
        StreamPlan {
            index,
            streams: streams.end - streams.start,
            in_turns: (spec.threads.is_some() && spec.transport() == Transport::Udp)
                .then(|| streams.clone()),
            format: Arc::clone(&self.format),
            keeps_way_open: self.keeps_way_open(index),
            payload: spec.payload().as_usize(),
            rate: spec
                .pace()
                .intended_load()
                .map(|r| BitRate::from_bps(share(r.bps()))),
            stop: match spec.stop {
                Stop::After(time) => Stop::After(time),
                Stop::Bytes(bytes) => Stop::Bytes(ByteCount::new(share(bytes.get()))),
                Stop::Transactions(count) => Stop::Transactions(share(count)),
            },
            warm_up: spec.warm_up,
            interval: Intervals {
                length: spec.interval,
                most: spec.intervals_per_stream() as usize,
            },
            max_samples: (MAX_TCP_SAMPLES / usize::from(spec.traffic_threads())).max(2),
            imitation: spec.imitation,
            catch_up: spec.catch_up,
            wait: spec.wait,
            observe: spec.observe,
            seed: spec.seed,
            work: spec.work.clone(),
            connections: self.connections(index.into()),
            share: f64::from(streams.end - streams.start) / f64::from(spec.streams.max(1)),
            socket: spec.socket.clone(),
        }
    }
}

/// Number in the opening of a TCP stream where all streams of a test come to one port: in a duplex test those on which the
/// server plays its second side, [`Side::Sender`], follow the others.
pub fn opening_at_one_port(spec: &TestSpec, server: Side, stream: u16) -> u16 {
    match (spec.direction, server) {
        (Direction::Duplex, Side::Sender) => stream.saturating_add(spec.streams),
        _ => stream,
    }
}

/// Share of `total` for streams `own` of `all`; the shares sum up to `total`.
fn share(total: u64, own: &Range<u16>, all: u16) -> u64 {
    let all = u64::from(all.max(1));
    let (from, to) = (u64::from(own.start), u64::from(own.end));
    let one_more = (total % all).clamp(from, to) - from;
    total / all * (to - from) + one_more
}

/// Maximum `TCP_INFO` readings of one side over all streams: some 4 MB of a report. That is one a second for an hour of
/// one stream or half a minute of 128; longer tests have fewer.
const MAX_TCP_SAMPLES: usize = 4096;

/// Reporting intervals of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intervals {
    /// Length of each but the last.
    pub(crate) length: Duration,
    /// Maximum number; what follows is in one more.
    pub(crate) most: usize,
}

/// Plan of one stream.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    pub(crate) index: u8,
    /// Streams that it is the sum of, where a thread carries several.
    pub(crate) streams: u16,
    /// Those whose datagrams take turns, where a thread carries several.
    pub(crate) in_turns: Option<Range<u16>>,
    pub(crate) format: Arc<dyn StreamFormat>,
    /// Whether a receiver sends something now and then, so that NATs on its way do not forget the stream.
    pub(crate) keeps_way_open: bool,
    pub(crate) payload: usize,
    pub(crate) rate: Option<BitRate>,
    pub(crate) stop: Stop,
    pub(crate) warm_up: Duration,
    pub(crate) interval: Intervals,
    /// Maximum `TCP_INFO` readings kept.
    pub(crate) max_samples: usize,
    pub(crate) imitation: Option<Imitation>,
    pub(crate) catch_up: CatchUp,
    pub(crate) wait: WaitMode,
    pub(crate) observe: Observe,
    pub(crate) seed: u64,
    /// What the whole test exchanges; size and rate of this stream are [`Self::payload`] and [`Self::rate`].
    pub(crate) work: TestWork,
    /// TCP connections that it has open at once.
    pub(crate) connections: u64,
    /// Its share of the whole test, from 0 to 1.
    pub(crate) share: f64,
    /// Options of the sockets that it opens itself.
    pub(crate) socket: SocketChoice,
}

impl StreamPlan {
    /// Format of its datagrams.
    pub(crate) fn datagrams(&self) -> Result<Box<dyn DatagramFormat>> {
        let format = match &self.in_turns {
            Some(streams) => self.format.datagrams_in_turns(streams.clone()),
            None => self.format.datagrams(self.index, self.payload),
        };
        format.ok_or_else(no_datagrams)
    }

    /// Format of its messages.
    pub(crate) fn messages(&self) -> Result<Box<dyn MessageFormat>> {
        self.format.messages(self.index).ok_or_else(no_messages)
    }

    /// Pause of this stream's receiver after each read.
    pub(crate) fn receiver_pause(&self) -> Option<Duration> {
        self.imitation.as_ref().and_then(Imitation::receiver_pause)
    }

    /// Pause of this stream's sender after each write.
    pub(crate) fn sender_pause(&self) -> Option<Duration> {
        self.imitation.as_ref().and_then(Imitation::sender_pause)
    }

    /// Periodic stall of this stream's responder.
    pub(crate) fn stall(&self) -> Option<Stall> {
        self.imitation.as_ref().and_then(Imitation::stall)
    }

    /// Duration of its counted traffic; `None` if the test ends by a count.
    pub(crate) const fn counted_time(&self) -> Option<Duration> {
        match self.stop {
            Stop::After(time) => Some(time),
            Stop::Bytes(_) | Stop::Transactions(_) => None,
        }
    }
}

/// Error: the peer's protocol has no one-way datagrams.
pub(crate) fn no_datagrams() -> EngineError {
    let why = "the peer's protocol has request and response only";
    EngineError::plan("workload", &"datagrams", why)
}

/// Error: the peer's protocol has no messages.
pub(crate) fn no_messages() -> EngineError {
    let why = "the peer's protocol has no request and response";
    EngineError::plan("workload", &"ping-pong", why)
}

/// Stop condition of a running stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    end: Option<MonoInstant>,
    left: u64,
    /// Minimum units, to be done even after the time is up.
    owed: u64,
}

impl Limit {
    /// The limit of `stop` for units of `unit` bytes, with counted time from `counted`.
    pub(crate) fn new(stop: Stop, unit: usize, counted: MonoInstant) -> Self {
        let unit = u64::try_from(unit.max(1)).unwrap_or(u64::MAX);
        match stop {
            Stop::After(time) => Self {
                end: Some(counted.after(time)),
                left: u64::MAX,
                owed: 0,
            },
            Stop::Bytes(bytes) => Self {
                end: None,
                left: bytes.get().div_ceil(unit),
                owed: 0,
            },
            Stop::Transactions(count) => Self {
                end: None,
                left: count,
                owed: 0,
            },
        }
    }

    /// The limit with bounds on the number of units.
    pub(crate) fn bounded(self, bounds: TransactionBounds) -> Self {
        Self {
            left: self.left.min(bounds.at_most.unwrap_or(u64::MAX)),
            owed: bounds.at_least.unwrap_or(0),
            ..self
        }
    }

    /// End of the time limit, if the test ends by time.
    pub(crate) const fn end(&self) -> Option<MonoInstant> {
        self.end
    }

    /// Whether the stream is to stop.
    pub(crate) fn is_over(&self, now: MonoInstant) -> bool {
        let overtime = if self.owed > 0 {
            MAX_OVERTIME
        } else {
            Duration::ZERO
        };
        self.left == 0 || self.end.is_some_and(|end| now >= end.after(overtime))
    }

    /// Units left.
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// `units` were done.
    pub(crate) const fn spend(&mut self, units: u64) {
        self.left = self.left.saturating_sub(units);
        self.owed = self.owed.saturating_sub(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_streams_sum_up_to_the_whole() {
        for total in [0, 1, 7, 1_000_000_007] {
            for cuts in [[0, 1, 2, 3], [0, 0, 2, 3]] {
                let parts = cuts
                    .windows(2)
                    .map(|cut| share(total, &(cut[0]..cut[1]), 3));
                assert_eq!(parts.sum::<u64>(), total);
            }
        }
    }

    #[test]
    fn bounds_by_number_end_a_test_sooner_or_later_than_its_time() {
        let at = |millis: u64| MonoInstant::from_nanos(millis * 1_000_000);
        let of = |at_least, at_most| {
            let bounds = TransactionBounds {
                at_least,
                at_most,
                warm_up: None,
            };
            Limit::new(Stop::After(Duration::from_secs(1)), 1, at(0)).bounded(bounds)
        };
        let mut most = of(None, Some(2));
        most.spend(1);
        assert!(!most.is_over(at(10)));
        most.spend(1);
        assert!(most.is_over(at(10)));
        let mut least = of(Some(2), None);
        assert!(!least.is_over(at(1500)));
        assert!(least.is_over(at(1000).after(MAX_OVERTIME)));
        least.spend(2);
        assert!(least.is_over(at(1500)));
        assert!(!least.is_over(at(500)));
    }
}
