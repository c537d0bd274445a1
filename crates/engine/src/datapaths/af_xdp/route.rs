//! Route to the peer: interface, next hop and addresses, from the kernel.

use super::frame::{End, Flow, Layout};
use crate::error::{EngineError, Result};
use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceIndex, Link, MacAddress, Netlink, RouteBy};
use linerate_sys::sockopt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// How frames reach the peer of a connected socket.
pub(in crate::datapaths) struct FrameRoute {
    pub(in crate::datapaths) flow: Flow,
    /// Headers of the frames that are sent.
    pub(in crate::datapaths) layout: Layout,
    pub(in crate::datapaths) interface: InterfaceIndex,
    pub(in crate::datapaths) link: Link,
    netlink: Netlink,
}

/// How long a driver may take to bring the link up again after it was reset to load a program: 10GBASE-T negotiates for
/// some 5 s.
const LINK_LIMIT: Duration = Duration::from_secs(15);

const SOCKETS_REMEDY: &str =
    "leave --datapath out, or measure to a host behind an Ethernet interface";

impl FrameRoute {
    /// Route of the flow for which `socket` is connected.
    pub(in crate::datapaths) fn from_socket(socket: &UdpSocket) -> Result<Self> {
        let failed = |error| EngineError::io("name the ends of", &"a data socket", error);
        let local = canonical(socket.local_addr().map_err(failed)?);
        let remote = canonical(socket.peer_addr().map_err(failed)?);
        let failed = |error| EngineError::io("find the way to", &remote.ip(), error);
        let mut netlink = Netlink::new().map_err(failed)?;
        let route = netlink.route_to(remote.ip(), by(remote)).map_err(failed)?;
        if route.is_local {
            return Err(EngineError::Host {
                what: format!("af-xdp to {}", remote.ip()),
                why: "the address is this host's own, so packets for it pass no driver".to_owned(),
                remedy: SOCKETS_REMEDY,
            });
        }
        let link = netlink.link(route.interface).map_err(failed)?;
        let own = ethernet(&link, "af-xdp")?;
        let next = netlink
            .mac_of(route.interface, route.next_hop)
            .map_err(|error| EngineError::Host {
                what: format!("finding the MAC address of {}", route.next_hop),
                why: no_neighbour(&error, &link.name),
                remedy: "see ip neigh",
            })?;
        let flow = Flow {
            local: End {
                mac: own.0,
                address: local,
            },
            remote: End {
                mac: next.0,
                address: remote,
            },
            traffic_class: sockopt::traffic_class(socket, remote.is_ipv4()).unwrap_or(0),
        };
        Ok(Self {
            layout: Layout::plain(&flow),
            flow,
            interface: route.interface,
            link,
            netlink,
        })
    }

    /// Of frames that leave an interface for the MAC address `next` and come in from anywhere; `layout` makes their headers.
    pub(in crate::datapaths) fn between(
        netlink: Netlink,
        link: Link,
        addresses: [SocketAddr; 2],
        next: MacAddress,
        layout: impl FnOnce(&Flow) -> Layout,
    ) -> Result<Self> {
        let own = ethernet(&link, "a port")?;
        let [local, remote] = addresses;
        let end = |mac: MacAddress, address| End {
            mac: mac.0,
            address,
        };
        let flow = Flow {
            local: end(own, local),
            remote: end(next, remote),
            traffic_class: 0,
        };
        Ok(Self {
            layout: layout(&flow),
            flow,
            interface: link.index,
            link,
            netlink,
        })
    }

    /// Waits until the interface is operational again, if it was: some drivers reset to load a program.
    pub(in crate::datapaths) fn wait_until_up(&mut self) -> Result<()> {
        if !self.link.is_operational {
            return Ok(());
        }
        let (interface, deadline) = (self.interface, MonoClock.now().after(LINK_LIMIT));
        self.netlink
            .wait_until(deadline, |netlink| {
                Ok(netlink.link(interface)?.is_operational)
            })
            .map_err(|error| EngineError::Host {
                what: format!("waiting for the link of {}", self.link.name),
                why: format!("it did not come back after the XDP program was attached: {error}"),
                remedy: "look at the driver's messages (dmesg), or use mode=generic",
            })
    }

    /// Maximum payload of one frame of `room` bytes.
    pub(in crate::datapaths) fn most_payload(&self, room: usize) -> usize {
        let by_mtu = self.layout.most_frame(self.link.mtu_bytes as usize);
        by_mtu.min(room).saturating_sub(self.layout.payload_at())
    }
}

/// The MAC address of an Ethernet interface.
pub(in crate::datapaths) fn ethernet(link: &Link, what: &str) -> Result<MacAddress> {
    link.mac().ok_or_else(|| EngineError::Host {
        what: format!("{what} over {}", link.name),
        why: "the interface carries no Ethernet frames".to_owned(),
        remedy: SOCKETS_REMEDY,
    })
}

fn no_neighbour(error: &io::Error, interface: &str) -> String {
    if error.kind() == io::ErrorKind::TimedOut {
        format!("nobody answers for it on {interface}")
    } else {
        format!("{error} on {interface}")
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip if ip.is_ipv4() => SocketAddr::new(ip, address.port()),
        _ => address,
    }
}

/// Route selector: a link-local address needs its interface.
fn by(address: SocketAddr) -> RouteBy {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => RouteBy::Scope(v6.scope_id()),
        _ => RouteBy::Destination,
    }
}
