//! Driver, offloads, interrupt coalescing, rings and time stamps of an interface, by the ethtool ioctl.
//!
//! # References
//! - Commands and structures: `linux/ethtool.h`

use crate::netlink::InterfaceName;
use linerate_model::knob::{CoalescingPart, RingPart};
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
    /// Checksum validation of received frames.
    ReceiveChecksum = 0x15,
    /// Frames in several pieces (scatter-gather).
    ScatterGather = 0x19,
    /// TCP segmentation by the device.
    TcpSegmentation = 0x1f,
    /// Transmit checksums computed by the device.
    TransmitChecksum = 0x17,
}

impl Offload {
    /// All offloads, in an order in which they can be switched off one after the other.
    pub const ALL: [Self; 6] = [
        Self::TcpSegmentation,
        Self::GenericSegmentation,
        Self::GenericReceive,
        Self::ReceiveChecksum,
        Self::TransmitChecksum,
        Self::ScatterGather,
    ];
}

/// Reads and sets interface parameters in the network namespace of the thread that created it.
#[derive(Debug)]
pub struct Ethtool(OwnedFd);

impl Ethtool {
    /// For the calling thread's network namespace.
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
        self.call(interface, Command::SetOffload(offload), EMPTY)?;
        Ok(())
    }

    /// Switches `offload` of `interface` on.
    pub fn switch_on(&self, interface: &InterfaceName, offload: Offload) -> io::Result<()> {
        let mut block = EMPTY;
        block[1] = 1;
        self.call(interface, Command::SetOffload(offload), block)?;
        Ok(())
    }

    /// Whether `offload` of `interface` is on.
    pub fn is_on(&self, interface: &InterfaceName, offload: Offload) -> io::Result<bool> {
        Ok(self.call(interface, Command::GetOffload(offload), EMPTY)?[1] != 0)
    }

    /// Whether the device itself joins received segments (LRO).
    pub fn has_large_receive(&self, interface: &InterfaceName) -> io::Result<bool> {
        const FLAG_LRO: u32 = 1 << 15;
        Ok(self.call(interface, Command::GetFlags, EMPTY)?[1] & FLAG_LRO != 0)
    }

    /// Driver of the interface.
    pub fn driver(&self, interface: &InterfaceName) -> io::Result<Driver> {
        let info = self.call(interface, Command::GetDriver, EMPTY)?;
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

    /// Link settings of the interface.
    pub fn link_settings(&self, interface: &InterfaceName) -> io::Result<LinkSettings> {
        // The first answer only gives the length of a link-mode mask in words, negated.
        let asked = self.call(interface, Command::GetLinkSettings, EMPTY)?;
        let [.., words] = asked[MASK_WORDS].to_ne_bytes();
        let words = words.wrapping_neg();
        if !(1..=MOST_MASK_WORDS).contains(&words) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut block = EMPTY;
        block[MASK_WORDS] = u32::from_ne_bytes([0, 0, 0, words]);
        let settings = self.call(interface, Command::GetLinkSettings, block)?;
        Ok(LinkSettings::from_block(&settings))
    }

    /// Timestamping capabilities of the interface, and its PTP clock.
    pub fn timestamp_ability(&self, interface: &InterfaceName) -> io::Result<TimestampAbility> {
        let [_, flags, clock, ..] = self.call(interface, Command::GetTimestamping, EMPTY)?;
        Ok(TimestampAbility {
            flags,
            // A negative number means that there is none.
            ptp_clock: Some(clock).filter(|number| number.cast_signed() >= 0),
        })
    }

    /// Reads one interrupt-coalescing parameter.
    pub fn coalescing(&self, interface: &InterfaceName, part: CoalescingPart) -> io::Result<u32> {
        Ok(self.call(interface, Command::GetCoalescing, EMPTY)?[coalescing_word(part)])
    }

    /// Sets one interrupt-coalescing parameter and leaves the others.
    pub fn set_coalescing(
        &self,
        interface: &InterfaceName,
        part: CoalescingPart,
        value: u32,
    ) -> io::Result<()> {
        let mut block = self.call(interface, Command::GetCoalescing, EMPTY)?;
        block[coalescing_word(part)] = value;
        self.call(interface, Command::SetCoalescing, block)?;
        Ok(())
    }

    /// Receive queues in use: a driver can have made more.
    pub fn receive_queues(&self, interface: &InterfaceName) -> io::Result<u32> {
        // Four maxima, then the counts: receive, transmit, other, combined.
        let block = self.call(interface, Command::GetChannels, EMPTY)?;
        Ok(block[5].saturating_add(block[8]))
    }

    /// Size of a ring in descriptors, and the driver's maximum.
    pub fn ring(&self, interface: &InterfaceName, ring: RingPart) -> io::Result<(u32, u32)> {
        let block = self.call(interface, Command::GetRing, EMPTY)?;
        // The four maxima precede the four values.
        Ok((block[ring_word(ring)], block[ring_word(ring) - 4]))
    }

    /// Sets the size of one ring in descriptors. Most drivers take the link down and up again for it.
    pub fn set_ring(
        &self,
        interface: &InterfaceName,
        ring: RingPart,
        value: u32,
    ) -> io::Result<()> {
        let mut block = self.call(interface, Command::GetRing, EMPTY)?;
        block[ring_word(ring)] = value;
        self.call(interface, Command::SetRing, block)?;
        Ok(())
    }

    /// Runs `command` with the structure in `block`; returns the structure as the driver filled it.
    fn call(&self, interface: &InterfaceName, command: Command, block: Block) -> io::Result<Block> {
        let mut block = block;
        block[0] = command.number();
        let mut request = libc::ifreq {
            ifr_name: interface.as_c_chars(),
            ifr_ifru: libc::__c_anonymous_ifr_ifru {
                ifru_data: block.as_mut_ptr().cast(),
            },
        };
        // SAFETY: SIOCETHTOOL reads an ifreq and, behind it, the structure of the command in its first word, which
        // is not longer than a block (see `Command`).
        let call = unsafe { Updater::<SIOCETHTOOL, libc::ifreq>::new(&mut request) };
        // SAFETY: `request` and `block`, which it points to, live on this frame until the call returns.
        unsafe { ioctl(&self.0, call) }?;
        Ok(block)
    }
}

