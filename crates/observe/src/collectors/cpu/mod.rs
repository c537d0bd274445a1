//! CPU time by state, whole host and per core.
//!
//! `/proc/stat` counts in ticks of `USER_HZ`, nearly always 10 ms: coarse for short trials. Columns were added over the
//! years; one that a kernel lacks is missing. The kernel sometimes corrects its estimates of idle time downwards, see
//! [`Backwards::Hold`].
//!
//! # References
//! - `proc_stat(5)`

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::history::Backwards;
use crate::host_view::HostView;
use crate::text::{field, tidy, whole_lines};
use linerate_model::sample::Snapshot;
use linerate_model::signals::{
    self, CPU_CONTEXT_SWITCHES, CPU_IDLE_NS, CPU_INTERRUPTS, CPU_IRQ_NS, CPU_NICE_NS,
    CPU_SOFTIRQ_NS, CPU_STEAL_NS, CPU_SYSTEM_NS, CPU_USER_NS,
};

const PATH: &str = "proc/stat";
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A CPU state: the whole host's signal, the suffix of a core's, and its columns.
struct Part {
    host_signal: &'static str,
    in_core: &'static str,
    columns: &'static [usize],
}

/// Columns: `user nice system idle iowait irq softirq steal guest guest_nice`; the last two are included in user and
/// nice. Low-priority programs (nice) yield most of a core to a test, so that their time counts as idle; yet not all of it,
/// and a thread that wakes up may wait for them, so that the host's is recorded beside ([`NICED`]).
const PARTS: &[Part] = &[
    part(CPU_USER_NS, "user_ns", &[0]),
    part(CPU_SYSTEM_NS, "system_ns", &[2]),
    part(CPU_IDLE_NS, "idle_ns", &[1, 3, 4]),
    part(CPU_IRQ_NS, "irq_ns", &[5]),
    part(CPU_SOFTIRQ_NS, "softirq_ns", &[6]),
    part(CPU_STEAL_NS, "steal_ns", &[7]),
];

/// Part of the idle time of the whole host.
const NICED: Part = part(CPU_NICE_NS, "nice_ns", &[1]);

const fn part(host_signal: &'static str, in_core: &'static str, columns: &'static [usize]) -> Part {
    Part {
        host_signal,
        in_core,
        columns,
    }
}

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[
        CPU_USER_NS,
        CPU_SYSTEM_NS,
        CPU_IDLE_NS,
        CPU_NICE_NS,
        CPU_IRQ_NS,
        CPU_SOFTIRQ_NS,
        CPU_STEAL_NS,
        "cpu.N.user_ns",
        "cpu.N.system_ns",
        "cpu.N.idle_ns",
        "cpu.N.irq_ns",
        "cpu.N.softirq_ns",
        "cpu.N.steal_ns",
        CPU_INTERRUPTS,
        CPU_CONTEXT_SWITCHES,
    ],
    backwards: Backwards::Hold,
    read: |host, into| match host.text(PATH) {
        Ok(text) => parse(&text, rustix::param::clock_ticks_per_second(), into),
        Err(error) => record_missing(into, COLLECTOR.signals, &error),
    },
    facts: |host, into| {
        let cores_in = |path| cpu_list(&host.read(path).ok()?);
        into.cores_online = cores(host);
        into.cpu_model = model(host);
        into.cores_isolated = cores_in("sys/devices/system/cpu/isolated");
        into.cores_nohz_full = cores_in("sys/devices/system/cpu/nohz_full");
    },
    ..Collector::new(
        "cpu",
        "Time of all cores and of each in user, kernel, interrupts, idle and stolen.",
    )
};

/// Reads only the CPU time by state, of the host and of each core.
pub(crate) fn read_cores(host: &HostView<'_>, into: &mut Snapshot) {
    (COLLECTOR.read)(host, into);
}

