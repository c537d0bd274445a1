//! PHY of the test's interface and its link: identity, link losses, frames damaged on the wire, and failed MDIO
//! transfers.
//!
//! # References
//! - `Documentation/ABI/testing/sysfs-class-net`, `sysfs-class-net-phydev`, `sysfs-bus-mdio` of Linux

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::sysfs;
use crate::text::tidy;
use linerate_model::signals::{LINK_CARRIER_CHANGES, NIC_RX_CRC_ERRORS, PHY_MDIO_ERRORS};
use linerate_sys::ethtool::Ethtool;

const SIGNALS: &[&str] = &[LINK_CARRIER_CHANGES, NIC_RX_CRC_ERRORS, PHY_MDIO_ERRORS];

pub(super) static COLLECTOR: Collector = Collector {
    signals: SIGNALS,
    read: |host, into| {
        let directory = match sysfs::interface_directory(host) {
            Ok(directory) => directory,
            Err(error) => return record_missing(into, SIGNALS, &error),
        };
        let counter = |file: &str| number(host, &format!("{directory}/{file}"));
        record(into, LINK_CARRIER_CHANGES, counter("carrier_changes"));
        record(into, NIC_RX_CRC_ERRORS, counter("statistics/rx_crc_errors"));
        record(into, PHY_MDIO_ERRORS, mdio_errors(host));
    },
    facts: |host, into| {
        let of_phy = |file: &str| sysfs::interface_value(host, &format!("phydev/{file}"));
        into.phy_id = of_phy("phy_id");
        into.phy_interface = of_phy("phy_interface");
        into.phy_driver =
            phy(host).and_then(|phy| tidy(&host.link_name(&format!("{phy}/driver"))?));
        into.link_autonegotiation = autonegotiation(host);
    },
    ..Collector::new(
        "phy",
        "The PHY of the interface that carries the traffic: who it is, link changes, damaged \
         frames, failed transfers to it.",
    )
};

/// Directory of the PHY on its bus.
fn phy(host: &HostView<'_>) -> Option<String> {
    let directory = sysfs::interface_directory(host).ok()?;
    host.files().resolved(&format!("{directory}/phydev")).ok()
}

/// Failed MDIO transfers of this PHY: its name is `BUS:ADDRESS` with a hexadecimal address, the counter's in decimal.
fn mdio_errors(host: &HostView<'_>) -> Result<u64, ReadError> {
    let none = || ReadError::Unfit {
        what: "the interface has no PHY that the kernel drives".to_owned(),
    };
    let phy = phy(host).ok_or_else(none)?;
    let name = phy.rsplit('/').next().unwrap_or(&phy);
    let (bus, address) = name.rsplit_once(':').ok_or_else(none)?;
    let address = u8::from_str_radix(address, 16).map_err(|_| none())?;
    number(
        host,
        &format!("sys/class/mdio_bus/{bus}/statistics/errors_{address}"),
    )
}

fn number(host: &HostView<'_>, path: &str) -> Result<u64, ReadError> {
    let text = host.read(path)?;
    text.trim()
        .parse()
        .map_err(|_| ReadError::no_field(path, "number"))
}

/// Whether the link speed was negotiated, as `ethtool` shows it.
fn autonegotiation(host: &HostView<'_>) -> Option<String> {
    let name = host.interface_name().ok().filter(|_| host.is_live())?;
    let settings = Ethtool::new()
        .and_then(|ethtool| ethtool.link_settings(&name))
        .ok()?;
    let word = if settings.autonegotiation {
        "on"
    } else {
        "off"
    };
    Some(word.to_owned())
}
