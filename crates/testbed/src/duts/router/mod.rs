//! The kernel's IP forwarding between two networks, IPv4 and IPv6, with packet filters.
//!
//! Next hops are permanent neighbour entries unless it is to ask for them. Frames of the tester match the last rule of the filter, so that each rule
//! before it costs its time.

mod counts;
mod filter;
mod routes;

use super::cables::{Cables, Ipv6, NextHop, Side, dropped, kernel_version, set_sysctl};
use super::forwarder::{Counts, Forwarder, Inside};
use super::keeper::Pending;
use super::params::params;
use super::programs::Program;
use super::{Availability, Dut, DutKind, DutParam, DutSetup, steering};
use crate::interfaces::{COMING_UP, index_of, netlink, within};
use crate::{Result, TeardownError, TestbedError};
use filter::{Filter, Firewall};
pub(super) use filter::{NFT, nft_counters, without_table, without_tables};
use linerate_model::Clock as _;
use linerate_model::dut::{DutCounters, DutPlace, DutRelief, DutTask};
use linerate_model::spec::TestSpec;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::netns::NetNamespace;
pub(super) use routes::Routes;
use routes::{Control, Daemon};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Router;

linerate_model::named_enum! {
    /// Whether a router is told who its neighbours are, or has to ask.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Neighbours {
        /// By permanent entries.
        Static = "static",
        /// It asks, by ARP and neighbour discovery.
        Learned = "learned",
    }
}

params! {
    RULES = "rules": "0…100000" ("0"),
        "Rules of the packet filter, the last of which the tester's frames match.";
    FIREWALL = "firewall": "nft|iptables-nft" ("nft"),
        "Program that makes the rules; those of iptables-nft count every packet.";
    CONNTRACK = "conntrack": "true|false" ("false"),
        "Whether connections are tracked, and packets of invalid ones dropped.";
    NAT = "nat": "true|false" ("false"),
        "Whether IPv4 packets from port A to port B get the router's address, by which a tester must know them.";
    ROUTES = "routes": "0…200000" ("0"),
        "Routes of each family that it has beside those to the tester's networks.";
    CONTROL = "control": "static|bird" ("static"),
        "Who gives the kernel its routes: linerate, or a routing daemon, which a reset restarts in place of the rules.";
    NEIGHBOURS = "neighbours": "static|learned" ("static"),
        "Whether it is given the tester's MAC addresses, or asks for them by ARP and neighbour discovery.";
}

impl DutKind for Router {
    fn id(&self) -> &'static str {
        "router"
    }

    fn summary(&self) -> &'static str {
        "The kernel's IPv4 and IPv6 forwarding, with as many filter rules as asked for."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, setup: &DutSetup) -> Availability {
        match filter(setup) {
            Ok(filter) => {
                let routes = routes(setup).map_or(&[][..], Routes::programs);
                Program::all(&[filter.programs(), routes].concat())
            }
            // The parameter is wrong, which `start` says.
            Err(_) => Availability::Available,
        }
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let filter = filter(setup)?;
        let routes = routes(setup)?;
        let description = format!("Linux router, {}, {routes}", filter.description());
        let neighbours = setup.one_of(NEIGHBOURS, &Neighbours::ALL)?;
        let legs = Side::BOTH.map(Side::device_port);
        let cables = lay(setup)?;
        cables.bring_up()?;
        let inside = Routing::start(&cables, legs, neighbours, routes, filter)?;
        within(&cables.device, "the router", wait_until_silent)?;
        let version = kernel_version();
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

/// The cables of a device that routes.
pub(super) fn lay(setup: &DutSetup) -> Result<Cables> {
    Cables::lay(setup, NextHop::Device, Ipv6::On)
}

fn filter(setup: &DutSetup) -> Result<Filter> {
    Ok(Filter {
        firewall: setup.one_of(FIREWALL, &Firewall::ALL)?,
        rules: setup.number(RULES, 0..=100_000)?.unwrap_or(0),
        is_tracking: setup.switch(CONNTRACK, false)?,
        is_masquerading: setup.switch(NAT, false)?,
    })
}

fn routes(setup: &DutSetup) -> Result<Routes> {
    Ok(Routes {
        control: setup.one_of(CONTROL, &Control::ALL)?,
        more: setup.number(ROUTES, 0..=200_000)?.unwrap_or(0),
    })
}

/// Packet filters that a router has: how they are made, and which of their counters count what.
pub(super) trait Rules: Send + 'static {
    /// Makes them in the calling thread's network, in place of those that it has made before.
    fn make(&self) -> Result<()>;
    /// Whether there are any.
    fn is_empty(&self) -> bool;
    /// Removes them from the calling thread's network, with their counters.
    fn remove(&self) -> Result<()>;
    /// What they counted, in the calling thread's network.
    fn read(&self) -> Result<RuleCounts>;
}

