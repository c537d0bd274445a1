//! A fault of the program: said on the serial line, then nothing more.

use crate::uart::{UART0, Uart};
use core::fmt::Write as _;
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    // SAFETY: the board has its first UART there, and nobody else will write to it.
    let mut uart = unsafe { Uart::at(UART0) };
    let _ = writeln!(uart, "{info}");
    loop {
        cortex_m::asm::wfi();
    }
}
