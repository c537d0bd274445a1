//! The tester's ports, and the cables from them to the device's.

use super::Availability;
use super::params::DutSetup;
use crate::interfaces::{
    COMING_UP, Frames, end, index_of, netlink, new_namespace, quieten, set_up, within,
};
use crate::{Result, TestbedError};
use linerate_model::dut::{DutCounters, DutDrop, DutPlace, DutPort, TesterPort};
use linerate_model::{Clock as _, PacketCount};
use linerate_sys::clock::MonoClock;
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::{
    Aggregation, InterfaceIndex, InterfaceName, LinkStats, MacAddress, Netlink,
};
use linerate_sys::netns::{NetNamespace, has_admin_capability};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// One of the two ports of a tester, and of the device's port that is joined to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::A, Self::B];

    pub(super) fn number(self) -> u8 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    fn letter(self) -> char {
        match self {
            Self::A => 'a',
            Self::B => 'b',
        }
    }

    /// The tester's interface.
    pub(super) fn tester_port(self) -> InterfaceName {
        named(&format!("port-{}", self.letter()))
    }

    /// The device's interface.
    pub(super) fn device_port(self) -> InterfaceName {
        named(&format!("dut-{}", self.letter()))
    }

    pub(super) fn tester_mac(self) -> MacAddress {
        MacAddress([0x02, 0, 0, 0x4d, 4, self.number()])
    }

    pub(super) fn device_mac(self) -> MacAddress {
        MacAddress([0x02, 0, 0, 0x4d, 5, self.number()])
    }

    /// The device's addresses on this side, if it routes.
    pub(super) fn device_addresses(self) -> (Ipv4Addr, Ipv6Addr) {
        let (ipv4, ipv6) = self.network();
        (
            Ipv4Addr::from_bits(ipv4.to_bits() + 1),
            Ipv6Addr::from_bits(ipv6.to_bits() + 1),
        )
    }

    /// The tester's addresses on this side.
    pub(super) fn tester_addresses(self) -> (Ipv4Addr, Ipv6Addr) {
        let (ipv4, ipv6) = self.network();
        (
            Ipv4Addr::from_bits(ipv4.to_bits() + 2),
            Ipv6Addr::from_bits(ipv6.to_bits() + 2),
        )
    }

    /// The networks behind the tester's port, a /16 and a /64: of the networks for benchmarks (RFC 2544 appendix C.2.2,
    /// RFC 5180 §8), one of each on a side, so that a router has something to do.
    pub(super) fn network(self) -> (Ipv4Addr, Ipv6Addr) {
        let (second, group) = (17 + self.number(), u16::from(self.number()));
        (
            Ipv4Addr::new(198, second, 0, 0),
            Ipv6Addr::new(0x2001, 2, 0, group, 0, 0, 0, 0),
        )
    }
}

fn named(name: &str) -> InterfaceName {
    InterfaceName::new(name).expect("invariant: a short name of letters")
}

/// To whom the tester's ports send frames for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextHop {
    /// To the device's port: it routes.
    Device,
    /// To the tester's other port: the device is transparent.
    OtherPort,
}

/// The tester's side of a device under test: a network with an interface for each port, up, without addresses.
#[derive(Debug)]
pub struct Tester {
    pub(super) namespace: Arc<NetNamespace>,
    pub(super) ports: [TesterPort; 2],
}

impl Tester {
    fn new(namespace: Arc<NetNamespace>, next_hop: NextHop) -> Self {
        let own = |side: Side, other: Side| {
            let next_hop = match next_hop {
                NextHop::Device => side.device_mac(),
                NextHop::OtherPort => other.tester_mac(),
            };
            let mac = side.tester_mac().to_string();
            port(side, &side.tester_port(), &mac, &next_hop.to_string())
        };
        Self {
            namespace,
            ports: [own(Side::A, Side::B), own(Side::B, Side::A)],
        }
    }
}

