//! Condition of this host: every setting and state that affects measurements.
//!
//! Values only: their cost and remedy are judged in `analysis`. A source that cannot be read leaves the reason in its
//! place. For a copy of a host's files, what needs the running kernel (netlink, ioctls, processes' clocks) is unknown.
//!
//! # References
//! - `Documentation/ABI/testing/sysfs-devices-system-cpu`, `sysfs-class-net`; `proc(5)`; `linux/ethtool.h`

mod cores;
mod interface;
mod software;

pub(crate) use cores::reading_cost;

use crate::error::ReadError;
use crate::host_view::{HostView, Scope};
use linerate_model::condition::{Condition, ReadResult};

/// Condition of the host in `scope`, as the calling thread sees it. `core` is the one to which measurements will be
/// pinned.
pub fn condition(scope: &Scope, core: Option<u32>) -> Condition {
    let host = HostView::new(scope);
    Condition {
        core,
        interface: known(host.interface().map(str::to_owned)),
        cores: cores::online(&host),
        clocks: cores::clocks(&host),
        boost: cores::boost(&host),
        idle_states: cores::idle_states(&host),
        wake_limit_us: cores::wake_limit(&host),
        isolated: cores::list(&host, "isolated"),
        tickless: cores::list(&host, "nohz_full"),
        interrupts: interface::interrupts(&host),
        irqbalance: software::irqbalance(&host),
        coalescing: interface::coalescing(&host),
        rings: interface::rings(&host),
        offloads: interface::offloads(&host),
        qdisc: interface::qdisc(&host),
        firewall: interface::firewall(&host),
        nic_node: interface::node(&host),
        nodes: cores::nodes(&host),
        siblings: cores::siblings(&host),
        stolen: cores::stolen(&host),
        busy: cores::busy(&host),
        clock: cores::clock_source(&host),
        sysctl: software::sysctl(&host),
        mtu_bytes: interface::mtu(&host),
        link_speed: interface::speed(&host),
        tuned: software::tuned(&host),
        tracing: software::tracing(&host),
    }
}

fn known<T>(read: Result<T, ReadError>) -> ReadResult<T> {
    read.map_err(|error| error.to_string())
}

/// One line of a file.
fn line(host: &HostView<'_>, path: &str) -> ReadResult<String> {
    let text = known(host.read(path))?;
    crate::text::tidy(&text).ok_or_else(|| format!("/{path} is empty"))
}

/// A number in a file.
fn number<T: std::str::FromStr>(host: &HostView<'_>, path: &str) -> ReadResult<T> {
    let text = line(host, path)?;
    let parsed = text.parse();
    parsed.map_err(|_| format!("/{path} holds no number that it should"))
}

/// The directories `prefix0`, `prefix1`, … below `path`, by number.
fn numbered(host: &HostView<'_>, path: &str, prefix: &str) -> Vec<u32> {
    let names = host.names(path);
    let numbers = names.iter().filter_map(|name| name.strip_prefix(prefix));
    let mut numbers: Vec<u32> = numbers.filter_map(|digits| digits.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Runs `read` only on a live host; else the value is unknown.
fn live<T>(host: &HostView<'_>, read: impl FnOnce() -> ReadResult<T>) -> ReadResult<T> {
    if host.is_live() {
        read()
    } else {
        known(Err(ReadError::NotLive))
    }
}

#[cfg(test)]
mod tests;