/// A command's structure, which consists of 32-bit words and has the command's number in its first one. As long as
/// the longest of them, `struct ethtool_drvinfo`: the number, five texts of 32 bytes, 12 bytes reserved, five numbers.
type Block = [u32; 49];

const EMPTY: Block = [0; 49];

/// A command of `linux/ethtool.h` whose structure has one length, at most a [`Block`]'s.
#[derive(Debug, Clone, Copy)]
enum Command {
    GetChannels,
    GetCoalescing,
    GetDriver,
    GetFlags,
    GetLinkSettings,
    GetOffload(Offload),
    GetRing,
    GetTimestamping,
    SetCoalescing,
    SetOffload(Offload),
    SetRing,
}

impl Command {
    const fn number(self) -> u32 {
        match self {
            Self::GetChannels => 0x3c,
            Self::GetCoalescing => 0x0e,
            Self::GetDriver => 0x03,
            Self::GetFlags => 0x25,
            Self::GetLinkSettings => 0x4c,
            // Each `ETHTOOL_G…` is one less than its `ETHTOOL_S…`.
            Self::GetOffload(offload) => offload as u32 - 1,
            Self::GetRing => 0x10,
            Self::GetTimestamping => 0x41,
            Self::SetCoalescing => 0x0f,
            Self::SetOffload(offload) => offload as u32,
            Self::SetRing => 0x11,
        }
    }
}

/// The word of `struct ethtool_link_settings` whose last byte is the length of a mask.
const MASK_WORDS: usize = 3;

/// Three masks follow the twelve words before them in a [`Block`].
const MOST_MASK_WORDS: u8 = 12;

