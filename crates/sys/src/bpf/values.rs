//! Memory that programs in the kernel and this process share: a map of one value, mapped.
//!
//! # References
//! - `BPF_F_MMAPABLE` (Linux 5.5): `include/uapi/linux/bpf.h`

use super::{MAP_CREATE, MAP_TYPE_ARRAY, MapCreate, open};
use crate::mapping::{Mapping, SharedMemory as _};
use rustix::fd::{AsRawFd, OwnedFd};
use std::io;
use std::sync::atomic::Ordering;

/// 64-bit numbers that programs in the kernel and this process read and write, zero at first.
#[derive(Debug)]
pub struct SharedValue {
    map: OwnedFd,
    memory: Mapping,
}

impl SharedValue {
    /// Memory of `bytes`, a multiple of 8. Needs `CAP_BPF` in the initial user namespace.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let size = u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        let attributes = MapCreate {
            map_type: MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: size,
            max_entries: 1,
            map_flags: MMAPABLE,
        };
        // SAFETY: `MapCreate` is laid out as this command's attributes and names no address.
        let map = unsafe { open(MAP_CREATE, &attributes) }?;
        let memory = Mapping::shared(&map, bytes, 0)?;
        Ok(Self { map, memory })
    }

    /// The number at byte `offset`, a multiple of 8 within the value.
    pub fn get(&self, offset: usize) -> u64 {
        self.memory.double(offset).load(Ordering::Acquire)
    }

    /// Sets the number at byte `offset`, a multiple of 8 within the value.
    pub fn set(&self, offset: usize, number: u64) {
        self.memory.double(offset).store(number, Ordering::Release);
    }

    /// Descriptor number by which instructions name the map.
    pub fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// `BPF_F_MMAPABLE`.
const MMAPABLE: u32 = 1 << 10;
