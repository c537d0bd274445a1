//! Link of a stack to this host: a TAP device, or a veth pair into another namespace.

use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::clock::MonoClock;
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::interface::index_of;
use linerate_sys::netlink::{Aggregation, InterfaceName, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use linerate_sys::tap::Tap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Maximum stacks of one network namespace.
const MAX_STACKS: u8 = 254;

/// MTU, that of Ethernet.
const MTU: u32 = 1500;

/// Timeout for an interface to become operational: the kernel takes milliseconds, and at worst the second in which it
/// batches link events.
const COMING_UP: Duration = Duration::from_secs(10);

/// How a stack gets its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// From a TAP device that the program creates with a given name.
    OwnTap,
    /// From a TAP device on the program's standard input.
    Tap,
    /// In its own network namespace, at the other end of a veth pair without offloads.
    Veth,
}

/// Addresses of one link: this host's end in 1, the stack's in 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackAddresses(u8);

impl StackAddresses {
    pub(crate) const fn numbered(number: u8) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// Replaces the placeholders in `text`.
    pub(crate) fn written_into(self, text: &str) -> String {
        let [(near4, _), (near6, _)] = self.near();
        text.replace("{device}", self.device().as_str())
            .replace("{ipv4}", &self.ipv4().to_string())
            .replace("{ipv6}", &self.ipv6().to_string())
            .replace("{host-ipv4}", &near4.to_string())
            .replace("{host-ipv6}", &near6.to_string())
    }

    /// The stack's IPv4 address, in a /24.
    pub const fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 79, self.0, 2)
    }

    /// The stack's IPv6 address, in a /64.
    pub const fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd79, 0, 0, self.0 as u16, 0, 0, 0, 2)
    }

    /// This host's addresses with prefix lengths.
    fn near(self) -> [(IpAddr, u8); 2] {
        let ipv6 = Ipv6Addr::new(0xfd79, 0, 0, self.0.into(), 0, 0, 0, 1);
        [
            (Ipv4Addr::new(10, 79, self.0, 1).into(), 24),
            (ipv6.into(), 64),
        ]
    }

    fn far(self) -> [(IpAddr, u8); 2] {
        [(self.ipv4().into(), 24), (self.ipv6().into(), 64)]
    }

    pub(crate) fn device(self) -> InterfaceName {
        InterfaceName::new(&format!("stack{}", self.0)).expect("invariant: a short name")
    }
}

/// Creates a TAP device with this host's addresses.
pub(crate) fn tap() -> Result<(Tap, StackAddresses)> {
    first_free(|addresses| {
        let name = addresses.device();
        let tap = Tap::create(&name)?;
        prepare(&name, addresses.near())?;
        wait_for_addresses(addresses.near())?;
        Ok((tap, addresses))
    })
}

/// Creates a veth pair from here into `far`. On return, also with an error, the calling thread is in `far`: the caller
/// must switch back.
pub(crate) fn veth(near: &NetNamespace, far: &NetNamespace) -> Result<StackAddresses> {
    let addresses = first_free(|addresses| {
        near.enter()?;
        let name = addresses.device();
        let end = |mac, namespace| VethEnd {
            name: &name,
            mac: MacAddress([0x02, 0, 0, 0x4e, 0, mac]),
            namespace,
        };
        let (own, other) = (end(1, None), end(2, Some(far)));
        Netlink::new()?.add_veth(&own, &other, MTU, Aggregation::None)?;
        Ok(addresses)
    })?;
    let name = addresses.device();
    let both = || {
        far.enter()?;
        send_wire_frames(&name)?;
        prepare(&name, addresses.far())?;
        near.enter()?;
        send_wire_frames(&name)?;
        prepare(&name, addresses.near())?;
        wait(&name, addresses.near())?;
        far.enter()?;
        wait(&name, addresses.far())
    };
    both().map_err(|error| step(&name, &error))?;
    Ok(addresses)
}

/// Addresses of a link that a program will create: a free number.
pub(crate) fn unmade() -> Result<StackAddresses> {
    first_free(|addresses| match index_of(addresses.device().as_str()) {
        Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        None => Ok(addresses),
    })
}

/// Sets this host's addresses on the device that a program creates; false if it does not exist yet.
pub(crate) fn adopt(addresses: StackAddresses) -> Result<bool> {
    let name = addresses.device();
    if index_of(name.as_str()).is_none() {
        return Ok(false);
    }
    let ready =
        prepare(&name, addresses.near()).and_then(|()| wait_for_addresses(addresses.near()));
    ready.map_err(|error| step(&name, &error))?;
    Ok(true)
}