/// Packets by the rule that they met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RuleCounts {
    /// Passed on.
    pub(super) accepted: Vec<(String, u64)>,
    /// Dropped.
    pub(super) dropped: Vec<(String, u64)>,
}

/// Adds what later rules of the same names passed or dropped.
fn add(counts: &mut Vec<(String, u64)>, later: Vec<(String, u64)>) {
    for (rule, packets) in later {
        match counts.iter_mut().find(|(own, _)| *own == rule) {
            Some((_, own)) => *own += packets,
            None => counts.push((rule, packets)),
        }
    }
}

/// Forwarding of the kernel in the device's network.
pub(super) struct Routing<R> {
    /// Who gives it its routes, where that is a program.
    daemon: Option<Daemon>,
    rules: Arc<R>,
    /// What rules counted that a reset made anew, and all had counted at the last reading.
    earlier: RuleCounts,
    last: RuleCounts,
    /// A reset that has begun.
    restart: Option<Pending<()>>,
}

impl<R: Rules + Sync> Routing<R> {
    /// Makes the device's network route between its interfaces `legs`, which are up.
    pub(super) fn start(
        cables: &Cables,
        legs: [InterfaceName; 2],
        neighbours: Neighbours,
        routes: Routes,
        rules: R,
    ) -> Result<Self> {
        let rules = Arc::new(rules);
        let made = Arc::clone(&rules);
        within(&cables.device, "the router", move || {
            let mut netlink = netlink()?;
            for (side, leg) in Side::BOTH.into_iter().zip(&legs) {
                let index = index_of(&mut netlink, leg)?;
                add_addresses(&mut netlink, side, index, neighbours)
                    .map_err(TestbedError::step(format!("routing by {leg}")))?;
            }
            routes.add(&legs)?;
            forward()?;
            made.make()
        })?;
        Ok(Self {
            daemon: routes.daemon(&cables.device)?,
            rules,
            earlier: RuleCounts::default(),
            last: RuleCounts::default(),
            restart: None,
        })
    }

    /// Waits until a reset has ended.
    fn settle(&mut self) -> Result<()> {
        self.restart.take().map_or(Ok(()), |restart| restart.wait())
    }
}

impl<R: Rules + Sync> Inside for Routing<R> {
    fn count(&mut self, device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        self.settle()?;
        self.daemon.as_mut().map_or(Ok(()), Daemon::check)?;
        let rules = Arc::clone(&self.rules);
        let (drops, read) = within(device, "the router", move || {
            Ok((counts::read(), rules.read()?))
        })?;
        let mut by_rule = self.earlier.clone();
        add(&mut by_rule.accepted, read.accepted);
        add(&mut by_rule.dropped, read.dropped);
        self.last = by_rule.clone();
        counted.drops.extend(drops);
        for (rule, packets) in by_rule.dropped {
            counted
                .drops
                .push(dropped(DutPlace::FilterRule, &rule, packets));
        }
        counted.counters.extend(by_rule.accepted);
        Ok(())
    }

    /// Restarts its daemon; without one it forwards nothing while its rules are made anew, and what these counted since the
    /// last reading is lost with them.
    fn reset(&mut self, device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        if let Some(daemon) = &mut self.daemon {
            return Some(daemon.restart());
        }
        Some(self.restart(device).map(|()| Counts::Kept))
    }

