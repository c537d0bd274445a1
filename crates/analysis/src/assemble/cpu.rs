//! CPU use of both ends, from two snapshots of each host and the traffic threads' own times.

use super::{Ends, duration, total};
use linerate_model::cost::{CoreShares, CpuCost, InterruptKind, PacketKind, PacketsPerInterrupt};
use linerate_model::run::{CpuSide, CpuSummary};
use linerate_model::sample::{DatagramSender, EndpointReport, StreamReport};
use linerate_model::signals;
use linerate_model::spec::Side;
use linerate_model::{PacketCount, Ratio};
use std::collections::BTreeSet;
use std::time::Duration;

/// CPU use of each end of which anything is known; `None` if nothing is of either.
pub(super) fn summary(ends: &Ends<'_>) -> Option<CpuSummary> {
    let side = |side| {
        let known = of_report(ends, ends.report(side)?);
        (known != CpuSide::default()).then_some(known)
    };
    let summary = CpuSummary {
        sender: side(Side::Sender),
        receiver: side(Side::Receiver),
    };
    (summary != CpuSummary::default()).then_some(summary)
}

fn of_report(ends: &Ends<'_>, report: &EndpointReport) -> CpuSide {
    let host = Times::between(report, |part| format!("cpu.{part}"));
    let numbers = core_numbers(report);
    let per_core = numbers.iter().filter_map(|core| {
        let times = Times::between(report, |part| signals::per_core(*core, part))?;
        Some((*core, times))
    });
    let per_core: Vec<(u32, Times)> = per_core.collect();
    let cores: Vec<Ratio> = per_core
        .iter()
        .filter_map(|(_, times)| times.busy_ratio())
        .collect();
    let busiest = report
        .streams
        .iter()
        .max_by_key(|stream| stream.thread_cpu)
        // A thread that ran took some; none was told by a peer that does not say.
        .filter(|stream| !stream.thread_cpu.is_zero());
    let moved = PayloadCounts::from_ends(ends, report);
    let threads = busiest.map(|_| threads(report));
    CpuSide {
        host_ratio: host.and_then(Times::busy_ratio),
        softirq_ratio: host.and_then(|times| times.share(times.softirq)),
        steal_ratio: host.and_then(|times| times.share(times.steal)),
        niced_ratio: host.and_then(|times| times.share(times.niced)),
        busiest_core_ratio: cores
            .iter()
            .copied()
            .max_by(|a, b| a.get().total_cmp(&b.get())),
        thread_ratio: busiest.and_then(|stream| of_trial(ends, stream, stream.thread_cpu)),
        run_delay_ratio: busiest.and_then(|stream| of_trial(ends, stream, stream.run_delay?)),
        paused_ratio: busiest.and_then(|stream| of_trial(ends, stream, stream.paused?)),
        blocked_ratio: busiest.and_then(|stream| blocked(ends, stream)),
        thread_ns_per_transaction: threads
            .zip(moved.transactions())
            .map(|(time, count)| time.as_secs_f64() * 1e9 / count),
        thread_cores: threads
            .zip(lived(report).or_else(|| used_in(ends, duration(Some(report)))))
            .map(|(time, whole)| time.as_secs_f64() / whole),
        cores,
        core_shares: per_core.iter().map(|(core, t)| t.shares(*core)).collect(),
        host_ns_per_byte: host.and_then(|times| times.ns_per_byte(moved.bytes)),
        per_packet: host.and_then(|times| {
            let cost = times.cost(moved.all_packets()?);
            let of = moved.packets.map(|(kind, _)| kind);
            Some(CpuCost { of, ..cost })
        }),
        per_byte: host.and_then(|times| Some(times.cost(moved.counted(moved.bytes)?))),
        interrupts_per_s: per_second(report, signals::CPU_INTERRUPTS),
        context_switches_per_s: per_second(report, signals::CPU_CONTEXT_SWITCHES),
        packets_per_interrupt: packets_per_interrupt(report),
    }
}

/// Seconds between the readings around the traffic: its threads run no longer than that, while an answering
/// end that polls runs before the first message and after the last.
fn lived(report: &EndpointReport) -> Option<f64> {
    let nanos = report.after.at_ns.checked_sub(report.before.at_ns)?;
    (nanos > 0).then(|| Duration::from_nanos(nanos).as_secs_f64())
}

