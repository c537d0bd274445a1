//! The interface that is to carry the traffic, and the firewall in its path.

use super::{known, line, live, number};
use crate::collectors::interrupts_of_interface;
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::sysfs;
use linerate_model::BitRate;
use linerate_model::condition::{
    Coalescing, CoreSet, Firewall, Interrupt, Offloads, ReadResult, Rings, RootQdisc,
};
use linerate_model::knob::{CoalescingPart, RingPart};
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::{self, InterfaceName, Netlink};
use std::io;

/// Maximum interrupts reported for one interface.
const MAX_INTERRUPTS: usize = 512;

pub(super) fn interrupts(host: &HostView<'_>) -> ReadResult<Vec<Interrupt>> {
    let found = known(interrupts_of_interface(host))?;
    let interrupt = |(number, name): (u32, String)| {
        let at = format!("proc/irq/{number}");
        let cores = |file: &str| {
            let path = format!("{at}/{file}");
            let text = known(host.read(&path))?;
            CoreSet::parse(&text).ok_or_else(|| format!("/{path} is not a list of cores"))
        };
        Ok(Interrupt {
            number,
            name,
            allowed: cores("smp_affinity_list")?,
            effective: cores("effective_affinity_list")
                .ok()
                .filter(|cores| !cores.is_empty()),
        })
    };
    let found = found.into_iter().take(MAX_INTERRUPTS);
    found.map(interrupt).collect()
}

/// Queries the interface's driver by the ethtool ioctl.
fn ask<T>(
    host: &HostView<'_>,
    what: &str,
    question: impl Fn(&Ethtool, &InterfaceName) -> io::Result<T>,
) -> ReadResult<T> {
    live(host, || {
        let name = known(host.interface_name())?;
        let answer = Ethtool::new().and_then(|ethtool| question(&ethtool, &name));
        answer.map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => format!("the driver of {name} has no {what}"),
            _ => format!("asking the driver of {name} for its {what}: {error}"),
        })
    })
}

pub(super) fn coalescing(host: &HostView<'_>) -> ReadResult<Coalescing> {
    ask(host, "interrupt coalescing", |ethtool, interface| {
        let value = |field| ethtool.coalescing(interface, field);
        Ok(Coalescing {
            is_adaptive: value(CoalescingPart::AdaptiveRx)? != 0,
            rx_usecs: value(CoalescingPart::RxUsecs)?,
            rx_frames: value(CoalescingPart::RxFrames)?,
        })
    })
}

pub(super) fn rings(host: &HostView<'_>) -> ReadResult<Rings> {
    ask(host, "rings", |ethtool, interface| {
        let (rx, rx_max) = ethtool.ring(interface, RingPart::Rx)?;
        let (tx, tx_max) = ethtool.ring(interface, RingPart::Tx)?;
        Ok(Rings {
            rx,
            rx_max,
            tx,
            tx_max,
        })
    })
}

pub(super) fn offloads(host: &HostView<'_>) -> ReadResult<Offloads> {
    ask(host, "offloads", |ethtool, interface| {
        let on = |offload| ethtool.is_on(interface, offload);
        Ok(Offloads {
            generic_receive: on(Offload::GenericReceive)?,
            generic_segmentation: on(Offload::GenericSegmentation)?,
            large_receive: ethtool.has_large_receive(interface)?,
            receive_checksum: on(Offload::ReceiveChecksum)?,
            tcp_segmentation: on(Offload::TcpSegmentation)?,
            transmit_checksum: on(Offload::TransmitChecksum)?,
        })
    })
}

pub(super) fn qdisc(host: &HostView<'_>) -> ReadResult<RootQdisc> {
    let link = known(host.link())?;
    let root = Netlink::new()
        .and_then(|mut netlink| netlink.root_qdisc(link.index))
        .map_err(ReadError::netlink("the queueing discipline"));
    let root = known(root)?;
    Ok(match root {
        Some(root) => RootQdisc {
            is_default: root.handle == 0,
            kind: root.kind,
        },
        None => RootQdisc {
            kind: link.qdisc.clone().unwrap_or_else(|| "noqueue".to_owned()),
            is_default: true,
        },
    })
}

/// Chains of nftables, tables of the older iptables, and connection tracking, in this network namespace.
pub(super) fn firewall(host: &HostView<'_>) -> ReadResult<Firewall> {
    let chains = live(host, || {
        known(netlink::base_chains().map_err(ReadError::netlink("the chains of nftables")))
    })?;
    let mut legacy_tables = Vec::new();
    for (family, file) in [("ip", "ip_tables_names"), ("ip6", "ip6_tables_names")] {
        match host.read(&format!("proc/thread-self/net/{file}")) {
            Ok(text) => {
                let names = text.split_whitespace().take(16);
                legacy_tables.extend(names.map(|name| format!("{family} {name}")));
            }
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let tracked = number(host, "proc/sys/net/netfilter/nf_conntrack_count");
    Ok(Firewall {
        chains,
        legacy_tables,
        tracked_connections: tracked.ok(),
    })
}

/// NUMA node of the device; −1 means none.
pub(super) fn node(host: &HostView<'_>) -> ReadResult<Option<u32>> {
    let directory = known(sysfs::interface_directory(host))?;
    if !host.files().has(&format!("{directory}/device")) {
        return Ok(None);
    }
    let path = format!("{directory}/device/numa_node");
    match known(host.read(&path)) {
        Ok(text) => Ok(text.trim().parse::<u32>().ok()),
        Err(_) => Ok(None),
    }
}

pub(super) fn mtu(host: &HostView<'_>) -> ReadResult<u32> {
    if let Ok(link) = host.link() {
        return Ok(link.mtu_bytes);
    }
    let directory = known(sysfs::interface_directory(host))?;
    number(host, &format!("{directory}/mtu"))
}

/// Link speed that the device reports in Mbit/s; unknown for a device without hardware, whose speed is made up.
pub(super) fn speed(host: &HostView<'_>) -> ReadResult<BitRate> {
    let directory = known(sysfs::interface_directory(host))?;
    let speed = if host.files().has(&format!("{directory}/device")) {
        line(host, &format!("{directory}/speed"))
    } else {
        Err("a device without hardware has no speed of its own".to_owned())
    };
    let mbps: Option<u64> = speed?.parse().ok();
    let known = mbps.filter(|mbps| (1..4_294_967).contains(mbps) && *mbps != 65_535);
    known
        .map(|mbps| BitRate::from_bps(mbps * 1_000_000))
        .ok_or_else(|| {
            let name = host.interface().map_err(|e: ReadError| e.to_string());
            format!(
                "{} does not tell its speed",
                name.unwrap_or("the interface")
            )
        })
}
