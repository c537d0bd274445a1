//! One-way delays of a trial, and what is known of its ends' clocks.
//!
//! # References
//! - One-way delay: RFC 7679; its delay variation: RFC 3393, RFC 5481

use super::{Ends, streams};
use crate::clocks::{Bounds, Fit, float, near};
use linerate_model::Histogram;
use linerate_model::one_way::{
    ClockIdentity, ClockMethod, ClockRelation, Ipdv, OneWay, Passage, SignedHistogram, Transits,
};
use linerate_model::run::{Delay, DelayOf, Trial, TrialWork};
use linerate_model::sample::{DatagramReceiver, EndpointReport, StreamReport};
use linerate_model::spec::Direction;

/// One-way delays as far as the trial's own messages tell them; `None` where nothing was timed.
pub(super) fn summary(ends: &Ends<'_>) -> Option<OneWay> {
    let forward = ends
        .receiver
        .filter(|report| times(report).next().is_some())?;
    let sender = ends.sender?;
    let backward = ends.has_round_trips().then_some(sender);
    if let Some(resolution) = common_clock(sender, forward)
        && let Some(one_way) = with_one_clock(forward, backward, resolution)
    {
        return Some(one_way);
    }
    let Some(back) = backward.filter(|report| times(report).next().is_some()) else {
        return Some(missing(
            "the two hosts have different clocks, and nothing came back in this test",
        ));
    };
    let mut bounds = Bounds::default();
    for (there, back) in times(forward).zip(times(back)) {
        bounds.add(there, back);
    }
    Some(with_bounds(&bounds, sender, forward, backward))
}

/// One-way delays of datagrams whose hosts exchanged messages before and after: `exchanges` are the reports of
/// the client, who asked, and of the server, who answered. The offset between them lies on one line.
pub fn with_exchanges(trial: &mut Trial, exchanges: &[[EndpointReport; 2]]) {
    let mut bounds = Bounds::default();
    for [client, server] in exchanges {
        for (there, back) in times(server).zip(times(client)) {
            match trial.direction {
                Direction::Forward | Direction::Duplex => bounds.add(there, back),
                Direction::Reverse => bounds.add(back, there),
            }
        }
    }
    let [sender, receiver] = trial.raw() else {
        return;
    };
    if times(receiver).next().is_some() {
        let one_way = with_bounds(&bounds, sender, receiver, None);
        if let TrialWork::Datagrams(result) = &mut trial.work {
            result.one_way = Some(Box::new(one_way));
        }
    }
}

/// Whether a trial's datagrams need [`with_exchanges`]: they were timed, by two clocks.
pub fn needs_exchanges(sender: &EndpointReport, receiver: &EndpointReport) -> bool {
    common_clock(sender, receiver).is_none() && times(receiver).next().is_some()
}

/// The resolution of the clock that both ends read; `None` if they read two, or do not say.
fn common_clock(sender: &EndpointReport, receiver: &EndpointReport) -> Option<u64> {
    let known = |clock: &&ClockIdentity| !clock.domain.is_empty();
    let here = sender.clock.as_ref().filter(known)?;
    let there = receiver.clock.as_ref().filter(known)?;
    (here.domain == there.domain).then_some(here.resolution_ns.max(there.resolution_ns))
}

fn times(report: &EndpointReport) -> impl Iterator<Item = &Transits> {
    streams(Some(report)).filter_map(|stream| stream.work.times()?.transits.as_ref())
}

fn missing(why: &str) -> OneWay {
    OneWay {
        missing: Some(why.to_owned()),
        ..OneWay::default()
    }
}

/// With one clock differences are delays. `None` if one is negative: then it is not one clock.
fn with_one_clock(
    forward: &EndpointReport,
    backward: Option<&EndpointReport>,
    resolution: u64,
) -> Option<OneWay> {
    let reports = || [Some(forward), backward].into_iter().flatten();
    let all = || reports().flat_map(times);
    let slack = i64::try_from(resolution).unwrap_or(i64::MAX);
    if all().any(|transits| shortest(transits) < -slack) {
        return None;
    }
    let delay = |report: &EndpointReport| above_least(&report.streams);
    let count = |report: &EndpointReport| -> u64 {
        let counts = report
            .streams
            .iter()
            .filter_map(|stream| stream.work.times()?.pdv.as_ref());
        counts.map(Histogram::len).fold(0, u64::saturating_add)
    };
    Some(OneWay {
        forward: delay(forward),
        backward: backward.and_then(delay),
        clock: Some(ClockRelation {
            method: ClockMethod::CommonClock,
            offset_ns: 0,
            at_ns: forward.before.at_ns,
            skew_ppm: 0.0,
            skew_uncertainty_ppm: 0.0,
            uncertainty_ns: resolution,
            asymmetry_ns: None,
            messages: reports().map(count).fold(0, u64::saturating_add),
        }),
        missing: None,
    })
}

/// The smallest delay by one clock.
const fn shortest(transits: &Transits) -> i64 {
    near(transits.first_ns, 0).saturating_add(transits.least_ns)
}

/// All delays by one clock: the smallest, and what others are above it.
fn above_least(streams: &[StreamReport]) -> Option<Delay> {
    let of = |stream: &'_ StreamReport| {
        let times = stream.work.times()?;
        let least = shortest(times.transits.as_ref()?);
        Some((u64::try_from(least).unwrap_or(0), times.pdv.clone()?))
    };
    let known: Vec<(u64, Histogram)> = streams.iter().filter_map(of).collect();
    let least = known.iter().map(|(least, _)| *least).min()?;
    let mut above = Histogram::new();
    for (own, pdv) in &known {
        for (nanos, count) in pdv.buckets() {
            above.record_n((own - least).saturating_add(nanos), count);
        }
    }
    one_way_delay(least, &above)
}