/// Parses `/proc/stat` at `hertz` ticks per second.
fn parse(text: &str, hertz: u64, into: &mut Snapshot) {
    let mut seen_host = false;
    for line in whole_lines(text) {
        let Some((label, rest)) = line.split_once(' ') else {
            continue;
        };
        match label {
            "cpu" => {
                seen_host = true;
                put_host(&ticks(rest), hertz, into);
            }
            "ctxt" => record(into, CPU_CONTEXT_SWITCHES, first_number(rest, label)),
            "intr" => record(into, CPU_INTERRUPTS, first_number(rest, label)),
            _ => {
                if let Some(core) = label.strip_prefix("cpu").and_then(|core| core.parse().ok()) {
                    put_core(core, &ticks(rest), hertz, into);
                }
            }
        }
    }
    if !seen_host {
        put_host(&Ticks::default(), hertz, into);
    }
    for signal in [CPU_CONTEXT_SWITCHES, CPU_INTERRUPTS] {
        if !into.values.contains_key(signal) {
            record(into, signal, Err(ReadError::no_field(PATH, "line of it")));
        }
    }
}

/// The first eight columns; `None` from the first one that is not a number.
type Ticks = [Option<u64>; 8];

fn ticks(columns: &str) -> Ticks {
    let mut ticks = Ticks::default();
    let numbers = columns
        .split_ascii_whitespace()
        .map(|word| word.parse().ok());
    for (tick, number) in ticks.iter_mut().zip(numbers.take_while(Option::is_some)) {
        *tick = number;
    }
    ticks
}

fn put_host(ticks: &Ticks, hertz: u64, into: &mut Snapshot) {
    for part in PARTS.iter().chain([&NICED]) {
        let nanos = part
            .nanos(ticks, hertz)
            .ok_or_else(|| ReadError::no_field(PATH, format!("column of {}", part.in_core)));
        record(into, part.host_signal, nanos);
    }
}

fn put_core(core: u32, ticks: &Ticks, hertz: u64, into: &mut Snapshot) {
    for part in PARTS {
        if let Some(nanos) = part.nanos(ticks, hertz) {
            into.values
                .insert(signals::per_core(core, part.in_core), nanos);
        }
    }
}

impl Part {
    /// Sum of the columns in nanoseconds. A missing `iowait` (before Linux 2.5) adds nothing: `idle` included it.
    fn nanos(&self, ticks: &Ticks, hertz: u64) -> Option<u64> {
        let first = ticks[self.columns[0]]?;
        let rest = self.columns[1..].iter().filter_map(|column| ticks[*column]);
        let sum = rest.fold(first, u64::saturating_add);
        sum.checked_mul(NANOS_PER_SECOND.checked_div(hertz)?)
    }
}

fn first_number(rest: &str, label: &str) -> Result<u64, ReadError> {
    let number = rest.split_ascii_whitespace().next();
    number
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| ReadError::no_field(PATH, format!("number after {label}")))
}

/// Cores online now.
fn cores(host: &HostView<'_>) -> Option<u32> {
    let text = host.text(PATH).ok()?;
    let count = whole_lines(&text)
        .filter_map(|line| line.strip_prefix("cpu")?.split(' ').next())
        .filter(|core| core.parse::<u32>().is_ok())
        .count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// Processor model: x86 has it in `cpuinfo`, others name the core there or in the device tree.
fn model(host: &HostView<'_>) -> Option<String> {
    const KEYS: &[&str] = &[
        "model name",
        "uarch",
        "cpu model",
        "cpu",
        "Processor",
        "isa",
    ];
    let from_device_tree = || {
        host.read("sys/devices/system/cpu/cpu0/of_node/compatible")
            .ok()
    };
    let info = host.text("proc/cpuinfo").ok();
    let from_info = info.as_deref().and_then(|info| {
        let mut values = KEYS.iter().filter_map(|key| field(info, key, ':'));
        values.next().and_then(tidy)
    });
    from_info
        .or_else(|| tidy(from_device_tree()?.split('\0').next()?))
        .or_else(|| info.as_deref().and_then(arm_core))
}

/// Arm's implementer and part numbers, where nothing else names the core.
fn arm_core(info: &str) -> Option<String> {
    let implementer = field(info, "CPU implementer", ':')?;
    let part = field(info, "CPU part", ':')?;
    tidy(&format!("Arm implementer {implementer} part {part}"))
}

/// A list of cores such as `2-5,8`; `None` if it is empty, which newer kernels print as `(null)`.
fn cpu_list(text: &str) -> Option<String> {
    tidy(text).filter(|list| list != "(null)")
}

#[cfg(test)]
mod tests;