/// A port of the tester, with the addresses of its side.
fn port(side: Side, interface: &InterfaceName, mac: &str, next_hop: &str) -> TesterPort {
    let (ipv4, ipv6) = side.tester_addresses();
    TesterPort {
        interface: interface.as_str().to_owned(),
        ipv4,
        ipv6,
        mac: mac.to_owned(),
        next_hop: next_hop.to_owned(),
    }
}

/// One interface, and the socket that reads its counters.
#[derive(Debug)]
struct Meter {
    netlink: Netlink,
    index: InterfaceIndex,
    name: InterfaceName,
}

impl Meter {
    /// Of an interface of the calling thread's network.
    fn new(name: InterfaceName) -> Result<Self> {
        let mut netlink = netlink()?;
        let index = index_of(&mut netlink, &name)?;
        Ok(Self {
            netlink,
            index,
            name,
        })
    }

    fn read(&mut self) -> Result<LinkStats> {
        let step = format!("reading the counters of {}", self.name);
        self.netlink
            .link_stats(self.index)
            .map_err(TestbedError::step(step))
    }
}

/// The tester, the device's network, and the veth pairs between them.
///
/// Field order is teardown order: sockets, then the device's network, then the tester's.
#[derive(Debug)]
pub(super) struct Cables {
    device_meters: [Meter; 2],
    tester_meters: [Meter; 2],
    pub(super) device: Arc<NetNamespace>,
    pub(super) tester: Tester,
}

impl Cables {
    /// Makes both networks and joins them; all interfaces are down. `prepare` runs in the device's network while it is
    /// empty.
    pub(super) fn lay(setup: &DutSetup, next_hop: NextHop, ipv6: Ipv6) -> Result<Self> {
        let tester = new_network("the tester", Ipv6::Off)?;
        let device = new_network("the device", ipv6)?;
        let (far, mtu) = (Arc::clone(&device), setup.mtu);
        within(&tester, "the tester", move || {
            let mut netlink = netlink()?;
            for side in Side::BOTH {
                let (near_name, far_name) = (side.tester_port(), side.device_port());
                netlink
                    .add_veth(
                        &end(&near_name, side.tester_mac(), None),
                        &end(&far_name, side.device_mac(), Some(&far)),
                        mtu,
                        Aggregation::None,
                    )
                    .map_err(TestbedError::step("making a veth pair"))?;
            }
            Ok(())
        })?;
        let meters = |namespace, name: fn(Side) -> InterfaceName| {
            within(namespace, "counters", move || {
                let [a, b] = Side::BOTH.map(|side| Meter::new(name(side)));
                Ok([a?, b?])
            })
        };
        Ok(Self {
            device_meters: meters(&device, Side::device_port)?,
            tester_meters: meters(&tester, Side::tester_port)?,
            device,
            tester: Tester::new(tester, next_hop),
        })
    }

    /// Gives the tester's ports receive queues of their own, before the tester does: frames that an XDP program redirects
    /// to a port arrive only then.
    pub(super) fn open_tester_queues(&self) -> Result<()> {
        within(&self.tester.namespace, "the tester", || {
            open_queues(&Side::BOTH.map(Side::tester_port))
        })
    }

    /// Brings the interfaces of both sides up; on return, frames that the tester sends reach the device.
    pub(super) fn bring_up(&self) -> Result<()> {
        within(&self.device, "the device", || {
            let ports = Side::BOTH.map(Side::device_port);
            bring_up(ports.clone())?;
            // Frames that a program makes at the tester arrive only at a port with a queue of its own.
            open_queues(&ports)
        })?;
        let tester = &self.tester.namespace;
        within(tester, "the tester", || {
            let ports = Side::BOTH.map(Side::tester_port);
            bring_up(ports.clone())?;
            wait_until_up(ports)
        })?;
        within(&self.device, "the device", || {
            wait_until_up(Side::BOTH.map(Side::device_port))
        })
    }