    fn reliefs(&self, test: &TestSpec) -> Vec<DutRelief> {
        let work = DutTask::PacketFilter;
        let rules = (!self.rules.is_empty()).then_some(DutRelief::Without { work });
        rules.into_iter().chain(steering::relief(test)).collect()
    }

    fn relieve(
        &mut self,
        device: &Arc<NetNamespace>,
        relief: DutRelief,
        is_relieved: bool,
    ) -> Result<()> {
        self.settle()?;
        if matches!(relief, DutRelief::OtherCore(_)) {
            return steering::relieve(device, relief, is_relieved);
        }
        self.earlier = self.last.clone();
        let rules = Arc::clone(&self.rules);
        within(device, "the router", move || {
            if is_relieved {
                rules.remove()
            } else {
                rules.make()
            }
        })
    }

    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        // An error of a reset was told by the counters; what it made ends with the network.
        drop(self.settle());
        Ok(())
    }
}

impl<R: Rules + Sync> Routing<R> {
    fn restart(&mut self, device: &Arc<NetNamespace>) -> Result<()> {
        self.settle()?;
        within(device, "the router", stop_forwarding)?;
        self.earlier = self.last.clone();
        let rules = Arc::clone(&self.rules);
        let begun = Pending::begin_in(device, move || {
            rules.make()?;
            forward()?;
            wait_until_silent()
        });
        self.restart = Some(begun?);
        Ok(())
    }
}

/// Gives interface `index` its addresses, point-to-point with the tester's.
fn add_addresses(
    netlink: &mut Netlink,
    side: Side,
    index: InterfaceIndex,
    neighbours: Neighbours,
) -> io::Result<()> {
    let (own, tester) = (side.device_addresses(), side.tester_addresses());
    let families: [[IpAddr; 2]; 2] = [
        [own.0.into(), tester.0.into()],
        [own.1.into(), tester.1.into()],
    ];
    let deadline = MonoClock.now().after(COMING_UP);
    for [own, tester] in families {
        netlink.add_address_to_peer(index, own, tester)?;
        // The tester is reached by a route that an IPv6 address gets a moment later.
        netlink.wait_until(deadline, |netlink| netlink.is_local(own))?;
        if neighbours == Neighbours::Static {
            netlink.add_neighbour(index, tester, side.tester_mac())?;
        }
    }
    Ok(())
}

/// Makes the calling thread's network forward packets, whatever this host does by default.
fn forward() -> Result<()> {
    for interface in ["all", "default"] {
        set_sysctl(&format!("ipv4/conf/{interface}/rp_filter"), "0")?;
        set_sysctl(&format!("ipv4/conf/{interface}/send_redirects"), "0")?;
    }
    for side in Side::BOTH {
        let port = side.device_port();
        set_sysctl(&format!("ipv4/conf/{port}/rp_filter"), "0")?;
    }
    set_sysctl("ipv4/ip_forward", "1")?;
    set_sysctl("ipv6/conf/all/forwarding", "1")
}

fn stop_forwarding() -> Result<()> {
    set_sysctl("ipv4/ip_forward", "0")?;
    set_sysctl("ipv6/conf/all/forwarding", "0")
}

/// Waits until the calling thread's network has sent the multicast membership reports that IPv6 sends by itself.
pub(super) fn wait_until_silent() -> Result<()> {
    let deadline = MonoClock.now().after(COMING_UP);
    while counts::reports_are_due(&fs::read_to_string(counts::GROUPS).unwrap_or_default()) {
        let now = MonoClock.now();
        if now >= deadline {
            let step = "waiting for the end of multicast membership reports";
            return Err(TestbedError::step(step)(io::ErrorKind::TimedOut.into()));
        }
        sleep_until(now.after(POLL));
    }
    Ok(())
}

/// The kernel tells nobody when a report is sent.
const POLL: Duration = Duration::from_millis(10);
