//! Raw frames of an interface: a mapped receive ring and a batching sender.
//!
//! The ring (`TPACKET_V2`: a slot per frame, readable at once) buffers frames while its reader does not run; unlike a
//! socket buffer, its size needs no privilege.
//!
//! # References
//! - `Documentation/networking/packet_mmap.rst`, packet(7), `linux/if_packet.h`

mod layout;
mod ring;
mod sender;
mod vlan;

pub use layout::RingLayout;
pub use ring::{PacketRing, ReceivedFrame};
pub use sender::{BATCH, FrameSender};
pub use vlan::{Tags, VlanId};

use crate::failure::Failure;
use crate::netlink::InterfaceIndex;
use crate::sockopt;
use crate::udp::fit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// An interface that receives frames for any address, until dropped: the kernel undoes it also for a process that was
/// killed.
#[derive(Debug)]
pub struct Promiscuous {
    _socket: OwnedFd,
}

impl Promiscuous {
    /// Makes interface `index` of the calling thread's namespace promiscuous. Needs `CAP_NET_RAW`.
    pub fn hold(index: InterfaceIndex) -> io::Result<Self> {
        /// `PACKET_MR_PROMISC` of `linux/if_packet.h`.
        const PROMISCUOUS: u16 = 1;
        let socket = open_socket()?;
        // `struct packet_mreq` of `linux/if_packet.h`: interface, type, length of the address, address.
        let mut request = [0; 16];
        request[..4].copy_from_slice(&index.0.to_ne_bytes());
        request[4..6].copy_from_slice(&PROMISCUOUS.to_ne_bytes());
        let option = libc::PACKET_ADD_MEMBERSHIP;
        sockopt::set(&socket, libc::SOL_PACKET, option, &request)?;
        Ok(Self { _socket: socket })
    }
}

/// Opens a packet socket that is not bound and receives nothing yet.
fn open_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(
        AddressFamily::PACKET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Sleeps until a socket can be read, at most `limit`.
fn wait_readable(socket: &OwnedFd, limit: Duration) -> Result<(), Failure> {
    let limit = Timespec::try_from(limit).map_err(|_| Failure::new("poll", Errno::INVAL))?;
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(Failure::new("poll", errno)),
    }
}

fn bind(socket: &OwnedFd, index: InterfaceIndex, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).expect("invariant: families have 16 bits"),
        sll_protocol: protocol.to_be(),
        sll_ifindex: index.0.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = fit(size_of::<libc::sockaddr_ll>());
    // SAFETY: the address is a whole sockaddr_ll on this frame and its length is its own size.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn set_option(socket: &OwnedFd, option: libc::c_int, value: u32) -> io::Result<()> {
    sockopt::set(socket, libc::SOL_PACKET, option, &value.to_ne_bytes())
}
