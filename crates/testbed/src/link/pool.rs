//! Memory for the frames in a link.

/// Slots of equal length in one allocation. Only as many are touched as frames were in flight at once; the slot freed
/// last is reused first.
#[derive(Debug)]
pub(super) struct FramePool {
    bytes: Vec<u8>,
    slot_bytes: usize,
    lengths: Vec<u32>,
    free: Vec<u32>,
    unused: u32,
}

impl FramePool {
    /// Slots for frames of up to `longest` bytes without FCS.
    pub(super) fn new(longest: u32) -> Self {
        let slot_bytes = (longest as usize).next_multiple_of(64);
        let slots = MEMORY / slot_bytes;
        Self {
            bytes: vec![0; slots * slot_bytes],
            slot_bytes,
            lengths: vec![0; slots],
            free: Vec::with_capacity(slots),
            unused: 0,
        }
    }

    /// A free slot, or `None` if all are in use.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let slot = self.unused;
            ((slot as usize) < self.lengths.len()).then(|| self.unused += 1)?;
            Some(slot)
        })
    }

    /// Copies a frame, not longer than a slot, into `slot`.
    pub(super) fn fill(&mut self, slot: u32, frame: &[u8]) {
        let start = slot as usize * self.slot_bytes;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.lengths[slot as usize] =
            u32::try_from(frame.len()).expect("invariant: a frame fits into a slot");
    }

    /// The frame in `slot`.
    pub(super) fn frame(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.slot_bytes;
        &self.bytes[start..start + self.lengths[slot as usize] as usize]
    }

    /// Frees `slot`.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

/// Bytes per direction: half a second of full frames in flight at 1 Gbit/s needs 62 MB.
const MEMORY: usize = 128 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_their_frames_apart() {
        let mut pool = FramePool::new(100);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        pool.fill(a, &[1; 100]);
        pool.fill(b, &[2; 60]);
        assert_eq!(pool.frame(a), [1; 100]);
        assert_eq!(pool.frame(b), [2; 60]);
    }

    #[test]
    fn the_slot_freed_last_is_used_first() {
        let mut pool = FramePool::new(100);
        let (a, _) = (pool.take().unwrap(), pool.take().unwrap());
        pool.give_back(a);
        assert_eq!(pool.take(), Some(a));
    }

    #[test]
    fn a_pool_ends() {
        let mut pool = FramePool::new(65_536);
        let taken = std::iter::from_fn(|| pool.take()).count();
        assert_eq!(taken, MEMORY / 65_536);
    }
}