    /// What passed the device's ports, and what was dropped at them.
    pub(super) fn counters(&mut self) -> Result<DutCounters> {
        let mut counted = DutCounters::default();
        let ends = self.device_meters.iter_mut().zip(&mut self.tester_meters);
        for (device, tester) in ends {
            let (own, far) = (device.read()?, tester.read()?);
            let name = device.name.as_str();
            counted.ports.push(DutPort {
                name: name.to_owned(),
                received: PacketCount::new(own.rx_packets),
                sent: PacketCount::new(own.tx_packets),
            });
            counted
                .drops
                .push(dropped(DutPlace::PortRx, name, far.tx_dropped));
            counted
                .drops
                .push(dropped(DutPlace::PortTx, name, own.tx_dropped));
        }
        Ok(counted)
    }
}

/// A veth pair whose ends are the tester's two ports.
#[derive(Debug)]
pub(super) struct Loop {
    meters: [Meter; 2],
    pub(super) tester: Tester,
}

impl Loop {
    /// Makes it; frames pass on return.
    pub(super) fn lay(setup: &DutSetup) -> Result<Self> {
        let namespace = new_network("the tester", Ipv6::Off)?;
        let mtu = setup.mtu;
        let meters = within(&namespace, "the tester", move || {
            let ports = Side::BOTH.map(Side::tester_port);
            netlink()?
                .add_veth(
                    &end(&ports[0], Side::A.tester_mac(), None),
                    &end(&ports[1], Side::B.tester_mac(), None),
                    mtu,
                    Aggregation::None,
                )
                .map_err(TestbedError::step("making a veth pair"))?;
            bring_up(ports.clone())?;
            wait_until_up(ports.clone())?;
            let [a, b] = ports.map(Meter::new);
            Ok([a?, b?])
        })?;
        Ok(Self {
            meters,
            tester: Tester::new(namespace, NextHop::OtherPort),
        })
    }

    /// What passed it, and what the receiving port had no room for.
    pub(super) fn counters(&mut self) -> Result<DutCounters> {
        let [a, b] = &mut self.meters;
        let read = [a.read()?, b.read()?];
        let names = [&a.name, &b.name].map(InterfaceName::as_str);
        let mut counted = DutCounters::default();
        for (side, own) in read.iter().enumerate() {
            counted.ports.push(at_the_other_end(names[side], *own));
            let other = names[1 - side];
            counted
                .drops
                .push(dropped(DutPlace::PortTx, other, own.tx_dropped));
        }
        Ok(counted)
    }
}

/// Two interfaces of the calling thread's network that lead to a device which linerate did not start.
#[derive(Debug)]
pub(super) struct GivenPorts {
    meters: [Meter; 2],
    pub(super) tester: Tester,
}

impl GivenPorts {
    /// Reads their addresses; changes nothing.
    pub(super) fn of(names: [&str; 2]) -> Result<Self> {
        let [(a, a_mac), (b, b_mac)] = [given_port(names[0])?, given_port(names[1])?];
        let namespace = NetNamespace::current();
        let namespace = namespace.map_err(TestbedError::step("finding this network"))?;
        let ports = [
            port(Side::A, &a.name, &a_mac, &b_mac),
            port(Side::B, &b.name, &b_mac, &a_mac),
        ];
        Ok(Self {
            meters: [a, b],
            tester: Tester {
                namespace: Arc::new(namespace),
                ports,
            },
        })
    }

    /// What passed the device's ports, by what passed the interfaces that lead to them.
    pub(super) fn counters(&mut self) -> Result<DutCounters> {
        let mut counted = DutCounters::default();
        for meter in &mut self.meters {
            let passed = meter.read()?;
            counted
                .ports
                .push(at_the_other_end(meter.name.as_str(), passed));
        }
        Ok(counted)
    }
}

