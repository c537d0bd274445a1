//! A program that an interface runs on every frame it receives, and the map of sockets that it may hand frames to.
//!
//! The program is attached by a link: the kernel detaches it when the link's descriptor closes, so a process
//! that is killed leaves nothing on the interface.
//!
//! # References
//! - `include/uapi/linux/bpf.h`: `BPF_LINK_CREATE`, `BPF_MAP_TYPE_XSKMAP`, `enum xdp_action`

use super::{MAP_CREATE, MAP_UPDATE, MapCreate, MapElement, Program, bpf, load, number, open};
use crate::netlink::InterfaceIndex;
use crate::xsk::Xsk;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use std::io;

/// Where on the receive path of a frame a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the kernel allocates a packet buffer (`XDP_FLAGS_DRV_MODE`).
    Native,
    /// In the kernel's stack, for drivers without support (`XDP_FLAGS_SKB_MODE`).
    Generic,
}

/// AF_XDP sockets by the receive queue that they belong to.
#[derive(Debug)]
pub struct SocketMap(OwnedFd);

impl SocketMap {
    /// Empty map for `queues` queues. Needs `CAP_BPF` and `CAP_NET_ADMIN` in the initial user namespace.
    pub fn new(queues: u32) -> io::Result<Self> {
        let attributes = MapCreate {
            map_type: MAP_TYPE_XSKMAP,
            key_size: 4,
            value_size: 4,
            max_entries: queues,
        };
        // SAFETY: `MapCreate` is laid out as this command's attributes and names no address.
        unsafe { open(MAP_CREATE, &attributes) }.map(Self)
    }

    /// Allows frames of `queue` to be redirected to `socket`.
    pub fn set(&self, queue: u32, socket: &Xsk) -> io::Result<()> {
        let descriptor = socket.as_fd().as_raw_fd();
        let attributes = MapElement {
            map_fd: number(&self.0),
            padding: 0,
            key: (&raw const queue).expose_provenance() as u64,
            value: (&raw const descriptor).expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: `MapElement` is laid out as this command's attributes; the kernel only reads `queue` and
        // `descriptor`, as long as the map's keys and values (see `new`), which live until the call returns.
        unsafe { bpf(MAP_UPDATE, &attributes) }.map(drop)
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct XdpProgram(OwnedFd);

impl XdpProgram {
    /// Loads `program`. Needs `CAP_BPF` and `CAP_NET_ADMIN` in the initial user namespace.
    pub fn load(program: &Program) -> io::Result<Self> {
        load(PROG_TYPE_XDP, program).map(Self)
    }

    /// Attaches it to interface `index` of the calling thread's namespace, until the link is dropped.
    pub fn attach(&self, index: InterfaceIndex, mode: XdpMode) -> io::Result<XdpLink> {
        let attributes = LinkCreate {
            prog_fd: number(&self.0),
            target_ifindex: index.0,
            attach_type: ATTACH_XDP,
            flags: match mode {
                XdpMode::Native => XDP_FLAGS_DRV_MODE,
                XdpMode::Generic => XDP_FLAGS_SKB_MODE,
            },
        };
        // SAFETY: `LinkCreate` is laid out as this command's attributes and names no address.
        let link = unsafe { open(LINK_CREATE, &attributes) }?;
        Ok(XdpLink { _link: link })
    }
}

/// A program at an interface, until dropped.
#[derive(Debug)]
pub struct XdpLink {
    _link: OwnedFd,
}

/// The `link_create` part of uapi's `union bpf_attr`.
#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
}

const _: () = assert!(size_of::<LinkCreate>() == 16);

const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;
/// `linux/if_link.h`.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
/// `linux/if_link.h`.
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
