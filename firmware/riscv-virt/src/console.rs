//! The machine's serial line (16550), to say what goes on.

use core::fmt;

const UART: usize = 0x1000_0000;
/// The line's state, and that it takes a byte.
const STATE: usize = 5;
const READY: u8 = 1 << 5;

/// A serial line to write to.
pub(crate) struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let data = core::ptr::with_exposed_provenance_mut::<u8>(UART);
        let state = core::ptr::with_exposed_provenance::<u8>(UART + STATE);
        for byte in text.bytes() {
            loop {
                // SAFETY: the machine has its UART there.
                let state = unsafe { state.read_volatile() };
                if state & READY != 0 {
                    break;
                }
            }
            // SAFETY: as above.
            unsafe { data.write_volatile(byte) };
        }
        Ok(())
    }
}