/// An interface of the calling thread's network, and its MAC address.
fn given_port(name: &str) -> Result<(Meter, String)> {
    let step = || TestbedError::step(format!("using {name} as a port"));
    let wrong = |why: &str| step()(io::Error::other(why.to_owned()));
    let interface = InterfaceName::new(name);
    let interface = interface.ok_or_else(|| wrong("no interface has such a name"))?;
    let link = netlink()?.link_named(&interface).map_err(step())?;
    let mac = link.mac();
    let mac = mac.ok_or_else(|| wrong("it is no Ethernet interface"))?;
    Ok((Meter::new(interface)?, mac.to_string()))
}

/// The port that an interface leads to: what is sent at the interface is what that receives.
fn at_the_other_end(name: &str, passed: LinkStats) -> DutPort {
    DutPort {
        name: name.to_owned(),
        received: PacketCount::new(passed.tx_packets),
        sent: PacketCount::new(passed.rx_packets),
    }
}

/// Whether a network speaks IPv6, and so sends multicast membership reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ipv6 {
    /// No.
    Off,
    /// Yes.
    On,
}

fn new_network(what: &'static str, ipv6: Ipv6) -> Result<Arc<NetNamespace>> {
    let namespace = new_namespace(what)?;
    within(&namespace, what, move || {
        for scope in ["all", "default"] {
            let set = |name, value| set_sysctl(&format!("ipv6/conf/{scope}/{name}"), value);
            match ipv6 {
                Ipv6::Off => set("disable_ipv6", "1")?,
                Ipv6::On => {
                    // Membership reports of version 1 have timers that `/proc/net/igmp6` shows, and end at once.
                    set("force_mld_version", "1")?;
                    set("mldv1_unsolicited_report_interval", "1")?;
                }
            }
        }
        Ok(())
    })?;
    Ok(namespace)
}

/// Sets a parameter below `/proc/sys/net` of the calling thread's network.
pub(super) fn set_sysctl(name: &str, value: &str) -> Result<()> {
    let path = format!("/proc/sys/net/{name}");
    std::fs::write(&path, value).map_err(TestbedError::step(format!("writing {value} to {path}")))
}

fn bring_up(ports: [InterfaceName; 2]) -> Result<()> {
    let mut netlink = netlink()?;
    for name in ports {
        let index = index_of(&mut netlink, &name)?;
        quieten(&mut netlink, index, &name, Frames::Wire)?;
        set_up(&mut netlink, index, &name)?;
    }
    Ok(())
}

/// Gives these ports receive queues of their own (NAPI), which GRO switches on. UDP frames are not merged by it.
fn open_queues(ports: &[InterfaceName; 2]) -> Result<()> {
    let ethtool = Ethtool::new().map_err(TestbedError::step("opening an ethtool socket"))?;
    ports.iter().try_for_each(|port| {
        let step = format!("giving {port} a receive queue");
        ethtool
            .switch_on(port, Offload::GenericReceive)
            .map_err(TestbedError::step(step))
    })
}

fn wait_until_up(ports: [InterfaceName; 2]) -> Result<()> {
    let mut netlink = netlink()?;
    let deadline = MonoClock.now().after(COMING_UP);
    for name in ports {
        let index = index_of(&mut netlink, &name)?;
        let step = format!("waiting for {name} to carry frames");
        netlink
            .wait_until(deadline, |netlink| Ok(netlink.link(index)?.is_operational))
            .map_err(TestbedError::step(step))?;
    }
    Ok(())
}

pub(super) fn dropped(place: DutPlace, at: &str, packets: u64) -> DutDrop {
    DutDrop {
        place,
        at: at.to_owned(),
        packets: PacketCount::new(packets),
    }
}

/// What every device needs: the right to make networks.
pub(super) fn may_make_networks() -> Availability {
    if has_admin_capability() {
        return Availability::Available;
    }
    Availability::Missing {
        what: "the right to make network namespaces and interfaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)"
            .to_owned(),
        remedy: "run linerate as root".to_owned(),
    }
}

/// The running kernel, as `Linux 6.1.0-18-amd64`.
pub(super) fn kernel_version() -> String {
    let release = linerate_sys::netns::sysctl("kernel.osrelease");
    format!("Linux {}", release.as_deref().unwrap_or("(unknown)"))
}
