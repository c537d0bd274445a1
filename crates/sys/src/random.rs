//! Unpredictable numbers from the kernel, for tokens and nonces; seeded generators live where they are used.

use std::io;

/// A random number that nobody can guess.
pub fn random_u32() -> io::Result<u32> {
    Ok(u32::from_ne_bytes(random_bytes()?))
}

/// Random bytes that nobody can guess.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

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
