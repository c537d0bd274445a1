//! What would limit next, and at which rate, if the limit were relieved.
//!
//! Three things tell, each of a limit of its own: where a probe's datagrams were stopped above the rate; the share of the
//! time in which TCP waited for the limit, since in the rest something else held it back; and the CPU time that each
//! end spent. The lowest of the rates is the next limit's.

use super::datagrams::{held_back, stopped_by};
use super::suspects::Suspect;
use linerate_model::run::{CpuSide, NextLimit, Run, Trial};
use linerate_model::signals::CGROUP_THROTTLED_NS;
use linerate_model::spec::Side;
use linerate_model::tcp::{TcpShares, TcpWait};
use linerate_model::{BitRate, Ratio};

/// A rate that is higher by less is the limit's own, measured twice.
const LEAST_GAIN: f64 = 1.05;
/// Further up than this a rate is no use: too much changes on the way.
const GREATEST_GAIN: f64 = 20.0;

/// What would limit `run` next if `limit` were relieved; `None` where nothing tells.
pub(super) fn next(run: &Run, limited: &Trial, limit: Suspect) -> Option<NextLimit> {
    let rate = limited.received_rate?.as_f64();
    let probes = run.probes.iter().filter_map(stopped_by);
    let cpu = [Side::Sender, Side::Receiver]
        .into_iter()
        .filter_map(|side| busy(limited, side));
    let waited = rest_of_time(limited, limit).into_iter();
    let gains = probes
        .map(|(suspect, stopped)| (suspect, stopped / rate))
        .chain(cpu)
        .chain(waited)
        .filter(|(suspect, gain)| *suspect != limit && (LEAST_GAIN..=GREATEST_GAIN).contains(gain));
    let (suspect, gain) = gains.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(NextLimit {
        limit: suspect.limit(),
        side: suspect.side(),
        rate: BitRate::from_f64(rate * gain),
    })
}

/// The same in a sentence.
pub(super) fn describe(next: &NextLimit, limited: &Trial) -> String {
    let rate = limited.received_rate.unwrap_or_default().as_f64();
    format!(
        "Were it relieved, {} would limit next, at about {} ({:+.0} %).",
        next.limit.name(),
        next.rate,
        (next.rate.as_f64() / rate - 1.0) * 100.0
    )
}

/// What one side's traffic thread, or the interrupts that serve it, would do at most with a whole core, as a multiple of
/// what it does. A quota leaves it less, so nothing is said of a side that was stopped by one.
fn busy(limited: &Trial, side: Side) -> Option<(Suspect, f64)> {
    let cpu = limited.cpu.as_ref()?;
    let (suspect, cpu) = match side {
        Side::Sender => (Suspect::SenderCpu, cpu.sender.as_ref()?),
        Side::Receiver => (Suspect::ReceiverCpu, cpu.receiver.as_ref()?),
    };
    let counters = limited.counters(side);
    let stopped = counters.and_then(|counters| counters.get(CGROUP_THROTTLED_NS));
    if stopped.is_some_and(|nanos| *nanos > 0) {
        return None;
    }
    let used = cpu.thread_ratio?.get().max(interrupts(cpu));
    (used > 0.0).then(|| (suspect, 1.0 / used))
}

/// Soft interrupts in cores' time: those of one flow run on one core.
fn interrupts(cpu: &CpuSide) -> f64 {
    let cores: f64 = cpu.cores.iter().map(|_| 1.0).sum();
    cpu.softirq_ratio.map_or(0.0, Ratio::get) * cores
}

/// What held TCP back in the time in which it did not wait for `limit`, and what it would carry if it never did.
fn rest_of_time(limited: &Trial, limit: Suspect) -> Option<(Suspect, f64)> {
    let shares = limited.tcp()?.shares?;
    let waited = match limit {
        Suspect::SenderCpu | Suspect::SenderApp => shares.of(TcpWait::Application),
        Suspect::ReceiverCpu | Suspect::ReceiverApp | Suspect::ReceiverWindow => {
            shares.of(TcpWait::ReceiverWindow)
        }
        Suspect::SenderBuffer => shares.of(TcpWait::SendBuffer),
        _ => return None,
    };
    let rest = 1.0 - waited.get();
    (rest > 0.0).then(|| (other_wait(limited, &shares, waited), 1.0 / rest))
}

/// What TCP waited for most beside the limit's own wait.
fn other_wait(limited: &Trial, shares: &TcpShares, limits: Ratio) -> Suspect {
    let others = [
        (TcpWait::ReceiverWindow, Suspect::ReceiverWindow),
        (TcpWait::SendBuffer, Suspect::SenderBuffer),
        (TcpWait::Application, Suspect::SenderApp),
    ];
    let path = if held_back(limited) > 0 {
        Suspect::OwnShaper
    } else {
        Suspect::Link
    };
    let known: f64 = others.iter().map(|(wait, _)| shares.of(*wait).get()).sum();
    let of_path = 1.0 - known;
    others
        .into_iter()
        .map(|(wait, suspect)| (suspect, shares.of(wait)))
        .filter(|(_, share)| *share != limits && share.get() > of_path)
        .max_by(|a, b| a.1.get().total_cmp(&b.1.get()))
        .map_or(path, |(suspect, _)| suspect)
}
