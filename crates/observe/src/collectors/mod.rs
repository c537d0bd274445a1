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
pub static ALL: &[&dyn Collector] = &[
    &host::Host,
    &board::Board,
    &preloaded::PreloadedLibraries,
    &program::Program,
    &cpu::Cpu,
    &frequency::Frequency,
    &thermal::Thermal,
    &cgroup::Cgroup,
    &interrupts::Interrupts,
    &nic::Nic,
    &pci::Pci,
    &link::LinkSpeed,
    &phy::Phy,
    &qdisc::Qdisc,
    &softnet::Softnet,
    &ip::Ip,
    &udp::Udp,
    &tcp::Tcp,
    &sysctl::Sysctl,
    &timestamping::Timestamping,
];

/// One source of signals and facts. Holds no state and derives nothing.
pub trait Collector: Sync {
    /// The name in help and reports, kebab-case.
    fn id(&self) -> &'static str;

    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;

    /// The signals it reads, by their name in [`linerate_model::signals`]. A per-core signal is
    /// listed as `cpu.N.user_ns`, with `N` for the core.
    fn signals(&self) -> &'static [&'static str];

    /// How a counter that is lower than before is treated.
    fn backwards(&self) -> Backwards {
        Backwards::Refuse
    }

    /// Reads each of its signals into `values`, or the reason into `missing`.
    fn read(&self, host: &HostView<'_>, into: &mut Snapshot);

    /// Adds its facts; what cannot be read is left out.
    fn facts(&self, _host: &HostView<'_>, _into: &mut Facts) {}
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
