//! Speed and identity of the test's interface.
//!
//! A virtual device (veth, tun, bridge, loopback) reports a made-up speed, so only devices with hardware, or those that
//! a hypervisor presents as such, are trusted.

use super::{Collector, record};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::sysfs;
use linerate_model::BitRate;
use linerate_model::signals::{LINK_SPEED_BPS, NIC_INDEX, NIC_PEER_INDEX};

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[LINK_SPEED_BPS, NIC_INDEX, NIC_PEER_INDEX],
    read: |host, into| {
        record(into, LINK_SPEED_BPS, speed(host));
        let index = host.link().map(|link| link.index.number().into());
        record(into, NIC_INDEX, index);
        record(into, NIC_PEER_INDEX, peer(host));
    },
    facts: |host, into| {
        into.link_speed_bps = speed(host).ok().map(BitRate::from_bps);
        into.link_duplex = sysfs::interface_value(host, "duplex");
    },
    ..Collector::new(
        "link",
        "Number of the interface that carries the traffic, of its peer if it is a veth, its \
         speed if it is a real one.",
    )
};

/// Index of a veth's peer in its own network namespace.
fn peer(host: &HostView<'_>) -> Result<u64, ReadError> {
    let link = host.link()?;
    if link.kind.as_deref() != Some("veth") {
        return Err(unfit(format!("{} is not a veth", link.name)));
    }
    number(link.lower_index)
}

fn number(index: Option<u32>) -> Result<u64, ReadError> {
    let missing = || unfit("the kernel does not tell the interface's number".to_owned());
    index.map(u64::from).ok_or_else(missing)
}

/// L1 speed in bit/s, one direction, of the slowest interface.
fn speed(host: &HostView<'_>) -> Result<u64, ReadError> {
    let others = host.beside();
    let mut others = others.iter().map(|scope| speed_of(&HostView::new(scope)));
    others.try_fold(speed_of(host)?, |least, speed| Ok(least.min(speed?)))
}

fn speed_of(host: &HostView<'_>) -> Result<u64, ReadError> {
    let interface = host.interface()?;
    if let Ok(link) = host.link()
        && let Some(kind) = link.virtual_kind()
    {
        return Err(unfit(format!(
            "{interface} is a {kind} device: its speed is made up"
        )));
    }
    let directory = sysfs::interface_directory(host)?;
    if !host.files().has(&format!("{directory}/device")) {
        return Err(unfit(format!(
            "{interface} has no hardware: its speed is made up"
        )));
    }
    let path = format!("{directory}/speed");
    in_bits_per_second(&host.read(&path)?)
        .ok_or_else(|| unfit(format!("{interface} does not tell its speed")))
}

/// Converts Mbit/s. Unknown is −1, which some kernels print as 65535 or 4294967295.
fn in_bits_per_second(text: &str) -> Option<u64> {
    let mbps: u64 = text.trim().parse().ok()?;
    let known = mbps > 0 && mbps != u64::from(u16::MAX) && mbps < u64::from(u32::MAX);
    known.then_some(mbps * 1_000_000)
}

fn unfit(what: String) -> ReadError {
    ReadError::Unfit { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_speeds_are_not_numbers() {
        for text in ["-1\n", "65535\n", "4294967295\n", "0\n", "", "fast\n"] {
            assert_eq!(in_bits_per_second(text), None, "{text:?}");
        }
        assert_eq!(in_bits_per_second("1000\n"), Some(1_000_000_000));
        assert_eq!(in_bits_per_second("800000\n"), Some(800_000_000_000));
    }
}
