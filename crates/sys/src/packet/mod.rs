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

pub use layout::RingLayout;
pub use ring::{PacketRing, ReceivedFrame};
pub use sender::{BATCH, FrameSender};

use crate::netlink::InterfaceIndex;
use crate::sockopt;
use crate::udp::fit;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Opens a packet socket that is not bound and receives nothing yet.
fn open_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(
        AddressFamily::PACKET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?)
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
