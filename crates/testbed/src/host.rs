//! A host of a testbed: a network namespace with one interface.

use crate::{Result, TestbedError};
use linerate_sys::netlink::{InterfaceName, MacAddress};
use linerate_sys::netns::NetNamespace;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// One of the two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostId {
    /// Host with addresses ending in 1.
    A,
    /// Host with addresses ending in 2.
    B,
}

impl HostId {
    /// The last part of its addresses.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    /// The other host.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A network namespace with a loopback interface and another one, up and addressed.
#[derive(Debug)]
pub struct Host {
    id: HostId,
    namespace: Arc<NetNamespace>,
    interface: InterfaceName,
}

impl Host {
    pub(crate) fn new(id: HostId, namespace: Arc<NetNamespace>) -> Self {
        let interface = host_interface();
        Self {
            id,
            namespace,
            interface,
        }
    }

    /// Id of the host.
    pub fn id(&self) -> HostId {
        self.id
    }

    /// Its IPv4 address, in a /24 with the other host's.
    pub fn ipv4(&self) -> Ipv4Addr {
        ipv4(self.id)
    }

    /// Its IPv6 address, in a /64 with the other host's.
    pub fn ipv6(&self) -> Ipv6Addr {
        ipv6(self.id)
    }

    /// The name of its interface to the link.
    pub fn interface(&self) -> &str {
        self.interface.as_str()
    }

    /// Moves the calling thread, and threads that it starts later, into this host's network.
    /// Its `/proc/net` is at `/proc/thread-self/net`.
    pub fn enter(&self) -> Result<()> {
        let step = format!("entering host {:?}", self.id);
        self.namespace.enter().map_err(TestbedError::step(step))
    }

    /// Runs `work` on a new thread in this host's network; threads and programs that it starts inherit it, and
    /// `/proc/sys/net` is this host's.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        spawn_in(&self.namespace, name, work)
    }
}

/// Runs `work` on a new thread in `namespace`; threads and programs that it starts inherit it.
pub(crate) fn spawn_in<T: Send + 'static>(
    namespace: &Arc<NetNamespace>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let namespace = Arc::clone(namespace);
    let inside = move || {
        namespace
            .enter()
            .expect("invariant: a process may enter the namespaces that it made");
        drop(namespace);
        work()
    };
    Builder::new()
        .name(name.to_owned())
        .spawn(inside)
        .map_err(TestbedError::step(format!("starting thread {name}")))
}

pub(crate) fn ipv4(id: HostId) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, id.number())
}

pub(crate) fn ipv6(id: HostId) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, id.number().into())
}

/// MAC address of a host, locally administered.
pub(crate) fn mac(id: HostId) -> MacAddress {
    MacAddress([0x02, 0, 0, 0x4d, 0, id.number()])
}

/// The name of the interface to the link, the same on both hosts.
pub(crate) fn host_interface() -> InterfaceName {
    InterfaceName::new("eth0").expect("invariant: a short name of letters")
}
