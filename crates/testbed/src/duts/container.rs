//! The way of a container's packets: bridge, routing, masquerade, as container engines make them.
//!
//! ```text
//!   port-a (the container) == dut-a ── bridge ctr0 ── routing, filter, NAT ── dut-b == port-b (outside)
//! ```
//!
//! The chains are those of Docker: what comes back is accepted first, each network is isolated from the others, what
//! comes from outside passes only by a published port. Here all UDP and TCP ports are published, without a change of
//! address (`nat-unprotected` gateways), so that a tester may send both ways.

use super::cables::{Side, kernel_version};
use super::forwarder::Forwarder;
use super::params::params;
use super::programs::Program;
use super::router::{
    NFT, Neighbours, Routes, Routing, RuleCounts, Rules, lay, nft_counters, wait_until_silent,
    without_table, without_tables,
};
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::interfaces::{index_of, netlink, set_up, within};
use crate::{Result, TestbedError};
use linerate_sys::netlink::{InterfaceName, Learning};

pub(super) struct Container;

params! {
    MASQUERADE = "masquerade": "true|false" ("false"),
        "Whether IPv4 packets of the container get the host's address, by which a tester must know them.";
}

impl DutKind for Container {
    fn id(&self) -> &'static str {
        "container"
    }

    fn summary(&self) -> &'static str {
        "A container's way out: bridge, routing, connection tracking and NAT as Docker makes them."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, _setup: &DutSetup) -> Availability {
        Program::all(&[NFT])
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let is_masquerading = setup.switch(MASQUERADE, false)?;
        let cables = lay(setup)?;
        let bridge = bridge();
        within(&cables.device, "the container's bridge", join_bridge)?;
        cables.bring_up()?;
        let legs = [bridge, Side::B.device_port()];
        let inside = Routing::start(
            &cables,
            legs,
            Neighbours::Static,
            Routes::ALONE,
            Chains { is_masquerading },
        )?;
        within(&cables.device, "the container's host", wait_until_silent)?;
        let word = if is_masquerading { "on" } else { "off" };
        let description = format!("container network, bridge and routing, masquerade {word}");
        let version = kernel_version();
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

fn bridge() -> InterfaceName {
    InterfaceName::new("ctr0").expect("invariant: a short name of letters")
}

/// Makes the bridge of the calling thread's network with the container's cable as its only port. It has the MAC address
/// to which the container sends.
fn join_bridge() -> Result<()> {
    let (name, port) = (bridge(), Side::A.device_port());
    let step = || TestbedError::step(format!("making the bridge {name}"));
    let mut netlink = netlink()?;
    netlink.add_bridge(&name, None).map_err(step())?;
    let index = index_of(&mut netlink, &name)?;
    let member = index_of(&mut netlink, &port)?;
    netlink
        .disable_ipv6_autoconf(index)
        .and_then(|()| netlink.add_bridge_port(member, index, Learning::On))
        .and_then(|()| netlink.set_mac(index, Side::A.device_mac()))
        .map_err(step())?;
    set_up(&mut netlink, index, &name)
}

/// Rules of a container engine.
struct Chains {
    is_masquerading: bool,
}

impl Chains {
    fn text(&self, family: &str) -> String {
        let nat = if self.is_masquerading && family == "ip" {
            "chain postrouting {\ntype nat hook postrouting priority srcnat;\n\
             ip saddr 198.18.0.0/16 oifname != \"ctr0\" masquerade\n}\n"
        } else {
            ""
        };
        format!(
            "{}table {family} linerate {{\ncounter matched {{ }}\ncounter unmatched {{ }}\n\
             chain isolation {{\niifname \"ctr0\" oifname != \"ctr0\" goto isolation2\nreturn\n}}\n\
             chain isolation2 {{\noifname \"ctr0\" drop\nreturn\n}}\n\
             chain user {{\nreturn\n}}\n\
             chain published {{\nmeta l4proto {{ tcp, udp }} counter name matched accept\n}}\n\
             chain forward {{\ntype filter hook forward priority filter; policy accept;\n\
             jump user\njump isolation\n\
             oifname \"ctr0\" ct state established,related counter name matched accept\n\
             oifname \"ctr0\" jump published\n\
             iifname \"ctr0\" oifname != \"ctr0\" counter name matched accept\n\
             counter name unmatched drop\n}}\n{nat}}}\n",
            without_table(family)
        )
    }
}

impl Rules for Chains {
    fn make(&self) -> Result<()> {
        for family in ["ip", "ip6"] {
            NFT.run(&["-f", "-"], &self.text(family))?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        false
    }

    fn remove(&self) -> Result<()> {
        without_tables()
    }

    fn read(&self) -> Result<RuleCounts> {
        nft_counters(&["ip", "ip6"])
    }
}
