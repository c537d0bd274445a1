//! Registry of the collectors, in the order in which reports list them.

mod board;
mod cgroup;
mod cpu;
mod frequency;
mod host;
mod interrupts;
mod ip;
mod link;
mod nic;
mod pci;
mod phy;
mod preloaded;
mod program;
mod qdisc;
mod softnet;
mod sysctl;
mod tcp;
mod thermal;
mod timestamping;
mod udp;

pub(crate) use cpu::read_cores;
pub use host::is_emulated;
pub(crate) use interrupts::interrupts_of_interface;
pub use preloaded::preloaded;

use crate::error::ReadError;
use crate::history::Backwards;
use crate::host_view::HostView;
use linerate_model::facts::Facts;
use linerate_model::sample::Snapshot;

/// Every collector. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&Collector] = &[
    &host::COLLECTOR,
    &board::COLLECTOR,
    &preloaded::COLLECTOR,
    &program::COLLECTOR,
    &cpu::COLLECTOR,
    &frequency::COLLECTOR,
    &thermal::COLLECTOR,
    &cgroup::COLLECTOR,
    &interrupts::COLLECTOR,
    &nic::COLLECTOR,
    &pci::COLLECTOR,
    &link::COLLECTOR,
    &phy::COLLECTOR,
    &qdisc::COLLECTOR,
    &softnet::COLLECTOR,
    &ip::COLLECTOR,
    &udp::COLLECTOR,
    &tcp::COLLECTOR,
    &sysctl::COLLECTOR,
    &timestamping::COLLECTOR,
];

/// One source of signals and facts. Derives nothing.
pub struct Collector {
    /// The name in help and reports, kebab-case.
    pub id: &'static str,
    /// One sentence for help and the reference table.
    pub summary: &'static str,
    /// The signals it reads, by their name in [`linerate_model::signals`]. A per-core signal is
    /// listed as `cpu.N.user_ns`, with `N` for the core.
    pub signals: &'static [&'static str],
    /// How a counter that is lower than before is treated.
    pub backwards: Backwards,
    /// Reads each of its signals into `values`, or the reason into `missing`.
    pub read: fn(&HostView<'_>, &mut Snapshot),
    /// Adds its facts; what cannot be read is left out.
    pub facts: fn(&HostView<'_>, &mut Facts),
}

impl Collector {
    /// A collector of nothing.
    const fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            signals: &[],
            backwards: Backwards::Refuse,
            read: |_, _| {},
            facts: |_, _| {},
        }
    }
}

/// Puts `value` into `into.values`, or its reason into `into.missing`.
pub(crate) fn record(into: &mut Snapshot, signal: &str, value: Result<u64, ReadError>) {
    match value {
        Ok(value) => {
            into.values.insert(signal.to_owned(), value);
        }
        Err(error) => {
            into.missing.insert(signal.to_owned(), error.to_string());
        }
    }
}

/// Records all `signals` as missing for the same reason.
pub(crate) fn record_missing(into: &mut Snapshot, signals: &[&str], error: &ReadError) {
    for signal in signals {
        record(into, signal, Err(error.clone()));
    }
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
