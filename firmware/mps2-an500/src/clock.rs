//! Time: the board's dual timer, a 32-bit counter at 25 MHz that counts down and wraps every 171 s.

use linerate_board::Registers;
use linerate_responder::Instant;

const VALUE: usize = 0x04;
const CONTROL: usize = 0x08;
const LOAD: usize = 0x00;

/// Enabled, free-running, 32 bits, no prescaler, no interrupt.
const RUN: u32 = 1 << 7 | 1 << 1;

/// Nanoseconds per tick of 25 MHz.
const TICK: u64 = 40;

/// A monotonic clock, if it is read once in 171 s.
#[derive(Debug)]
pub(crate) struct Clock {
    timer: Registers,
    last: u32,
    ticks: u64,
}

impl Clock {
    /// Starts it.
    pub(crate) fn start(timer: Registers) -> Self {
        timer.write(LOAD, u32::MAX);
        timer.write(CONTROL, RUN);
        Self {
            timer,
            last: timer.read(VALUE),
            ticks: 0,
        }
    }

    /// The time since it was started.
    pub(crate) fn now(&mut self) -> Instant {
        let value = self.timer.read(VALUE);
        self.ticks += u64::from(self.last.wrapping_sub(value));
        self.last = value;
        Instant::from_nanos(self.ticks * TICK)
    }
}
