//! TAP devices: the frames of an emulated machine as an interface of this host.
//!
//! # References
//! - Requests and flags: `linux/if_tun.h`

use crate::netlink::InterfaceName;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::ffi::{c_int, c_short};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A TAP device. It disappears with its addresses and routes when its descriptor is closed everywhere.
#[derive(Debug)]
pub struct Tap(OwnedFd);

impl Tap {
    /// Creates the device `name` in the calling thread's network namespace; `ResourceBusy` if it exists. Needs
    /// `CAP_NET_ADMIN` there.
    pub fn create(name: &InterfaceName) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open("/dev/net/tun", flags, Mode::empty())?;
        let request = libc::ifreq {
            ifr_name: name.as_c_chars(),
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: FLAGS },
        };
        // SAFETY: TUNSETIFF reads an ifreq, though its number tells the length of an int.
        let call = unsafe { Setter::<TUNSETIFF, libc::ifreq>::new(request) };
        // SAFETY: `call` owns the request that the kernel reads.
        unsafe { ioctl(&file, call) }?;
        Ok(Self(file))
    }

    /// Makes the descriptor inheritable by programs started from now on; returns its number.
    pub fn inheritable(&self) -> io::Result<RawFd> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        Ok(self.0.as_raw_fd())
    }
}

impl From<Tap> for OwnedFd {
    fn from(tap: Tap) -> Self {
        tap.0
    }
}

const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);

/// Flags: no packet information header, and fail if the device exists.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel's field holds 16 flags"
)]
const FLAGS: c_short = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as c_short;
