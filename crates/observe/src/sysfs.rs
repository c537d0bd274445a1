//! Facts of the test's interface from `/sys/class/net`, where it shows the right namespace.
//!
//! sysfs belongs to the network namespace it was mounted in. It is used if the interface there has the index and the
//! hardware address that netlink reports to the calling thread.

use crate::error::ReadError;
use crate::host_view::HostView;
use crate::text::tidy;
use linerate_sys::netlink::Link;
use std::fmt::Write as _;

/// `sys/class/net/<interface>`, if it is the interface of the calling thread's namespace.
pub(crate) fn interface_directory(host: &HostView<'_>) -> Result<String, ReadError> {
    let directory = format!("sys/class/net/{}", host.interface()?);
    if host.is_live() && !is_same(host, &directory, host.link()?) {
        return Err(ReadError::OtherNamespace);
    }
    Ok(directory)
}

fn is_same(host: &HostView<'_>, directory: &str, link: &Link) -> bool {
    let says = |file: &str, expected: &str| {
        host.read(&format!("{directory}/{file}"))
            .is_ok_and(|text| text.trim() == expected)
    };
    says("ifindex", &link.index.number().to_string())
        && says("address", &address_text(&link.address))
}

/// A hardware address as sysfs prints it.
fn address_text(address: &[u8]) -> String {
    let mut text = String::new();
    for byte in address {
        let colon = if text.is_empty() { "" } else { ":" };
        write!(text, "{colon}{byte:02x}").expect("invariant: a string takes any text");
    }
    text
}

/// One line of a file in that directory.
pub(crate) fn interface_value(host: &HostView<'_>, file: &str) -> Option<String> {
    let directory = interface_directory(host).ok()?;
    tidy(&host.read(&format!("{directory}/{file}")).ok()?)
}

/// The name of the interface's driver.
pub(crate) fn driver(host: &HostView<'_>) -> Option<String> {
    let directory = interface_directory(host).ok()?;
    tidy(&host.link_name(&format!("{directory}/device/driver"))?)
}
