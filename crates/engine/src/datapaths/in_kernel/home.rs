//! A place where the sending program is attached all the time, on no interface of this host.
//!
//! The kernel runs attached programs by direct jumps, which it prepares anew at each call for a program that is attached
//! nowhere: then every call waits for two grace periods of RCU, some ten milliseconds (Linux `bpf_prog_change_xdp`,
//! `BPF_DISPATCHER_MAX`). A veth in a network namespace of its own, which nobody else sees, avoids that.
//!
//! It does not avoid the wait for others: while any XDP program is attached or taken off on this host, calls of the
//! generator wait for the lock of those jumps, some milliseconds. Slots missed then are seen as a sender that fell short.

use crate::error::Result;
use linerate_sys::bpf::{XdpLink, XdpMode, XdpProgram};
use linerate_sys::netlink::{Aggregation, InterfaceName, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use std::io;

/// Attachment of a program. Field order is teardown order.
pub(super) struct Home {
    _link: XdpLink,
    _namespace: NetNamespace,
}

/// MTU of the two interfaces, which carry nothing.
const MTU: u32 = 1500;

impl Home {
    /// Attaches `program` in a new namespace.
    pub(super) fn of(program: &XdpProgram) -> Result<Self> {
        let made = std::thread::scope(|scope| scope.spawn(|| attach(program)).join());
        let made = made.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        made.map_err(super::host("attaching the sending program"))
    }
}

/// On a thread of its own, since it moves to another namespace.
fn attach(program: &XdpProgram) -> io::Result<Home> {
    let namespace = NetNamespace::unshare()?;
    let mut netlink = Netlink::new()?;
    let names = ["a", "b"].map(InterfaceName::new);
    let [Some(near), Some(far)] = &names else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let end = |name, last| VethEnd {
        name,
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        namespace: None,
    };
    netlink.add_veth(&end(near, 1), &end(far, 2), MTU, Aggregation::Default)?;
    let index = netlink.link_named(near)?.index;
    let link = program.attach(index, XdpMode::Native)?;
    Ok(Home {
        _link: link,
        _namespace: namespace,
    })
}
