//! Driver, offloads, interrupt coalescing and rings of an interface, by the ethtool ioctl.
//!
//! # References
//! - Commands and structures: `linux/ethtool.h`

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

/// Asks and changes interfaces in the network namespace of the thread that made it.
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
        let mut value = [offload as u32, 0];
        self.call(interface, &mut value)
    }

    /// Whether `offload` of `interface` is on.
    pub fn is_on(&self, interface: &InterfaceName, offload: Offload) -> io::Result<bool> {
        // Each `ETHTOOL_G…` is one less than its `ETHTOOL_S…`.
        let mut value = [offload as u32 - 1, 0];
        self.call(interface, &mut value)?;
        Ok(value[1] != 0)
    }

    /// Whether the device itself joins received segments (LRO).
    pub fn has_large_receive(&self, interface: &InterfaceName) -> io::Result<bool> {
        const GET_FLAGS: u32 = 0x25;
        const FLAG_LRO: u32 = 1 << 15;
        let mut value = [GET_FLAGS, 0];
        self.call(interface, &mut value)?;
        Ok(value[1] & FLAG_LRO != 0)
    }

    /// Who drives the interface.
    pub fn driver(&self, interface: &InterfaceName) -> io::Result<Driver> {
        const GET_DRIVER_INFO: u32 = 0x03;
        let mut info = [0; DRIVER_INFO_WORDS];
        info[0] = GET_DRIVER_INFO;
        self.call(interface, &mut info)?;
        let text = |field: usize| {
            let words = info.iter().skip(1 + field * 8).take(8);
            let bytes: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
            let end = bytes.iter().position(|byte| *byte == 0);
            String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
        };
        Ok(Driver {
            name: text(0),
            version: text(1),
            firmware: text(2),
            bus: text(3),
        })
    }

    /// One setting of interrupt coalescing.
    pub fn coalescing(&self, interface: &InterfaceName, field: CoalescingField) -> io::Result<u32> {
        Ok(self.coalescing_block(interface)?[field as usize])
    }

    /// Changes one setting of interrupt coalescing and leaves the others.
    pub fn set_coalescing(
        &self,
        interface: &InterfaceName,
        field: CoalescingField,
        value: u32,
    ) -> io::Result<()> {
        const SET_COALESCE: u32 = 0x0f;
        let mut block = self.coalescing_block(interface)?;
        block[0] = SET_COALESCE;
        block[field as usize] = value;
        self.call(interface, &mut block)
    }

    fn coalescing_block(&self, interface: &InterfaceName) -> io::Result<[u32; COALESCE_WORDS]> {
        const GET_COALESCE: u32 = 0x0e;
        let mut block = [0; COALESCE_WORDS];
        block[0] = GET_COALESCE;
        self.call(interface, &mut block)?;
        Ok(block)
    }

    /// Descriptors of a ring, and the most that the driver takes.
    pub fn ring(&self, interface: &InterfaceName, ring: Ring) -> io::Result<(u32, u32)> {
        let block = self.ring_block(interface)?;
        // The four maxima stand before the four values.
        Ok((block[ring as usize], block[ring as usize - 4]))
    }

    /// Changes the descriptors of one ring. Most drivers take the link down and up again for it.
    pub fn set_ring(&self, interface: &InterfaceName, ring: Ring, value: u32) -> io::Result<()> {
        const SET_RING: u32 = 0x11;
        let mut block = self.ring_block(interface)?;
        block[0] = SET_RING;
        block[ring as usize] = value;
        self.call(interface, &mut block)
    }

    fn ring_block(&self, interface: &InterfaceName) -> io::Result<[u32; RING_WORDS]> {
        const GET_RING: u32 = 0x10;
        let mut block = [0; RING_WORDS];
        block[0] = GET_RING;
        self.call(interface, &mut block)?;
        Ok(block)
    }

    /// The command is the first word of `block`, which must be as long as the command's structure.
    fn call<const WORDS: usize>(
        &self,
        interface: &InterfaceName,
        block: &mut [u32; WORDS],
    ) -> io::Result<()> {
        let mut request = libc::ifreq {
            ifr_name: interface.as_c_chars(),
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_data: block.as_mut_ptr().cast(),
            },
        };
        // SAFETY: SIOCETHTOOL reads an ifreq and, behind it, the structure of the command in its first word,
        // which consists of 32-bit words and has as many as `block` (each caller above).
        let call = unsafe { Updater::<SIOCETHTOOL, libc::ifreq>::new(&mut request) };
        // SAFETY: `request` is on this frame and `block` borrowed until the call returns.
        unsafe { ioctl(&self.0, call) }?;
        Ok(())
    }
}

/// Who drives an interface, as `ethtool -i` shows it. Empty where the driver does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// The driver.
    pub name: String,
    /// Its version; for drivers of the kernel's own tree, the kernel's.
    pub version: String,
    /// Firmware of the device.
    pub firmware: String,
    /// Where the device is: `0000:03:00.0`.
    pub bus: String,
}

/// A setting of interrupt coalescing. Discriminants: its word in `struct ethtool_coalesce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum CoalescingField {
    /// Whether the driver chooses the times itself.
    AdaptiveRx = 10,
    /// Frames received before an interrupt.
    RxFrames = 2,
    /// Microseconds from a received frame to its interrupt.
    RxUsecs = 1,
}

/// A ring of an interface. Discriminants: its word in `struct ethtool_ringparam`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Ring {
    /// Of frames received.
    Rx = 5,
    /// Of frames to send.
    Tx = 8,
}

/// Words of `struct ethtool_coalesce`.
const COALESCE_WORDS: usize = 23;
/// Words of `struct ethtool_ringparam`.
const RING_WORDS: usize = 9;
/// Words of `struct ethtool_drvinfo`: the command, five texts of 32 bytes, 12 bytes reserved, five numbers.
const DRIVER_INFO_WORDS: usize = 49;

/// `linux/sockios.h`.
const SIOCETHTOOL: Opcode = 0x8946;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_hardware_refuses_and_nothing_panics() {
        let lo = InterfaceName::new("lo").unwrap();
        let ethtool = Ethtool::new().unwrap();
        assert!(ethtool.ring(&lo, Ring::Rx).is_err());
        assert!(ethtool.coalescing(&lo, CoalescingField::RxUsecs).is_err());
        assert!(ethtool.is_on(&lo, Offload::GenericReceive).is_ok());
        let missing = InterfaceName::new("no-such-if").unwrap();
        assert!(ethtool.driver(&missing).is_err());
    }
}
