//! Rates that are what an Ethernet link of a nominal speed carries: a sign where a log does not tell the speed.

use super::Evidence;
use crate::readings::packet;
use linerate_model::run::Trial;
use linerate_model::{BitRate, FrameOverhead, Layer};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Nominal speeds of Ethernet, bit/s (IEEE 802.3).
const SPEEDS: [f64; 11] = [
    1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 4e10, 1e11, 2e11, 4e11,
];

/// Shares of a nominal speed at which a link is full. The upper end is that of a shaper, which counts frames without
/// preamble, check sum and gap: 1514 of 1538 bytes.
const FULL: RangeInclusive<f64> = 0.98..=1.018;

/// Share by which a full link's intervals may differ from their mean, and how many of them must not: queues and timers make
/// single ones differ, a window that is too small or another sender's traffic all of them.
const STEADY: f64 = 0.1;
const LEAST_STEADY: f64 = 0.75;
/// Fewest intervals that tell: the first has the start of the test, the last its end.
const LEAST_INTERVALS: usize = 3;

/// Full TCP segments behind an MTU of 1500 bytes, with time stamps and without (RFC 7323): headers, and payload in bytes.
const FULL_SEGMENTS: [(FrameOverhead, u64); 2] = [
    (FrameOverhead::TCP_IPV4, 1448),
    (
        FrameOverhead {
            l4_header_bytes: 20,
            ..FrameOverhead::TCP_IPV4
        },
        1460,
    ),
];

impl Evidence<'_> {
    /// Rates at L1 that what was carried may have been, bit/s: a log of TCP does not tell its segments.
    fn on_the_wire(&self) -> impl Iterator<Item = f64> {
        let recorded = self.trials().first().and_then(|trial| packet(trial));
        let guessed = FULL_SEGMENTS
            .into_iter()
            .filter(move |_| recorded.is_none() && self.is_tcp());
        let carried = BitRate::from_f64(self.carried());
        let packets = recorded.into_iter().chain(guessed);
        packets.filter_map(move |(overhead, payload)| {
            Some(overhead.rate_at(Layer::L1, carried, payload)?.as_f64())
        })
    }

    /// Rate of what was carried at L1, bit/s, with headers and gaps of full segments where the log does not tell them.
    pub(in crate::causes) fn wire_rate(&self) -> Option<f64> {
        self.on_the_wire().next()
    }

    /// The nominal speed, bit/s, of a link that would be full, in a log that tells no speed and is not of one host alone.
    pub(in crate::causes) fn nominal_speed(&self) -> Option<f64> {
        let run = self.run;
        let is_within_host = run.hosts.iter().any(|host| {
            let address = host.name.as_deref().map(str::parse::<IpAddr>);
            address.is_some_and(|address| address.is_ok_and(|address| address.is_loopback()))
        });
        // Of what linerate measured itself the interfaces are recorded.
        let is_log = run.trials.iter().all(|trial| trial.raw().is_empty());
        if !is_log || is_within_host || self.link_speed().is_some() || !self.is_steady() {
            return None;
        }
        let fills = |speed: &f64| {
            self.on_the_wire()
                .any(|rate| FULL.contains(&(rate / speed)))
        };
        SPEEDS.into_iter().find(fills)
    }

    /// Whether TCP's rate stays the same from interval to interval, as far as a log has them.
    fn is_steady(&self) -> bool {
        let mut subject = self.trials().iter();
        !self.is_tcp() || subject.all(|trial| is_level(trial))
    }
}

/// Whether most of the intervals of `trial` have the same rate, its first and last one aside.
fn is_level(trial: &Trial) -> bool {
    let known = trial.carried_by_interval().into_iter();
    let rates: Vec<f64> = known.map(|(_, rate)| rate.as_f64()).collect();
    if rates.len() < LEAST_INTERVALS {
        return true;
    }
    let inner = &rates[1..rates.len() - 1];
    let Some(mean) = crate::readings::mean(inner.iter().copied()) else {
        return true;
    };
    let level = inner
        .iter()
        .filter(|rate| (**rate / mean - 1.0).abs() <= STEADY);
    let count = |n: usize| linerate_model::PacketCount::new(n as u64).as_f64();
    count(level.count()) >= LEAST_STEADY * count(inner.len())
}
