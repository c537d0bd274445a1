//! CPU use of both ends, from two snapshots of each host and the traffic threads' own times.

use super::{Ends, total};
use linerate_model::run::{CpuSide, CpuSummary};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::signals;
use linerate_model::spec::Side;
use linerate_model::{PacketCount, Ratio};
use std::collections::BTreeSet;
use std::time::Duration;

/// CPU use of each end that reported; `None` if neither did.
pub(super) fn summary(ends: &Ends<'_>) -> Option<CpuSummary> {
    let side = |side| ends.report(side).map(of_report);
    let summary = CpuSummary {
        sender: side(Side::Sender),
        receiver: side(Side::Receiver),
    };
    (summary != CpuSummary::default()).then_some(summary)
}

fn of_report(report: &EndpointReport) -> CpuSide {
    let host = Times::between(report, |part| format!("cpu.{part}"));
    let cores: Vec<Ratio> = core_numbers(report)
        .into_iter()
        .filter_map(|core| Times::between(report, |part| signals::per_core(core, part)))
        .filter_map(Times::busy_ratio)
        .collect();
    let busiest = report.streams.iter().max_by_key(|stream| stream.thread_cpu);
    let bytes = total(report, |stream| stream.bytes.get());
    CpuSide {
        host_ratio: host.and_then(Times::busy_ratio),
        softirq_ratio: host.and_then(|times| times.share(times.softirq)),
        steal_ratio: host.and_then(|times| times.share(times.steal)),
        busiest_core_ratio: cores
            .iter()
            .copied()
            .max_by(|a, b| a.get().total_cmp(&b.get())),
        thread_ratio: busiest.and_then(|stream| of_trial(stream, stream.thread_cpu)),
        run_delay_ratio: busiest.and_then(|stream| of_trial(stream, stream.run_delay?)),
        cores,
        host_ns_per_byte: host.and_then(|times| times.ns_per_byte(bytes)),
    }
}

fn of_trial(stream: &StreamReport, part: Duration) -> Option<Ratio> {
    let whole = stream.duration.as_secs_f64();
    (whole > 0.0).then(|| Ratio::clamped(part.as_secs_f64() / whole))
}

/// Core numbers that the snapshot has signals of, in order.
fn core_numbers(report: &EndpointReport) -> Vec<u32> {
    let numbers: BTreeSet<u32> = report
        .after
        .values
        .keys()
        .filter_map(|name| name.strip_prefix("cpu.")?.split_once('.')?.0.parse().ok())
        .collect();
    numbers.into_iter().collect()
}

/// Nanoseconds that one core, or all together, gained by kind.
#[derive(Clone, Copy)]
struct Times {
    whole: u64,
    idle: u64,
    softirq: Option<u64>,
    steal: Option<u64>,
}

impl Times {
    /// `None` without idle time, or when nothing was gained at all.
    fn between(report: &EndpointReport, name: impl Fn(&str) -> String) -> Option<Self> {
        let gained = |part: &str| report.after.gained(&report.before, &name(part));
        let idle = gained("idle_ns")?;
        let whole = ["user_ns", "system_ns", "softirq_ns", "irq_ns", "steal_ns"]
            .iter()
            .filter_map(|part| gained(part))
            .fold(idle, u64::saturating_add);
        (whole > 0).then(|| Self {
            whole,
            idle,
            softirq: gained("softirq_ns"),
            steal: gained("steal_ns"),
        })
    }

    fn busy_ratio(self) -> Option<Ratio> {
        self.share(Some(self.whole - self.idle))
    }

    fn share(self, part: Option<u64>) -> Option<Ratio> {
        part.map(|part| Ratio::of(part, self.whole))
    }

    fn ns_per_byte(self, bytes: u64) -> Option<f64> {
        let busy = PacketCount::new(self.whole - self.idle).as_f64();
        (bytes > 0).then(|| busy / PacketCount::new(bytes).as_f64())
    }
}
