//! The board's first serial line (CMSDK APB UART), to say what goes on.

use core::fmt;
use linerate_board::Registers;

pub(crate) const UART0: usize = 0x4000_4000;

const DATA: usize = 0x00;
const STATE: usize = 0x04;
const CONTROL: usize = 0x08;
const DIVIDER: usize = 0x10;

/// [`STATE`]: no room to send.
const FULL: u32 = 1;
/// [`CONTROL`]: transmitter on.
const SEND: u32 = 1;
/// 115 200 baud of 25 MHz.
const BAUD: u32 = 217;

/// A serial line to write to.
pub(crate) struct Uart(Registers);

impl Uart {
    /// Opens it.
    ///
    /// # Safety
    /// A UART's registers are at `address`.
    pub(crate) unsafe fn at(address: usize) -> Self {
        // SAFETY: the caller's word.
        let registers = unsafe { Registers::at(address) };
        registers.write(DIVIDER, BAUD);
        registers.write(CONTROL, SEND);
        Self(registers)
    }
}

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while self.0.read(STATE) & FULL != 0 {}
            self.0.write(DATA, byte.into());
        }
        Ok(())
    }
}
