//! Creates namespaces and interfaces for this crate.

use crate::link::{ETHERNET_HEADER, Port, RING_BYTES};
use crate::{Result, TestbedError};
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use linerate_sys::packet::{FrameSender, PacketRing, RingLayout, Tags};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Kind of frames that the stack hands to an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frames {
    /// Aggregates of many segments without checksums (offloads on).
    Aggregated,
    /// Frames as on a wire (offloads off).
    Wire,
}

/// A new network namespace whose loopback interface is up.
pub(crate) fn new_namespace(what: &'static str) -> Result<Arc<NetNamespace>> {
    on_own_thread(what, move || {
        let made = NetNamespace::unshare()
            .map_err(TestbedError::step(format!("making a network for {what}")))?;
        let loopback = InterfaceName::new("lo").expect("invariant: a short name of letters");
        let mut netlink = netlink()?;
        let index = index_of(&mut netlink, &loopback)?;
        set_up(&mut netlink, index, &loopback)?;
        Ok(Arc::new(made))
    })
}

/// Runs `work` on a thread in `namespace` and waits for it.
pub(crate) fn within<T: Send + 'static>(
    namespace: &Arc<NetNamespace>,
    what: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let namespace = Arc::clone(namespace);
    on_own_thread(what, move || {
        let step = format!("entering a network for {what}");
        namespace.enter().map_err(TestbedError::step(step))?;
        work()
    })
}

/// Runs `work` on its own thread, because it changes the thread's network namespace.
fn on_own_thread<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let thread = Builder::new()
        .name("testbed-setup".into())
        .spawn(work)
        .map_err(TestbedError::step(format!("starting a thread for {what}")))?;
    join(thread)
}

/// Waits for a thread's result; its panic is passed on.
pub(crate) fn join<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub(crate) fn end<'a>(
    name: &'a InterfaceName,
    mac: MacAddress,
    namespace: Option<&'a NetNamespace>,
) -> VethEnd<'a> {
    VethEnd {
        name,
        mac,
        namespace,
    }
}

pub(crate) fn netlink() -> Result<Netlink> {
    Netlink::new().map_err(TestbedError::step("opening a netlink socket"))
}

pub(crate) fn index_of(netlink: &mut Netlink, name: &InterfaceName) -> Result<InterfaceIndex> {
    netlink
        .link_named(name)
        .map(|link| link.index)
        .map_err(TestbedError::step(format!("looking up {name}")))
}

pub(crate) fn set_up(
    netlink: &mut Netlink,
    index: InterfaceIndex,
    name: &InterfaceName,
) -> Result<()> {
    netlink
        .set_up(index)
        .map_err(TestbedError::step(format!("bringing {name} up")))
}

/// Disables IPv6 autoconfiguration of an interface and, for wire frames, its offloads.
pub(crate) fn quieten(
    netlink: &mut Netlink,
    index: InterfaceIndex,
    name: &InterfaceName,
    frames: Frames,
) -> Result<()> {
    netlink
        .disable_ipv6_autoconf(index)
        .map_err(TestbedError::step(format!(
            "switching IPv6 autoconfiguration of {name} off"
        )))?;
    if frames == Frames::Aggregated {
        return Ok(());
    }
    let ethtool = Ethtool::new().map_err(TestbedError::step("opening an ethtool socket"))?;
    Offload::ALL.into_iter().try_for_each(|offload| {
        ethtool
            .switch_off(name, offload)
            .map_err(TestbedError::step(format!(
                "switching {offload:?} of {name} off"
            )))
    })
}

pub(crate) fn open_sockets(index: InterfaceIndex, mtu: u32) -> io::Result<Port> {
    let longest = mtu + u32::try_from(ETHERNET_HEADER).expect("invariant: it is 14");
    let layout = RingLayout::new(longest, RING_BYTES).expect("invariant: the MTU was checked");
    Ok(Port {
        // A link carries frames as they are.
        ring: PacketRing::open_with(index, layout, Tags::Kept)?,
        sender: FrameSender::open(index)?,
    })
}

/// Timeout for an interface to become operational: the kernel takes milliseconds, and at worst the second in which it
/// batches link events.
pub(crate) const COMING_UP: Duration = Duration::from_secs(10);
