//! SMSC LAN9118: an Ethernet controller with FIFOs instead of DMA.
//!
//! # References
//! - LAN9118 datasheet, revision 1.5: chapters 5 (registers), 3.12 (transmit commands), 3.13 (receive status)

use core::ops::Range;
use linerate_board::{BUFFER, Driver, MAX_FRAME, Registers};

const RX_DATA_FIFO: usize = 0x00;
const TX_DATA_FIFO: usize = 0x20;
const RX_STATUS_FIFO: usize = 0x40;
const TX_STATUS_FIFO: usize = 0x48;
const IRQ_CFG: usize = 0x54;
const INT_STS: usize = 0x58;
const INT_EN: usize = 0x5c;
const BYTE_TEST: usize = 0x64;
const FIFO_INT: usize = 0x68;
const RX_CFG: usize = 0x6c;
const TX_CFG: usize = 0x70;
const HW_CFG: usize = 0x74;
const RX_FIFO_INF: usize = 0x7c;
const TX_FIFO_INF: usize = 0x80;
const RX_DROP: usize = 0xa0;
const MAC_CSR_CMD: usize = 0xa4;
const MAC_CSR_DATA: usize = 0xa8;

const MAC_CR: u32 = 1;
const MAC_ADDRH: u32 = 2;
const MAC_ADDRL: u32 = 3;

/// What [`BYTE_TEST`] reads as once the controller is awake and the bus has its byte order.
const AWAKE: u32 = 0x8765_4321;
/// [`INT_STS`], [`INT_EN`]: the receive status FIFO has reached its level.
const RSFL: u32 = 1 << 3;
/// [`IRQ_CFG`]: interrupts on, a push-pull pin that is high while one is pending.
const IRQ: u32 = 1 << 8 | 1 << 4 | 1;
/// [`TX_CFG`]: transmitter on.
const TX_ON: u32 = 1 << 1;
/// [`HW_CFG`]: store and forward; 5 KiB to transmit, the rest to receive.
const HARDWARE: u32 = 1 << 20 | 5 << 16;
/// [`MAC_CR`]: receiver and transmitter on.
const MAC_ON: u32 = 1 << 3 | 1 << 2;
/// [`MAC_CSR_CMD`]: busy, and read.
const CSR_BUSY: u32 = 1 << 31;
const CSR_READ: u32 = 1 << 30;
/// A transmit command: first and last segment of its frame.
const WHOLE_FRAME: u32 = 1 << 13 | 1 << 12;
/// A receive status: the frame is in error.
const RX_ERROR: u32 = 1 << 15;

/// The FCS that the controller leaves at a received frame's end.
const FCS: usize = 4;
/// Words of a frame with its FCS.
const WORDS: usize = (MAX_FRAME + FCS).div_ceil(4);

/// Bytes that the longest frame takes of the transmit FIFO, with its two commands.
const MAX_SENT: u32 = 1520 + 8;
const _: () = assert!(WORDS * 4 == 1520);

/// The controller.
#[derive(Debug)]
pub(crate) struct Lan9118 {
    registers: Registers,
    /// Frames that it had no room for.
    dropped: u64,
    /// Frames that came damaged.
    errors: u64,
}

impl Lan9118 {
    /// Wakes it and lets frames in.
    pub(crate) fn start(registers: Registers) -> Self {
        while registers.read(BYTE_TEST) != AWAKE {}
        registers.write(INT_EN, 0);
        registers.write(INT_STS, u32::MAX);
        registers.write(HW_CFG, HARDWARE);
        registers.write(RX_CFG, 0);
        registers.write(TX_CFG, TX_ON);
        // An interrupt while there is a frame.
        registers.write(FIFO_INT, 0);
        registers.write(IRQ_CFG, IRQ);
        let this = Self {
            registers,
            dropped: 0,
            errors: 0,
        };
        this.write_mac(MAC_CR, MAC_ON | this.read_mac(MAC_CR));
        registers.write(INT_EN, RSFL);
        this
    }

    /// The address that its memory holds.
    pub(crate) fn address(&self) -> [u8; 6] {
        let [a, b, c, d] = self.read_mac(MAC_ADDRL).to_le_bytes();
        let [e, f, ..] = self.read_mac(MAC_ADDRH).to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// Whether a frame waits.
    pub(crate) fn has_frame(&self) -> bool {
        self.registers.read(RX_FIFO_INF) >> 16 & 0xff > 0
    }

    /// Lets the interrupt come again.
    pub(crate) fn acknowledge(&self) {
        self.registers.write(INT_STS, RSFL);
    }

    /// Adds up what the controller had no room for: its register is cleared by being read.
    pub(crate) fn count_dropped(&mut self) {
        self.dropped += u64::from(self.registers.read(RX_DROP));
    }

    /// Frames that were dropped, and those that came damaged.
    pub(crate) const fn not_received(&self) -> [u64; 2] {
        [self.dropped, self.errors]
    }

    fn read_mac(&self, register: u32) -> u32 {
        let registers = self.registers;
        registers.write(MAC_CSR_CMD, CSR_BUSY | CSR_READ | register);
        while registers.read(MAC_CSR_CMD) & CSR_BUSY != 0 {}
        registers.read(MAC_CSR_DATA)
    }

    fn write_mac(&self, register: u32, value: u32) {
        let registers = self.registers;
        registers.write(MAC_CSR_DATA, value);
        registers.write(MAC_CSR_CMD, CSR_BUSY | register);
        while registers.read(MAC_CSR_CMD) & CSR_BUSY != 0 {}
    }
}

impl Driver for Lan9118 {
    /// Takes the next good frame out of the FIFO.
    fn take(&mut self, buffer: &mut [u8; BUFFER]) -> Option<Range<usize>> {
        while self.has_frame() {
            let status = self.registers.read(RX_STATUS_FIFO);
            let length = (status >> 16 & 0x3fff) as usize;
            let words = length.div_ceil(4);
            for word in buffer.chunks_exact_mut(4).take(words.min(WORDS)) {
                word.copy_from_slice(&self.registers.read(RX_DATA_FIFO).to_le_bytes());
            }
            // Of a frame that is too long.
            for _ in WORDS..words {
                self.registers.read(RX_DATA_FIFO);
            }
            let is_good = status & RX_ERROR == 0 && (FCS..=MAX_FRAME + FCS).contains(&length);
            if is_good {
                return Some(0..length - FCS);
            }
            self.errors += 1;
        }
        None
    }

    fn has_room(&mut self) -> bool {
        // What became of earlier frames; it takes room too.
        while self.registers.read(TX_FIFO_INF) >> 16 & 0xff > 0 {
            self.registers.read(TX_STATUS_FIFO);
        }
        self.registers.read(TX_FIFO_INF) & 0xffff >= MAX_SENT
    }

    fn send(&mut self, frame: &[u8]) -> bool {
        let length = u32::try_from(frame.len()).unwrap_or(0);
        let registers = self.registers;
        registers.write(TX_DATA_FIFO, WHOLE_FRAME | length);
        registers.write(TX_DATA_FIFO, length);
        for part in frame.chunks(4) {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            registers.write(TX_DATA_FIFO, u32::from_le_bytes(word));
        }
        true
    }
}
