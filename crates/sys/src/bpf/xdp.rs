//! A program that an interface runs on every frame it receives, and the maps of sockets and interfaces that it may hand
//! frames to.
//!
//! The program is attached by a link: the kernel detaches it when the link's descriptor closes, so a process
//! that is killed leaves nothing on the interface.
//!
//! # References
//! - `include/uapi/linux/bpf.h`: `BPF_LINK_CREATE`, `BPF_MAP_TYPE_XSKMAP`, `BPF_MAP_TYPE_DEVMAP`, `enum xdp_action`

use super::{
    Assembler, MAP_CREATE, MAP_UPDATE, MapCreate, MapElement, Program, Register, Width, bpf, load,
    number, open,
};
use crate::netlink::InterfaceIndex;
use crate::xsk::Xsk;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;
use std::{fs, io};

linerate_model::named_enum! {
    /// Where on the receive path of a frame a program runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum XdpMode {
        /// In the driver, before the kernel allocates a packet buffer (`XDP_FLAGS_DRV_MODE`).
        Native = "native",
        /// In the kernel's stack, for drivers without support (`XDP_FLAGS_SKB_MODE`).
        Generic = "generic",
    }
}

/// AF_XDP sockets by the receive queue that they belong to.
#[derive(Debug)]
pub struct SocketMap(OwnedFd);

impl SocketMap {
    /// Empty map for `queues` queues. Needs `CAP_BPF` and `CAP_NET_ADMIN` in the initial user namespace.
    pub fn new(queues: u32) -> io::Result<Self> {
        new_map(MAP_TYPE_XSKMAP, queues).map(Self)
    }

    /// Allows frames of `queue` to be redirected to `socket`.
    pub fn set(&self, queue: u32, socket: &Xsk) -> io::Result<()> {
        let descriptor = socket.as_fd().as_raw_fd();
        set_entry(&self.0, queue, descriptor.cast_unsigned())
    }

