//! VLAN tags of received frames: the kernel takes a frame's outermost tag out of its bytes and keeps it beside them.
//!
//! # References
//! - IEEE 802.1Q-2022, 9.6 (tag control information); `linux/filter.h` (`SKF_AD_VLAN_TAG` and others)

use super::fit;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::str::FromStr;

/// A VLAN: 1 to 4094.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VlanId(u16);

impl VlanId {
    /// Bytes of a tag.
    pub const TAG_BYTES: usize = 4;

    /// `None` for 0, which tags a priority alone, and for what exceeds 4094.
    pub fn new(number: u16) -> Option<Self> {
        (1..4095).contains(&number).then_some(Self(number))
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The tag of 802.1Q, of priority 0, that stands between a frame's source address and its type.
    pub const fn tag(self) -> [u8; Self::TAG_BYTES] {
        let [high, low] = self.0.to_be_bytes();
        let [type_high, type_low] = TPID.to_be_bytes();
        [type_high, type_low, high, low]
    }
}

impl FromStr for VlanId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or("a VLAN is 1 to 4094")
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a ring does with the outermost VLAN tag of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// Frames have none: it is left out.
    Removed,
    /// Frames have it, as on the wire.
    Kept,
    /// Frames of this VLAN alone (802.1Q), without it; the kernel passes over all others.
    Only(VlanId),
}

/// `ETH_P_8021Q` of `linux/if_ether.h`.
const TPID: u16 = 0x8100;

/// Lets a packet socket receive frames of this VLAN alone.
pub(super) fn receive_only(socket: &OwnedFd, vlan: VlanId) -> io::Result<()> {
    let mut filter = filter(vlan);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("invariant: a few instructions"),
        filter: filter.as_mut_ptr(),
    };
    let length = fit(size_of::<libc::sock_fprog>());
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    let value = (&raw const program).cast();
    // SAFETY: the value is a whole sock_fprog on this frame, whose pointer is to as many instructions as it says; the
    // kernel copies both and changes neither.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The classic BPF program: all of a frame whose tag is of this VLAN, nothing of any other.
fn filter(vlan: VlanId) -> [libc::sock_filter; INSTRUCTIONS] {
    /// Of a tag's control information: without priority and drop eligibility.
    const VLAN_MASK: u32 = 0xfff;
    let loads = |width, about: libc::c_int| {
        let at = (libc::SKF_AD_OFF + about).cast_unsigned();
        instruction(libc::BPF_LD | width | libc::BPF_ABS, at)
    };
    // Where the last value differs, goes over `rest` instructions to the end.
    let differs = |value, rest| libc::sock_filter {
        jf: rest,
        ..instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    };
    let returns = |bytes| instruction(libc::BPF_RET | libc::BPF_K, bytes);
    [
        loads(libc::BPF_B, libc::SKF_AD_VLAN_TAG_PRESENT),
        differs(1, 6),
        loads(libc::BPF_H, libc::SKF_AD_VLAN_TPID),
        differs(TPID.into(), 4),
        loads(libc::BPF_H, libc::SKF_AD_VLAN_TAG),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, VLAN_MASK),
        differs(vlan.0.into(), 1),
        returns(u32::MAX),
        returns(0),
    ]
}

const INSTRUCTIONS: usize = 9;

fn instruction(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: u16::try_from(code).expect("invariant: codes have 16 bits"),
        jt: 0,
        jf: 0,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_is_read_and_its_tag_is_that_of_the_standard() {
        let vlan: VlanId = "258".parse().unwrap();
        assert_eq!(vlan.tag(), [0x81, 0x00, 0x01, 0x02]);
        assert_eq!(vlan.to_string(), "258");
        for wrong in ["0", "4095", "70000", "-1", "x", ""] {
            assert!(wrong.parse::<VlanId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn whatever_differs_ends_at_the_instruction_that_takes_nothing() {
        let program = filter(VlanId::new(7).unwrap());
        let jumps = program.iter().enumerate().filter(|(_, one)| one.jf > 0);
        let ends: Vec<_> = jumps
            .map(|(at, one)| at + 1 + usize::from(one.jf))
            .collect();
        assert_eq!(ends, [INSTRUCTIONS - 1; 3]);
        assert_eq!(program[INSTRUCTIONS - 1].k, 0);
    }
}