/// A distribution from the smallest delay and what others are above it: to 0.1 % of that, not of the whole.
fn one_way_delay(least: u64, above: &Histogram) -> Option<Delay> {
    let mut whole = Histogram::new();
    for (nanos, count) in above.buckets() {
        whole.record_n(least.saturating_add(nanos), count);
    }
    let at = |quantile: f64| Some(least.saturating_add(above.quantile_nanos(quantile)));
    let delay = Delay::from_histogram(DelayOf::OneWay, whole)?;
    Some(Delay {
        min_ns: Some(least.saturating_add(above.min_nanos())),
        mean_ns: Some(float(i64::try_from(least).unwrap_or(i64::MAX)) + above.mean_nanos()),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: Some(least.saturating_add(above.max_nanos())),
        stdev_ns: Some(above.stdev_nanos()),
        ..delay
    })
}

fn with_bounds(
    bounds: &Bounds,
    sender: &EndpointReport,
    receiver: &EndpointReport,
    backward: Option<&EndpointReport>,
) -> OneWay {
    let fit = match bounds.fit() {
        Ok(fit) => fit,
        Err(why) => return missing(&why.to_string()),
    };
    let forward = delays(times(receiver), |transits| there(bounds, &fit, transits));
    let back =
        backward.and_then(|report| delays(times(report), |transits| back(bounds, &fit, transits)));
    OneWay {
        forward,
        backward: back,
        clock: Some(relation(bounds, &fit, sender, receiver)),
        missing: None,
    }
}

/// The distribution of sampled messages.
fn delays<'a>(
    all: impl Iterator<Item = &'a Transits>,
    of: impl Fn(&Transits) -> Vec<f64>,
) -> Option<Delay> {
    let nanos: Vec<u64> = all.flat_map(of).map(|ns| whole(ns.max(0.0))).collect();
    let least = *nanos.iter().min()?;
    let mut above = Histogram::new();
    for nanos in nanos {
        above.record(nanos - least);
    }
    one_way_delay(least, &above)
}

/// T2 − T1 − θ(T1) of each sampled message.
fn there(bounds: &Bounds, fit: &Fit, transits: &Transits) -> Vec<f64> {
    let base = bounds.base().unwrap_or_default();
    let sent = near(transits.first_sent_ns, base.sent);
    let offset = near(transits.first_ns, base.offset);
    let one = |passage: Passage| {
        let at = float(sent.saturating_add(passage.key));
        float(offset.saturating_add(passage.took_ns)) - fit.offset_at(at)
    };
    transits.sample.iter().map(one).collect()
}

/// T4 − T3 + θ(T4) of each sampled message.
fn back(bounds: &Bounds, fit: &Fit, transits: &Transits) -> Vec<f64> {
    let base = bounds.base().unwrap_or_default();
    let came = transits.first_sent_ns.wrapping_add(transits.first_ns);
    let came = near(came, base.sent);
    let offset = near(transits.first_ns.wrapping_neg(), base.offset);
    let one = |passage: Passage| {
        let at = came
            .saturating_add(passage.key)
            .saturating_add(passage.took_ns);
        fit.offset_at(float(at)) - float(offset.saturating_sub(passage.took_ns))
    };
    transits.sample.iter().map(one).collect()
}

fn relation(
    bounds: &Bounds,
    fit: &Fit,
    sender: &EndpointReport,
    receiver: &EndpointReport,
) -> ClockRelation {
    let base = bounds.base().unwrap_or_default();
    // Stamps have 48 bits; the readings of both clocks just before the traffic have all.
    let (here, there) = (sender.before.at_ns, receiver.before.at_ns);
    let sent = here.wrapping_add_signed(near(base.sent, here));
    let rough = there.wrapping_sub(here);
    let offset = rough
        .wrapping_add_signed(near(base.offset, rough))
        .cast_signed();
    ClockRelation {
        method: ClockMethod::ConvexBounds,
        offset_ns: offset.saturating_add(nearest(fit.offset_at(fit.middle()))),
        at_ns: sent.wrapping_add_signed(nearest(fit.middle())),
        skew_ppm: fit.skew() * 1e6,
        skew_uncertainty_ppm: fit.skew_uncertainty() * 1e6,
        uncertainty_ns: whole(fit.uncertainty().ceil()),
        asymmetry_ns: Some(whole(fit.asymmetry())),
        messages: fit.messages() as u64,
    }
}

/// Delay variation from packet to packet, all streams together.
pub(super) fn ipdv(ends: &Ends<'_>) -> Option<Ipdv> {
    let ipdvs = streams(ends.receiver)
        .filter_map(|stream| stream.work.get::<DatagramReceiver>()?.ipdv.as_ref());
    let mut all: Option<SignedHistogram> = None;
    for histogram in ipdvs {
        all.get_or_insert_default().merge(histogram);
    }
    all.and_then(Ipdv::from_histogram)
}

/// The largest of all streams.
pub(super) fn rtp_jitter(ends: &Ends<'_>) -> Option<u64> {
    streams(ends.receiver)
        .filter_map(|stream| stream.work.rtp_jitter_ns())
        .max()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates, which is what is meant"
)]
const fn nearest(nanos: f64) -> i64 {
    nanos.round() as i64
}

fn whole(nanos: f64) -> u64 {
    u64::try_from(nearest(nanos)).unwrap_or(0)
}
