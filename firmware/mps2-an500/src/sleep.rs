//! Sleeping until a frame comes or something is due, without taking any interrupt.
//!
//! Interrupts stay masked in the core (PRIMASK): one that is pending wakes it all the same, and no code runs for it.

use cortex_m::Peripherals;
use cortex_m::peripheral::SCB;
use cortex_m::peripheral::syst::SystClkSource;
use linerate_responder::Instant;

/// Nanoseconds per tick of the core's timer, at 25 MHz.
const TICK: u64 = 40;
/// The core's timer counts 24 bits.
const MAX_TICKS: u32 = 0x00ff_ffff;
/// Below so many nanoseconds, setting the timer takes longer than what is to be slept.
const WORTH_IT: u64 = 5000;

/// What wakes the core.
pub(crate) struct Sleeper {
    core: Peripherals,
    /// Bit of the controller's interrupt.
    frame: u32,
}

impl Sleeper {
    /// Wakes by this interrupt, below 32, and by the core's timer.
    pub(crate) fn new(mut core: Peripherals, irq: usize) -> Self {
        cortex_m::interrupt::disable();
        let frame = 1 << irq;
        core.SYST.set_clock_source(SystClkSource::Core);
        // SAFETY: no handler depends on its being off: none is ever taken.
        unsafe { core.NVIC.iser[0].write(frame) };
        Self { core, frame }
    }

    /// Sleeps from `now` until `deadline` or a frame.
    pub(crate) fn sleep(&mut self, now: Instant, deadline: Instant) {
        let left = deadline.as_nanos().saturating_sub(now.as_nanos());
        if left < WORTH_IT {
            return;
        }
        let ticks = u32::try_from(left / TICK)
            .unwrap_or(MAX_TICKS)
            .min(MAX_TICKS);
        let timer = &mut self.core.SYST;
        timer.set_reload(ticks);
        timer.clear_current();
        timer.enable_interrupt();
        timer.enable_counter();
        cortex_m::asm::dsb();
        cortex_m::asm::wfi();
        timer.disable_counter();
        timer.disable_interrupt();
        SCB::clear_pendst();
        // SAFETY: it is set again while the controller's line is high.
        unsafe { self.core.NVIC.icpr[0].write(self.frame) };
    }
}
