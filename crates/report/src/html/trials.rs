//! Every trial in figures: rates, TCP state, CPU.

use crate::charts::trial_name;
use crate::curve::seen;
use crate::figures::{Unit, Value, digits};
use crate::page;
use crate::table::{Cell, Column, Table, column, words as text};
use crate::words;
use linerate_model::cost::{CoreShares, InterruptKind};
use linerate_model::run::{CpuSide, Packets, Run, TcpSummary, Trial};
use linerate_model::{BitRate, ByteCount, PacketCount, Quantity, Ratio};
use maud::{Markup, html};

/// The rates of every trial.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    if run.trials.is_empty() {
        return html! { p { "No trial was recorded." } };
    }
    let title = format!("All trials ({})", run.trials.len());
    page::titled(&rates(run), &title, level)
}

/// The trial of a row.
pub(super) fn trial_column<T>(run: &Run) -> Column<'_, (&Trial, T)> {
    column("Trial", |(trial, _): &(&Trial, T)| {
        Cell::text(trial_name(run, trial))
    })
}

/// What TCP told of every trial; nothing without any.
pub(super) fn tcp_state(run: &Run, level: u8) -> Markup {
    page::titled(&tcp(run), "TCP state of the sender", level)
}

/// What the CPUs of both ends did; nothing where it was not recorded.
pub(super) fn cost(run: &Run, level: u8) -> Markup {
    html! {
        (page::titled(&cpu(run), "CPU of both ends", level))
        (page::titled(&cores(run), "Each core of both ends", level))
    }
}

fn largest_rate(run: &Run) -> f64 {
    let rates = run
        .trials
        .iter()
        .flat_map(|t| [t.intended_load, t.offered_load, t.received_rate]);
    rates.flatten().map(BitRate::as_f64).fold(0.0, f64::max)
}

/// The rates of each trial; of one that does not count, why.
fn rates(run: &Run) -> Table {
    let unit = Unit::for_rate(largest_rate(run));
    let one = |head: String, quantity, unit| {
        column(head, move |trial: &Trial| {
            let observed: Vec<_> = seen(trial, quantity).into_iter().collect();
            Cell::value(Value::from_observations(&observed).as_ref(), unit)
        })
    };
    let rate = |name: &str| format!("{name} ({})", unit.symbol());
    let count = |head: &str, get: fn(&Packets) -> Option<PacketCount>| {
        column(head, move |trial: &Trial| {
            Cell::count(trial.packets().and_then(get).map(PacketCount::get))
        })
    };
    let columns = [
        column("#", |t: &Trial| Cell::count(Some(u64::from(t.index)))),
        text("Trial", |t: &Trial| trial_name(run, t)),
        text("Transport", |t: &Trial| t.transport.as_str()),
        text("Layer", |t: &Trial| t.layer.to_string()),
        column("Payload (B)", |t: &Trial| {
            Cell::count(t.payload_bytes.map(ByteCount::get))
        }),
        column(rate("Intended"), |t: &Trial| match t.intended_load {
            Some(load) => Cell::rate(Some(load), unit),
            None => Cell::text("not set or not recorded"),
        }),
        one(rate("Offered, sender"), Quantity::OfferedRate, unit),
        one(rate("Received, receiver"), Quantity::ReceivedRate, unit),
        one("Loss (%)".to_owned(), Quantity::LossRatio, Unit::PERCENT),
        count("Lost", |p| p.lost),
        count("Duplicated", |p| p.duplicated),
        count("Reordered", |p| p.reordered),
        column("Time (s)", |t: &Trial| {
            Cell::number(t.duration.map(|d| d.as_secs_f64()), Unit::SECONDS)
        }),
        text("Valid", words::counts),
    ];
    let numbered = run.trials.iter().enumerate();
    let invalid = numbered.filter(|(_, trial)| !trial.valid);
    Table {
        invalid: invalid.map(|(place, _)| place).collect(),
        ..Table::from_rows(&run.trials, columns)
    }
}

fn tcp(run: &Run) -> Table {
    type TcpTrial<'a> = (&'a Trial, &'a TcpSummary);
    let known: Vec<TcpTrial<'_>> = run
        .trials
        .iter()
        .filter_map(|t| Some((t, t.tcp()?)))
        .collect();
    let share = |head: &str, get: fn(&TcpSummary) -> Option<Ratio>| {
        column(head, move |(_, tcp): &TcpTrial<'_>| Cell::percent(get(tcp)))
    };
    let time = |head: &str, get: fn(&TcpSummary) -> Option<u64>| {
        column(head, move |(_, tcp): &TcpTrial<'_>| {
            Cell::time(get(tcp), Unit::MILLIS)
        })
    };
    let columns = [
        trial_column(run),
        column("Congestion control", |(_, tcp): &TcpTrial<'_>| {
            let name = tcp.congestion_control.as_ref();
            name.map_or_else(Cell::unknown, Cell::text)
        }),
        share("Busy (%)", |tcp| tcp.busy_ratio),
        share("Limited by receiver's window (%)", |tcp| {
            tcp.rwnd_limited_ratio
        }),
        share("Limited by send buffer (%)", |tcp| tcp.sndbuf_limited_ratio),
        column("Retransmitted segments", |(_, tcp): &TcpTrial<'_>| {
            Cell::count(tcp.retransmitted_segments)
        }),
        column(
            "Congestion window, mean (KiB)",
            |(_, tcp): &TcpTrial<'_>| Cell::kib(tcp.cwnd_mean_bytes),
        ),
        column("Largest (KiB)", |(_, tcp): &TcpTrial<'_>| {
            Cell::kib(tcp.cwnd_max_bytes)
        }),
        time("Smoothed RTT, mean (ms)", |tcp| tcp.srtt_mean_ns),
        time("Smallest RTT (ms)", |tcp| tcp.min_rtt_ns),
    ];
    Table::from_rows(&known, columns)
}