/// CPU time of all traffic threads and of kernel threads that worked for them alone.
fn threads(report: &EndpointReport) -> Duration {
    let streams = report.streams.iter();
    streams
        .map(|s| {
            s.thread_cpu
                .saturating_add(s.path.helper_cpu.unwrap_or_default())
        })
        .fold(Duration::ZERO, Duration::saturating_add)
}

/// Seconds of traffic with so much counted time: CPU time is used in the warm-up too.
fn used_in(ends: &Ends<'_>, counted: Option<Duration>) -> Option<f64> {
    let whole = counted?.saturating_add(ends.spec.warm_up).as_secs_f64();
    (whole > 0.0).then_some(whole)
}

/// What one end moved in the counted time, and how much of the time between its snapshots that is.
pub(super) struct PayloadCounts {
    pub(super) bytes: u64,
    pub(super) packets: Option<(PacketKind, u64)>,
    /// How much more was moved in all, the warm-up included, taking its rate as the same.
    scale: f64,
}

impl PayloadCounts {
    pub(super) fn from_ends(ends: &Ends<'_>, report: &EndpointReport) -> Self {
        let sum = |part: fn(&StreamReport) -> PacketCount| total(report, |s| part(s).get());
        let counted = duration(Some(report)).map_or(0.0, |time| time.as_secs_f64());
        let warm_up = ends.spec.warm_up.as_secs_f64();
        let gained = |signal| report.after.gained(&report.before, signal);
        let packets = if ends.has_round_trips() {
            Some((PacketKind::Transactions, sum(|stream| stream.packets)))
        } else if ends.is_datagrams() {
            Some((PacketKind::Datagrams, sum(|stream| stream.packets)))
        } else {
            let both = gained(signals::TCP_OUT_SEGMENTS).zip(gained(signals::TCP_IN_SEGMENTS));
            both.map(|(out, into)| (PacketKind::Segments, out.saturating_add(into)))
        };
        Self {
            bytes: total(report, |stream| stream.bytes.get()),
            packets: packets.filter(|(_, count)| *count > 0),
            scale: if counted > 0.0 {
                (counted + warm_up) / counted
            } else {
                1.0
            },
        }
    }

    /// How many of what was counted (bytes, datagrams) moved between the snapshots; `None` for none.
    pub(super) fn counted(&self, count: u64) -> Option<f64> {
        (count > 0).then(|| PacketCount::new(count).as_f64() * self.scale)
    }

    /// Transactions between the snapshots; `None` of other traffic.
    fn transactions(&self) -> Option<f64> {
        let of = self
            .packets
            .filter(|(kind, _)| *kind == PacketKind::Transactions);
        self.counted(of?.1)
    }

    /// The packets that moved between the snapshots.
    pub(super) fn all_packets(&self) -> Option<f64> {
        match self.packets? {
            // The host's own counter: it has seen the warm-up.
            (PacketKind::Segments, count) => Some(PacketCount::new(count).as_f64()),
            (_, count) => self.counted(count),
        }
    }
}

fn per_second(report: &EndpointReport, signal: &str) -> Option<f64> {
    let gained = report.after.gained(&report.before, signal)?;
    let nanos = report.after.at_ns.checked_sub(report.before.at_ns)?;
    let seconds = Duration::from_nanos(nanos).as_secs_f64();
    (seconds > 0.0).then(|| PacketCount::new(gained).as_f64() / seconds)
}

/// By the interface's own interrupts where they are known, else by receive soft interrupts.
fn packets_per_interrupt(report: &EndpointReport) -> Option<PacketsPerInterrupt> {
    let gained = |signal| report.after.gained(&report.before, signal);
    let ratio = |packets: u64, interrupts: Option<u64>, of| {
        let interrupts = interrupts.filter(|count| *count > 0)?;
        let packets = PacketCount::new(packets).as_f64() / PacketCount::new(interrupts).as_f64();
        Some(PacketsPerInterrupt { packets, of })
    };
    let received = gained(signals::NIC_RX_PACKETS)?;
    let both = received.saturating_add(gained(signals::NIC_TX_PACKETS).unwrap_or(0));
    ratio(
        both,
        gained(signals::NIC_INTERRUPTS),
        InterruptKind::Interface,
    )
    .or_else(|| {
        // A sender receives next to nothing, while the soft interrupts are those of the whole host.
        let runs = gained(signals::SOFTIRQ_NET_RX).filter(|_| report.side == Side::Receiver);
        ratio(received, runs, InterruptKind::NetRxSoftirq)
    })
}

