//! Two hosts and what joins them.
//!
//! ```text
//!   host A                    middle                      host B
//!   eth0 ====== veth ====== to-a  [element]  to-b ====== veth ====== eth0      Link::Element
//!   eth0 =========================== veth =========================== eth0      Link::Direct
//!   eth0 ====== veth ====== to-a  [ router ]  to-b ====== veth ====== eth0      Link::Routed
//! ```

use crate::host::{host_interface, ipv4, ipv6, mac};
use crate::interfaces::{
    COMING_UP, Frames, end, index_of, join, netlink, new_namespace, open_sockets, quieten, set_up,
    within,
};
use crate::link::{ConfigError, LinkConfig, LinkHandle, Port};
use crate::{Host, HostId, Result, Router, TeardownError, TestbedError};
use linerate_model::Clock;
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{Aggregation, InterfaceIndex, InterfaceName, MacAddress, Netlink};
use linerate_sys::netns::NetNamespace;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// How two hosts are joined.
#[derive(Debug, Clone, PartialEq)]
pub enum Link {
    /// A veth pair with all offloads: as fast as this machine copies.
    Direct {
        /// MTU in bytes.
        mtu: u32,
    },
    /// The link element between two veth pairs without offloads: frames as on a wire.
    Element {
        /// Impairments of frames from host A.
        a_to_b: Box<LinkConfig>,
        /// Impairments of frames from host B.
        b_to_a: Box<LinkConfig>,
        /// MTU in bytes.
        mtu: u32,
    },
    /// A namespace that forwards between two veth pairs without offloads, as a Linux router: for queueing disciplines
    /// and packet filters.
    Routed {
        /// MTU in bytes.
        mtu: u32,
    },
}

impl Link {
    /// A link element with equal impairments in both directions, for packets of up to 1500 bytes.
    pub fn symmetric(config: LinkConfig) -> Self {
        Self::Element {
            a_to_b: Box::new(config.clone()),
            b_to_a: Box::new(config),
            mtu: 1500,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let (Self::Direct { mtu } | Self::Element { mtu, .. } | Self::Routed { mtu }) = self;
        if !MTUS.contains(mtu) {
            return Err(ConfigError::new("mtu", "must be from 1280 to 16000 B"));
        }
        match self {
            Self::Direct { .. } | Self::Routed { .. } => Ok(()),
            Self::Element { a_to_b, b_to_a, .. } => {
                a_to_b.check(*mtu).and_then(|()| b_to_a.check(*mtu))
            }
        }
    }
}

/// Two hosts joined by a link. Dropping it takes everything down.
///
/// Field order is teardown order: the element's thread and sockets, then the namespaces.
#[derive(Debug)]
pub struct TwoHosts {
    link: Option<LinkHandle>,
    a: Host,
    b: Host,
    router: Option<Router>,
}

impl TwoHosts {
    /// Creates the hosts and the link; `seed` determines all random decisions. Needs
    /// [`enter_user_namespace`](crate::enter_user_namespace) before.
    pub fn create(link: Link, seed: u64) -> Result<Self> {
        link.check()?;
        let [a, b] = [new_namespace("host A")?, new_namespace("host B")?];
        let mut router = None;
        let link = match link {
            Link::Direct { mtu } => {
                join_directly(&a, &b, mtu)?;
                bring_up(&a, &b, Frames::Aggregated, mac)?;
                None
            }
            Link::Routed { mtu } => {
                router = Some(join_by_router(&a, &b, mtu)?);
                bring_up(&a, &b, Frames::Wire, |id| router_mac(id.other()))?;
                None
            }
            Link::Element {
                a_to_b,
                b_to_a,
                mtu,
            } => {
                let ports = join_by_ports(&a, &b, mtu)?;
                bring_up(&a, &b, Frames::Wire, mac)?;
                Some(LinkHandle::start(ports, [*a_to_b, *b_to_a], mtu, seed)?)
            }
        };
        Ok(Self {
            link,
            a: Host::new(HostId::A, a),
            b: Host::new(HostId::B, b),
            router,
        })
    }

