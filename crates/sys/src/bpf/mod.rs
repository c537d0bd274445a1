//! Small programs in the kernel by `bpf(2)`: at a raw tracepoint, on the frames that an interface receives, and on frames
//! that the kernel makes for them.
//!
//! The kernel checks the program before it runs and forgets program, map and attachment when the
//! last descriptor closes, so a process that is killed leaves nothing behind.
//!
//! # References
//! - `include/uapi/linux/bpf.h`: commands, attributes, instruction encoding

mod assembler;
mod live;
mod values;
mod xdp;

pub use assembler::{Assembler, Condition, Label, Operation, Program, Register, Width};
pub use live::{LIVE_FRAME_BYTES, MAX_LIVE_BATCH};
pub use values::SharedValue;
pub use xdp::{
    DeviceMap, ProgramMap, ProgramRuns, RunCounting, SocketMap, XDP_DROP, XDP_PASS, XdpLink,
    XdpMode, XdpProgram,
};

use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ffi::CString;
use std::io;

const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const MAP_UPDATE: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;

const MAP_TYPE_ARRAY: u32 = 2;
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
}

#[repr(C)]
struct MapElement {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_count: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

#[repr(C)]
struct RawTracepoint {
    name: u64,
    prog_fd: u32,
    padding: u32,
}

/// Counters that a program in the kernel adds to: one array of 64-bit numbers.
#[derive(Debug)]
pub struct Counters {
    map: OwnedFd,
    length: usize,
}

impl Counters {
    /// Creates `length` counters at zero. Needs `CAP_BPF` in the initial user namespace.
    pub fn new(length: usize) -> io::Result<Self> {
        let bytes = length.checked_mul(size_of::<u64>());
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let attributes = MapCreate {
            map_type: MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: bytes.ok_or(io::ErrorKind::InvalidInput)?,
            max_entries: 1,
            map_flags: 0,
        };
        // SAFETY: `MapCreate` is laid out as this command's attributes and names no address.
        let map = unsafe { open(MAP_CREATE, &attributes) }?;
        Ok(Self { map, length })
    }

    /// Reads all counters.
    pub fn read(&self) -> io::Result<Vec<u64>> {
        let key = 0_u32;
        let mut values = vec![0_u64; self.length];
        let attributes = MapElement {
            map_fd: number(&self.map),
            padding: 0,
            key: (&raw const key).expose_provenance() as u64,
            value: values.as_mut_ptr().expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: `MapElement` is laid out as this command's attributes; `key` is as long as the map's keys and
        // `values` as its one value (see `new`), and both live until the call returns.
        unsafe { bpf(MAP_LOOKUP, &attributes) }?;
        Ok(values)
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// A program attached to a tracepoint, until dropped.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
    _program: OwnedFd,
}

impl Attached {
    /// Loads `program` and attaches it to the raw tracepoint `name`. Needs `CAP_BPF` and `CAP_PERFMON` in the initial user namespace.
    pub fn to_tracepoint(name: &str, program: &Program) -> io::Result<Self> {
        let loaded = load(PROG_TYPE_RAW_TRACEPOINT, program, 0)?;
        let name = CString::new(name)?;
        let attributes = RawTracepoint {
            name: name.as_ptr().expose_provenance() as u64,
            prog_fd: number(&loaded),
            padding: 0,
        };
        // SAFETY: `RawTracepoint` is laid out as this command's attributes; the kernel only reads `name`, which
        // ends with a zero byte and lives until the call returns.
        let link = unsafe { open(RAW_TRACEPOINT_OPEN, &attributes) }?;
        Ok(Self {
            _link: link,
            _program: loaded,
        })
    }
}

/// Loads a program of a type, with the kernel's flags.
fn load(prog_type: u32, Program(program): &Program, prog_flags: u32) -> io::Result<OwnedFd> {
    let license = c"GPL";
    let count = u32::try_from(program.len());
    let attributes = ProgLoad {
        prog_type,
        insn_count: count.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?,
        insns: program.as_ptr().expose_provenance() as u64,
        license: license.as_ptr().expose_provenance() as u64,
        log_level: 0,
        log_size: 0,
        log_buf: 0,
        kern_version: 0,
        prog_flags,
    };
    // SAFETY: `ProgLoad` is laid out as this command's attributes; the kernel only reads `program`, of as many
    // instructions as it is told, and `license`, which ends with a zero byte; both live until the call returns.
    unsafe { open(PROG_LOAD, &attributes) }
}

fn number(fd: &OwnedFd) -> u32 {
    u32::try_from(fd.as_fd().as_raw_fd()).expect("invariant: an open descriptor is not negative")
}

/// Runs a command that returns a new descriptor.
///
/// # Safety
///
/// The conditions of [`bpf`], and the command returns a new descriptor.
unsafe fn open<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for it.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: the command has made this descriptor, so nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The system call.
///
/// # Safety
///
/// `attributes` is laid out as the part of uapi's `union bpf_attr` that `command` reads, and addresses in it are of
/// memory that the kernel may use as the command does until this returns.
unsafe fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<i32> {
    // SAFETY: `attributes` is live and its size is given; the caller vouches for what it says.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    returned(answer)
}

/// The system call, of a command that writes results into its attributes.
///
/// # Safety
///
/// The conditions of [`bpf`], and every bit pattern is a valid `T`.
unsafe fn bpf_answering<T>(command: libc::c_long, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: `attributes` is live and borrowed to change, and its size is given; the caller vouches for what it says.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of::<T>(),
        )
    };
    returned(answer)
}

/// What a call returned, or its error.
fn returned(answer: libc::c_long) -> io::Result<i32> {
    i32::try_from(answer)
        .ok()
        .filter(|answer| *answer >= 0)
        .ok_or_else(io::Error::last_os_error)
}
