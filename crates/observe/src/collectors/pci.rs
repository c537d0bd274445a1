//! The network devices on the PCI bus, as facts: those of class 02 only, no serial numbers.

use super::Collector;
use crate::host_view::HostView;
use crate::text::tidy;

const DEVICES: &str = "sys/bus/pci/devices";
/// Maximum number of devices reported.
const MAX_DEVICES: usize = 32;

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        let names = host.names(DEVICES);
        let devices = names.iter().filter_map(|name| device(host, name));
        let devices: Vec<String> = devices.take(MAX_DEVICES).collect();
        into.pci_network_devices = (!devices.is_empty()).then_some(devices);
    },
    ..Collector::new(
        "pci",
        "Network devices on the PCI bus: place, vendor and device numbers, revision, driver, \
         link.",
    )
};

/// `0000:03:00.0 8086:1572 rev 0x02 i40e, 8.0 GT/s PCIe x8`
fn device(host: &HostView<'_>, name: &str) -> Option<String> {
    let value = |file: &str| tidy(&host.read(&format!("{DEVICES}/{name}/{file}")).ok()?);
    if !value("class")?.starts_with("0x02") {
        return None;
    }
    let number = |file: &str| {
        let text = value(file)?;
        Some(text.strip_prefix("0x").unwrap_or(&text).to_owned())
    };
    let mut said = format!("{name} {}:{}", number("vendor")?, number("device")?);
    if let Some(revision) = value("revision") {
        said = format!("{said} rev {revision}");
    }
    if let Some(driver) = host.link_name(&format!("{DEVICES}/{name}/driver")) {
        said = format!("{said} {driver}");
    }
    if let (Some(speed), Some(width)) = (value("current_link_speed"), value("current_link_width")) {
        said = format!("{said}, {speed} x{width}");
    }
    tidy(&said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_view::Scope;
    use crate::testing::write;
    use linerate_model::facts::Facts;
    use linerate_sys::host_files::HostFiles;

    #[test]
    fn only_network_devices_are_told_with_what_identifies_their_kind() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("0000:00:01.0/class", "0x010000\n"),
            ("0000:03:00.0/class", "0x020000\n"),
            ("0000:03:00.0/vendor", "0x8086\n"),
            ("0000:03:00.0/device", "0x1572\n"),
            ("0000:03:00.0/revision", "0x02\n"),
            ("0000:03:00.0/current_link_speed", "8.0 GT/s PCIe\n"),
            ("0000:03:00.0/current_link_width", "8\n"),
            ("0000:04:00.0/class", "0x020000\n"),
        ];
        for (path, text) in files {
            write(&root.path().join(DEVICES), path, text);
        }
        let driver = root.path().join(DEVICES).join("0000:03:00.0/driver");
        std::os::unix::fs::symlink("../../drivers/i40e", driver).unwrap();
        let scope = Scope {
            interface: None,
            beside: Vec::new(),
            root: HostFiles::new(root.path()),
        };
        let mut facts = Facts::default();
        (COLLECTOR.facts)(&HostView::new(&scope), &mut facts);
        assert_eq!(
            facts.pci_network_devices.unwrap(),
            ["0000:03:00.0 8086:1572 rev 0x02 i40e, 8.0 GT/s PCIe x8"]
        );
    }
}
