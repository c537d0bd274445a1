//! The link element before an interface of this host: what the two send each other goes through it.
//!
//! ```text
//!   without it    host ── NAME
//!   with it       host ── NAME == veth == to-host [element] NAME
//!                         └ this network ┘└ one of its own ────┘
//! ```
//!
//! The interface waits in a network of its own, where nobody answers or forwards what comes from it. The veth end in
//! its place has its name and its MAC address, so that nobody beyond it has to learn another. That network ends with
//! this process, and with it all but the interface's place.

use crate::interfaces::{
    COMING_UP, Frames, end, index_of, netlink, new_namespace, open_sockets, quieten, set_up, within,
};
use crate::link::{LinkConfig, LinkHandle, Port};
use crate::{HostId, Result, TestbedError};
use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{Aggregation, InterfaceName, MacAddress};
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;

/// A link element before an interface, with equal behaviour in both directions. Dropping it without
/// [removing](Self::remove) it destroys the interface too.
///
/// Field order is teardown order: the element's thread and sockets, then the namespace.
#[derive(Debug)]
pub struct InlineLink {
    link: LinkHandle,
    place: Place,
}

/// An interface, its original network, and the one to which it was moved.
#[derive(Debug)]
struct Place {
    name: InterfaceName,
    mac: MacAddress,
    home: Arc<NetNamespace>,
    middle: Arc<NetNamespace>,
}

impl InlineLink {
    /// Inserts an element before an Ethernet interface of the calling thread's network. Its frames must have complete
    /// checksums: an element does not compute those that the other end of a veth pair left out. The interface in its
    /// place is up and has no addresses. `seed` determines all random decisions.
    pub fn insert(name: &InterfaceName, config: &LinkConfig, seed: u64) -> Result<Self> {
        let mut home = netlink()?;
        let step = |what| TestbedError::step(format!("{what} {name}"));
        let found = home.link_named(name).map_err(step("looking up"))?;
        let mtu = found.mtu_bytes;
        config.check(mtu)?;
        let mac = found
            .mac()
            .ok_or_else(|| std::io::Error::other("it is not an Ethernet interface"))
            .map_err(step("reading the MAC address of"))?;
        let place = Place {
            name: name.clone(),
            mac,
            home: NetNamespace::current()
                .map(Arc::new)
                .map_err(step("looking up the network of"))?,
            middle: new_namespace("the link")?,
        };
        home.move_to(found.index, &place.middle)
            .map_err(step("putting a link before"))?;
        let made = place.join(mtu).and_then(|ports| {
            bring_up(name)?;
            let configs = [config.clone(), config.clone()];
            LinkHandle::start(ports, configs, mtu, seed)
        });
        match made {
            Ok(link) => Ok(Self { link, place }),
            Err(error) => {
                // The first error is the one that matters to the caller.
                let _ = place.put_back();
                Err(error)
            }
        }
    }

    /// Applies `config` to frames from now on.
    pub fn reconfigure(&self, config: &LinkConfig) -> Result<()> {
        [HostId::A, HostId::B]
            .into_iter()
            .try_for_each(|from| self.link.reconfigure(from, config.clone()))
    }

    /// Removes the element: the interface returns to its place, down and without addresses. Frames in the element are
    /// lost.
    pub fn remove(mut self) -> Result<()> {
        // If the element had already failed, that no longer matters.
        let _ = self.link.stop();
        self.place.put_back()
    }
}

impl Place {
    /// Creates the veth pair in the interface's place and opens the element's two ports.
    fn join(&self, mtu: u32) -> Result<[Port; 2]> {
        let (name, mac, home) = (self.name.clone(), self.mac, Arc::clone(&self.home));
        within(&self.middle, "the link", move || {
            let mut netlink = netlink()?;
            let index = index_of(&mut netlink, &name)?;
            // With another MAC address, this network ignores frames for the original one.
            netlink
                .set_mac(index, WAITING_MAC)
                .and_then(|()| netlink.disable_ipv6_autoconf(index))
                .map_err(TestbedError::step(format!("setting up {name}")))?;
            set_up(&mut netlink, index, &name)?;
            let waiting = open_sockets(index, mtu).map_err(sockets(&name))?;
            let near = to_host();
            netlink
                .add_veth(
                    &end(&near, NEAR_MAC, None),
                    &end(&name, mac, Some(&home)),
                    mtu,
                    Aggregation::None,
                )
                .map_err(TestbedError::step("making a veth pair"))?;
            let index = index_of(&mut netlink, &near)?;
            quieten(&mut netlink, index, &near, Frames::Wire)?;
            set_up(&mut netlink, index, &near)?;
            Ok([waiting, open_sockets(index, mtu).map_err(sockets(&near))?])
        })
    }

    /// Moves the interface back to its place.
    fn put_back(&self) -> Result<()> {
        let (name, mac, home) = (self.name.clone(), self.mac, Arc::clone(&self.home));
        within(&self.middle, "the link", move || {
            let mut netlink = netlink()?;
            // It does not exist if its creation failed.
            if let Ok(near) = netlink.link_named(&to_host()) {
                netlink
                    .delete(near.index)
                    .map_err(TestbedError::step("removing a veth pair"))?;
            }
            let index = index_of(&mut netlink, &name)?;
            netlink
                .set_mac(index, mac)
                .and_then(|()| netlink.move_to(index, &home))
                .map_err(TestbedError::step(format!("putting {name} back")))
        })
    }
}

/// Brings the interface at the host's end up, and waits until it is operational.
fn bring_up(name: &InterfaceName) -> Result<()> {
    let mut netlink = netlink()?;
    let index = index_of(&mut netlink, name)?;
    quieten(&mut netlink, index, name, Frames::Wire)?;
    set_up(&mut netlink, index, name)?;
    let deadline = MonoClock.now().after(COMING_UP);
    netlink
        .wait_until(deadline, |netlink| Ok(netlink.link(index)?.is_operational))
        .map_err(TestbedError::step(format!(
            "waiting for {name} to carry frames"
        )))
}

fn sockets(name: &InterfaceName) -> impl FnOnce(std::io::Error) -> TestbedError + use<> {
    TestbedError::step(format!("opening packet sockets on {name}"))
}

/// Name of the element's end of the veth pair.
fn to_host() -> InterfaceName {
    InterfaceName::new("to-host").expect("invariant: a short name of letters")
}

/// Locally administered addresses of the element's side of both interfaces.
const WAITING_MAC: MacAddress = MacAddress([0x02, 0, 0, 0x4d, 3, 1]);
const NEAR_MAC: MacAddress = MacAddress([0x02, 0, 0, 0x4d, 3, 2]);
