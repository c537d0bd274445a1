//! Every trial in figures: rates, TCP state, CPU.

use crate::charts::trial_name;
use crate::curve::{loss, offered, received};
use crate::figures::{Unit, Value, digits, float};
use crate::page::{self, heading};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::cost::{CoreShares, InterruptKind};
use linerate_model::run::{CpuSide, Packets, Run, TcpSummary, Trial};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use maud::{Markup, html};

/// The rates of every trial.
pub(super) fn all(run: &Run, level: u8) -> Markup {
    html! {
        @if run.trials.is_empty() {
            p { "No trial was recorded." }
        } @else {
            (heading(level, None, &format!("All trials ({})", run.trials.len())))
            (scrolled("All trials", &rates(run)))
        }
    }
}

/// What TCP told of every trial; nothing without any.
pub(super) fn tcp_state(run: &Run, level: u8) -> Markup {
    table_of("TCP state of the sender", &tcp(run), level)
}

/// What the CPUs of both ends did; nothing where it was not recorded.
pub(super) fn cost(run: &Run, level: u8) -> Markup {
    html! {
        (table_of("CPU of both ends", &cpu(run), level))
        (table_of("Each core of both ends", &cores(run), level))
    }
}

fn table_of(name: &str, table: &Table, level: u8) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            (heading(level, None, name))
            (scrolled(name, &page::table(table, name)))
        }
    }
}

fn scrolled(name: &str, table: &Markup) -> Markup {
    html! {
        div.scroll.tall tabindex="0" role="group" aria-label=(name) { (table) }
    }
}

fn largest_rate(run: &Run) -> f64 {
    let rates = run
        .trials
        .iter()
        .flat_map(|t| [t.intended_load, t.offered_load, t.received_rate]);
    rates.flatten().map(BitRate::as_f64).fold(0.0, f64::max)
}

fn trial_columns(unit: Unit) -> Vec<String> {
    let rate = |name: &str| format!("{name} ({})", unit.symbol());
    vec![
        "#".to_owned(),
        "Trial".to_owned(),
        "Transport".to_owned(),
        "Layer".to_owned(),
        "Payload (B)".to_owned(),
        rate("Intended"),
        rate("Offered, sender"),
        rate("Received, receiver"),
        "Loss (%)".to_owned(),
        "Lost".to_owned(),
        "Duplicated".to_owned(),
        "Reordered".to_owned(),
        "Time (s)".to_owned(),
        "Valid".to_owned(),
    ]
}

/// The row of a trial; a bad one is red and says why.
fn trial_row(run: &Run, trial: &Trial, unit: Unit) -> Markup {
    let one = |seen| Value::from_observations(&Option::into_iter(seen).collect::<Vec<_>>());
    let count = |get: fn(&Packets) -> Option<PacketCount>| {
        Cell::count(trial.packets().and_then(get).map(PacketCount::get))
    };
    let cells = [
        Cell::count(Some(u64::from(trial.index))),
        Cell::text(trial_name(run, trial)),
        Cell::text(words::transport(trial.transport)),
        Cell::text(trial.layer.to_string()),
        Cell::count(trial.payload_bytes.map(ByteCount::get)),
        trial.intended_load.map_or_else(
            || Cell::text("not set or not recorded"),
            |load| Cell::number(Some(load.as_f64()), unit),
        ),
        Cell::value(one(offered(trial)).as_ref(), unit),
        Cell::value(one(received(trial)).as_ref(), unit),
        Cell::value(one(loss(trial)).as_ref(), Unit::PERCENT),
        count(|p| p.lost),
        count(|p| p.duplicated),
        count(|p| p.reordered),
        Cell::number(trial.duration.map(|d| d.as_secs_f64()), Unit::SECONDS),
    ];
    html! {
        tr.invalid[!trial.valid] {
            @for cell in &cells { td.number[cell.value.is_some()].short[cell.text.chars().count() <= page::SHORT] { (cell.text) } }
            td.why {
                @if trial.valid { "yes" } @else { strong { "no" } }
                @for reason in &trial.reasons { br; (reason) }
            }
        }
    }
}

fn rates(run: &Run) -> Markup {
    let unit = Unit::for_rate(largest_rate(run));
    html! {
        table {
            thead { tr { @for column in trial_columns(unit) { th scope="col" { (column) } } } }
            tbody { @for trial in &run.trials { (trial_row(run, trial, unit)) } }
        }
    }
}

fn tcp(run: &Run) -> Table {
    let mut table = Table::new([
        "Trial",
        "Congestion control",
        "Busy (%)",
        "Limited by receiver's window (%)",
        "Limited by send buffer (%)",
        "Retransmitted segments",
        "Congestion window, mean (KiB)",
        "Largest (KiB)",
        "Smoothed RTT, mean (ms)",
        "Smallest RTT (ms)",
    ]);
    for trial in &run.trials {
        if let Some(tcp) = trial.tcp() {
            table.push(tcp_row(trial_name(run, trial), tcp));
        }
    }
    table
}

