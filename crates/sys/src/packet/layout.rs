//! Geometry of the slots of a receive ring.

/// Geometry of a ring: slots of equal power-of-two length, back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLayout {
    slot_bytes: u32,
    slots: u32,
}

impl RingLayout {
    /// Ring of `bytes`, or slightly more, for frames of up to `frame_bytes` without FCS. `None` if the kernel could not
    /// map it.
    pub fn new(frame_bytes: u32, bytes: u32) -> Option<Self> {
        let slot_bytes = frame_bytes
            .checked_add(HEADROOM)?
            .checked_next_power_of_two()
            .filter(|slot_bytes| *slot_bytes <= BLOCK)?;
        let bytes = bytes.max(1).checked_next_multiple_of(BLOCK)?;
        let slots = bytes / slot_bytes;
        Some(Self { slot_bytes, slots })
    }

    /// Length of the mapping, bytes.
    pub(super) fn total_bytes(self) -> usize {
        self.slots as usize * self.slot_bytes as usize
    }

    /// Bytes per slot, header included.
    pub(super) fn slot_bytes(self) -> u32 {
        self.slot_bytes
    }

    /// Number of slots.
    pub(super) fn slots(self) -> u32 {
        self.slots
    }

    /// Number of blocks.
    pub(super) fn blocks(self) -> u32 {
        self.slots / (BLOCK / self.slot_bytes)
    }

    /// Byte offset of slot `index`, which wraps around.
    pub(super) fn offset(self, index: u32) -> usize {
        (index % self.slots) as usize * self.slot_bytes as usize
    }

    /// Range in a slot that a frame fills; `None` if it exceeds the slot.
    pub(super) fn frame_range(self, mac_offset: u16, length: u32) -> Option<(usize, usize)> {
        let end = u32::from(mac_offset).checked_add(length)?;
        (end <= self.slot_bytes).then_some((usize::from(mac_offset), length as usize))
    }
}

/// A slot's header, address and alignment before the frame: the kernel puts the MAC header at
/// most at `TPACKET_ALIGN(TPACKET2_HDRLEN) + 16 + alignment`, below 100 bytes.
const HEADROOM: u32 = 128;

/// Bytes per block, the unit in which the kernel allocates: a power of two that page sizes divide and that the page allocator still gives easily.
pub(super) const BLOCK: u32 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_frame_takes_two_kibibytes() {
        let layout = RingLayout::new(1514, 16 << 20).unwrap();
        assert_eq!((layout.slot_bytes(), layout.slots()), (2048, 8192));
        assert_eq!(layout.blocks() * BLOCK, 16 << 20);
    }

    #[test]
    fn slots_fill_whole_blocks() {
        let layout = RingLayout::new(1514, 1).unwrap();
        assert_eq!((layout.slots(), layout.blocks()), (32, 1));
    }

    #[test]
    fn indices_wrap_to_the_first_slot() {
        let layout = RingLayout::new(1514, 64 << 10).unwrap();
        assert_eq!(layout.offset(31), 31 * 2048);
        assert_eq!(layout.offset(32), 0);
    }

    #[test]
    fn frames_that_would_leave_their_slot_are_refused() {
        let layout = RingLayout::new(1514, 64 << 10).unwrap();
        assert_eq!(layout.frame_range(82, 1514), Some((82, 1514)));
        assert_eq!(layout.frame_range(1000, 1514), None);
        assert_eq!(layout.frame_range(u16::MAX, u32::MAX), None);
    }

    #[test]
    fn rings_that_cannot_be_are_refused() {
        assert_eq!(RingLayout::new(u32::MAX, 1), None);
        assert_eq!(RingLayout::new(70_000, 1), None);
        assert_eq!(RingLayout::new(1514, u32::MAX), None);
    }
}