/// Share of the time that the busiest sending thread slept in sending calls: neither on a core nor waiting for one.
///
/// A lower bound: its CPU time and its waits are taken to be in those calls alone.
pub(super) fn send_blocked(ends: &Ends<'_>) -> Option<Ratio> {
    let stream = ends.sender?.streams.iter().max_by_key(|s| s.thread_cpu)?;
    let sending = stream.work.get::<DatagramSender>()?.sending?;
    let awake = stream.thread_cpu.saturating_add(stream.run_delay?);
    of_trial(ends, stream, sending.saturating_sub(awake))
}

/// Share of the time in which the thread of `stream` did nothing else: it did not run, wait for a core, or pause.
fn blocked(ends: &Ends<'_>, stream: &StreamReport) -> Option<Ratio> {
    let others = [stream.thread_cpu, stream.run_delay?, stream.paused?];
    let others = others
        .into_iter()
        .map(|part| of_trial(ends, stream, part).map(Ratio::get));
    let others: f64 = others.sum::<Option<f64>>()?;
    Some(Ratio::clamped(1.0 - others))
}

fn of_trial(ends: &Ends<'_>, stream: &StreamReport, part: Duration) -> Option<Ratio> {
    let counted = Some(stream.duration).filter(|time| !time.is_zero());
    let whole = used_in(ends, counted)?;
    Some(Ratio::clamped(part.as_secs_f64() / whole))
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
    /// Part of `idle`.
    niced: Option<u64>,
    user: Option<u64>,
    system: Option<u64>,
    softirq: Option<u64>,
    irq: Option<u64>,
    steal: Option<u64>,
}

impl Times {
    /// `None` without idle time, or when nothing was gained at all.
    fn between(report: &EndpointReport, name: impl Fn(&str) -> String) -> Option<Self> {
        let gained = |part: &str| report.after.gained(&report.before, &name(part));
        let idle = gained("idle_ns")?;
        let times = Self {
            whole: 0,
            idle,
            niced: gained("nice_ns"),
            user: gained("user_ns"),
            system: gained("system_ns"),
            softirq: gained("softirq_ns"),
            irq: gained("irq_ns"),
            steal: gained("steal_ns"),
        };
        let parts = [
            times.user,
            times.system,
            times.softirq,
            times.irq,
            times.steal,
        ];
        let whole = parts.into_iter().flatten().fold(idle, u64::saturating_add);
        (whole > 0).then_some(Self { whole, ..times })
    }

    fn busy_ratio(self) -> Option<Ratio> {
        self.share(Some(self.whole - self.idle))
    }

    fn share(self, part: Option<u64>) -> Option<Ratio> {
        part.map(|part| Ratio::from_parts(part, self.whole))
    }

    fn shares(self, core: u32) -> CoreShares {
        CoreShares {
            core,
            user_ratio: self.share(self.user),
            system_ratio: self.share(self.system),
            softirq_ratio: self.share(self.softirq),
            irq_ratio: self.share(self.irq),
            steal_ratio: self.share(self.steal),
        }
    }

    fn ns_per_byte(self, bytes: u64) -> Option<f64> {
        let busy = PacketCount::new(self.whole - self.idle).as_f64();
        (bytes > 0).then(|| busy / PacketCount::new(bytes).as_f64())
    }

    /// The cost of one of `count` units; stolen time is another host's.
    fn cost(self, count: f64) -> CpuCost {
        let of = |part: u64| PacketCount::new(part).as_f64() / count;
        let stolen = self.steal.unwrap_or(0);
        CpuCost {
            of: None,
            total_ns: of((self.whole - self.idle).saturating_sub(stolen)),
            user_ns: self.user.map(of),
            system_ns: self.system.map(of),
            softirq_ns: self.softirq.map(of),
        }
    }
}