    /// A program that gives every frame to the socket of the queue on which it arrived, and drops it where there is
    /// none.
    pub fn take_all(&self) -> Program {
        const CONTEXT: Register = 1;
        const VALUE: Register = 4;
        let mut code = Assembler::default();
        code.load(Width::Word, VALUE, CONTEXT, RX_QUEUE);
        code.redirect(self.descriptor(), VALUE, XDP_DROP);
        code.complete()
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// `rx_queue_index` of `struct xdp_md`.
const RX_QUEUE: i16 = 16;
/// `enum xdp_action` of `linux/bpf.h`: nobody gets the frame.
pub const XDP_DROP: i32 = 1;
/// The kernel's stack gets it.
pub const XDP_PASS: i32 = 2;

/// Interfaces by a number of the program's own.
#[derive(Debug)]
pub struct DeviceMap(OwnedFd);

impl DeviceMap {
    /// Empty map for the numbers below `length`. Needs `CAP_BPF` and `CAP_NET_ADMIN` in the initial user namespace.
    pub fn new(length: u32) -> io::Result<Self> {
        new_map(MAP_TYPE_DEVMAP, length).map(Self)
    }

    /// Allows frames to be redirected by `number` to an interface of the calling thread's namespace. Of a veth pair
    /// frames arrive at its other end only while that has a receive queue of its own: a native XDP program, or generic
    /// receive offload.
    pub fn set(&self, number: u32, interface: InterfaceIndex) -> io::Result<()> {
        set_entry(&self.0, number, interface.0)
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Programs by a number, which a program at an interface goes on with ([`Assembler::tail_call`]).
#[derive(Debug)]
pub struct ProgramMap(OwnedFd);

impl ProgramMap {
    /// Empty map for the numbers below `length`. Needs `CAP_BPF` in the initial user namespace.
    pub fn new(length: u32) -> io::Result<Self> {
        new_map(MAP_TYPE_PROG_ARRAY, length).map(Self)
    }

    /// Sets the program of the number `key`; the map keeps it. All programs of a map take frames of as many buffers.
    pub fn set(&self, key: u32, program: &XdpProgram) -> io::Result<()> {
        set_entry(&self.0, key, number(&program.0))
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// A map with keys below `length` and values of four bytes.
fn new_map(map_type: u32, length: u32) -> io::Result<OwnedFd> {
    let attributes = MapCreate {
        map_type,
        key_size: 4,
        value_size: 4,
        max_entries: length,
        map_flags: 0,
    };
    // SAFETY: `MapCreate` is laid out as this command's attributes and names no address.
    unsafe { open(MAP_CREATE, &attributes) }
}

/// Sets an entry of a map that [`new_map`] made.
fn set_entry(map: &OwnedFd, key: u32, value: u32) -> io::Result<()> {
    let attributes = MapElement {
        map_fd: number(map),
        padding: 0,
        key: (&raw const key).expose_provenance() as u64,
        value: (&raw const value).expose_provenance() as u64,
        flags: 0,
    };
    // SAFETY: `MapElement` is laid out as this command's attributes; the kernel only reads `key` and `value`, as long
    // as the map's keys and values (see `new_map`), which live until the call returns.
    unsafe { bpf(MAP_UPDATE, &attributes) }.map(drop)
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct XdpProgram(pub(super) OwnedFd);

impl XdpProgram {
    /// Loads `program`. Needs `CAP_BPF` and `CAP_NET_ADMIN` in the initial user namespace.
    pub fn load(program: &Program) -> io::Result<Self> {
        load(PROG_TYPE_XDP, program, 0).map(Self)
    }

    /// [`XdpProgram::load`] of one that also takes frames of several buffers, of which it sees the first: drivers attach it to
    /// interfaces whose MTU is above a page. Linux 5.18 and later.
    pub fn load_for_fragments(program: &Program) -> io::Result<Self> {
        load(PROG_TYPE_XDP, program, XDP_HAS_FRAGS).map(Self)
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
        Ok(XdpLink { link })
    }

    /// How often it ran, and for how long, while the kernel counted that ([`RunCounting`], `kernel.bpf_stats_enabled`).
    /// Linux 5.1 and later; none of older kernels.
    pub fn runs(&self) -> io::Result<ProgramRuns> {
        let text = fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", self.0.as_raw_fd()))?;
        Ok(ProgramRuns::read(&text))
    }
}

/// Runs of a program, on all cores together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramRuns {
    /// How many.
    pub count: u64,
    /// Time in them all, by the kernel's clock, that for taking it included once a run.
    pub time: Duration,
}

impl ProgramRuns {
    /// Reads `/proc/PID/fdinfo/FD` of a program.
    fn read(text: &str) -> Self {
        let number = |key: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(key))?;
            value.trim().parse().ok()
        };
        Self {
            count: number("run_cnt:").unwrap_or_default(),
            time: Duration::from_nanos(number("run_time_ns:").unwrap_or_default()),
        }
    }

    /// Together with those of another program.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            time: self.time + other.time,
        }
    }
}

/// While it lives the kernel counts the runs of all programs and their time, which costs each run two readings of a clock.
#[derive(Debug)]
pub struct RunCounting {
    _switch: OwnedFd,
}

impl RunCounting {
    /// Switches it on. Needs `CAP_SYS_ADMIN` in the initial user namespace, Linux 5.8.
    pub fn start() -> io::Result<Self> {
        // SAFETY: the command reads one number (`BPF_STATS_RUN_TIME` is 0), and returns a new descriptor.
        let switch = unsafe { open(ENABLE_STATS, &0_u32) }?;
        Ok(Self { _switch: switch })
    }
}

impl XdpProgram {
    /// Attaches it in the mode that is wanted, or else natively if the driver can and otherwise generically. Returns
    /// the mode. `ResourceBusy` if the interface has a program already.
    pub fn attach_in(
        &self,
        index: InterfaceIndex,
        wanted: Option<XdpMode>,
    ) -> io::Result<(XdpLink, XdpMode)> {
        let first = wanted.unwrap_or(XdpMode::Native);
        match self.attach(index, first) {
            Ok(link) => Ok((link, first)),
            Err(error) if wanted.is_some() || error.kind() == io::ErrorKind::ResourceBusy => {
                Err(error)
            }
            Err(error) => match self.attach(index, XdpMode::Generic) {
                Ok(link) => Ok((link, XdpMode::Generic)),
                Err(_) => Err(error),
            },
        }
    }
}

/// A program at an interface, until dropped.
#[derive(Debug)]
pub struct XdpLink {
    link: OwnedFd,
}

impl XdpLink {
    /// Puts `program` in the place of the one that runs; no frame passes between them.
    pub fn replace(&self, program: &XdpProgram) -> io::Result<()> {
        let attributes = LinkUpdate {
            link_fd: number(&self.link),
            new_prog_fd: number(&program.0),
            flags: 0,
            old_prog_fd: 0,
        };
        // SAFETY: `LinkUpdate` is laid out as this command's attributes and names no address.
        unsafe { bpf(LINK_UPDATE, &attributes) }.map(drop)
    }
}

/// The `link_update` part of uapi's `union bpf_attr`.
#[repr(C)]
struct LinkUpdate {
    link_fd: u32,
    new_prog_fd: u32,
    flags: u32,
    old_prog_fd: u32,
}

const _: () = assert!(size_of::<LinkUpdate>() == 16);

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
const LINK_UPDATE: libc::c_long = 29;
const ENABLE_STATS: libc::c_long = 32;
const MAP_TYPE_PROG_ARRAY: u32 = 3;
const MAP_TYPE_DEVMAP: u32 = 14;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
/// `BPF_F_XDP_HAS_FRAGS` of `linux/bpf.h`.
const XDP_HAS_FRAGS: u32 = 1 << 5;
/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;
/// `linux/if_link.h`.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
/// `linux/if_link.h`.
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_by_name() {
        let text = "pos:\t0\nflags:\t02000002\nprog_type:\t6\nprog_jited:\t1\nmemlock:\t4096\n\
                    prog_id:\t17\nrun_time_ns:\t123456\nrun_cnt:\t1000\nrecursion_misses:\t0\n";
        let runs = ProgramRuns::read(text);
        assert_eq!(
            (runs.count, runs.time),
            (1000, Duration::from_nanos(123_456))
        );
        assert_eq!(ProgramRuns::read("pos:\t0\n"), ProgramRuns::default());
        assert_eq!(runs.plus(runs).count, 2000);
    }
}
