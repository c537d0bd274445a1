//! Ethernet bridges of the kernel and their ports.

use super::link::{ANY, message};
use super::{InterfaceIndex, InterfaceName, Netlink};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind,
    LinkAttribute, LinkInfo,
};
use std::io;

/// Whether a port of a bridge learns where addresses are from the frames that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learning {
    /// Frames to all addresses leave by all other ports.
    Off,
    /// Frames to an address that was seen leave by its port only.
    On,
}

impl Netlink {
    /// Creates a bridge, down and without ports. It sends nothing by itself: no spanning tree, no multicast snooping.
    ///
    /// `max_learned`: most addresses that it learns (Linux 6.7 and later; older kernels ignore it); `None`: no bound.
    pub fn add_bridge(&mut self, name: &InterfaceName, max_learned: Option<u32>) -> io::Result<()> {
        let mut options = vec![
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::MulticastSnooping(false),
        ];
        options.extend(max_learned.map(InfoBridge::FdbMaxLearned));
        let attributes = vec![
            LinkAttribute::IfName(name.as_str().to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(options)),
            ]),
        ];
        self.create(Message::NewLink(message(ANY, attributes)))
    }

    /// Makes the interface a port of `bridge`.
    pub fn add_bridge_port(
        &mut self,
        index: InterfaceIndex,
        bridge: InterfaceIndex,
        learning: Learning,
    ) -> io::Result<()> {
        let bridge = LinkAttribute::Controller(bridge.0);
        self.change(Message::NewLink(message(index, vec![bridge])))?;
        let options = vec![InfoBridgePort::Learning(learning == Learning::On)];
        let port = LinkAttribute::LinkInfo(vec![
            LinkInfo::PortKind(InfoPortKind::Bridge),
            LinkInfo::PortData(InfoPortData::BridgePort(options)),
        ]);
        self.change(Message::NewLink(message(index, vec![port])))
    }
}
