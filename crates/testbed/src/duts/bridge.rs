//! The kernel's Ethernet bridge.

use super::cables::{Cables, Ipv6, NextHop, Side, kernel_version};
use super::forwarder::{Counts, Forwarder, Inside};
use super::params::params;
use super::{Dut, DutKind, DutParam, DutSetup, steering};
use crate::interfaces::{index_of, netlink, set_up, within};
use crate::{Result, TestbedError};
use linerate_model::dut::DutRelief;
use linerate_model::spec::TestSpec;
use linerate_sys::netlink::{InterfaceName, Learning};
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;

pub(super) struct Bridge;

/// Most addresses that can be asked for.
const MAX_ADDRESSES: u32 = 10_000_000;

params! {
    LEARNING = "learning": "true|false" ("true"),
        "Whether its ports learn addresses; without, it floods.";
    ADDRESSES = "addresses": "N" ("no bound"),
        "Most addresses that it learns (fdb_max_learned; Linux 6.7 and later).";
}

impl DutKind for Bridge {
    fn id(&self) -> &'static str {
        "bridge"
    }

    fn summary(&self) -> &'static str {
        "The kernel's Ethernet bridge with two ports; no spanning tree, no multicast snooping."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let (learning, word) = if setup.switch(LEARNING, true)? {
            (Learning::On, "on")
        } else {
            (Learning::Off, "off")
        };
        let max_learned = setup.number(ADDRESSES, 1..=MAX_ADDRESSES)?;
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        within(&cables.device, "the bridge", move || {
            join_ports(learning, max_learned)
        })?;
        cables.bring_up()?;
        let bound =
            max_learned.map_or_else(String::new, |most| format!(" of at most {most} addresses"));
        let description = format!("Linux bridge, STP off, learning {word}{bound}");
        let version = kernel_version();
        let dut = Forwarder::running(setup, &description, version, cables, Inner);
        Ok(dut)
    }
}

/// Makes the bridge of the calling thread's network, with both ports.
fn join_ports(learning: Learning, max_learned: Option<u32>) -> Result<()> {
    let name = bridge_name();
    let mut netlink = netlink()?;
    netlink
        .add_bridge(&name, max_learned)
        .map_err(TestbedError::step("making a bridge"))?;
    let bridge = index_of(&mut netlink, &name)?;
    for port in Side::BOTH.map(Side::device_port) {
        let index = index_of(&mut netlink, &port)?;
        netlink
            .add_bridge_port(index, bridge, learning)
            .map_err(TestbedError::step(format!(
                "making {port} a port of {name}"
            )))?;
    }
    set_up(&mut netlink, bridge, &name)
}

struct Inner;

impl Inside for Inner {
    fn reliefs(&self, test: &TestSpec) -> Vec<DutRelief> {
        steering::relief(test).into_iter().collect()
    }

    fn relieve(
        &mut self,
        device: &Arc<NetNamespace>,
        relief: DutRelief,
        is_relieved: bool,
    ) -> Result<()> {
        steering::relieve(device, relief, is_relieved)
    }

    /// Down and up again: meanwhile its ports take no frames, and afterwards it has forgotten its addresses.
    fn reset(&mut self, device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        Some(within(device, "the bridge", || {
            let name = bridge_name();
            let mut netlink = netlink()?;
            let bridge = index_of(&mut netlink, &name)?;
            let step = format!("bringing {name} down");
            netlink.set_down(bridge).map_err(TestbedError::step(step))?;
            set_up(&mut netlink, bridge, &name).map(|()| Counts::Kept)
        }))
    }
}

fn bridge_name() -> InterfaceName {
    InterfaceName::new("br0").expect("invariant: a short name of letters")
}