/// Creates the link with the first free number.
fn first_free<T>(make: impl Fn(StackAddresses) -> io::Result<T>) -> Result<T> {
    for addresses in (1..=MAX_STACKS).map(StackAddresses) {
        match make(addresses) {
            Ok(link) => return Ok(link),
            Err(error) if is_taken(&error) => {}
            Err(error) => return Err(step(&addresses.device(), &error)),
        }
    }
    let message = format!("{MAX_STACKS} stacks run already in this network; end one of them");
    Err(Failure::new(ExitCode::HostLacks, message))
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists
    )
}

/// Sets the addresses of the interface and brings it up.
fn prepare(name: &InterfaceName, addresses: [(IpAddr, u8); 2]) -> io::Result<()> {
    let mut netlink = Netlink::new()?;
    let index = netlink.link_named(name)?.index;
    // The kernel's own frames would be measured with the others.
    netlink.disable_ipv6_autoconf(index)?;
    netlink.set_up(index)?;
    for (address, prefix) in addresses {
        netlink.add_address(index, address, prefix)?;
    }
    Ok(())
}

/// Disables segmentation and checksum offloads, which a TAP device does not have anyway.
fn send_wire_frames(name: &InterfaceName) -> io::Result<()> {
    let ethtool = Ethtool::new()?;
    let mut all = Offload::ALL.into_iter();
    all.try_for_each(|offload| ethtool.switch_off(name, offload))
}

/// Waits until the addresses are usable.
fn wait_for_addresses(addresses: [(IpAddr, u8); 2]) -> io::Result<()> {
    let mut netlink = Netlink::new()?;
    let deadline = MonoClock.now().after(COMING_UP);
    addresses.into_iter().try_for_each(|(address, _)| {
        netlink.wait_until(deadline, |netlink| netlink.is_local(address))
    })
}

/// Waits until the addresses are usable and the end of a veth pair is operational, which the kernel reports once both
/// ends are up. A TAP device is usable as soon as it is up, and its state stays unknown.
fn wait(name: &InterfaceName, addresses: [(IpAddr, u8); 2]) -> io::Result<()> {
    wait_for_addresses(addresses)?;
    let mut netlink = Netlink::new()?;
    let index = netlink.link_named(name)?.index;
    let deadline = MonoClock.now().after(COMING_UP);
    netlink.wait_until(deadline, |netlink| Ok(netlink.link(index)?.is_operational))
}

fn step(name: &InterfaceName, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; a stack's network needs CAP_NET_ADMIN: run as root, or let users make namespaces (linerate demo says how)"
        }
        io::ErrorKind::NotFound => "; load the kernel's module: modprobe tun",
        _ => "",
    };
    let message = format!("making the link {name} to a stack: {error}{remedy}");
    Failure::new(ExitCode::HostLacks, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_has_addresses_of_its_own() {
        let link = StackAddresses(7);
        assert_eq!(link.ipv4().to_string(), "10.79.7.2");
        assert_eq!(link.ipv6().to_string(), "fd79:0:0:7::2");
        assert_eq!(link.near()[0].0.to_string(), "10.79.7.1");
        assert_eq!(link.near()[1].0.to_string(), "fd79:0:0:7::1");
        assert_eq!(link.device().as_str(), "stack7");
        assert_eq!(
            link.written_into("ifname={device},gw={host-ipv4},6={ipv6}"),
            "ifname=stack7,gw=10.79.7.1,6=fd79:0:0:7::2"
        );
    }

    #[test]
    fn numbers_that_are_taken_are_passed_over_and_other_errors_are_told() {
        let taken = |addresses: StackAddresses| match addresses.0 {
            1 => Err(io::ErrorKind::ResourceBusy.into()),
            2 => Err(io::ErrorKind::AlreadyExists.into()),
            number => Ok(number),
        };
        assert_eq!(first_free(taken).unwrap(), 3);
        let refused = |_| -> io::Result<()> { Err(io::ErrorKind::PermissionDenied.into()) };
        let error = first_free(refused).unwrap_err();
        assert_eq!(error.code, ExitCode::HostLacks);
        assert!(error.message.contains("CAP_NET_ADMIN"), "{error}");
    }
}