fn tcp_row(name: String, tcp: &TcpSummary) -> Vec<Cell> {
    let share = |share: Option<Ratio>| Cell::number(share.map(Ratio::get), Unit::PERCENT);
    let size = |size: Option<ByteCount>| Cell::number(size.map(|s| float(s.get())), Unit::KIB);
    let time = |nanos: Option<u64>| Cell::number(nanos.map(float), Unit::MILLIS);
    vec![
        Cell::text(name),
        tcp.congestion_control
            .as_ref()
            .map_or_else(Cell::unknown, Cell::text),
        share(tcp.busy_ratio),
        share(tcp.rwnd_limited_ratio),
        share(tcp.sndbuf_limited_ratio),
        Cell::count(tcp.retransmitted_segments),
        size(tcp.cwnd_mean_bytes),
        size(tcp.cwnd_max_bytes),
        time(tcp.srtt_mean_ns),
        time(tcp.min_rtt_ns),
    ]
}

fn cpu(run: &Run) -> Table {
    let mut table = Table::new([
        "Trial",
        "Side",
        "Traffic thread (% of one core)",
        "All traffic threads (cores)",
        "CPU per transaction (ns)",
        "Busiest core (%)",
        "All cores (%)",
        "Soft interrupts (% of all cores)",
        "Steal (% of all cores)",
        "Thread waited for a core (%)",
        "Thread paused by its own schedule (%)",
        "Thread slept in its calls (%)",
        "Host CPU per byte (ns)",
        "Host CPU per packet (ns)",
        "in user code (ns)",
        "in the kernel (ns)",
        "in soft interrupts (ns)",
        "Interrupts per second",
        "Packets per interrupt",
        "Context switches per second",
    ]);
    for trial in &run.trials {
        let Some(cpu) = &trial.cpu else { continue };
        for (name, side) in [("sender", &cpu.sender), ("receiver", &cpu.receiver)] {
            if let Some(side) = side {
                table.push(cpu_row(trial_name(run, trial), name, side));
            }
        }
    }
    table
}

fn cpu_row(trial: String, name: &str, side: &CpuSide) -> Vec<Cell> {
    let share = |share: Option<Ratio>| Cell::number(share.map(Ratio::get), Unit::PERCENT);
    vec![
        Cell::text(trial),
        Cell::text(name),
        share(side.thread_ratio),
        side.thread_cores
            .map_or_else(Cell::unknown, |cores| Cell::text(digits(cores))),
        Cell::number(side.thread_ns_per_transaction, Unit::NANOS),
        share(side.busiest_core_ratio),
        share(side.host_ratio),
        share(side.softirq_ratio),
        share(side.steal_ratio),
        share(side.run_delay_ratio),
        share(side.paused_ratio),
        share(side.blocked_ratio),
        Cell::number(side.host_ns_per_byte, Unit::NANOS),
        Cell::number(side.per_packet.map(|cost| cost.total_ns), Unit::NANOS),
        Cell::number(side.per_packet.and_then(|c| c.user_ns), Unit::NANOS),
        Cell::number(side.per_packet.and_then(|c| c.system_ns), Unit::NANOS),
        Cell::number(side.per_packet.and_then(|c| c.softirq_ns), Unit::NANOS),
        Cell::count(side.interrupts_per_s.map(whole)),
        packets_per_interrupt(side),
        Cell::count(side.context_switches_per_s.map(whole)),
    ]
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
    let mut table = Table::new([
        "Trial",
        "Side",
        "Core",
        "User (%)",
        "Kernel (%)",
        "Soft interrupts (%)",
        "Interrupts (%)",
        "Steal (%)",
    ]);
    let mut trials: Vec<&Trial> = run.trials.iter().collect();
    trials.sort_by_key(|trial| std::cmp::Reverse(trial.received_rate));
    for trial in trials {
        let Some(cpu) = &trial.cpu else { continue };
        for (name, side) in [("sender", &cpu.sender), ("receiver", &cpu.receiver)] {
            for core in side.iter().flat_map(|side| &side.core_shares) {
                if table.rows.len() < MAX_CORES {
                    table.push(core_row(trial_name(run, trial), name, core));
                }
            }
        }
    }
    table
}

fn core_row(trial: String, name: &str, core: &CoreShares) -> Vec<Cell> {
    let share = |share: Option<Ratio>| Cell::number(share.map(Ratio::get), Unit::PERCENT);
    vec![
        Cell::text(trial),
        Cell::text(name),
        Cell::count(Some(core.core.into())),
        share(core.user_ratio),
        share(core.system_ratio),
        share(core.softirq_ratio),
        share(core.irq_ratio),
        share(core.steal_ratio),
    ]
}
