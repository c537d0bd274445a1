//! A router between two hosts: a network namespace with IP forwarding.

use crate::host::spawn_in;
use crate::{HostId, Result};
use linerate_sys::netlink::InterfaceName;
use linerate_sys::netns::NetNamespace;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A network namespace between two hosts, with one interface to each.
#[derive(Debug)]
pub struct Router(Arc<NetNamespace>);

impl Router {
    pub(crate) fn new(namespace: Arc<NetNamespace>) -> Self {
        Self(namespace)
    }

    /// Name of its interface to a host, on which packets for that host leave.
    pub fn interface_to(id: HostId) -> &'static str {
        match id {
            HostId::A => "to-a",
            HostId::B => "to-b",
        }
    }

    /// Runs `work` on a new thread in the router's network; programs that it starts inherit it.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        spawn_in(&self.0, name, work)
    }

    pub(crate) fn leg(id: HostId) -> InterfaceName {
        InterfaceName::new(Self::interface_to(id)).expect("invariant: a short name of letters")
    }

    /// Its addresses on the link to a host.
    pub(crate) fn addresses(id: HostId) -> [IpAddr; 2] {
        let number = id.number();
        [
            Ipv4Addr::new(10, 77, 1, number).into(),
            Ipv6Addr::new(0xfd77, 1, 0, 0, 0, 0, 0, number.into()).into(),
        ]
    }
}
