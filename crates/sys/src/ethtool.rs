//! Offload switches of an interface, by the ethtool ioctl.

use crate::netlink::InterfaceName;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// An offload that makes frames in the kernel differ from frames on a wire.
/// Discriminants: `ETHTOOL_S…` in `linux/ethtool.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Offload {
    /// Software receive aggregation.
    GenericReceive = 0x2c,
    /// Software segmentation below the stack.
    GenericSegmentation = 0x24,
    /// Checksums of received frames are taken for checked.
    ReceiveChecksum = 0x15,
    /// Frames in several pieces.
    ScatterGather = 0x19,
    /// TCP segmentation by the device.
    TcpSegmentation = 0x1f,
    /// Checksums left to the device.
    TransmitChecksum = 0x17,
}

impl Offload {
    /// Every offload, in an order in which they can be switched off one after the other.
    pub const ALL: [Self; 6] = [
        Self::TcpSegmentation,
        Self::GenericSegmentation,
        Self::GenericReceive,
        Self::ReceiveChecksum,
        Self::TransmitChecksum,
        Self::ScatterGather,
    ];
}

/// `struct ethtool_value` of `linux/ethtool.h`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

const _: () = assert!(size_of::<EthtoolValue>() == 8);

/// Switches offloads of interfaces in the network namespace of the thread that made it.
#[derive(Debug)]
pub struct Ethtool(OwnedFd);

impl Ethtool {
    /// For interfaces in the calling thread's network namespace.
    pub fn new() -> io::Result<Self> {
        Ok(Self(socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?))
    }

    /// Switches `offload` of `interface` off.
    pub fn switch_off(&self, interface: &InterfaceName, offload: Offload) -> io::Result<()> {
        let mut value = EthtoolValue {
            command: offload as u32,
            data: 0,
        };
        let mut request = libc::ifreq {
            ifr_name: interface.as_c_chars(),
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_data: (&raw mut value).cast(),
            },
        };
        // SAFETY: SIOCETHTOOL reads an ifreq and, for these commands, an ethtool_value behind it.
        let call = unsafe { Updater::<SIOCETHTOOL, libc::ifreq>::new(&mut request) };
        // SAFETY: `request` and the `value` it points to live on this frame until the call returns.
        unsafe { ioctl(&self.0, call) }?;
        Ok(())
    }
}

/// `linux/sockios.h`.
const SIOCETHTOOL: Opcode = 0x8946;