    /// One of the hosts.
    pub fn host(&self, id: HostId) -> &Host {
        match id {
            HostId::A => &self.a,
            HostId::B => &self.b,
        }
    }

    /// The link element; `None` for [`Link::Direct`].
    pub fn link(&self) -> Option<&LinkHandle> {
        self.link.as_ref()
    }

    /// The router between the hosts; `None` unless [`Link::Routed`].
    pub fn router(&self) -> Option<&Router> {
        self.router.as_ref()
    }

    /// Sets the MTU of one host's interface alone, as in a misconfigured network.
    pub fn set_mtu(&self, id: HostId, mtu: u32) -> Result<()> {
        let set = move || {
            let name = host_interface();
            let mut netlink = netlink()?;
            let index = index_of(&mut netlink, &name)?;
            let step = format!("giving {name} of host {id:?} an MTU of {mtu}");
            netlink
                .set_mtu(index, mtu)
                .map_err(TestbedError::step(step))
        };
        join(self.host(id).spawn("testbed-setup", set)?)
    }

    /// Takes everything down and returns the errors. Threads spawned on the hosts keep their host's network alive until
    /// they end.
    pub fn close(mut self) -> Result<(), Vec<TeardownError>> {
        match self.link.as_mut().map(LinkHandle::stop) {
            Some(Err(error)) => Err(vec![error]),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

fn join_directly(a: &Arc<NetNamespace>, b: &Arc<NetNamespace>, mtu: u32) -> Result<()> {
    let far = Arc::clone(b);
    within(a, "link setup", move || {
        let name = host_interface();
        let ends = [
            end(&name, mac(HostId::A), None),
            end(&name, mac(HostId::B), Some(&far)),
        ];
        netlink()?
            .add_veth(&ends[0], &ends[1], mtu, Aggregation::Default)
            .map_err(TestbedError::step("making a veth pair"))
    })
}

/// Creates a namespace between the hosts, with a port to each.
fn join_by_ports(a: &Arc<NetNamespace>, b: &Arc<NetNamespace>, mtu: u32) -> Result<[Port; 2]> {
    let middle = new_namespace("the link")?;
    let hosts = [Arc::clone(a), Arc::clone(b)];
    within(&middle, "link setup", move || {
        Ok([
            open_port("to-a", HostId::A, &hosts[0], mtu)?,
            open_port("to-b", HostId::B, &hosts[1], mtu)?,
        ])
    })
}

/// Creates a namespace between the hosts that forwards IP packets.
fn join_by_router(a: &Arc<NetNamespace>, b: &Arc<NetNamespace>, mtu: u32) -> Result<Router> {
    let middle = new_namespace("the router")?;
    let hosts = [Arc::clone(a), Arc::clone(b)];
    within(&middle, "router setup", move || {
        for (id, host) in [HostId::A, HostId::B].into_iter().zip(&hosts) {
            add_leg(id, host, mtu)?;
        }
        for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            let path = format!("/proc/sys/net/{switch}");
            std::fs::write(&path, "1").map_err(TestbedError::step(format!("writing {path}")))?;
        }
        Ok(())
    })?;
    Ok(Router::new(middle))
}

/// Creates the veth pair from the calling thread's namespace, a router, to a host. The address of its near end is
/// point-to-point, with a route to that host alone.
fn add_leg(id: HostId, host: &NetNamespace, mtu: u32) -> Result<()> {
    let near = Router::leg(id);
    let (mut netlink, index) = add_port(&near, router_mac(id), id, host, mtu)?;
    for (own, (peer, _)) in Router::addresses(id).into_iter().zip(addresses(id)) {
        netlink
            .add_address_to_peer(index, own, peer)
            .and_then(|()| netlink.add_neighbour(index, peer, mac(id)))
            .map_err(TestbedError::step(format!("routing {peer} to {near}")))?;
    }
    Ok(())
}

/// The router's MAC address on the link to a host, to which the host sends everything for the other one.
fn router_mac(id: HostId) -> MacAddress {
    MacAddress([0x02, 0, 0, 0x4d, 2, id.number()])
}

/// Creates a veth pair from the calling thread's namespace to a host and opens the near end.
fn open_port(name: &str, id: HostId, host: &NetNamespace, mtu: u32) -> Result<Port> {
    let near = InterfaceName::new(name).expect("invariant: a short name of letters");
    let near_mac = MacAddress([0x02, 0, 0, 0x4d, 1, id.number()]);
    // Bring it up first: a packet socket bound to an interface that is down has a pending error.
    let (_, index) = add_port(&near, near_mac, id, host, mtu)?;
    let step = format!("opening packet sockets on {near}");
    open_sockets(index, mtu).map_err(TestbedError::step(step))
}

/// Creates a veth pair from the calling thread's namespace to a host, and brings the near end up.
fn add_port(
    near: &InterfaceName,
    near_mac: MacAddress,
    id: HostId,
    host: &NetNamespace,
    mtu: u32,
) -> Result<(Netlink, InterfaceIndex)> {
    let far = host_interface();
    let mut netlink = netlink()?;
    netlink
        .add_veth(
            &end(near, near_mac, None),
            &end(&far, mac(id), Some(host)),
            mtu,
            Aggregation::None,
        )
        .map_err(TestbedError::step("making a veth pair"))?;
    let index = index_of(&mut netlink, near)?;
    quieten(&mut netlink, index, near, Frames::Wire)?;
    set_up(&mut netlink, index, near)?;
    Ok((netlink, index))
}

/// Brings both hosts up; on return, frames that they send are carried. `next_hop` is the MAC address of each host's
/// address, as seen from the other.
fn bring_up(
    a: &Arc<NetNamespace>,
    b: &Arc<NetNamespace>,
    frames: Frames,
    next_hop: fn(HostId) -> MacAddress,
) -> Result<()> {
    for (id, host) in [(HostId::A, a), (HostId::B, b)] {
        let hop = next_hop(id.other());
        within(host, "a host", move || set_up_host(id, frames, hop))?;
    }
    within(a, "host A", || wait_for_host(HostId::A))?;
    within(b, "host B", || wait_for_host(HostId::B))
}

/// Waits until the kernel's delayed configuration is complete.
fn wait_for_host(id: HostId) -> Result<()> {
    let name = host_interface();
    let mut netlink = netlink()?;
    let index = index_of(&mut netlink, &name)?;
    let deadline = MonoClock.now().after(COMING_UP);
    netlink
        .wait_until(deadline, |netlink| Ok(netlink.link(index)?.is_operational))
        .map_err(TestbedError::step(format!(
            "waiting for {name} to carry frames"
        )))?;
    addresses(id).into_iter().try_for_each(|(address, _)| {
        netlink
            .wait_until(deadline, |netlink| netlink.is_local(address))
            .map_err(TestbedError::step(format!(
                "waiting for {address} to be usable"
            )))
    })
}

/// Brings up and addresses the interface of the calling thread's host.
fn set_up_host(id: HostId, frames: Frames, next_hop: MacAddress) -> Result<()> {
    let name = host_interface();
    let mut netlink = netlink()?;
    let index = index_of(&mut netlink, &name)?;
    quieten(&mut netlink, index, &name, frames)?;
    set_up(&mut netlink, index, &name)?;
    let (own, other) = (addresses(id), addresses(id.other()));
    for ((address, prefix), (neighbour, _)) in own.into_iter().zip(other) {
        netlink
            .add_address(index, address, prefix)
            .map_err(TestbedError::step(format!(
                "giving {name} the address {address}"
            )))?;
        netlink
            .add_neighbour(index, neighbour, next_hop)
            .map_err(TestbedError::step(format!("telling {name} of {neighbour}")))?;
    }
    Ok(())
}

fn addresses(id: HostId) -> [(IpAddr, u8); 2] {
    [(ipv4(id).into(), 24), (ipv6(id).into(), 64)]
}

/// Valid MTUs: IPv6 needs 1280; a frame must fit into a ring slot of 16 KiB.
const MTUS: RangeInclusive<u32> = 1280..=16_000;
