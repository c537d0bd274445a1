//! Packets, bytes, drops and errors of the test's interface.
//!
//! Read from `net/dev` of the calling thread's network namespace, where the kernel prints 64-bit
//! counters. Its `drop` column for receive already holds `rx_dropped` + `rx_missed_errors`.

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::sysfs;
use crate::text::{tidy, whole_lines};
use linerate_model::ByteCount;
use linerate_model::facts::Facts;
use linerate_model::signals::{
    NIC_RX_BYTES, NIC_RX_DROPPED, NIC_RX_ERRORS, NIC_RX_PACKETS, NIC_TX_BYTES, NIC_TX_DROPPED,
    NIC_TX_PACKETS,
};
use linerate_sys::ethtool::Ethtool;
use linerate_sys::netlink::Netlink;

const PATH: &str = "proc/thread-self/net/dev";

const SIGNALS: &[&str] = &[
    NIC_RX_BYTES,
    NIC_RX_PACKETS,
    NIC_RX_ERRORS,
    NIC_RX_DROPPED,
    NIC_TX_BYTES,
    NIC_TX_PACKETS,
    NIC_TX_DROPPED,
];

pub(super) static COLLECTOR: Collector = Collector {
    signals: SIGNALS,
    read: |host, into| match counters(host) {
        Ok(counters) => {
            for (signal, value) in SIGNALS.iter().zip(counters) {
                record(into, signal, Ok(value));
            }
        }
        Err(error) => record_missing(into, SIGNALS, &error),
    },
    facts: |host, into| {
        let number = |file| sysfs::interface_value(host, file)?.parse().ok();
        into.interface = host.interfaces().ok().map(|all| all.join(", "));
        let mtu = if let Ok(link) = host.link() {
            into.interface_kind.clone_from(&link.kind);
            into.queueing_discipline.clone_from(&link.qdisc);
            let rate = Netlink::new().and_then(|mut netlink| netlink.root_shaper_rate(link.index));
            into.queueing_discipline_rate_bps = rate.ok().flatten();
            into.tx_queue_length_packets = link.tx_queue_packets;
            into.rx_queues = link.rx_queues;
            into.tx_queues = link.tx_queues;
            Some(link.mtu_bytes)
        } else {
            number("mtu")
        };
        into.mtu_bytes = mtu.map(|bytes| ByteCount::new(bytes.into()));
        driver_facts(host, into);
        into.nic_numa_node = number("device/numa_node");
    },
    ..Collector::new(
        "nic",
        "Packets, bytes, drops and errors of the interface that carries the traffic.",
    )
};

/// Driver facts as in `ethtool -i`; from sysfs where the driver cannot be queried.
fn driver_facts(host: &HostView<'_>, into: &mut Facts) {
    let asked = || {
        let name = host.interface_name().ok()?;
        let is_live = host.is_live();
        is_live.then(|| {
            Ethtool::new()
                .and_then(|ethtool| ethtool.driver(&name))
                .ok()
        })?
    };
    let answer = asked();
    // Drivers report an unknown value in several ways.
    let known = |text: Option<&String>| {
        let text = tidy(text?)?;
        (!matches!(text.as_str(), "N/A" | "n/a" | "none")).then_some(text)
    };
    let driver = answer.as_ref();
    let name = known(driver.map(|driver| &driver.name));
    into.driver = name.or_else(|| sysfs::driver(host));
    let version = known(driver.map(|driver| &driver.version));
    let from_sysfs = || sysfs::interface_value(host, "device/driver/module/version");
    into.driver_version = version.or_else(from_sysfs);
    into.firmware_version = known(driver.map(|driver| &driver.firmware));
    into.nic_bus = known(driver.map(|driver| &driver.bus));
}

fn counters(host: &HostView<'_>) -> Result<[u64; 7], ReadError> {
    let text = host.text(PATH)?;
    let mut sum = [0; 7];
    for interface in host.interfaces()? {
        let columns = columns(&text, interface).ok_or_else(|| ReadError::Unfit {
            what: format!("/{PATH}: no interface {interface} in this network namespace"),
        })?;
        let values = values(columns)
            .ok_or_else(|| ReadError::no_field(PATH, format!("16 counters of {interface}")))?;
        let all = sum.iter_mut().zip(in_signal_order(values));
        all.for_each(|(sum, value)| *sum += value);
    }
    Ok(sum)
}

/// Columns after `interface`. Some kernels leave no space after the colon.
fn columns<'a>(text: &'a str, interface: &str) -> Option<&'a str> {
    let (_, columns) = whole_lines(text)
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == interface)?;
    Some(columns)
}

fn values(columns: &str) -> Option<[u64; 16]> {
    let mut values = [0; 16];
    let mut columns = columns.split_ascii_whitespace();
    for value in &mut values {
        *value = columns.next()?.parse().ok()?;
    }
    Some(values)
}

/// Receive: bytes packets errs drop fifo frame compressed multicast; then transmit: bytes packets
/// errs drop fifo colls carrier compressed.
fn in_signal_order(columns: [u64; 16]) -> [u64; 7] {
    let [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_drop,
        rx_fifo,
        _,
        _,
        _,
        tx @ ..,
    ] = columns;
    let [tx_bytes, tx_packets, _, tx_drop, tx_fifo, _, _, _] = tx;
    [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_drop.saturating_add(rx_fifo),
        tx_bytes,
        tx_packets,
        tx_drop.saturating_add(tx_fifo),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(text: &str, interface: &str) -> Option<[u64; 16]> {
        values(columns(text, interface)?)
    }

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    4974      61    0    0    0     0          0         0     4974      61    0    0    0     0       0          0
  eth0:51308687    1811    3    4    5     0          0         0   117801    1191    6    7    8     0       0          0
 eth01: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
";

    #[test]
    fn drops_are_the_sum_of_their_columns() {
        let values = in_signal_order(row(DEV, "eth0").unwrap());
        assert_eq!(values, [51_308_687, 1811, 3, 9, 117_801, 1191, 15]);
    }

    #[test]
    fn an_interface_is_found_by_its_whole_name() {
        assert_eq!(row(DEV, "eth01").unwrap()[0], 1);
        assert_eq!(row(DEV, "eth"), None);
        assert_eq!(row(DEV, "face"), None);
    }

    #[test]
    fn a_row_cut_off_or_short_is_missing() {
        assert_eq!(row(&DEV[..DEV.len() - 2], "eth01"), None);
        assert_eq!(row("eth0: 1 2 3\n", "eth0"), None);
        assert_eq!(
            row("eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x\n", "eth0"),
            None
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*", tail in "[0-9 x-]{0,80}") {
            let _ = row(&text, "eth0");
            if let Some(values) = row(&format!("eth0:{tail}\n"), "eth0") {
                let _ = in_signal_order(values);
            }
        }
    }
}
