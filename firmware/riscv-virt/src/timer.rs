//! Time and sleeping: the machine's timer (CLINT) at 10 MHz, and its interrupt controller (PLIC).
//!
//! Interrupts stay masked in the core (`mstatus`): one that is pending wakes it all the same, and no code runs for it.

use linerate_board::Registers;
use linerate_responder::Instant;
use riscv::register::mie;

const CLINT: usize = 0x0200_0000;
const COMPARE: usize = 0x4000;
const TIME: usize = 0xbff8;
/// Nanoseconds per tick.
const TICK: u64 = 100;

const PLIC: usize = 0x0c00_0000;
/// What the first core takes in machine mode.
const ENABLE: usize = 0x2000;
const THRESHOLD: usize = 0x20_0000;
const CLAIM: usize = 0x20_0004;
/// Interrupts of the eight virtio devices.
const VIRTIO: core::ops::RangeInclusive<usize> = 1..=8;

/// The timer, and what wakes the core.
pub(crate) struct Timer {
    clint: Registers,
    plic: Registers,
}

impl Timer {
    /// Lets the timer and network devices wake the core.
    pub(crate) fn new() -> Self {
        // SAFETY: the machine has its timer there.
        let clint = unsafe { Registers::at(CLINT) };
        // SAFETY: the machine has its interrupt controller there.
        let plic = unsafe { Registers::at(PLIC) };
        for interrupt in VIRTIO {
            plic.write(interrupt * 4, 1);
        }
        plic.write(
            ENABLE,
            VIRTIO.fold(0, |all, interrupt| all | 1 << interrupt),
        );
        plic.write(THRESHOLD, 0);
        // SAFETY: no handler is ever called: interrupts are off in `mstatus`.
        unsafe { mie::set_mtimer() };
        // SAFETY: as above.
        unsafe { mie::set_mext() };
        Self { clint, plic }
    }

    /// The time since the machine was started.
    pub(crate) fn now(&self) -> Instant {
        loop {
            let high = self.clint.read(TIME + 4);
            let low = self.clint.read(TIME);
            if self.clint.read(TIME + 4) == high {
                let ticks = u64::from(high) << 32 | u64::from(low);
                return Instant::from_nanos(ticks * TICK);
            }
        }
    }

    /// Sleeps until `deadline` or an interrupt.
    pub(crate) fn sleep(&self, deadline: Instant) {
        let [a, b, c, d, e, f, g, h] = (deadline.as_nanos() / TICK).to_be_bytes();
        // Never a moment that is earlier than both.
        self.clint.write(COMPARE + 4, u32::MAX);
        self.clint.write(COMPARE, u32::from_be_bytes([e, f, g, h]));
        self.clint
            .write(COMPARE + 4, u32::from_be_bytes([a, b, c, d]));
        riscv::asm::wfi();
        let interrupt = self.plic.read(CLAIM);
        if interrupt != 0 {
            self.plic.write(CLAIM, interrupt);
        }
    }
}
