//! What an interface can stamp, and its own clock (`ETHTOOL_GET_TS_INFO`).

use crate::netlink::InterfaceName;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::size_of;

/// What an interface can stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampAbility {
    flags: u32,
    /// Number of its clock: `/dev/ptp0` for 0. `None` if it has none.
    pub ptp_clock: Option<u32>,
}

impl TimestampAbility {
    /// The driver stamps what it gives to the device.
    pub const fn software_transmit(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_SOFTWARE != 0
    }

    /// The kernel stamps what comes from the driver.
    pub const fn software_receive(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_RX_SOFTWARE != 0
    }

    /// The device stamps what it sends.
    pub const fn hardware_transmit(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0
    }

    /// The device stamps what it receives.
    pub const fn hardware_receive(self) -> bool {
        self.flags & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0
    }
}

/// `struct ethtool_ts_info` of `linux/ethtool.h`.
#[repr(C)]
#[derive(Default)]
struct TsInfo {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

const _: () = assert!(size_of::<TsInfo>() == 44);

/// `linux/ethtool.h`.
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// `linux/sockios.h`.
const SIOCETHTOOL: Opcode = 0x8946;

/// What `interface`, in the calling thread's network namespace, can stamp.
pub fn timestamp_ability(interface: &InterfaceName) -> io::Result<TimestampAbility> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    let mut info = TsInfo {
        command: ETHTOOL_GET_TS_INFO,
        ..TsInfo::default()
    };
    let mut request = libc::ifreq {
        ifr_name: interface.as_c_chars(),
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_data: (&raw mut info).cast(),
        },
    };
    // SAFETY: SIOCETHTOOL reads an ifreq and, for this command, writes an ethtool_ts_info behind it.
    let call = unsafe { Updater::<SIOCETHTOOL, libc::ifreq>::new(&mut request) };
    // SAFETY: `request` and the `info` it points to live on this frame until the call returns.
    unsafe { ioctl(&socket, call) }?;
    Ok(TimestampAbility {
        flags: info.so_timestamping,
        ptp_clock: u32::try_from(info.phc_index).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_stamps_in_software_and_has_no_clock() {
        let name = InterfaceName::new("lo").unwrap();
        let ability = timestamp_ability(&name).unwrap();
        assert!(ability.software_transmit() && ability.software_receive());
        assert!(!ability.hardware_transmit() && !ability.hardware_receive());
        assert_eq!(ability.ptp_clock, None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let name = InterfaceName::new("no-such-if0").unwrap();
        assert!(timestamp_ability(&name).is_err());
    }
}
