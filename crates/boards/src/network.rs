//! The link between a board and its host: a TAP device with an address at each end.

use crate::tools::lacks;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::netlink::{InterfaceName, Netlink};
use linerate_sys::tap::Tap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt as _;

/// Maximum boards of one network namespace.
const MAX_BOARDS: u8 = 254;

/// Addresses of one link. Its number is that of the TAP device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet(u8);

impl Subnet {
    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// Name of the interface with the host's addresses: the TAP device, or the one in its place.
    pub(crate) fn device(self) -> InterfaceName {
        InterfaceName::new(&format!("board{}", self.0)).expect("invariant: a short name")
    }

    pub(crate) const fn host(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, self.0, 1)
    }

    pub(crate) const fn board(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, self.0, 2)
    }

    pub(crate) fn host6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd78, 0, 0, self.0.into(), 0, 0, 0, 1)
    }

    pub(crate) fn board6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd78, 0, 0, self.0.into(), 0, 0, 0, 2)
    }
}

/// The link of this number, for tests.
#[cfg(test)]
pub(crate) const fn subnet(number: u8) -> Subnet {
    Subnet(number)
}

/// Creates the TAP device with the first free number, with the host's addresses.
pub(crate) fn connect() -> Result<(Tap, Subnet), Failure> {
    for subnet in (1..=MAX_BOARDS).map(Subnet) {
        let name = subnet.device();
        match Tap::create(&name) {
            Ok(tap) => {
                configure(subnet).map_err(|error| step(&name, &error))?;
                return Ok((tap, subnet));
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) => return Err(step(&name, &error)),
        }
    }
    Err(lacks(format!(
        "{MAX_BOARDS} boards are up already; stop one with: linerate board down NAME"
    )))
}

/// Sets the host's addresses on a new interface.
pub(crate) fn configure(subnet: Subnet) -> io::Result<()> {
    let name = subnet.device();
    let mut netlink = Netlink::new()?;
    let index = netlink.link_named(&name)?.index;
    // The kernel's own frames would be measured with the others.
    netlink.disable_ipv6_autoconf(index)?;
    netlink.add_address(index, subnet.host().into(), 24)?;
    netlink.set_up(index)?;
    // A host without IPv6 works without that address.
    let _ = netlink.add_address(index, subnet.host6().into(), 64);
    // Lets boards reach each other, whatever the host's forwarding default is.
    let forwarding = format!("/proc/sys/net/ipv4/conf/{name}/forwarding");
    fs::write(forwarding, "1")
}

fn step(name: &InterfaceName, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; a board's network needs CAP_NET_ADMIN: run as root, or everything in a network of its own with: unshare --user --map-root-user --net"
        }
        io::ErrorKind::NotFound => "; load the kernel's module: modprobe tun",
        _ => "",
    };
    lacks(format!("making the TAP device {name}: {error}{remedy}"))
}

/// Network namespace of this process, by inode.
pub(crate) fn namespace() -> Result<u64, Failure> {
    let path = "/proc/self/ns/net";
    let metadata = fs::metadata(path);
    metadata
        .map(|file| file.ino())
        .map_err(|error| Failure::new(ExitCode::HostLacks, format!("reading {path}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_has_addresses_of_its_own() {
        let subnet = Subnet(7);
        assert_eq!(subnet.host().to_string(), "10.78.7.1");
        assert_eq!(subnet.board().to_string(), "10.78.7.2");
        assert_eq!(subnet.board6().to_string(), "fd78:0:0:7::2");
        assert_eq!(subnet.device().as_str(), "board7");
    }

    #[test]
    fn who_may_not_make_a_link_is_told_what_it_needs() {
        let name = InterfaceName::new("board1").unwrap();
        let said = step(&name, &io::ErrorKind::PermissionDenied.into());
        assert_eq!(said.code, ExitCode::HostLacks);
        assert!(said.message.contains("CAP_NET_ADMIN"), "{said}");
    }
}
