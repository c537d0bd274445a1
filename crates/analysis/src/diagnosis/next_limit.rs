//! What would limit next, and at which rate, if the limit were relieved.
//!
//! Three things tell: where a probe's datagrams were stopped above the rate, the CPU time that a traffic thread spent,
//! and the rate of a shaper at the sender's interface. The lowest of the rates is the next limit's. What TCP waited for beside the limit does not tell: in composed scenes
//! the rate after relief had nothing to do with it, since a stream that something holds back between bursts is not
//! held back by the path within them.

use super::datagrams::stopped_by;
use super::shaper;
use super::weights::Suspect;
use crate::causes::{own_shaper, receiver_cpu, sender_cpu};
use crate::thresholds::next_limit::{GREATEST_GAIN, LEAST_GAIN};
use linerate_model::BitRate;
use linerate_model::run::{NextLimit, Run, Trial, Verdict};
use linerate_model::signals::CGROUP_THROTTLED_NS;
use linerate_model::spec::{Side, Transport};

/// What would limit `run` next if `limit` were relieved; `None` where nothing tells.
pub(super) fn next(run: &Run, limited: &Trial, limit: Suspect) -> Option<NextLimit> {
    let rate = limited.received_rate?.as_f64();
    let probes = run.probes.iter().filter_map(stopped_by);
    let cpu = [Side::Sender, Side::Receiver]
        .into_iter()
        .filter_map(|side| whole_core(limited, side));
    let shaped = shaper::payload_rate(run, limited).map(|shaped| (&own_shaper::CAUSE, shaped));
    let gains = probes
        .chain(shaped)
        .chain(cpu)
        .map(|(suspect, stopped)| (suspect, stopped / rate))
        .filter(|(suspect, gain)| *suspect != limit && (LEAST_GAIN..=GREATEST_GAIN).contains(gain));
    let (suspect, gain) = gains.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(NextLimit {
        limit: suspect.limit(),
        side: suspect.side,
        rate: BitRate::from_f64(rate * gain),
    })
}

/// How the sentence on the next limit begins.
const NEXT: &str = "Next limit";

/// Takes back what was said of the next limit: beside programs that take the CPU, what it would be rests on their use.
pub(crate) fn withdraw(verdict: &mut Verdict) {
    if let Some(weighed) = &mut verdict.weighed {
        weighed.next = None;
    }
    verdict.evidence.retain(|line| !line.starts_with(NEXT));
}

/// The sentence on the next limit, with what it gains over `limited`.
pub(super) fn describe(next: &NextLimit, limited: &Trial) -> String {
    let rate = limited.received_rate.unwrap_or_default().as_f64();
    format!(
        "{NEXT}: {}, at most {} ({:+.0} %).",
        next.limit.name(),
        next.rate,
        (next.rate.as_f64() / rate - 1.0) * 100.0
    )
}

/// What one side's traffic thread would do with a whole core, in bit/s of L4 payload: a sender's of what it sends, whatever
/// is lost of that behind it, a receiver's of what it takes. A quota leaves it less, so nothing is said of a side that was
/// stopped by one.
fn whole_core(limited: &Trial, side: Side) -> Option<(Suspect, f64)> {
    let suspect: Suspect = match side {
        Side::Sender => &sender_cpu::CAUSE,
        Side::Receiver => &receiver_cpu::CAUSE,
    };
    let counters = limited.counters(side);
    let stopped = counters.and_then(|counters| counters.get(CGROUP_THROTTLED_NS));
    if stopped.is_some_and(|nanos| *nanos > 0) {
        return None;
    }
    let done = match side {
        Side::Sender if limited.transport == Transport::Udp => limited.offered_load?,
        // What of a byte stream is under way at its end was not sent in full.
        Side::Sender | Side::Receiver => limited.received_rate?,
    };
    let used = limited.cpu_of(side)?.thread_ratio?.get();
    (used > 0.0).then(|| (suspect, done.as_f64() / used))
}