/// One end of a trial with what its CPUs did.
type End<'a> = (&'a Trial, &'static str, &'a CpuSide);

fn ends(trial: &Trial) -> impl Iterator<Item = End<'_>> {
    let ends = trial.cpu.iter().flat_map(|cpu| {
        [
            ("sender", cpu.sender.as_ref()),
            ("receiver", cpu.receiver.as_ref()),
        ]
    });
    ends.filter_map(move |(name, side)| Some((trial, name, side?)))
}

fn cpu(run: &Run) -> Table {
    let share = |head: &str, get: fn(&CpuSide) -> Option<Ratio>| {
        column(head, move |(.., side): &End<'_>| Cell::percent(get(side)))
    };
    let nanos = |head: &str, get: fn(&CpuSide) -> Option<f64>| {
        column(head, move |(.., side): &End<'_>| {
            Cell::number(get(side), Unit::NANOS)
        })
    };
    let rate = |head: &str, get: fn(&CpuSide) -> Option<f64>| {
        column(head, move |(.., side): &End<'_>| {
            Cell::count(get(side).map(whole))
        })
    };
    let columns = [
        column("Trial", |(trial, ..): &End<'_>| {
            Cell::text(trial_name(run, trial))
        }),
        column("Side", |(_, name, _): &End<'_>| Cell::text(*name)),
        share("Traffic thread (% of one core)", |side| side.thread_ratio),
        column("All traffic threads (cores)", |(.., side): &End<'_>| {
            let cores = side.thread_cores;
            cores.map_or_else(Cell::unknown, |cores| Cell::text(digits(cores)))
        }),
        nanos("CPU per transaction (ns)", |side| {
            side.thread_ns_per_transaction
        }),
        share("Busiest core (%)", |side| side.busiest_core_ratio),
        share("All cores (%)", |side| side.host_ratio),
        share("Soft interrupts (% of all cores)", |side| {
            side.softirq_ratio
        }),
        share("Steal (% of all cores)", |side| side.steal_ratio),
        share("Low priority (% of all cores)", |side| side.niced_ratio),
        share("Thread waited for a core (%)", |side| side.run_delay_ratio),
        share("Thread paused by its own schedule (%)", |side| {
            side.paused_ratio
        }),
        share("Thread slept in its calls (%)", |side| side.blocked_ratio),
        nanos("Host CPU per byte (ns)", |side| side.host_ns_per_byte),
        nanos("Host CPU per packet (ns)", |side| {
            side.per_packet.map(|cost| cost.total_ns)
        }),
        nanos("in user code (ns)", |side| side.per_packet?.user_ns),
        nanos("in the kernel (ns)", |side| side.per_packet?.system_ns),
        nanos("in soft interrupts (ns)", |side| {
            side.per_packet?.softirq_ns
        }),
        rate("Interrupts per second", |side| side.interrupts_per_s),
        column("Packets per interrupt", |(.., side): &End<'_>| {
            packets_per_interrupt(side)
        }),
        rate("Context switches per second", |side| {
            side.context_switches_per_s
        }),
    ];
    Table::from_rows(
        &run.trials.iter().flat_map(ends).collect::<Vec<_>>(),
        columns,
    )
}

/// With which interrupts were counted.
fn packets_per_interrupt(side: &CpuSide) -> Cell {
    side.packets_per_interrupt
        .map_or_else(Cell::unknown, |per| {
            let of = match per.of {
                InterruptKind::Interface => "the interface's interrupts",
                InterruptKind::NetRxSoftirq => "receive soft interrupts, whole host",
            };
            Cell::text(format!("{} ({of})", digits(per.packets)))
        })
}

fn whole(rate: f64) -> u64 {
    BitRate::from_f64(rate.round()).bps()
}

/// Rows of cores: a host of 128 cores and a search of 30 trials would drown the page.
const MAX_CORES: usize = 200;

/// What each core did; of many trials, those of the highest received rate first.
fn cores(run: &Run) -> Table {
    type Core<'a> = (End<'a>, &'a CoreShares);
    let mut trials: Vec<&Trial> = run.trials.iter().collect();
    trials.sort_by_key(|trial| std::cmp::Reverse(trial.received_rate));
    let cores = trials.into_iter().flat_map(ends);
    let cores = cores.flat_map(|end| end.2.core_shares.iter().map(move |core| (end, core)));
    let share = |head: &str, get: fn(&CoreShares) -> Option<Ratio>| {
        column(head, move |(_, core): &Core<'_>| Cell::percent(get(core)))
    };
    let columns = [
        column("Trial", |((trial, ..), _): &Core<'_>| {
            Cell::text(trial_name(run, trial))
        }),
        column("Side", |((_, name, _), _): &Core<'_>| Cell::text(*name)),
        column("Core", |(_, core): &Core<'_>| {
            Cell::count(Some(core.core.into()))
        }),
        share("User (%)", |core| core.user_ratio),
        share("Kernel (%)", |core| core.system_ratio),
        share("Soft interrupts (%)", |core| core.softirq_ratio),
        share("Interrupts (%)", |core| core.irq_ratio),
        share("Steal (%)", |core| core.steal_ratio),
    ];
    Table::from_rows(&cores.take(MAX_CORES).collect::<Vec<_>>(), columns)
}
