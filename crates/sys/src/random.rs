//! Unpredictable numbers from the kernel, for tokens and nonces; seeded generators live where they are used.

use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::ffi::c_int;
use std::io;

/// An unpredictable random number.
pub fn random_u32() -> io::Result<u32> {
    Ok(u32::from_ne_bytes(random_bytes()?))
}

/// Unpredictable random bytes.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Length of a seed: that of the kernel's own generator.
pub const SEED_BYTES: usize = LENGTH as usize;

const LENGTH: c_int = 32;

/// Seeds the kernel's random number generator with a secret on a machine without an entropy source, so that it gives
/// out random numbers at once (random(4), `RNDADDENTROPY`). Needs `CAP_SYS_ADMIN`.
pub fn seed_kernel(seed: [u8; SEED_BYTES]) -> io::Result<()> {
    let device = open(
        "/dev/urandom",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let pool = PoolInfo {
        entropy_bits: 8 * LENGTH,
        bytes: LENGTH,
        seed,
    };
    // SAFETY: RNDADDENTROPY reads a rand_pool_info and as many bytes behind it as its second field says.
    let call = unsafe { Setter::<RNDADDENTROPY, PoolInfo>::new(pool) };
    // SAFETY: `call` owns the structure that the kernel reads.
    unsafe { ioctl(&device, call) }?;
    Ok(())
}

/// `struct rand_pool_info` of `linux/random.h` with its buffer.
#[repr(C)]
struct PoolInfo {
    entropy_bits: c_int,
    bytes: c_int,
    seed: [u8; SEED_BYTES],
}

const RNDADDENTROPY: Opcode = opcode::write::<[c_int; 2]>(b'R', 3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ() {
        // Four equal numbers of 32 bits: one false alarm in 2^96 runs.
        let first = random_u32().unwrap();
        assert!((0..3).any(|_| random_u32().unwrap() != first));
    }
}