/// Link settings, as `ethtool` without an option shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSettings {
    /// Whether speed and duplex mode are negotiated, not forced.
    pub autonegotiation: bool,
    /// L1 rate in one direction, in Mbit/s; `None` without a link.
    pub speed_mbps: Option<u32>,
}

impl LinkSettings {
    const fn from_block(block: &Block) -> Self {
        let [_duplex, _port, _phy, autonegotiation] = block[2].to_ne_bytes();
        Self {
            autonegotiation: autonegotiation == 1,
            // `SPEED_UNKNOWN`.
            speed_mbps: match block[1] {
                0 | u32::MAX => None,
                speed => Some(speed),
            },
        }
    }
}

/// Timestamping capabilities of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampAbility {
    flags: u32,
    /// Number of its PTP clock: `/dev/ptp0` for 0. `None` if it has none.
    pub ptp_clock: Option<u32>,
}

impl TimestampAbility {
    /// Whether the driver timestamps frames given to the device.
    pub const fn software_transmit(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }

    /// Whether the kernel timestamps frames received from the driver.
    pub const fn software_receive(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_RX_SOFTWARE != 0
    }

    /// Whether the device timestamps frames that it sends.
    pub const fn hardware_transmit(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0
    }

    /// Whether the device timestamps frames that it receives.
    pub const fn hardware_receive(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0
    }
}

/// Driver of an interface, as `ethtool -i` shows it. Empty fields where the driver does not report them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Name of the driver.
    pub name: String,
    /// Its version; for drivers of the kernel's own tree, the kernel's.
    pub version: String,
    /// Firmware of the device.
    pub firmware: String,
    /// Bus address of the device: `0000:03:00.0`.
    pub bus: String,
}

/// Its word in `struct ethtool_coalesce`.
const fn coalescing_word(part: CoalescingPart) -> usize {
    match part {
        CoalescingPart::AdaptiveRx => 10,
        CoalescingPart::RxFrames => 2,
        CoalescingPart::RxUsecs => 1,
    }
}

/// Its word in `struct ethtool_ringparam`.
const fn ring_word(ring: RingPart) -> usize {
    match ring {
        RingPart::Rx => 5,
        RingPart::Tx => 8,
    }
}

/// `linux/sockios.h`.
const SIOCETHTOOL: Opcode = 0x8946;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_hardware_refuses_and_nothing_panics() {
        let lo = InterfaceName::new("lo").unwrap();
        let ethtool = Ethtool::new().unwrap();
        assert!(ethtool.ring(&lo, RingPart::Rx).is_err());
        assert!(ethtool.coalescing(&lo, CoalescingPart::RxUsecs).is_err());
        assert!(ethtool.link_settings(&lo).is_err());
        assert!(ethtool.is_on(&lo, Offload::GenericReceive).is_ok());
        let missing = InterfaceName::new("no-such-if").unwrap();
        assert!(ethtool.driver(&missing).is_err());
        assert!(ethtool.timestamp_ability(&missing).is_err());
    }

    #[test]
    fn a_link_tells_its_speed_and_whether_it_was_chosen() {
        let mut block = EMPTY;
        block[1] = 1000;
        block[2] = u32::from_ne_bytes([1, 0, 0, 1]);
        let settings = LinkSettings::from_block(&block);
        assert_eq!(
            (settings.speed_mbps, settings.autonegotiation),
            (Some(1000), true)
        );
        block[1] = u32::MAX;
        block[2] = u32::from_ne_bytes([0xff, 0, 0, 0]);
        let settings = LinkSettings::from_block(&block);
        assert_eq!(
            (settings.speed_mbps, settings.autonegotiation),
            (None, false)
        );
    }

    #[test]
    fn the_loopback_stamps_in_software_and_has_no_clock() {
        let name = InterfaceName::new("lo").unwrap();
        let ability = Ethtool::new().unwrap().timestamp_ability(&name).unwrap();
        assert!(ability.software_transmit() && ability.software_receive());
        assert!(!ability.hardware_transmit() && !ability.hardware_receive());
        assert_eq!(ability.ptp_clock, None);
    }
}
